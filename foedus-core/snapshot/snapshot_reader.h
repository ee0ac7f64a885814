#pragma once
// SnapshotFiles: reads pages of all finished snapshots, from any thread. A file is opened when its
// first page is wanted and stays open; from then on no thread that reads it takes a lock.
//
//   word               written by                  read by    meaning
//   buckets_[i]        first reader, under mutex_  readers    files whose names fall in bucket i
//   OpenFile::file     opener, close(), mutex_     readers    null: closed, to be opened again

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/device.h"
#include "foedus-core/page/page_check.h"
#include "foedus-core/snapshot/page_io.h"
#include "foedus-core/snapshot/snapshot_format.h"

namespace foedus::snapshot {

// What is wrong with a page whose checksum and id are right; null: nothing. Called by any thread
// that reads a page.
using PageRules = std::function<page::BrokenRule(const page::PageHeader&)>;

class SnapshotFiles final : public PageReader {
 public:
  // Pages that break one of `rules` are refused as damaged ones are. Without rules nothing is said
  // of what pages hold.
  explicit SnapshotFiles(device::Device* device, PageRules rules = {})
      : device_(device), rules_(std::move(rules)) {}
  SnapshotFiles(const SnapshotFiles&) = delete;
  SnapshotFiles& operator=(const SnapshotFiles&) = delete;

  // kWrongVersion: of the file. On failure the bytes at `to` are not to be used.
  Status read(page::SnapshotPageId id, page::PageHeader* to) override;
  // At most device::File::kReadPartsMax pages with one call to the device.
  std::uint32_t read_pages(page::SnapshotPageId first, page::PageHeader* const* to,
                           std::uint32_t count, Status* status) override;
  void will_read(page::SnapshotPageId id) override;
  // All or none of `count` pages, one behind the other in memory, too, with one call to the device.
  // REQUIRES: their ids name pages of one file, at least one.
  Status read_range(page::SnapshotPageId first, std::uint32_t count, page::PageHeader* to);

  std::vector<SnapshotName> open_files();
  // Gives the open file back, if there is one, so that its room becomes free with its removal.
  // REQUIRES: no thread reads a page of it at the same time.
  void close(page::SnapshotNumber snapshot, std::uint32_t soc);

 private:
  static constexpr std::size_t kBuckets = 256;
  struct OpenFile {
    page::SnapshotNumber snapshot;
    std::uint32_t soc;
    OpenFile* next;  // in the bucket
    base::AtomicWord<const device::File*> file;
    std::unique_ptr<device::File> owned;  // guarded by mutex_
  };

  std::uint32_t read_part(page::SnapshotPageId first, page::PageHeader* const* to,
                          std::uint32_t count, Status* status);
  static std::size_t bucket_of(page::SnapshotNumber snapshot, std::uint32_t soc);
  OpenFile* find(page::SnapshotNumber snapshot, std::uint32_t soc) const;
  Result<const device::File*> file_of(page::SnapshotPageId id);
  Result<const device::File*> open_locked(page::SnapshotNumber snapshot, std::uint32_t soc);

  Status check(const device::File& file, page::SnapshotPageId id,
               const page::PageHeader* page) const;

  device::Device* const device_;
  const PageRules rules_;
  base::AtomicWord<OpenFile*> buckets_[kBuckets];

  std::mutex mutex_;  // held while a file is opened or closed
  // Guarded by mutex_. Entries stay; closed ones are opened again.
  std::vector<std::unique_ptr<OpenFile>> all_;
};

}  // namespace foedus::snapshot
