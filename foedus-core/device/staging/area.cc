#include "foedus-core/device/staging/area.h"

#include <algorithm>
#include <cstddef>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/invariant.h"

namespace foedus::device {

namespace {

constexpr std::uint64_t kStagingMagic = 0x4749415453444546;  // "FEDSTAIG"
constexpr std::uint32_t kStagingVersion = 1;

// Block 0 of the file; the rest of it is zero.
struct AreaHeader {
  std::uint64_t magic;    // +8 -> 8
  std::uint32_t version;  // +4 -> 12
  std::uint32_t crc;      // +4 -> 16  of the other fields
  std::uint32_t buckets;  // +4 -> 20
  std::uint32_t slots;    // +4 -> 24
};
static_assert(sizeof(AreaHeader) == 24);

std::uint32_t crc_of(AreaHeader header) {
  header.crc = 0;
  return base::crc32c(&header, sizeof(header));
}

// ---- the word of a bucket: 16 bits of a checksum, 47 of the sequence number, 1 for "in use"

constexpr unsigned kCheckShift = 48;

std::uint64_t sealed_word(std::uint32_t bucket, std::uint64_t bits) {
  const std::uint64_t words[2] = {bucket, bits};
  const std::uint64_t check = base::crc32c(words, sizeof(words)) & 0xffff;
  return check << kCheckShift | bits;
}

Status damaged(const std::string& path, const std::string& what) {
  return Status::error(ErrorCode::kCorruption, path + " is damaged: " + what);
}

}  // namespace

struct StagingArea::Key {
  std::uint64_t sequence;  // +8 -> 8
  std::uint64_t target;    // +8 -> 16
  std::uint64_t page;      // +8 -> 24
  std::uint32_t crc;       // +4 -> 28  V27
  std::uint32_t zero;      // +4 -> 32
};

// ---- the file ----------------------------------------------------------------------------------

Result<std::unique_ptr<StagingArea>> StagingArea::find(Device* device, std::string_view name,
                                                       Access access) {
  auto opened = device->open(name, access);
  if (opened.code() == ErrorCode::kNotFound) return std::unique_ptr<StagingArea>();
  FOEDUS_TRY(auto file, std::move(opened));
  AreaHeader header = {};
  FOEDUS_TRY(const std::size_t read, file->read_at(0, &header, sizeof(header)));
  static_cast<void>(read);  // what is missing is zero
  if (header.magic == 0) return std::unique_ptr<StagingArea>();
  if (header.magic != kStagingMagic) return damaged(file->path(), "it does not begin like an area");
  if (header.version != kStagingVersion) {
    return Status::error(ErrorCode::kWrongVersion,
                         file->path() + " has format version " + std::to_string(header.version) +
                             ", this program knows " + std::to_string(kStagingVersion));
  }
  if (header.crc != crc_of(header)) return damaged(file->path(), "the header's checksum is wrong");
  std::unique_ptr<StagingArea> area(new StagingArea({header.buckets, header.slots}));
  area->to_write_ = std::move(file);
  FOEDUS_CHECK(area->check_size());
  FOEDUS_CHECK(area->open_to_read(device, name));
  return area;
}

// Checks that the file has all buckets. A header that was forged may name more of them than an
// offset can tell, so the bytes are divided by those of a bucket.
Status StagingArea::check_size() const {
  FOEDUS_TRY(const std::uint64_t bytes, to_write_->size());
  if (bytes >= kBlockBytes && (bytes - kBlockBytes) / bucket_bytes() >= shape_.buckets) return {};
  return damaged(path(), "it has " + std::to_string(bytes) + " bytes, too few for " +
                             std::to_string(shape_.buckets) + " buckets of " +
                             std::to_string(shape_.slots) + " slots");
}

// Writes the header last: until it is there, the file holds nothing.
Result<std::unique_ptr<StagingArea>> StagingArea::make(Device* device, std::string_view name,
                                                       const Shape& shape) {
  FOEDUS_INVARIANT(shape.buckets != 0 && shape.slots != 0, shape.buckets, shape.slots);
  FOEDUS_CHECK(unless_gone(device->remove(name)));
  std::unique_ptr<StagingArea> area(new StagingArea(shape));
  FOEDUS_TRY(area->to_write_, device->open(name, Access::kCreate));
  File* const file = area->to_write_.get();
  FOEDUS_CHECK(file->preallocate(area->bucket_offset(shape.buckets)));
  FOEDUS_CHECK(file->sync());
  AreaHeader header{.magic = kStagingMagic,
                    .version = kStagingVersion,
                    .crc = 0,
                    .buckets = shape.buckets,
                    .slots = shape.slots};
  header.crc = crc_of(header);
  FOEDUS_CHECK(file->write_at(0, &header, sizeof(header)));
  FOEDUS_CHECK(file->sync());
  FOEDUS_CHECK(device->sync_directory());
  FOEDUS_CHECK(area->open_to_read(device, name));
  return area;
}

// Opens a second object for reads alone, which is mapped where the first one is not
// (EmulatedDevice).
Status StagingArea::open_to_read(Device* device, std::string_view name) {
  FOEDUS_TRY(to_read_, device->open(name, Access::kRead));
  return {};
}

std::uint64_t StagingArea::head_bytes() const {
  const std::uint64_t bytes = kSectorBytes + std::uint64_t{shape_.slots} * sizeof(Key);
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

std::uint64_t StagingArea::bucket_bytes() const {
  return head_bytes() + std::uint64_t{shape_.slots} * kBlockBytes;
}

std::uint64_t StagingArea::bucket_offset(std::uint32_t bucket) const {
  return kBlockBytes + bucket * bucket_bytes();
}

// Returns the offset of a slot's key. The word of a bucket has a sector to itself.
std::uint64_t StagingArea::key_offset(std::uint32_t bucket, std::uint32_t slot) const {
  return bucket_offset(bucket) + kSectorBytes + slot * sizeof(Key);
}

std::uint64_t StagingArea::slot_offset(std::uint32_t bucket, std::uint32_t slot) const {
  return bucket_offset(bucket) + head_bytes() + std::uint64_t{slot} * kBlockBytes;
}

// ---- buckets -----------------------------------------------------------------------------------

Result<std::vector<StagingArea::State>> StagingArea::states() const {
  std::vector<State> states(shape_.buckets);
  for (std::uint32_t bucket = 0; bucket < shape_.buckets; ++bucket) {
    std::uint64_t word = 0;
    FOEDUS_TRY(const std::size_t read,
               to_read_->read_at(bucket_offset(bucket), &word, sizeof(word)));
    if (read < sizeof(word)) return damaged(path(), "it was cut");
    if (word == 0) continue;
    const std::uint64_t bits = word & ((std::uint64_t{1} << kCheckShift) - 1);
    if (word != sealed_word(bucket, bits)) {
      return damaged(path(), "the word of bucket " + std::to_string(bucket));
    }
    states[bucket] = {bits >> 1, (bits & 1) != 0 ? Mark::kInUse : Mark::kEmpty};
  }
  return states;
}

Status StagingArea::mark(std::uint32_t bucket, std::uint64_t sequence, Mark mark) {
  FOEDUS_INVARIANT(bucket < shape_.buckets, bucket);
  FOEDUS_INVARIANT(sequence != 0 && sequence >> (kCheckShift - 1) == 0, sequence);
  const std::uint64_t word =
      sealed_word(bucket, sequence << 1 | (mark == Mark::kInUse ? 1u : 0u));
  const std::uint64_t failed_before = syncs_.failed();
  FOEDUS_CHECK(to_write_->write_at(bucket_offset(bucket), &word, sizeof(word)));
  return syncs_.sync(to_write_.get(), failed_before);
}

StagingArea::Key StagingArea::key_of(std::uint32_t bucket, std::uint64_t sequence,
                                     std::uint32_t slot, const StagedPage& page) const {
  Key key{.sequence = sequence,
          .target = page.key.target,
          .page = page.key.page,
          .crc = 0,
          .zero = 0};
  const std::uint32_t place[2] = {bucket, slot};
  key.crc = base::crc32c(page.bytes, kBlockBytes,
                         base::crc32c(place, sizeof(place), base::crc32c(&key, sizeof(key))));
  return key;
}

// Writes slots and keys, in any order: a key without its slot has the wrong checksum.
Status StagingArea::write(std::uint32_t bucket, std::uint64_t sequence, std::uint32_t first_slot,
                          const StagedPage* pages, std::size_t count) {
  FOEDUS_INVARIANT(bucket < shape_.buckets, bucket);
  FOEDUS_INVARIANT(first_slot + count <= shape_.slots, first_slot, count);
  const std::uint64_t failed_before = syncs_.failed();
  for (std::size_t begin = 0; begin < count;) {
    ConstBytes parts[File::kWritePartsMax];
    const std::size_t most = std::min(count - begin, File::kWritePartsMax);
    for (std::size_t i = 0; i < most; ++i) parts[i] = {pages[begin + i].bytes, kBlockBytes};
    const auto slot = static_cast<std::uint32_t>(first_slot + begin);
    FOEDUS_CHECK(to_write_->write_parts_at(slot_offset(bucket, slot), parts, most));
    begin += most;
  }
  constexpr std::size_t kKeysAtOnce = 64;
  for (std::size_t begin = 0; begin < count;) {
    Key keys[kKeysAtOnce];
    const std::size_t most = std::min(count - begin, kKeysAtOnce);
    const auto slot = static_cast<std::uint32_t>(first_slot + begin);
    for (std::uint32_t i = 0; i < most; ++i) {
      keys[i] = key_of(bucket, sequence, slot + i, pages[begin + i]);
    }
    FOEDUS_CHECK(to_write_->write_at(key_offset(bucket, slot), keys, most * sizeof(Key)));
    begin += most;
  }
  return syncs_.sync(to_write_.get(), failed_before);
}

Status StagingArea::read(std::uint32_t bucket, std::uint32_t slot, void* to) const {
  FOEDUS_TRY(const std::size_t read,
             to_read_->read_at(slot_offset(bucket, slot), to, kBlockBytes));
  return read == kBlockBytes ? Status() : damaged(path(), "it was cut");
}

Result<std::vector<std::optional<StagedKey>>> StagingArea::keys(std::uint32_t bucket,
                                                                std::uint64_t sequence) const {
  std::vector<Key> found(shape_.slots);
  FOEDUS_TRY(const std::size_t read,
             to_read_->read_at(key_offset(bucket, 0), found.data(), found.size() * sizeof(Key)));
  if (read < found.size() * sizeof(Key)) return damaged(path(), "it was cut");
  std::vector<std::optional<StagedKey>> keys(shape_.slots);
  std::vector<char> page(kBlockBytes);
  for (std::uint32_t slot = 0; slot < shape_.slots; ++slot) {
    if (found[slot].sequence != sequence) continue;
    FOEDUS_CHECK(this->read(bucket, slot, page.data()));
    const StagedKey key{found[slot].target, found[slot].page};
    if (found[slot].crc != key_of(bucket, sequence, slot, {key, page.data()}).crc) continue;
    keys[slot] = key;
  }
  return keys;
}

}  // namespace foedus::device
