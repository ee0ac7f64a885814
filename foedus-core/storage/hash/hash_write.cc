// write_whole, write_at, increment, erase.

#include <cstring>
#include <string>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/increment.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/occ/absence.h"
#include "foedus-core/occ/overflow.h"
#include "foedus-core/storage/hash/hash_find.h"
#include "foedus-core/storage/hash/hash_function.h"
#include "foedus-core/storage/hash/hash_insert.h"
#include "foedus-core/storage/hash/hash_storage.h"
#include "foedus/options.h"

namespace foedus::storage::hash {

namespace {

using log::LogRecordType;
using occ::Premise;
using Remember = occ::TxnContext::Remember;

// Whether an own put of the whole payload, not erased since, decides what the record is.
bool own_put(occ::TxnContext& ctx, const page::RecordHeader* record, std::uint32_t* bytes) {
  const occ::WriteSet::Own own = ctx.write_set().find(record);
  if (own.first == occ::WriteEntry::kNone) return false;
  const log::LogRecord& first = *ctx.write_set()[own.first].log;
  if (first.type != LogRecordType::kPut) return false;
  *bytes = first.payload_bytes();
  return true;
}

// What a write to a record that is there relies on: its presence, or an own put.
Premise premise_of(occ::TxnContext& ctx, const page::RecordHeader* record) {
  std::uint32_t bytes;
  return own_put(ctx, record, &bytes) ? Premise::kNone : Premise::kPresent;
}

[[gnu::cold]] Status error_of(occ::StorageControl* control, ErrorCode code, std::string_view key,
                              const std::string& text) {
  Status status = Status::error(code, text);
  status.at_storage(control->meta.name);
  return std::move(status.at_key(key.data(), key.size()));
}

Status check_sizes(occ::StorageControl* control, std::string_view key, std::size_t bytes) {
  if (key.size() > kMaxKeyBytes) [[unlikely]] {
    return error_of(control, ErrorCode::kTooLarge, key,
                    "a key of " + std::to_string(key.size()) + " bytes; at most " +
                        std::to_string(kMaxKeyBytes));
  }
  if (bytes > kMaxPayloadBytes) [[unlikely]] {
    return error_of(control, ErrorCode::kTooLarge, key,
                    "a payload of " + std::to_string(bytes) + " bytes; at most " +
                        std::to_string(kMaxPayloadBytes));
  }
  return {};
}

// The record that write_whole is about: made for kPut and kInsert, found for kUpdate.
Status find_target(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, std::uint64_t hash, std::uint32_t room, Lookup* found) {
  if (mode != WriteMode::kUpdate) {
    return find_or_insert(ctx, control, key, hash, room, Purpose::kCall, found);
  }
  FOEDUS_CHECK(look_up(ctx, control, key, hash, Intent::kWrite, found));
  if (found->record != nullptr) return {};
  ctx.remember_page(&found->bin->header, found->version, control);
  return ErrorCode::kNotFound;
}

Status put_record(occ::TxnContext& ctx, occ::StorageControl* control, const Lookup& found,
                  std::string_view key, std::string_view payload, Premise premise) {
  std::uint64_t overflow = 0;
  if (occ::is_overflow(payload.size())) {
    FOEDUS_TRY(overflow, occ::write_overflow(ctx, control, payload));
  }
  Status status = ctx.write(LogRecordType::kPut, control, found.record, found.place, key, 0,
                            payload, premise, overflow);
  if (!status.is_ok() && overflow != 0) occ::release_overflow(ctx, control, overflow);
  return status;
}

// The size of the payload that a partial write meets, own writes included.
struct PartTarget {
  occ::Found found = occ::Found::kPresent;
  std::uint32_t length = 0;  // bytes, or occ::kOverflowLength for any chain
  page::Tid observed;        // if `is_read`
  bool is_read = false;      // from the record, without remembering it
};

PartTarget part_target(occ::TxnContext& ctx, occ::StorageControl* control, const Lookup& found) {
  PartTarget target;
  const occ::WriteSet::Own own = ctx.write_set().find(found.record);
  if (own.newest != occ::WriteEntry::kNone &&
      ctx.write_set()[own.newest].log->type == LogRecordType::kErase) {
    target.found = occ::Found::kAbsent;
    return target;
  }
  if (own_put(ctx, found.record, &target.length)) {
    if (occ::is_overflow(target.length)) target.length = occ::kOverflowLength;
    return target;
  }
  target.is_read = true;
  const bool settled = occ::optimistic_read(
      *found.record, &target.observed, [&](page::Tid) {
        const HashSlot slot = found.slot();
        target.length = slot.is_chain() ? occ::kOverflowLength : slot.length();
      });
  if (!settled) {
    target.found = occ::Found::kConflict;
  } else if (target.observed.is_moved()) {
    target.found = occ::Found::kMoved;
  } else if (target.observed.is_deleted()) {
    ctx.remember_read(found.record, target.observed, control);
    target.found = occ::Found::kAbsent;
  }
  return target;
}

// O7: a partial write to a chain is a put of the whole.
Status write_part_of_chain(occ::TxnContext& ctx, occ::StorageControl* control, LogRecordType type,
                           const Lookup& found, std::string_view key, std::uint32_t offset,
                           std::string_view part, bool* again) {
  std::string whole;
  const occ::Found seen = occ::read_whole(
      [&](occ::ReadRange* range) { return read_found(ctx, control, found, range); }, &whole);
  *again = seen == occ::Found::kMoved;
  if (*again) return {};
  if (seen == occ::Found::kConflict) return unsettled(ctx, control, key);
  if (seen == occ::Found::kAbsent) return ErrorCode::kNotFound;
  if (offset > whole.size() || part.size() > whole.size() - offset) {
    return error_of(control, ErrorCode::kInvalidArgument, key, "the payload ends before the part");
  }
  if (type == LogRecordType::kIncrement) {
    base::increment(whole.data() + offset, part.data());
  } else {
    std::memcpy(whole.data() + offset, part.data(), part.size());
  }
  // It may have become short meanwhile, and its room is not known to be enough then.
  if (!occ::is_overflow(whole.size())) {
    return write_whole(ctx, control, WriteMode::kUpdate, key, whole);
  }
  return put_record(ctx, control, found, key, whole, premise_of(ctx, found.record));
}

Status write_part(occ::TxnContext& ctx, occ::StorageControl* control, LogRecordType type,
                  std::string_view key, std::uint32_t offset, const std::string_view& part) {
  const std::uint64_t hash = hash_of(key);
  base::SpinWait spin;
  for (unsigned i = 0; i < occ::kReadTries; ++i, spin.once()) {
    Lookup found;
    FOEDUS_CHECK(look_up(ctx, control, key, hash, Intent::kWrite, &found));
    if (found.record == nullptr) {
      ctx.remember_page(&found.bin->header, found.version, control);
      return ErrorCode::kNotFound;
    }
    const PartTarget target = part_target(ctx, control, found);
    if (target.found == occ::Found::kMoved) continue;
    if (target.found == occ::Found::kConflict) return unsettled(ctx, control, key);
    if (target.found == occ::Found::kAbsent) return ErrorCode::kNotFound;
    if (target.length == occ::kOverflowLength) {
      bool again = false;
      Status status =
          write_part_of_chain(ctx, control, type, found, key, offset, part, &again);
      if (again) continue;
      return status;
    }
    if (offset > target.length || part.size() > target.length - offset) {
      if (target.is_read) ctx.remember_read(found.record, target.observed, control);
      return error_of(control, ErrorCode::kInvalidArgument, key,
                      "the payload ends before the part");
    }
    return ctx.write(type, control, found.record, found.place, key, offset, part,
                     premise_of(ctx, found.record));
  }
  return unsettled(ctx, control, key);
}

Status try_write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                       std::string_view key, const std::string_view& payload,
                       occ::Placed* placed) {
  FOEDUS_CHECK(check_sizes(control, key, payload.size()));
  const std::uint64_t hash = hash_of(key);
  const std::uint32_t room = occ::payload_room_of(payload.size());
  base::SpinWait spin;
  for (unsigned i = 0; i < occ::kReadTries; ++i, spin.once()) {
    Lookup found;
    FOEDUS_CHECK(find_target(ctx, control, mode, key, hash, room, &found));
    if (found.is_inserted) *placed = {found.record, found.place};
    FOEDUS_SYNC_POINT("hash:write_placed");
    // A put after a miss: the own physical insert has moved the bin's entry along, so from now
    // on it is the record that must stay absent (look_at() remembers that). If it is there already,
    // another transaction has committed to it in between, which no entry shows any more.
    if (mode != WriteMode::kPut || !ctx.page_set().is_empty()) {
      const bool is_insert = mode == WriteMode::kInsert;
      const bool is_update = mode == WriteMode::kUpdate;
      const occ::Found seen = ctx.look_at(
          control, found.record, is_insert ? Remember::kPresence : Remember::kAbsence);
      if (seen == occ::Found::kMoved) continue;
      if (seen == occ::Found::kConflict) return unsettled(ctx, control, key);
      if (placed->record != nullptr && seen == occ::Found::kPresent && !ctx.page_set().is_empty()) {
        return ctx.conflict(ConflictReason::kRecordChanged, control, key);
      }
      if (is_insert && seen == occ::Found::kPresent) return ErrorCode::kAlreadyExists;
      if (is_update && seen == occ::Found::kAbsent) return ErrorCode::kNotFound;
    }
    if (found.slot().room() < room) {
      FOEDUS_CHECK(expand(ctx, control, found, hash, room));
      continue;
    }
    Premise premise = Premise::kNone;
    if (mode == WriteMode::kUpdate) premise = premise_of(ctx, found.record);
    if (mode == WriteMode::kInsert) premise = Premise::kAbsent;
    return put_record(ctx, control, found, key, payload, premise);
  }
  return unsettled(ctx, control, key);
}

}  // namespace

Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload) {
  return occ::write_placed(ctx, control, key, &track_moved, [&](occ::Placed* placed) {
    return try_write_whole(ctx, control, mode, key, payload, placed);
  });
}

Status write_at(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                std::uint32_t offset, const std::string_view& part) {
  FOEDUS_CHECK(check_sizes(control, key, part.size()));
  return write_part(ctx, control, LogRecordType::kWriteAt, key, offset, part);
}

Status increment(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 std::uint32_t offset, std::int64_t delta) {
  const std::string_view bytes(reinterpret_cast<const char*>(&delta), sizeof(delta));
  FOEDUS_CHECK(check_sizes(control, key, bytes.size()));
  return write_part(ctx, control, LogRecordType::kIncrement, key, offset, bytes);
}

Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  const std::uint64_t hash = hash_of(key);
  base::SpinWait spin;
  for (unsigned i = 0; i < occ::kReadTries; ++i, spin.once()) {
    Lookup found;
    FOEDUS_CHECK(look_up(ctx, control, key, hash, Intent::kWrite, &found));
    if (found.record == nullptr) {
      ctx.remember_page(&found.bin->header, found.version, control);
      return ErrorCode::kNotFound;
    }
    switch (ctx.look_at(control, found.record, Remember::kAbsence)) {
      case occ::Found::kMoved: continue;
      case occ::Found::kConflict: return unsettled(ctx, control, key);
      case occ::Found::kAbsent: return ErrorCode::kNotFound;
      case occ::Found::kPresent:
        return ctx.write(LogRecordType::kErase, control, found.record, found.place, key, 0, "",
                         premise_of(ctx, found.record));
    }
  }
  return unsettled(ctx, control, key);
}

}  // namespace foedus::storage::hash
