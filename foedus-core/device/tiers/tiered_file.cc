#include "foedus-core/device/tiers/tiered_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/device/tier_names.h"

namespace foedus::device {

namespace {

constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};

// Returns how many of the `bytes` bytes from `offset` on lie in its extent.
std::size_t within_extent(std::uint64_t offset, std::size_t bytes) {
  return std::min<std::size_t>(bytes, kExtentBytes - offset % kExtentBytes);
}

}  // namespace

// ---- to be read --------------------------------------------------------------------------------

TieredFile::TieredFile(Device* behind, std::string_view name, std::shared_ptr<const File> nvm,
                       std::shared_ptr<const ExtentMap> map, StagedPart staged, Access ssd)
    : behind_(behind),
      ssd_name_(ssd_name(name)),
      nvm_(std::move(nvm)),
      map_(std::move(map)),
      staged_(std::move(staged)),
      ssd_access_(ssd) {}

Result<std::unique_ptr<TieredFile>> TieredFile::open(Device* behind, std::string_view name,
                                                     std::shared_ptr<const File> nvm,
                                                     std::shared_ptr<const ExtentMap> map,
                                                     StagedPart staged, Access ssd) {
  const bool has_ssd = map->count_on_ssd() != 0;
  std::unique_ptr<TieredFile> file(
      new TieredFile(behind, name, std::move(nvm), std::move(map), std::move(staged), ssd));
  if (has_ssd) FOEDUS_CHECK(file->ssd().status());
  return file;
}

Result<const File*> TieredFile::ssd() const {
  // order: acquire, pairs with the store below: the file object is complete.
  const File* const known = ssd_.load_acquire();
  if (known != nullptr) return known;
  const std::lock_guard lock(mutex_);
  if (ssd_owned_ == nullptr) {
    auto opened = behind_->open(ssd_name_, ssd_access_);
    if (opened.code() == ErrorCode::kNotFound) {
      return Status::error(ErrorCode::kCorruption,
                           behind_->path() + ": " + ssd_name_ + " is missing in the directories of "
                           "the SSD tier, and pages of it are needed");
    }
    FOEDUS_TRY(ssd_owned_, std::move(opened));
    ssd_.store_release(ssd_owned_.get());  // order: release, pairs with the load above
  }
  return ssd_owned_.get();
}

bool TieredFile::is_on_memory(std::uint64_t offset, std::uint64_t bytes) const {
  for (std::uint64_t at = offset / kExtentBytes; at * kExtentBytes < offset + bytes; ++at) {
    if (map_->is_on_ssd(at)) return false;
  }
  return true;
}

std::shared_ptr<const File> TieredFile::part_of(std::uint64_t offset, std::uint64_t bytes,
                                                bool* on_ssd) const {
  const std::uint64_t begin = offset / kExtentBytes;
  *on_ssd = map_->is_on_ssd(begin);
  if (!*on_ssd) {
    map_->note_read(begin);
    return is_on_memory(offset, bytes) ? nvm_ : nullptr;
  }
  if (has_staged()) return nullptr;
  for (std::uint64_t at = begin + 1; at * kExtentBytes < offset + bytes; ++at) {
    if (!map_->is_on_ssd(at)) return nullptr;
  }
  std::shared_ptr<const File> part;
  base::trying([&] {
    if (ssd().is_ok()) part = ssd_owned_;
  });
  return part;
}

// Checks the map after a read from memory (V25): if the extent is on the SSD by then, the bytes may
// be zeroes.
Result<std::size_t> TieredFile::read_extent(std::uint64_t offset, void* to,
                                            std::size_t bytes) const {
  const std::uint64_t extent = offset / kExtentBytes;
  if (!map_->is_on_ssd(extent)) {
    map_->note_read(extent);
    Result<std::size_t> read = nvm_->read_at(offset, to, bytes);
    base::fence_reader();
    if (!map_->is_on_ssd(extent)) return read;
  }
  if (has_staged()) return read_staged(offset, to, bytes);
  FOEDUS_TRY(const File* const file, ssd());
  return file->read_at(offset, to, bytes);
}

// Reads page by page (V31). Bytes of a part of a page are taken from a copy of it.
Result<std::size_t> TieredFile::read_staged(std::uint64_t offset, void* to,
                                            std::size_t bytes) const {
  FOEDUS_TRY(const File* const file, ssd());
  alignas(kBlockBytes) char page[kBlockBytes];
  for (std::size_t done = 0; done < bytes;) {
    const std::uint64_t inside = (offset + done) % kBlockBytes;
    const std::uint64_t begin = offset + done - inside;
    const std::size_t count = std::min<std::size_t>(bytes - done, kBlockBytes - inside);
    FOEDUS_TRY(const bool is_staged,
               staged_.buffer->read(*staged_.target, begin / kBlockBytes, page));
    if (!is_staged) {
      FOEDUS_TRY(const std::size_t read, file->read_at(begin, page, kBlockBytes));
      if (read < inside + count) return done + (read > inside ? read - inside : 0);
    }
    std::memcpy(static_cast<char*>(to) + done, page + inside, count);
    done += count;
  }
  return bytes;
}

Result<std::size_t> TieredFile::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t count = within_extent(offset + done, bytes - done);
    FOEDUS_TRY(const std::size_t read,
               read_extent(offset + done, static_cast<char*>(to) + done, count));
    done += read;
    if (read < count) break;
  }
  return done;
}

Result<std::size_t> TieredFile::read_parts_at(std::uint64_t offset, const Bytes* parts,
                                              std::size_t count) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += parts[i].bytes;
  bool on_ssd = false;
  const std::shared_ptr<const File> part = part_of(offset, bytes, &on_ssd);
  if (part != nullptr) {
    Result<std::size_t> read = part->read_parts_at(offset, parts, count);
    base::fence_reader();
    if (on_ssd || is_on_memory(offset, bytes)) return read;
  }
  return File::read_parts_at(offset, parts, count);
}

void TieredFile::will_read(std::uint64_t offset, std::size_t bytes) const {
  bool on_ssd = false;
  const std::shared_ptr<const File> part = part_of(offset, bytes, &on_ssd);
  if (part != nullptr) part->will_read(offset, bytes);
}

Result<bool> TieredFile::read_pieces(const Piece* pieces, std::size_t count) const {
  const auto are_on_memory = [&] {
    return std::all_of(pieces, pieces + count, [&](const Piece& piece) {
      return is_on_memory(piece.offset, piece.bytes);
    });
  };
  if (are_on_memory()) {
    map_->note_read(pieces[0].offset / kExtentBytes);
    Result<bool> read = nvm_->read_pieces(pieces, count);
    base::fence_reader();
    if (are_on_memory()) return read;
  }
  alignas(kBlockBytes) char block[kBlockBytes];
  std::uint64_t block_at = kNoBlock;
  for (std::size_t i = 0; i < count; ++i) {
    FOEDUS_TRY(const bool is_there, read_piece(pieces[i], &block_at, block));
    if (!is_there) return false;
  }
  return true;
}

// Reads by whole blocks, as direct I/O must. `block` holds the one that begins at `*block_at`.
Result<bool> TieredFile::read_piece(const Piece& piece, std::uint64_t* block_at,
                                    char* block) const {
  for (std::size_t done = 0; done < piece.bytes;) {
    const std::uint64_t offset = piece.offset + done;
    const std::uint64_t inside = offset % kBlockBytes;
    if (*block_at != offset - inside) {
      *block_at = kNoBlock;
      FOEDUS_TRY(const std::size_t read, read_extent(offset - inside, block, kBlockBytes));
      if (read < kBlockBytes) return false;
      *block_at = offset - inside;
    }
    const std::size_t count = std::min<std::size_t>(piece.bytes - done, kBlockBytes - inside);
    std::memcpy(static_cast<char*>(piece.to) + done, block + inside, count);
    done += count;
  }
  return true;
}

Status TieredFile::refused() const {
  return Status::error(ErrorCode::kNotSupported, path() + " cannot be changed any more");
}
Status TieredFile::write_parts_at(std::uint64_t, const ConstBytes*, std::size_t) {
  return refused();
}
Status TieredFile::sync() { return refused(); }
Status TieredFile::preallocate(std::uint64_t) { return refused(); }
Status TieredFile::truncate(std::uint64_t) { return refused(); }

// ---- to be made --------------------------------------------------------------------------------

NewTieredFile::NewTieredFile(Device* behind, ExtentRoom* room, std::string name,
                             std::unique_ptr<File> nvm)
    : behind_(behind), room_(room), name_(std::move(name)), nvm_(std::move(nvm)) {}

NewTieredFile::~NewTieredFile() {
  if (is_finished_) return;
  const auto on_ssd = static_cast<std::uint64_t>(std::count(on_ssd_.begin(), on_ssd_.end(), true));
  room_->give_back(on_ssd_.size() - on_ssd, on_ssd);
}

Status NewTieredFile::refused() const {
  return Status::error(ErrorCode::kNotSupported, path() + " can only be written front to back");
}
Result<std::size_t> NewTieredFile::read_at(std::uint64_t, void*, std::size_t) const {
  return refused();
}
Status NewTieredFile::preallocate(std::uint64_t) { return refused(); }
Status NewTieredFile::truncate(std::uint64_t) { return refused(); }

Status NewTieredFile::write_parts_at(std::uint64_t offset, const ConstBytes* parts,
                                     std::size_t count) {
  if (offset != end_ || is_finished_) return refused();
  for (std::size_t i = 0; i < count; ++i) {
    FOEDUS_CHECK(write_bytes(static_cast<const char*>(parts[i].data), parts[i].bytes));
  }
  return {};
}

// Writes neighbouring extents that lie in the same part with one write.
Status NewTieredFile::write_bytes(const char* from, std::size_t bytes) {
  while (bytes != 0) {
    const std::uint64_t first = end_ / kExtentBytes;
    const std::uint64_t behind = extents_of(end_ + bytes);
    while (on_ssd_.size() < behind) {
      bool on_ssd = false;
      FOEDUS_CHECK(room_->take_extent(&on_ssd));
      on_ssd_.push_back(on_ssd);
    }
    std::uint64_t last = first;
    while (last + 1 < behind && on_ssd_[last + 1] == on_ssd_[first]) ++last;
    const std::size_t count = std::min<std::size_t>(bytes, (last + 1) * kExtentBytes - end_);
    FOEDUS_CHECK(write_extent(from, count));
    from += count;
    bytes -= count;
    end_ += count;
  }
  return {};
}

// Writes to one part. If memory is full before its limit is reached, extents that would begin there
// go to the SSD.
Status NewTieredFile::write_extent(const char* from, std::size_t bytes) {
  const std::uint64_t first = end_ / kExtentBytes;
  if (!on_ssd_[first]) {
    Status written = nvm_->write_at(end_, from, bytes);
    if (written.code() != ErrorCode::kOutOfSpace || end_ % kExtentBytes != 0) return written;
    for (std::uint64_t i = first; i < extents_of(end_ + bytes); ++i) {
      bool on_ssd = true;
      if (!room_->take_extent(&on_ssd).is_ok()) return written;
      room_->give_back(1, 0);
      on_ssd_[i] = true;
    }
  }
  if (ssd_ == nullptr) FOEDUS_CHECK(open_ssd());
  return staged_.target != nullptr ? stage(from, bytes) : ssd_->write_at(end_, from, bytes);
}

Status NewTieredFile::open_ssd() {
  FOEDUS_TRY(ssd_, behind_->open(ssd_name(name_), Access::kCreateDirect));
  FOEDUS_TRY(staged_, room_->stage(name_, ssd_));
  return {};
}

// Stages pages (V32). The part on the SSD has a hole where extents lie on memory, and space for
// staged pages. So a full SSD is an error now, and not after pages were acknowledged. The flusher
// may write to the file meanwhile, but only before its end.
Status NewTieredFile::stage(const char* from, std::size_t bytes) {
  FOEDUS_INVARIANT(end_ % kBlockBytes == 0 && bytes % kBlockBytes == 0, end_, bytes);
  if (reserved_ != end_) FOEDUS_CHECK(ssd_->truncate(end_));
  reserved_ = end_ + bytes;
  FOEDUS_CHECK(ssd_->preallocate(reserved_));
  return staged_.buffer->write(staged_.target, end_ / kBlockBytes, from, bytes / kBlockBytes);
}

// Ends the file (V23, V32). Its names become durable with that of the manifest.
Status NewTieredFile::sync() {
  auto map = std::make_shared<ExtentMap>(end_);
  if (ssd_ != nullptr) {
    for (std::uint64_t i = 0; i < on_ssd_.size(); ++i) {
      if (on_ssd_[i]) map->set_on_ssd(i);
    }
    if (staged_.target == nullptr) FOEDUS_CHECK(ssd_->sync());
    FOEDUS_TRY(const auto file, behind_->open(tiers_name(name_), Access::kCreate));
    FOEDUS_CHECK(map->write(file.get()));
    FOEDUS_CHECK(nvm_->truncate(end_));  // the length of the whole file
  }
  FOEDUS_CHECK(nvm_->sync());
  room_->add_finished(name_, std::move(map));
  is_finished_ = true;
  return {};
}

}  // namespace foedus::device
