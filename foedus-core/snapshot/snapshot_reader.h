#pragma once
// SnapshotFiles: reads pages of all finished snapshots, from any thread. A file is opened when its
// first page is wanted and stays open; from then on no thread that reads it takes a lock.
//
//   word               written by                  read by    meaning
//   buckets_[i]        first reader, under mutex_  readers    files whose bucket_of() is i
//   OpenFile::file     opener, close(), mutex_     readers    null: closed, to be opened again

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/pooled_io.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/page/page_check.h"
#include "foedus-core/snapshot/cache/page_io.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/nvm_pages.h"

namespace foedus::snapshot {

// Returns what is wrong with a page whose checksum and id are right; null: nothing. Called by any
// thread that reads a page.
using PageRules = std::function<page::BrokenRule(const page::PageHeader&)>;

class SnapshotFiles final : public PageReader {
 public:
  // Pages that break one of `rules` are refused as damaged ones are. Without rules the contents of
  // pages are not checked. `access`: kReadDirect if the system's page cache is to keep no page.
  explicit SnapshotFiles(device::Device* device, PageRules rules = {},
                         device::Access access = device::Access::kRead)
      : device_(device), rules_(std::move(rules)), access_(access) {}
  SnapshotFiles(const SnapshotFiles&) = delete;
  SnapshotFiles& operator=(const SnapshotFiles&) = delete;

  // kWrongVersion: of the file. On failure the bytes at `to` are not to be used.
  Status read(page::SnapshotPageId id, page::PageHeader* to) override;
  // REQUIRES: `access` is kRead.
  Status read_lines(page::SnapshotPageId id, page::LineMask lines, char* to) override;
  bool has_lines(page::SnapshotPageId id) override;
  void will_read(page::SnapshotPageId id) override;
  // Reads up to `count` pages that follow one another in a file. Returns how many of them there
  // are; check() has to be asked about each. kCorruption: there cannot be such a page. kIoError:
  // perhaps of another page than the first. kWrongVersion.
  Result<std::uint32_t> read_run(page::SnapshotPageId first, page::PageBytes* to,
                                 std::uint32_t count);
  // Checks a page that was read in another way, and returns what read() would.
  Status check(page::SnapshotPageId id, const page::PageHeader* page);
  // Sets the NVM cache, which is searched for pages of the SSD tier, and gets them when they were
  // read. REQUIRES: no page was read yet.
  void set_nvm_pages(NvmPages* pages) { nvm_pages_ = pages; }
  // Sets tasks that read in place of the device's own queues. REQUIRES: make_reads() was not called
  // yet.
  void set_pool(device::IoPool* pool) { pool_ = pool; }
  std::unique_ptr<PageReads> make_reads() override;

  std::vector<SnapshotName> open_files();
  // Closes the file, if it is open, so that its space becomes free with its removal. REQUIRES: no
  // thread reads a page of it at the same time.
  void close(page::SnapshotNumber snapshot, std::uint32_t soc);

 private:
  class Reads;
  static constexpr std::size_t kBuckets = 256;
  struct OpenFile {
    page::SnapshotNumber snapshot;
    std::uint32_t soc;
    OpenFile* next;  // in the bucket
    base::AtomicWord<const device::File*> file;
    // Guarded by mutex_ while `file` is null. While `file` is set, it is constant, and readers may
    // copy it.
    std::shared_ptr<const device::File> owned;
  };

  static std::size_t bucket_of(page::SnapshotNumber snapshot, std::uint32_t soc);
  OpenFile* find(page::SnapshotNumber snapshot, std::uint32_t soc) const;
  Result<const OpenFile*> entry_of(page::SnapshotPageId id);
  Result<const device::File*> file_of(page::SnapshotPageId id) {
    FOEDUS_TRY(const OpenFile* const entry, entry_of(id));
    return entry->owned.get();
  }
  // Returns true if the page lies on the SSD tier, so that it may have a slot in the NVM cache.
  bool is_far(const device::File& file, page::SnapshotPageId id) const {
    return nvm_pages_ != nullptr && !file.has_small_reads(offset_of(id));
  }
  static std::uint64_t offset_of(page::SnapshotPageId id) {
    return std::uint64_t{id.page()} * page::kPageBytes;
  }
  bool read_near(page::SnapshotPageId id, page::PageHeader* to) const;
  Result<const OpenFile*> open_locked(page::SnapshotNumber snapshot, std::uint32_t soc);

  // Refuses page 0, which is the file's header.
  Status check_number(page::SnapshotPageId id) const;
  Status check(const device::File& file, page::SnapshotPageId id,
               const page::PageHeader* page) const;
  // Returns true if check() has no error, without making a message.
  bool is_whole(page::SnapshotPageId id, const page::PageHeader* page) const;

  device::Device* const device_;
  const PageRules rules_;
  const device::Access access_;
  device::IoPool* pool_ = nullptr;
  NvmPages* nvm_pages_ = nullptr;  // null: there are none
  base::AtomicWord<OpenFile*> buckets_[kBuckets];

  std::mutex mutex_;  // held while a file is opened or closed
  // Guarded by mutex_. Entries stay; closed ones are opened again.
  std::vector<std::unique_ptr<OpenFile>> all_;
};

}  // namespace foedus::snapshot
