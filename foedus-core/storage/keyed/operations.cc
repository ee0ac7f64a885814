#include "foedus-core/storage/keyed/operations.h"

#include <algorithm>

namespace foedus::storage::keyed {

Status tries_exhausted(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  if (ctx.cold_pages().has_failed()) return ctx.no_page(control);
  return ctx.conflict(ConflictReason::kRetryBound, control, key);
}

Status outside(occ::StorageControl* control, std::string_view key, std::uint32_t offset,
               std::size_t bytes, std::size_t payload_bytes) {
  Status status = Status::error(
      ErrorCode::kInvalidArgument,
      "bytes [" + std::to_string(offset) + ", " + std::to_string(offset + bytes) +
          ") are not all inside of the payload of " + std::to_string(payload_bytes) + " bytes");
  status.at_storage(control->meta.name);
  return std::move(status.at_key(key.data(), key.size()));
}

namespace {

bool is_inline_put(const occ::WriteEntry& entry) {
  return entry.log->type == LogRecordType::kPut && entry.overflow == 0;
}

bool is_part(const occ::WriteEntry& entry) {
  return entry.log->type == LogRecordType::kWriteAt || entry.log->type == LogRecordType::kIncrement;
}

}  // namespace

std::size_t inline_bytes_of(occ::TxnContext& ctx, const page::RecordHeader* record) {
  std::size_t most = 0;
  for (const occ::WriteEntry& entry : ctx.sets().writes().entries()) {
    if (entry.record != record || !is_inline_put(entry)) continue;
    most = std::max<std::size_t>(most, entry.log->payload_bytes());
  }
  return most;
}

Status put_into_chains(occ::TxnContext& ctx, const occ::WriteEntry& entry) {
  for (const occ::WriteEntry& other : ctx.sets().writes().entries()) {
    if (!is_part(other) || other.record != entry.record) continue;
    return ctx.conflict(ConflictReason::kRecordChanged, entry.storage, entry.log->key());
  }
  for (occ::WriteEntry& other : ctx.sets().writes().entries()) {
    if (!is_inline_put(other) || other.record != entry.record) continue;
    FOEDUS_TRY(other.overflow, write_overflow(ctx, entry.storage, other.log->payload()));
  }
  return {};
}

}  // namespace foedus::storage::keyed
