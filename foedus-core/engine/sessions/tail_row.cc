#include "foedus-core/engine/sessions/tail_row.h"

#include <cstring>

#include "foedus-core/base/increment.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/kinds.h"
#include "foedus/options.h"

namespace foedus::engine {

namespace {

namespace array = storage::array;
using log::LogRecordType;

constexpr std::size_t kFirstGuess = 512;

}  // namespace

std::uint64_t index_of_key(std::string_view key) {
  std::uint64_t index;
  FOEDUS_INVARIANT(key.size() == sizeof(index), key.size());
  std::memcpy(&index, key.data(), sizeof(index));
  return index;
}

Status look_for(occ::TxnContext& txn, occ::StorageControl* control, std::string_view key) {
  occ::ReadRange nothing;
  if (control->meta.kind == StorageKind::kArray) {
    return array::get(txn, control, index_of_key(key), &nothing);
  }
  return storage::visit_keyed(control->meta.kind,
                              [&](auto kind) { return kind.get(txn, control, key, &nothing); });
}

bool TailRow::is_whole(const log::LogRecord& record) const {
  if (record.type == LogRecordType::kPut || record.type == LogRecordType::kErase) return true;
  return is_array() && record.type == LogRecordType::kWriteAt && record.payload_offset == 0 &&
         record.payload_bytes() == control_->meta.payload_bytes;
}

Status TailRow::read_before(occ::TxnContext& txn, std::string_view key,
                            occ::ReadRange* range) const {
  if (is_array()) return array::get_in_snapshot(txn, control_, root_, index_of_key(key), range);
  return storage::visit_keyed(control_->meta.kind, [&](auto kind) {
    return kind.get_in_snapshot(txn, control_, root_, key, range);
  });
}

Status TailRow::read(occ::TxnContext& txn, std::string_view key) {
  is_there_ = is_array();
  if (root_.is_null()) {
    payload_.assign(is_array() ? control_->meta.payload_bytes : 0, '\0');
    return {};
  }
  payload_.resize(is_array() ? control_->meta.payload_bytes : kFirstGuess);
  for (;;) {
    occ::ReadRange range;
    range.out = payload_.data();
    range.out_bytes = static_cast<std::uint32_t>(payload_.size());
    Status status = read_before(txn, key, &range);
    is_there_ = status.is_ok();
    if (status.code() == ErrorCode::kNotFound) return {};
    FOEDUS_CHECK(std::move(status));
    const std::size_t room = payload_.size();
    if (!is_array()) payload_.resize(range.payload_bytes);
    if (payload_.size() <= room) return {};
  }
}

Status TailRow::contradiction(const log::LogRecord& record) const {
  Status status =
      Status::error(ErrorCode::kCorruption, "the log changes bytes that no such row has");
  return std::move(
      status.at_storage(control_->meta.name).at_key(record.key_data(), record.key_bytes));
}

Status TailRow::change(const log::LogRecord& record) {
  const std::string_view bytes = record.payload();
  const std::uint64_t end = record.payload_offset + std::uint64_t{bytes.size()};
  if (!is_array() && (record.key_bytes > kMaxKeyBytes || end > kMaxPayloadBytes)) {
    return contradiction(record);
  }
  switch (record.type) {
    case LogRecordType::kPut:
      is_there_ = true;
      payload_ = bytes;
      if (!is_array() || bytes.size() == control_->meta.payload_bytes) return {};
      return contradiction(record);
    case LogRecordType::kErase:
      is_there_ = false;
      return {};
    case LogRecordType::kWriteAt:
      if (is_whole(record)) {
        is_there_ = true;
        payload_.resize(bytes.size());
      }
      if (!is_there_ || end > payload_.size()) return contradiction(record);
      payload_.replace(record.payload_offset, bytes.size(), bytes);
      return {};
    case LogRecordType::kIncrement: {
      if (!is_there_ || end > payload_.size() || bytes.size() != sizeof(std::uint64_t)) {
        return contradiction(record);
      }
      base::increment(payload_.data() + record.payload_offset, bytes.data());
      return {};
    }
    default:
      return contradiction(record);
  }
}

Status TailRow::write(occ::TxnContext& txn, std::string_view key) const {
  if (is_array()) return array::write_at(txn, control_, index_of_key(key), 0, payload_);
  return storage::visit_keyed(control_->meta.kind, [&](auto kind) {
    if (is_there_) {
      return kind.write_whole(txn, control_, storage::WriteMode::kPut, key, payload_);
    }
    Status erased = kind.erase(txn, control_, key);
    return erased.code() == ErrorCode::kNotFound ? Status() : std::move(erased);
  });
}

}  // namespace foedus::engine
