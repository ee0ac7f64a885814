#include "foedus-core/snapshot/snapshot_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/snapshot/snapshot_format.h"
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
  // order: acquire, pairs with open_locked(): name and successor of the entry are there.
  OpenFile* entry = buckets_[bucket_of(snapshot, soc)].load_acquire();
  while (entry != nullptr && (entry->snapshot != snapshot || entry->soc != soc)) {
    entry = entry->next;
  }
  return entry;
}

Result<const device::File*> SnapshotFiles::file_of(page::SnapshotPageId id) {
  OpenFile* const known = find(id.snapshot(), id.soc());
  if (known != nullptr) {
    // order: acquire, pairs with open_locked(): the file object is complete.
    const device::File* const file = known->file.load_acquire();
    if (file != nullptr) return file;
  }
  const std::uint32_t snapshot = static_cast<std::uint32_t>(id.snapshot());
  if (snapshot == 0 || snapshot > kSnapshotNumberMax || id.soc() >= kMaxSocs) {
    return Status::error(ErrorCode::kCorruption,
                         device_->path() + ": there cannot be a " + in_words(id));
  }
  const std::lock_guard lock(mutex_);
  return open_locked(id.snapshot(), id.soc());
}

Result<const device::File*> SnapshotFiles::open_locked(page::SnapshotNumber snapshot,
                                                       std::uint32_t soc) {
  OpenFile* entry = find(snapshot, soc);
  if (entry != nullptr && entry->owned != nullptr) return entry->owned.get();
  const std::string name = snapshot_name(snapshot, soc);
  auto opened = device_->open(name, device::Access::kRead);
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
  entry->file.store_release(entry->owned.get());  // order: release, pairs with file_of()
  if (is_new) {
    base::AtomicWord<OpenFile*>& bucket = buckets_[bucket_of(snapshot, soc)];
    entry->next = bucket.load_relaxed();  // order: relaxed; changed under mutex_ only
    bucket.store_release(entry);          // order: release, pairs with find()
  }
  return entry->owned.get();
}

Status SnapshotFiles::read(page::SnapshotPageId id, page::PageHeader* to) {
  return read_range(id, 1, to);
}

Status SnapshotFiles::read_range(page::SnapshotPageId first, std::uint32_t count,
                                 page::PageHeader* to) {
  FOEDUS_INVARIANT(count >= 1 && count <= kFilePagesMax - first.page(), count, first.page());
  FOEDUS_INVARIANT(reinterpret_cast<std::uintptr_t>(to) % page::kPageBytes == 0, to);
  if (first.page() == 0) {
    return Status::error(ErrorCode::kCorruption,
                         device_->path() + ": there cannot be a " + in_words(first));
  }
  FOEDUS_TRY(const device::File* const file, file_of(first));
  char* const bytes = reinterpret_cast<char*>(to);
  const std::size_t wanted = std::size_t{count} * page::kPageBytes;
  FOEDUS_TRY(const std::size_t read,
             file->read_at(std::uint64_t{first.page()} * page::kPageBytes, bytes, wanted));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t begin = i * page::kPageBytes;
    const page::SnapshotPageId id = first.plus(i);
    if (read < begin + page::kPageBytes) {
      return damaged(file->path(), id.page(), "the file ends before or in it");
    }
    FOEDUS_CHECK(check(*file, id, reinterpret_cast<const page::PageHeader*>(bytes + begin)));
  }
  return {};
}

std::uint32_t SnapshotFiles::read_pages(page::SnapshotPageId first, page::PageHeader* const* to,
                                        std::uint32_t count, Status* status) {
  FOEDUS_INVARIANT(count >= 1 && count <= kFilePagesMax - first.page(), count, first.page());
  std::uint32_t done = 0;
  while (done < count) {
    const auto part = std::min<std::uint32_t>(count - done, device::File::kReadPartsMax);
    const std::uint32_t good = read_part(first.plus(done), to + done, part, status);
    done += good;
    if (good < part) break;
  }
  return done;
}

std::uint32_t SnapshotFiles::read_part(page::SnapshotPageId first, page::PageHeader* const* to,
                                       std::uint32_t count, Status* status) {
  if (first.page() == 0) {
    *status = Status::error(ErrorCode::kCorruption,
                            device_->path() + ": there cannot be a " + in_words(first));
    return 0;
  }
  const Result<const device::File*> file = file_of(first);
  if (!file.is_ok()) {
    *status = file.status();
    return 0;
  }
  device::Bytes parts[device::File::kReadPartsMax];
  for (std::uint32_t i = 0; i < count; ++i) parts[i] = {to[i], page::kPageBytes};
  const Result<std::size_t> read =
      (*file)->read_parts_at(std::uint64_t{first.page()} * page::kPageBytes, parts, count);
  if (!read.is_ok()) {
    *status = read.status();
    return 0;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const page::SnapshotPageId id = first.plus(i);
    *status = *read < (i + std::size_t{1}) * page::kPageBytes
                  ? damaged((*file)->path(), id.page(), "the file ends before or in it")
                  : check(**file, id, to[i]);
    if (!status->is_ok()) return i;
  }
  return count;
}

void SnapshotFiles::will_read(page::SnapshotPageId id) {
  const Result<const device::File*> file = file_of(id);
  if (!file.is_ok()) return;
  (*file)->will_read(std::uint64_t{id.page()} * page::kPageBytes, page::kPageBytes);
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
  entry->file.store_release(nullptr);  // order: release, of no use: REQUIRES that nobody reads
  entry->owned.reset();
}

}  // namespace foedus::snapshot
