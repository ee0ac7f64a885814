#include "foedus-core/snapshot/snapshot_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus/options.h"

namespace foedus::snapshot {

namespace {

Status damaged(const std::string& path, std::uint32_t page, const std::string& what) {
  return Status::error(ErrorCode::kCorruption,
                       path + ", page " + std::to_string(page) + ": " + what);
}

std::string in_words(page::SnapshotPageId id) {
  return "page " + std::to_string(id.page()) + " of " + snapshot_name(id.snapshot(), id.soc());
}

Status check_page_0(const device::File& file, page::SnapshotNumber snapshot, std::uint32_t soc) {
  page::PageBytes block;
  FOEDUS_TRY(const std::size_t read, file.read_at(0, block.bytes, sizeof(block.bytes)));
  if (read < sizeof(block.bytes)) return damaged(file.path(), 0, "the file ends in it");
  SnapshotFileHeader header;
  std::memcpy(&header, block.bytes, sizeof(header));
  if (header.magic != kSnapshotMagic) return damaged(file.path(), 0, "not of a snapshot file");
  if (header.crc != checksum_of(block.bytes, sizeof(block.bytes))) {
    return damaged(file.path(), 0, "its checksum is wrong");
  }
  if (header.version != kSnapshotFormatVersion) {
    return Status::error(ErrorCode::kWrongVersion,
                         file.path() + " has format version " + std::to_string(header.version) +
                             ", this program knows " + std::to_string(kSnapshotFormatVersion));
  }
  if (header.snapshot != static_cast<std::uint32_t>(snapshot) || header.soc != soc) {
    return damaged(file.path(), 0,
                   "it says that this is " +
                       snapshot_name(page::SnapshotNumber{header.snapshot}, header.soc));
  }
  return {};
}

}  // namespace

bool SnapshotFiles::is_whole(page::SnapshotPageId id, const page::PageHeader* page) const {
  return page->crc32c == checksum_of(page, page::kPageBytes) && page->page_id == id.word() &&
         (!rules_ || rules_(*page) == nullptr);
}

Status SnapshotFiles::check(const device::File& file, page::SnapshotPageId id,
                            const page::PageHeader* page) const {
  if (page->crc32c != checksum_of(page, page::kPageBytes)) {
    return damaged(file.path(), id.page(), "its checksum is wrong");
  }
  if (page->page_id != id.word()) {
    return damaged(file.path(), id.page(),
                   "it says that it is " + in_words(page::SnapshotPageId(page->page_id)));
  }
  const page::BrokenRule broken = rules_ ? rules_(*page) : nullptr;
  return broken == nullptr ? Status() : damaged(file.path(), id.page(), broken);
}

std::size_t SnapshotFiles::bucket_of(page::SnapshotNumber snapshot, std::uint32_t soc) {
  return (static_cast<std::size_t>(snapshot) * 31 + soc) % kBuckets;
}

SnapshotFiles::OpenFile* SnapshotFiles::find(page::SnapshotNumber snapshot,
                                             std::uint32_t soc) const {
  // order: acquire, pairs with open_locked(): the entry's name and `next` are complete.
  OpenFile* entry = buckets_[bucket_of(snapshot, soc)].load_acquire();
  while (entry != nullptr && (entry->snapshot != snapshot || entry->soc != soc)) {
    entry = entry->next;
  }
  return entry;
}

Result<const SnapshotFiles::OpenFile*> SnapshotFiles::entry_of(page::SnapshotPageId id) {
  const OpenFile* const known = find(id.snapshot(), id.soc());
  // order: acquire, pairs with open_locked(): the file object is complete, and `owned` has it.
  if (known != nullptr && known->file.load_acquire() != nullptr) return known;
  const std::uint32_t snapshot = static_cast<std::uint32_t>(id.snapshot());
  if (snapshot == 0 || snapshot > kSnapshotNumberMax || id.soc() >= kMaxSocs) {
    return Status::error(ErrorCode::kCorruption,
                         device_->path() + ": there cannot be a " + in_words(id));
  }
  const std::lock_guard lock(mutex_);
  return open_locked(id.snapshot(), id.soc());
}

Result<const SnapshotFiles::OpenFile*> SnapshotFiles::open_locked(page::SnapshotNumber snapshot,
                                                                  std::uint32_t soc) {
  OpenFile* entry = find(snapshot, soc);
  if (entry != nullptr && entry->owned != nullptr) return entry;
  const std::string name = snapshot_name(snapshot, soc);
  auto opened = device_->open(name, access_);
  if (opened.code() == ErrorCode::kNotFound) {
    return Status::error(ErrorCode::kCorruption, device_->path() + "/" + name +
                                                     " is missing, and pages of it are needed");
  }
  FOEDUS_TRY(auto file, std::move(opened));
  FOEDUS_CHECK(check_page_0(*file, snapshot, soc));
  const bool is_new = entry == nullptr;
  if (is_new) {
    all_.push_back(std::make_unique<OpenFile>());
    entry = all_.back().get();
    entry->snapshot = snapshot;
    entry->soc = soc;
  }
  entry->owned = std::move(file);
  entry->file.store_release(entry->owned.get());  // order: release, pairs with entry_of()
  if (is_new) {
    base::AtomicWord<OpenFile*>& bucket = buckets_[bucket_of(snapshot, soc)];
    entry->next = bucket.load_relaxed();  // order: relaxed; changed under mutex_ only
    bucket.store_release(entry);          // order: release, pairs with find()
  }
  return entry;
}

Status SnapshotFiles::check_number(page::SnapshotPageId id) const {
  if (id.page() != 0) return {};
  return Status::error(ErrorCode::kCorruption,
                       device_->path() + ": there cannot be a " + in_words(id));
}

Status SnapshotFiles::read(page::SnapshotPageId id, page::PageHeader* to) {
  FOEDUS_INVARIANT(reinterpret_cast<std::uintptr_t>(to) % page::kPageBytes == 0, to);
  FOEDUS_CHECK(check_number(id));
  FOEDUS_TRY(const device::File* const file, file_of(id));
  const bool is_far_page = is_far(*file, id);
  if (is_far_page && read_near(id, to)) return {};
  FOEDUS_TRY(const std::size_t read, file->read_at(offset_of(id), to, page::kPageBytes));
  if (read < page::kPageBytes) {
    return damaged(file->path(), id.page(), "the file ends before or in it");
  }
  FOEDUS_CHECK(check(*file, id, to));
  if (is_far_page) nvm_pages_->add(id, to);
  return {};
}

// Reads a page from its slot in the NVM cache. If the page there is not whole, the slot is freed,
// and the page is read from the SSD.
bool SnapshotFiles::read_near(page::SnapshotPageId id, page::PageHeader* to) const {
  const NvmPages::Found found = nvm_pages_->read(id, to);
  if (found == NvmPages::Found::kNothing) return false;
  const bool is_good = is_whole(id, to);
  if (!is_good || found == NvmPages::Found::kUnverified) nvm_pages_->confirm(id, is_good);
  return is_good;
}

Status SnapshotFiles::read_lines(page::SnapshotPageId id, page::LineMask lines, char* to) {
  FOEDUS_CHECK(check_number(id));
  FOEDUS_TRY(const device::File* const file, file_of(id));
  FOEDUS_INVARIANT(!file->is_direct(), id.word());
  if (is_far(*file, id) && nvm_pages_->read_lines(id, lines, to)) return {};
  const std::uint64_t offset = offset_of(id);
  const bool has_header = (lines & 1) != 0;
  device::File::Piece pieces[page::kLinesPerPage / 2];
  std::size_t count = 0;
  while (lines != 0) {
    const page::LineRun run = page::take_run(&lines);
    pieces[count++] = {offset + run.offset(), to + run.offset(), run.bytes()};
  }
  FOEDUS_TRY(const bool is_there, file->read_pieces(pieces, count));
  if (!is_there) return damaged(file->path(), id.page(), "the file ends before or in it");
  const auto* const header = reinterpret_cast<const page::PageHeader*>(to);
  if (has_header && header->page_id != id.word()) {
    return damaged(file->path(), id.page(),
                   "it says that it is " + in_words(page::SnapshotPageId(header->page_id)));
  }
  return {};
}

// Returns false also on an error of the file; the read of the page will return that error.
bool SnapshotFiles::has_lines(page::SnapshotPageId id) {
  if (nvm_pages_ == nullptr) return true;  // the usual case: there is one tier
  const Result<const device::File*> file = file_of(id);
  if (!file.is_ok()) return false;
  return (*file)->has_small_reads(offset_of(id)) || nvm_pages_->has_lines(id);
}

Result<std::uint32_t> SnapshotFiles::read_run(page::SnapshotPageId first, page::PageBytes* to,
                                              std::uint32_t count) {
  FOEDUS_TRY(const device::File* const file, file_of(first));
  const std::uint64_t offset = std::uint64_t{first.page()} * page::kPageBytes;
  FOEDUS_TRY(const std::size_t read, file->read_at(offset, to, count * page::kPageBytes));
  return static_cast<std::uint32_t>(read / page::kPageBytes);
}

Status SnapshotFiles::check(page::SnapshotPageId id, const page::PageHeader* page) {
  FOEDUS_TRY(const device::File* const file, file_of(id));
  return check(*file, id, page);
}

void SnapshotFiles::will_read(page::SnapshotPageId id) {
  const Result<const device::File*> file = file_of(id);
  if (!file.is_ok()) return;
  (*file)->will_read(std::uint64_t{id.page()} * page::kPageBytes, page::kPageBytes);
}

class SnapshotFiles::Reads final : public PageReads {
 public:
  Reads(SnapshotFiles* files, std::unique_ptr<device::IoQueue> queue)
      : files_(files), queue_(std::move(queue)) {}

  bool add(page::SnapshotPageId first, page::PageHeader* const* to, std::uint32_t count,
           std::uint32_t tag) override {
    FOEDUS_INVARIANT(count >= 1 && count <= kPagesMax && tag < kReadsMax, count, tag);
    if (first.page() == 0) return false;
    const OpenFile* entry = nullptr;
    base::trying([&] {
      const Result<const OpenFile*> found = files_->entry_of(first);
      if (found.is_ok()) entry = *found;
    });
    if (entry == nullptr) return false;
    // A page in the NVM cache is not read ahead: PageCache::find() reads it without a wait.
    const bool is_far = files_->is_far(*entry->owned, first);
    if (is_far && count == 1 && files_->nvm_pages_->has(first)) return false;
    device::Bytes parts[kPagesMax];
    for (std::uint32_t i = 0; i < count; ++i) parts[i] = {to[i], page::kPageBytes};
    const std::uint64_t offset = std::uint64_t{first.page()} * page::kPageBytes;
    if (!queue_->add_read(entry->owned, offset, parts, count, tag)) return false;
    reads_[tag].first = first;
    reads_[tag].count = count;
    reads_[tag].is_far = is_far;
    std::copy_n(to, count, reads_[tag].to);
    return true;
  }
  void send() override { queue_->send(); }
  bool next(bool waits, std::uint32_t* tag, std::uint32_t* good) override {
    device::IoQueue::Done done;
    if (!queue_->next(waits, &done)) return false;
    const Read& read = reads_[done.tag];
    *tag = done.tag;
    *good = 0;
    const std::size_t whole = done.bytes / page::kPageBytes;
    for (std::uint32_t i = 0; i < whole; ++i) {
      const bool is_good = files_->is_whole(read.first.plus(i), read.to[i]);
      *good |= static_cast<std::uint32_t>(is_good) << i;
      if (is_good && read.is_far) files_->nvm_pages_->add(read.first.plus(i), read.to[i]);
    }
    return true;
  }

 private:
  struct Read {
    page::SnapshotPageId first;
    std::uint32_t count;
    bool is_far;
    const page::PageHeader* to[kPagesMax];
  };
  SnapshotFiles* const files_;
  Read reads_[kReadsMax] = {};
  const std::unique_ptr<device::IoQueue> queue_;  // destroyed first: it waits for reads in flight
};
static_assert(PageReads::kReadsMax <= device::IoQueue::kRequestsMax);
static_assert(PageReads::kPagesMax <= device::IoQueue::kPartsMax);

std::unique_ptr<PageReads> SnapshotFiles::make_reads() {
  auto queue = pool_ == nullptr ? device_->make_io_queue() : pool_->make_queue();
  if (queue == nullptr) return nullptr;
  return std::make_unique<Reads>(this, std::move(queue));
}

std::vector<SnapshotName> SnapshotFiles::open_files() {
  const std::lock_guard lock(mutex_);
  std::vector<SnapshotName> names;
  for (const auto& entry : all_) {
    if (entry->owned != nullptr) names.push_back({entry->snapshot, entry->soc});
  }
  return names;
}

void SnapshotFiles::close(page::SnapshotNumber snapshot, std::uint32_t soc) {
  const std::lock_guard lock(mutex_);
  OpenFile* const entry = find(snapshot, soc);
  if (entry == nullptr) return;
  entry->file.store_release(nullptr);  // order: release, not needed: by REQUIRES no thread reads
  entry->owned.reset();
}

}  // namespace foedus::snapshot
