#include "foedus-core/occ/read_record.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/invariant.h"

namespace foedus::occ {

namespace {

// Copies those bytes of `from` that `range` wants to range->out. `from_offset`: the offset of
// `from` in the payload.
void overlay_bytes(std::uint32_t from_offset, std::string_view from, ReadRange* range) {
  const std::uint64_t begin = std::max<std::uint64_t>(from_offset, range->offset);
  const std::uint64_t end = std::min<std::uint64_t>(
      from_offset + from.size(), static_cast<std::uint64_t>(range->offset) + range->out_bytes);
  if (begin >= end) return;
  std::memcpy(range->out + (begin - range->offset), from.data() + (begin - from_offset),
              end - begin);
}

bool holds_number(std::uint32_t at, const ReadRange& range) {
  return at >= range.offset &&
         at + 8ull <= static_cast<std::uint64_t>(range.offset) + range.out_bytes;
}

// Adds `delta` to the number at offset `at` of the payload, if `range` holds all of its 8 bytes.
void overlay_increment(std::uint32_t at, std::uint64_t delta, ReadRange* range) {
  if (!holds_number(at, *range)) return;
  std::uint64_t value;
  std::memcpy(&value, range->out + (at - range->offset), sizeof(value));
  value += delta;
  std::memcpy(range->out + (at - range->offset), &value, sizeof(value));
}

}  // namespace

bool OwnPayload::begins_with_whole() const {
  const log::LogRecordType type = writes_[own_.first].log->type;
  return type == log::LogRecordType::kPut || type == log::LogRecordType::kErase;
}

bool OwnPayload::cuts_increment(const ReadRange& range) const {
  for (std::uint32_t i = own_.first; i != WriteEntry::kNone; i = writes_[i].next_own) {
    const log::LogRecord& record = *writes_[i].log;
    if (record.type != log::LogRecordType::kIncrement) continue;
    const std::uint32_t at = record.payload_offset;
    const bool apart = at + 8ull <= range.offset ||
                       at >= static_cast<std::uint64_t>(range.offset) + range.out_bytes;
    if (!apart && !holds_number(at, range)) return true;
  }
  return false;
}

bool OwnPayload::overlay(bool was, ReadRange* range) const {
  bool present = was;
  for (std::uint32_t i = own_.first; i != WriteEntry::kNone; i = writes_[i].next_own) {
    const log::LogRecord& record = *writes_[i].log;
    switch (record.type) {
      case log::LogRecordType::kPut:
        present = true;
        range->payload_bytes = record.payload_bytes();
        overlay_bytes(0, record.payload(), range);
        break;
      case log::LogRecordType::kErase:
        present = false;
        break;
      case log::LogRecordType::kWriteAt:
        overlay_bytes(record.payload_offset, record.payload(), range);
        break;
      case log::LogRecordType::kIncrement: {
        std::uint64_t delta;
        std::memcpy(&delta, record.payload_data(), sizeof(delta));
        overlay_increment(record.payload_offset, delta, range);
        break;
      }
      default:
        FOEDUS_INVARIANT(false, record.type);
    }
  }
  return present;
}

ReadOutcome read_presence(TxnContext& ctx, StorageControl* storage, page::RecordHeader* record,
                          const WriteSet::Own& own, Remember remember) {
  if (own.newest != WriteEntry::kNone) {
    return OwnPayload(&ctx.sets().writes(), own).is_present() ? ReadOutcome::kPresent
                                                              : ReadOutcome::kAbsent;
  }
  page::Tid observed;
  if (!optimistic_tid(*record, &observed)) return ReadOutcome::kConflict;
  if (observed.is_moved() || observed.is_next_layer()) return ReadOutcome::kMoved;
  const bool wanted = observed.is_deleted() == (remember == Remember::kAbsence);
  if (wanted) ctx.sets().remember_read(record, observed, storage);
  return observed.is_deleted() ? ReadOutcome::kAbsent : ReadOutcome::kPresent;
}

}  // namespace foedus::occ
