// The operations of transactions: find the record, look at it, remember, add the write.
#include <cstring>
#include <string>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/occ/absence.h"
#include "foedus-core/occ/overflow.h"
#include "foedus-core/storage/masstree/masstree_cold.h"
#include "foedus-core/storage/masstree/masstree_storage.h"

namespace foedus::storage::masstree {

namespace {

using log::LogRecordType;
using occ::Found;
using occ::Premise;
using Remember = occ::TxnContext::Remember;

// O4: nothing is there, and nothing may come to be.
Status missing(occ::TxnContext& ctx, occ::StorageControl* control, const Spot& spot) {
  ctx.remember_page(&spot.at.page->header, spot.at.version, control);
  // For a write to the key in the other tree (M48).
  ctx.raise_tid_floor(page::Tid(spot.at.page->header.purged_tid));
  return ErrorCode::kNotFound;
}

Status unsettled(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  if (ctx.has_page_failure()) return ctx.no_page(control);
  return ctx.conflict(ConflictReason::kRetryBound, control, key);
}

Status outside(occ::StorageControl* control, std::string_view key, std::uint32_t offset,
               std::size_t bytes, std::uint32_t payload_bytes) {
  Status status = Status::error(
      ErrorCode::kInvalidArgument,
      "bytes [" + std::to_string(offset) + ", " + std::to_string(offset + bytes) +
          ") are not all inside of the payload of " + std::to_string(payload_bytes) + " bytes");
  status.at_storage(control->meta.name);
  return std::move(status.at_key(key.data(), key.size()));
}

// Reads the record of `spot`, wherever it is now. kMoved: it was purged, or own writes that belong
// to it have to follow it first (M9): locate() sees to them.
Found read_spot(occ::TxnContext& ctx, occ::StorageControl* control, const Spot& spot,
                occ::ReadRange* range) {
  page::RecordHeader* record = spot.record();
  std::uint32_t place = spot.index;
  for (;;) {
    const Found found = read_at(ctx, control, record, place, range);
    if (found != Found::kMoved || ctx.write_set().contains(record)) [[likely]] return found;
    if (!track_moved(ctx.pool(), control, record, &record, &place)) return found;
  }
}

// The pointer that was followed covers record and absence (M19).
[[gnu::noinline]] Status get_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                                  const Spot& spot, occ::ReadRange* range) {
  if (!spot.found()) return ErrorCode::kNotFound;
  if (read_cold(ctx, spot.at.page, spot.slot, range)) return {};
  return ctx.no_page(control);
}

Premise premise_of(WriteMode mode) {
  if (mode == WriteMode::kPut) return Premise::kNone;
  return mode == WriteMode::kInsert ? Premise::kAbsent : Premise::kPresent;
}

Status status_of(Found found) {
  return found == Found::kPresent ? Status() : Status(ErrorCode::kNotFound);
}

// Adds the write of a whole payload, as a chain of its own if it is to be one.
inline Status write_payload(occ::TxnContext& ctx, occ::StorageControl* control, const Spot& spot,
                            std::string_view key, const std::string_view& payload,
                            Premise premise, bool chain) {
  if (!chain) [[likely]] {
    return ctx.write(LogRecordType::kPut, control, spot.record(), spot.index, key, 0, payload,
                     premise);
  }
  FOEDUS_TRY(const std::uint64_t overflow, occ::write_overflow(ctx, control, payload));
  Status status = ctx.write(LogRecordType::kPut, control, spot.record(), spot.index, key, 0,
                            payload, premise, overflow);
  if (!status.is_ok()) occ::release_overflow(ctx, control, overflow);
  return status;
}

// What a partial write is to change, as far as the transaction knows.
struct Current {
  bool chain = false;  // the payload is, or will be, an overflow chain
  std::uint32_t payload_bytes = 0;
};

Current current_of(occ::TxnContext& ctx, const Spot& spot, const occ::WriteSet::Own& own) {
  if (own.newest != occ::WriteEntry::kNone) {
    const occ::WriteEntry& first = ctx.write_set()[own.first];
    if (first.log->type == LogRecordType::kPut) {
      return {first.overflow != 0, first.log->payload_bytes()};
    }
  }
  // A look without remembering: accepts() looks again at commit.
  const Slot slot = spot.at.page->slot(spot.index);
  return {slot.is_chain(), slot.payload_bytes()};
}

// O7: the whole payload of a chain is read and written again. change(payload) changes it.
template <typename Change>
Status rewrite(occ::TxnContext& ctx, occ::StorageControl* control, const Spot& spot,
               std::string_view key, std::uint32_t offset, std::size_t bytes, Change&& change) {
  std::string whole;
  const Found found = occ::read_whole(
      [&](occ::ReadRange* range) { return read_spot(ctx, control, spot, range); }, &whole);
  if (found == Found::kMoved || found == Found::kConflict) return unsettled(ctx, control, key);
  if (found == Found::kAbsent) return ErrorCode::kNotFound;
  if (std::uint64_t{offset} + bytes > whole.size()) {
    return outside(control, key, offset, bytes, static_cast<std::uint32_t>(whole.size()));
  }
  change(whole.data() + offset);
  return write_payload(ctx, control, spot, key, whole, Premise::kPresent,
                       whole.size() > spot.slot.capacity());
}

// write_at() and increment(): `part` goes to the log, change(bytes) does it to a payload.
template <typename Change>
Status write_part(occ::TxnContext& ctx, occ::StorageControl* control, LogRecordType type,
                  std::string_view key, std::uint32_t offset, const std::string_view& part,
                  Change&& change) {
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    Spot spot;
    FOEDUS_CHECK(locate(ctx, control, key, Intent::kPut, &spot));
    if (!spot.found()) return missing(ctx, control, spot);
    const occ::WriteSet::Own own = ctx.write_set().find(spot.record());
    const Found found = ctx.look_at(control, spot.record(), own, Remember::kAbsence);
    if (found == Found::kMoved) continue;
    if (found == Found::kConflict) return unsettled(ctx, control, key);
    if (found == Found::kAbsent) return ErrorCode::kNotFound;
    const Current current = current_of(ctx, spot, own);
    if (current.chain) return rewrite(ctx, control, spot, key, offset, part.size(), change);
    const std::uint64_t end = std::uint64_t{offset} + part.size();
    if (end > current.payload_bytes) {
      FOEDUS_SYNC_POINT("masstree:part_outside");
      occ::ReadRange range;  // a look that is remembered
      const Found again = read_spot(ctx, control, spot, &range);
      if (again == Found::kConflict) return unsettled(ctx, control, key);
      if (again == Found::kAbsent) return ErrorCode::kNotFound;
      if (again == Found::kPresent && range.payload_bytes < end) {
        return outside(control, key, offset, part.size(), range.payload_bytes);
      }
      continue;  // it has changed meanwhile
    }
    return ctx.write(type, control, spot.record(), spot.index, key, offset, part,
                     Premise::kPresent);
  }
  return unsettled(ctx, control, key);
}

// Whether an insert has just made the record, and nobody has committed to it since. There is no own
// write of a record that was not found.
bool is_new_to_all(const occ::Placed& placed, const Spot& spot, WriteMode mode) {
  return mode == WriteMode::kInsert && placed.record != nullptr &&
         placed.record == spot.record() &&
         (placed.record->load_tid().word() & page::Tid::kFlags) == page::Tid::kDeleted;
}

Status try_write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                       std::string_view key, const std::string_view& payload,
                       occ::Placed* placed) {
  const Intent intent = mode == WriteMode::kInsert ? Intent::kWrite : Intent::kPut;
  bool chain = occ::is_overflow(payload.size());
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    Spot spot;
    FOEDUS_CHECK(locate(ctx, control, key, intent, &spot));
    if (!spot.found()) {
      if (mode == WriteMode::kUpdate) return missing(ctx, control, spot);
      FOEDUS_CHECK(place(ctx, control, key, chain ? 0 : payload.size(), &spot));
      *placed = {spot.record(), spot.index};
      FOEDUS_SYNC_POINT("masstree:write_placed");
    }
    // A put after a miss: the own physical insert has moved the page's entry along, so from now
    // on it is the record that must stay absent (look_at() remembers that). If it is there already,
    // another transaction has committed to it in between, which no entry shows any more.
    if (is_new_to_all(*placed, spot, mode)) {
      // Nothing to look at: commit() sees whether it still is absent.
    } else if (mode != WriteMode::kPut || !ctx.page_set().is_empty()) {
      const Found found = ctx.look_at(
          control, spot.record(),
          mode == WriteMode::kInsert ? Remember::kPresence : Remember::kAbsence);
      if (found == Found::kMoved) continue;
      if (found == Found::kConflict) break;
      if (placed->record != nullptr && found == Found::kPresent && !ctx.page_set().is_empty()) {
        return ctx.conflict(ConflictReason::kRecordChanged, control, key);
      }
      if (mode == WriteMode::kInsert && found == Found::kPresent) {
        return ErrorCode::kAlreadyExists;
      }
      if (mode == WriteMode::kUpdate && found == Found::kAbsent) return ErrorCode::kNotFound;
    }
    if (!chain && spot.slot.capacity() < payload.size()) {
      bool again = false;
      FOEDUS_CHECK(make_room(ctx, control, key, spot, payload.size(), &again, &chain));
      if (again) continue;
    }
    return write_payload(ctx, control, spot, key, payload, premise_of(mode), chain);
  }
  return unsettled(ctx, control, key);
}

}  // namespace

namespace one_tree {

Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range) {
  const occ::ColdReads reads(&ctx.cold_pages());
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    Spot spot;
    FOEDUS_CHECK(locate(ctx, control, key, Intent::kRead, &spot));
    if (spot.at.is_cold) [[unlikely]]
      return get_cold(ctx, control, spot, range);
    if (!spot.found()) return missing(ctx, control, spot);
    const Found found = read_spot(ctx, control, spot, range);
    if (found == Found::kMoved) continue;
    if (found == Found::kConflict) break;
    return status_of(found);
  }
  return unsettled(ctx, control, key);
}

Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range) {
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    Spot spot;
    FOEDUS_CHECK(locate(ctx, control, key, Intent::kWrite, &spot));
    if (!spot.found()) return missing(ctx, control, spot);
    FOEDUS_CHECK(ctx.hold(control, spot.record(), key));
    const Found found = read_at(ctx, control, spot.record(), spot.index, range);
    if (found == Found::kMoved) continue;
    if (found == Found::kConflict) break;
    return status_of(found);
  }
  return unsettled(ctx, control, key);
}

Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload) {
  return occ::write_placed(ctx, control, key, &track_moved, [&](occ::Placed* placed) {
    return try_write_whole(ctx, control, mode, key, payload, placed);
  });
}

Status write_at(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                std::uint32_t offset, const std::string_view& part) {
  return write_part(ctx, control, LogRecordType::kWriteAt, key, offset, part,
                    [&part](char* bytes) { std::memcpy(bytes, part.data(), part.size()); });
}

Status increment(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                 std::uint32_t offset, std::int64_t delta) {
  char part[sizeof(delta)];
  std::memcpy(part, &delta, sizeof(delta));
  return write_part(ctx, control, LogRecordType::kIncrement, key, offset, {part, sizeof(part)},
                    [delta](char* bytes) { add_number(bytes, delta); });
}

Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    Spot spot;
    FOEDUS_CHECK(locate(ctx, control, key, Intent::kWrite, &spot));
    if (!spot.found()) return missing(ctx, control, spot);
    const Found found = ctx.look_at(control, spot.record(), Remember::kAbsence);
    if (found == Found::kMoved) continue;
    if (found == Found::kConflict) break;
    if (found == Found::kAbsent) return ErrorCode::kNotFound;
    FOEDUS_CHECK(ctx.write(LogRecordType::kErase, control, spot.record(), spot.index, key, 0, "",
                           Premise::kPresent));
    // Who empties a page in the order of its keys comes to one of these last.
    const bool at_end = spot.index == 0 || spot.index + 1 == spot.at.version.keys();
    if (at_end) join_emptied(ctx, control, spot);
    return {};
  }
  return unsettled(ctx, control, key);
}

Status make_volatile(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                     Made* made) {
  Spot spot;
  FOEDUS_CHECK(locate(ctx, control, key, Intent::kWrite, &spot));
  made->is_new = !spot.found();
  if (made->is_new) FOEDUS_CHECK(masstree::place(ctx, control, key, 0, &spot));
  made->record = spot.record();
  made->place = spot.index;
  return {};
}

// A record that is new has moved the page's entry along, which may have said that the key is not
// there: so from now on it is the record that must stay absent.
Status hold_any(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  Made made;
  FOEDUS_CHECK(make_volatile(ctx, control, key, &made));
  FOEDUS_SYNC_POINT("masstree:lock_placed");
  FOEDUS_CHECK(ctx.hold(control, made.record, key));
  if (!made.is_new || ctx.page_set().is_empty()) return {};
  const Found found = ctx.look_at(control, made.record, Remember::kAbsence);
  return found == Found::kAbsent ? Status()
                                 : ctx.conflict(ConflictReason::kRecordChanged, control, key);
}

}  // namespace one_tree

namespace {

bool is_inline_put(const occ::WriteEntry& entry) {
  return entry.log->type == LogRecordType::kPut && entry.overflow == 0;
}

// The inline puts to the record of `entry` become chains. Not if there are writes to parts, which
// would be made where the name of the chain is: the calls of a retry find out that it is one (O7).
Status put_into_chains(occ::TxnContext& ctx, const occ::WriteEntry& entry) {
  for (const occ::WriteEntry& other : ctx.write_set().entries()) {
    const bool is_part = other.log->type == LogRecordType::kWriteAt ||
                         other.log->type == LogRecordType::kIncrement;
    if (!is_part || other.record != entry.record) continue;
    return ctx.conflict(ConflictReason::kRecordChanged, entry.storage, entry.log->key());
  }
  for (occ::WriteEntry& other : ctx.write_set().entries()) {
    if (!is_inline_put(other) || other.record != entry.record) continue;
    FOEDUS_TRY(other.overflow, occ::write_overflow(ctx, entry.storage, other.log->payload()));
  }
  return {};
}

}  // namespace

Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry) {
  const std::string_view key = entry->log->key();
  // Room for whatever the transaction puts into this record.
  std::size_t inline_bytes = 0;
  for (const occ::WriteEntry& other : ctx.write_set().entries()) {
    if (other.record != entry->record || !is_inline_put(other)) continue;
    inline_bytes = std::max<std::size_t>(inline_bytes, other.log->payload_bytes());
  }
  for (;;) {
    Spot spot;
    FOEDUS_CHECK(place(ctx, entry->storage, key, inline_bytes, &spot));
    if (spot.slot.capacity() < inline_bytes) {
      bool again = false;
      bool chain = false;
      FOEDUS_CHECK(make_room(ctx, entry->storage, key, spot, inline_bytes, &again, &chain));
      if (again) continue;
      if (chain) FOEDUS_CHECK(put_into_chains(ctx, *entry));
    }
    if (spot.record() != entry->record) {
      ctx.write_set().move(entry->record, spot.record(), spot.index);
    }
    return {};
  }
}

}  // namespace foedus::storage::masstree
