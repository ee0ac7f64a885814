#include "gleaner/compose/masstree/input.h"

#include <cstring>

#include "foedus-core/base/increment.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus/options.h"

namespace foedus::gleaner {

using log::LogRecord;
using log::LogRecordType;

bool MasstreeInput::is_within(std::string_view prefix, std::uint64_t last) const {
  if (next_ == nullptr) return false;
  const std::string_view key = next_->log->key();
  if (prefix.empty()) return next_->position <= last;
  if (key.size() <= prefix.size() || !key.starts_with(prefix)) return false;
  return storage::masstree::slice_of(key.substr(prefix.size())) <= last;
}

Status MasstreeInput::advance() {
  next_ = records_->next();
  return next_ == nullptr ? records_->status() : check_order();
}

// Checks the order of records at the price of a comparison, because the next stages rely on it
// (G2).
Status MasstreeInput::check_order() const {
  const LogRecord& record = *next_->log;
  const auto refuse = [&](const char* what) {
    return masstree_corruption(composition_, record.key(), what);
  };
  FOEDUS_INVARIANT(record.storage_id == composition_.meta->id, record.storage_id);
  FOEDUS_INVARIANT(next_->position == storage::masstree::slice_of(record.key()), next_->position,
                   record.key());
  if (record.key_bytes > kMaxKeyBytes) return refuse("a log record's key is too long");
  if (record.payload_bytes() > kMaxPayloadBytes) {
    return refuse("a log record's payload is too long");
  }
  if (!range_.contains(next_->position)) return refuse("a log record is not of this range");
  // In most cases the slice decides.
  if (next_->position > position_) return {};
  const int order = record.key().compare(folded_key());
  if (order < 0 || (order == 0 && record.tid < tid_.word())) {
    return refuse("log records are not in the order of keys and TIDs");
  }
  return {};
}

void MasstreeInput::leave(const StreamRecord& record) {
  position_ = record.position;
  tid_ = page::Tid(record.log->tid);
  key_bytes_ = record.log->key_bytes;
  // Copies word by word: most keys have one or two, and a record has whole words (log L1).
  for (std::size_t at = 0; at < key_bytes_; at += 8) {
    std::memcpy(key_.data() + at, record.log->key_data() + at, 8);
  }
}

Status MasstreeInput::check_newer_than(const MasstreeRecord& old) const {
  if (page::Tid(next_->log->tid).version() > old.tid.version()) return {};
  return masstree_corruption(composition_, next_->log->key(),
                             "a log record is not newer than what the snapshot has");
}

Status MasstreeInput::fold(const MasstreeRecord* old) {
  FOEDUS_INVARIANT(next_ != nullptr, folded_key());
  if (old != nullptr) FOEDUS_CHECK(check_newer_than(*old));
  leave(*next_);
  is_present_ = old != nullptr;
  is_loaded_ = false;
  payload_.clear();
  bool is_first = true;
  do {
    tid_ = page::Tid(next_->log->tid);
    // An erasure may have superseded the put that made the record.
    const bool is_erased = is_first && next_->log->type == LogRecordType::kErase;
    if (!is_erased) FOEDUS_CHECK(apply(*next_->log, old));
    if (is_erased) is_present_ = false;
    is_first = false;
    FOEDUS_CHECK(advance());
  } while (next_ != nullptr && next_->position == position_ && next_->log->key() == folded_key());
  FOEDUS_INVARIANT(!is_present_ || is_loaded_, folded_key());
  return {};
}

Status MasstreeInput::apply(const LogRecord& record, const MasstreeRecord* old) {
  switch (record.type) {
    case LogRecordType::kPut:
      is_present_ = is_loaded_ = true;
      payload_.assign(record.payload());
      return {};
    case LogRecordType::kErase:
      if (!is_present_) return corrupt("a log record erases a record that does not exist");
      is_present_ = false;
      return {};
    case LogRecordType::kWriteAt:
    case LogRecordType::kIncrement:
      return apply_part(record, old);
    default:
      return corrupt("a log record of a type that Master-Trees do not have");
  }
}

Status MasstreeInput::apply_part(const LogRecord& record, const MasstreeRecord* old) {
  if (!is_present_) return corrupt("a log record changes bytes of a record that does not exist");
  if (!is_loaded_) {
    // Volatile pages refuse partial writes to chains. Here a chain is no contradiction: the payload
    // may be in a chain for the sake of other keys of its slice that came after the record was
    // logged.
    if (old->chain.is_null()) {
      payload_.assign(old->payload);
    } else {
      FOEDUS_CHECK(read_chain(composition_, old->chain, &payload_));
    }
    is_loaded_ = true;
  }
  const std::string_view part = record.payload();
  if (std::uint64_t{record.payload_offset} + part.size() > payload_.size()) {
    return corrupt("a log record changes bytes that the record does not have");
  }
  char* const at = payload_.data() + record.payload_offset;
  if (record.type == LogRecordType::kWriteAt) {
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    return {};
  }
  if (part.size() != sizeof(std::uint64_t)) {
    return corrupt("a log record adds no 64-bit number");
  }
  base::increment(at, part.data());
  return {};
}

}  // namespace foedus::gleaner
