#include "foedus-core/log/savepoint.h"

#include <cstring>
#include <memory>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/segments/format.h"

namespace foedus::log {

namespace {

struct alignas(kBlockBytes) Slot {
  char bytes[kBlockBytes];
};

enum class SlotState : std::uint8_t { kValid, kWrongVersion, kDamaged };

Slot encode(Savepoint savepoint) {
  savepoint.magic = kSavepointMagic;
  savepoint.version = kSavepointVersion;
  savepoint.crc = 0;
  Slot slot;
  std::memset(slot.bytes, 0, sizeof(slot.bytes));
  std::memcpy(slot.bytes, &savepoint, sizeof(savepoint));
  const std::uint32_t crc = base::crc32c(slot.bytes, sizeof(slot.bytes));
  std::memcpy(slot.bytes + offsetof(Savepoint, crc), &crc, sizeof(crc));
  return slot;
}

SlotState decode(const Slot& found, Savepoint* savepoint) {
  std::memcpy(savepoint, found.bytes, sizeof(*savepoint));
  if (savepoint->magic != kSavepointMagic) return SlotState::kDamaged;  // most were never written
  constexpr std::size_t kOffset = offsetof(Savepoint, crc);
  constexpr char kZero[sizeof(savepoint->crc)] = {};
  std::uint32_t crc = base::crc32c(found.bytes, kOffset);
  crc = base::crc32c(kZero, sizeof(kZero), crc);
  crc = base::crc32c(found.bytes + kOffset + sizeof(kZero),
                     sizeof(found.bytes) - kOffset - sizeof(kZero), crc);
  if (savepoint->crc != crc) return SlotState::kDamaged;
  return savepoint->version == kSavepointVersion ? SlotState::kValid : SlotState::kWrongVersion;
}

std::uint64_t offset_of(std::uint64_t sequence) {
  return sequence % kSavepointSlots * kBlockBytes;
}

Status write_slot(device::File* file, const Savepoint& savepoint) {
  const Slot slot = encode(savepoint);
  FOEDUS_CHECK(file->write_at(offset_of(savepoint.sequence), slot.bytes, sizeof(slot.bytes)));
  return file->sync();
}

// Writes the savepoint with the next sequence number. After a failure the next attempt goes to the
// same slot, so that at most one slot is torn (L29).
Status write_next(device::File* file, Savepoint* savepoint) {
  Savepoint next = *savepoint;
  ++next.sequence;
  FOEDUS_CHECK(write_slot(file, next));
  savepoint->sequence = next.sequence;
  return {};
}

// Clears the slot unless it is valid (L29); the next sync makes that durable. Writes zeroes even
// over zeroes: an earlier start may have written these and failed to sync, so that they are not on
// the device (V2).
Status clear_torn(device::File* file, std::uint64_t offset) {
  Slot slot{};
  FOEDUS_TRY(const std::size_t read, file->read_at(offset, slot.bytes, kBlockBytes));
  Savepoint savepoint;
  if (read == kBlockBytes && decode(slot, &savepoint) == SlotState::kValid) return {};
  std::memset(slot.bytes, 0, sizeof(slot.bytes));
  return file->write_at(offset, slot.bytes, sizeof(slot.bytes));
}

}  // namespace

Savepoint empty_savepoint() {
  Savepoint savepoint{};
  for (SavepointLogger& logger : savepoint.loggers) logger.oldest = 1;
  return savepoint;
}

Result<Savepoint> read_savepoint(device::Device* device) {
  FOEDUS_TRY(const auto file, device->open(kSavepointName, device::Access::kRead));
  const auto slots = std::make_unique_for_overwrite<Slot[]>(kSavepointSlots);
  FOEDUS_TRY(const std::size_t read, file->read_at(0, slots.get(), kSavepointSlots * kBlockBytes));
  Savepoint newest{};  // its sequence number is 0: that of the first one is 1
  for (std::uint64_t i = 0; i < read / kBlockBytes; ++i) {
    Savepoint savepoint;
    const SlotState state = decode(slots[i], &savepoint);
    if (state == SlotState::kWrongVersion) {
      return Status::error(ErrorCode::kWrongVersion,
                           file->path() + " has format version " +
                               std::to_string(savepoint.version) + ", this program knows " +
                               std::to_string(kSavepointVersion));
    }
    if (state != SlotState::kValid || savepoint.sequence % kSavepointSlots != i) continue;
    if (savepoint.sequence > newest.sequence) newest = savepoint;
  }
  if (newest.sequence != 0) return newest;
  return Status::error(ErrorCode::kCorruption,
                       file->path() + ": no valid slot in its first " +
                           std::to_string(kSavepointSlots * kBlockBytes) + " bytes");
}

Status create_savepoint(device::Device* device, Savepoint* savepoint) {
  const Status removed = device->remove(kSavepointName);  // a torn one of a directory without a log
  if (!removed.is_ok() && removed.code() != ErrorCode::kNotFound) return removed;
  FOEDUS_TRY(const auto file, device->open(kSavepointName, device::Access::kCreate));
  FOEDUS_CHECK(file->preallocate(kSavepointSlots * kBlockBytes));
  FOEDUS_CHECK(write_next(file.get(), savepoint));
  return device->sync_directory();
}

Status write_savepoint(device::Device* device, Savepoint* savepoint) {
  FOEDUS_TRY(const auto file,
             device::open_existing(device, kSavepointName, device::Access::kReadWrite));
  const Status first = write_next(file.get(), savepoint);
  if (first.is_ok()) return first;
  return write_next(file.get(), savepoint);
}

Status rewrite_savepoint(device::Device* device, const Savepoint& savepoint) {
  FOEDUS_TRY(const auto file,
             device::open_existing(device, kSavepointName, device::Access::kReadWrite));
  FOEDUS_CHECK(clear_torn(file.get(), offset_of(savepoint.sequence + 1)));
  return write_slot(file.get(), savepoint);
}

}  // namespace foedus::log
