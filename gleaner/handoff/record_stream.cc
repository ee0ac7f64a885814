#include "gleaner/handoff/record_stream.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus/options.h"

namespace foedus::gleaner {

using log::LogRecordType;

bool can_be_of(StorageKind kind, const log::LogRecord& record) {
  const std::uint32_t bytes = record.payload_bytes();
  if (kind == StorageKind::kSequential) {
    return record.type == LogRecordType::kAppend && record.key_bytes == 0 &&
           record.payload_offset == 0 && bytes <= kMaxSequentialPayloadBytes;
  }
  const bool is_array = kind == StorageKind::kArray;
  if (is_array && record.key_bytes != sizeof(std::uint64_t)) return false;
  const std::uint64_t bytes_max = is_array ? kMaxArrayPayloadBytes : kMaxPayloadBytes;
  const bool is_in_limits =
      record.key_bytes <= kMaxKeyBytes && record.payload_offset + std::uint64_t{bytes} <= bytes_max;
  if (!is_in_limits) return false;
  switch (record.type) {
    case LogRecordType::kPut: return record.payload_offset == 0;
    case LogRecordType::kWriteAt: return true;
    case LogRecordType::kErase: return !is_array && record.payload_offset == 0 && bytes == 0;
    case LogRecordType::kIncrement: return bytes == sizeof(std::uint64_t);
    default: return false;
  }
}

std::uint64_t position_of(StorageKind kind, const log::LogRecord& record) {
  return position_of(kind, record.key());
}

std::uint64_t position_of(StorageKind kind, std::string_view key) {
  switch (kind) {
    case StorageKind::kArray: {
      std::uint64_t index;
      std::memcpy(&index, key.data(), sizeof(index));
      return index;
    }
    case StorageKind::kHash: return storage::hash::hash_of(key);
    case StorageKind::kMasstree: return storage::masstree::slice_of(key);
    case StorageKind::kSequential: return 0;
  }
  FOEDUS_INVARIANT(false, kind);
  return 0;
}

bool is_before(const StreamRecord& a, const StreamRecord& b) {
  if (a.position != b.position) return a.position < b.position;
  // char_traits<char> compares as unsigned bytes, and a prefix is less.
  if (!have_equal_keys(*a.log, *b.log)) return a.log->key() < b.log->key();
  if (a.log->tid != b.log->tid) return a.log->tid < b.log->tid;
  if (a.session != b.session) return a.session < b.session;
  return a.sequence < b.sequence;
}

}  // namespace foedus::gleaner
