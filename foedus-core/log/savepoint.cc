#include "foedus-core/log/savepoint.h"

#include <cstring>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/log_file.h"

namespace foedus::log {

namespace {

struct alignas(kBlockBytes) Slot {
  char bytes[kBlockBytes];
};

enum class SlotState : std::uint8_t { kValid, kWrongVersion, kDamaged };

Slot encode(Savepoint savepoint) {
  savepoint.magic = kSavepointMagic;
  savepoint.version = kLogFormatVersion;
  savepoint.crc = 0;
  Slot slot;
  std::memset(slot.bytes, 0, sizeof(slot.bytes));
  std::memcpy(slot.bytes, &savepoint, sizeof(savepoint));
  const std::uint32_t crc = base::crc32c(slot.bytes, sizeof(slot.bytes));
  std::memcpy(slot.bytes + offsetof(Savepoint, crc), &crc, sizeof(crc));
  return slot;
}

SlotState decode(const Slot& found, Savepoint* savepoint) {
  Slot slot = found;
  std::memcpy(savepoint, slot.bytes, sizeof(*savepoint));
  std::memset(slot.bytes + offsetof(Savepoint, crc), 0, sizeof(savepoint->crc));
  const bool is_whole = savepoint->magic == kSavepointMagic &&
                        savepoint->crc == base::crc32c(slot.bytes, sizeof(slot.bytes));
  if (!is_whole) return SlotState::kDamaged;
  return savepoint->version == kLogFormatVersion ? SlotState::kValid : SlotState::kWrongVersion;
}

Status write_slot(device::File* file, const Savepoint& savepoint) {
  const Slot slot = encode(savepoint);
  FOEDUS_CHECK(
      file->write_at(savepoint.sequence % 2 * kBlockBytes, slot.bytes, sizeof(slot.bytes)));
  return file->sync();
}

// On failure the next attempt goes to the same slot: the other one may be the only valid one.
Status write_next(device::File* file, Savepoint* savepoint) {
  Savepoint next = *savepoint;
  ++next.sequence;
  FOEDUS_CHECK(write_slot(file, next));
  savepoint->sequence = next.sequence;
  return {};
}

// L29. The next sync makes it durable.
Status clear_torn(device::File* file, std::uint64_t offset) {
  Slot slot;
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
  Savepoint newest{};
  bool found = false;
  for (std::uint64_t i = 0; i < 2; ++i) {
    Slot slot;
    FOEDUS_TRY(const std::size_t read, file->read_at(i * kBlockBytes, slot.bytes, kBlockBytes));
    if (read < kBlockBytes) continue;
    Savepoint savepoint;
    const SlotState state = decode(slot, &savepoint);
    if (state == SlotState::kWrongVersion) {
      return Status::error(ErrorCode::kWrongVersion,
                           file->path() + " has format version " +
                               std::to_string(savepoint.version) + ", this program knows " +
                               std::to_string(kLogFormatVersion));
    }
    if (state != SlotState::kValid || savepoint.sequence % 2 != i) continue;
    if (!found || savepoint.sequence > newest.sequence) newest = savepoint;
    found = true;
  }
  if (found) return newest;
  return Status::error(ErrorCode::kCorruption,
                       file->path() + ": no valid slot at offsets 0 and 4096");
}

Status create_savepoint(device::Device* device, Savepoint* savepoint) {
  const Status removed = device->remove(kSavepointName);  // a torn one of a directory without a log
  if (!removed.is_ok() && removed.code() != ErrorCode::kNotFound) return removed;
  FOEDUS_TRY(const auto file, device->open(kSavepointName, device::Access::kCreate));
  FOEDUS_CHECK(file->preallocate(2 * kBlockBytes));
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
  FOEDUS_CHECK(clear_torn(file.get(), (savepoint.sequence + 1) % 2 * kBlockBytes));
  return write_slot(file.get(), savepoint);
}

}  // namespace foedus::log
