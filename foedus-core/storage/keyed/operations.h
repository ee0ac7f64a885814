#pragma once
// The operations of transactions on keyed storages, written once for all kinds (kind.h): find the
// record, look at it, remember what the commit protocol has to verify, add the write. No record
// changes before commit (O5). A search that meets a record on its way to another page is made
// again, kReadTries times; then the transaction conflicts.
//
// Common to all: the session's thread calls them; kConflict dooms the transaction; kOutOfMemory
// changes nothing that any transaction can see. Keys and payloads are within the limits of
// foedus/options.h; both are the caller's and are copied.
//
// Payloads are passed by reference. A seventh parameter is passed on the stack. A view there would
// be stored as two words and, by each function that passes it on, loaded with one load of both,
// which has to wait for the two stores.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "foedus-core/base/increment.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/read_record.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/keyed/absence.h"
#include "foedus-core/storage/keyed/kind.h"
#include "foedus-core/storage/keyed/write_mode.h"

namespace foedus::storage::keyed {

using log::LogRecordType;
using occ::Precondition;
using occ::ReadOutcome;
using Remember = occ::Remember;

// Returns why an operation gives up its search: a page of a snapshot cannot be read, or, if all
// could be, there is a conflict.
[[gnu::cold]] Status tries_exhausted(occ::TxnContext& ctx, occ::StorageControl* control,
                                     std::string_view key);

// Returns the error of a partial write to bytes that the payload does not have.
[[gnu::cold]] Status outside(occ::StorageControl* control, std::string_view key,
                             std::uint32_t offset, std::size_t bytes, std::size_t payload_bytes);

// Returns the bytes of the largest payload that the transaction puts into `record` in line, not as
// a chain; 0: none.
std::size_t inline_bytes_of(occ::TxnContext& ctx, const page::RecordHeader* record);

// Makes chains of the inline payloads that the transaction puts into the record of `entry`. If the
// transaction also has partial writes to the record, it conflicts, because apply() would write them
// over the chain's id. In a retry, a partial write finds the chain of the put and rewrites the
// whole payload (O7).
Status put_into_chains(occ::TxnContext& ctx, const occ::WriteEntry& entry);

// Changes the bytes at `at`, which no other thread reads or writes, as a write to a part does.
inline void change_part(LogRecordType type, char* at, std::string_view part) {
  if (type == LogRecordType::kIncrement) {
    base::increment(at, part.data());
  } else {
    std::memcpy(at, part.data(), part.size());
  }
}

inline Precondition precondition_of(WriteMode mode) {
  if (mode == WriteMode::kPut) return Precondition::kNone;
  return mode == WriteMode::kInsert ? Precondition::kAbsent : Precondition::kPresent;
}

inline Status status_of(ReadOutcome found) {
  return found == ReadOutcome::kPresent ? Status() : Status(ErrorCode::kNotFound);
}

template <Kind K>
Status missing(occ::TxnContext& ctx, occ::StorageControl* control,
               const typename K::Position& position) {
  K::remember_missing(ctx, control, position);
  return ErrorCode::kNotFound;
}

// ---- reads --------------------------------------------------------------------------------------

// Copies the part of the payload that `range` asks for. kNotFound: the key is missing or its record
// deleted, which commit verifies.
template <Kind K>
Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view bytes,
           occ::ReadRange* range) {
  const typename K::ReadScope reads(ctx);
  const typename K::Key key = K::key_of(bytes);
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    typename K::Position position;
    FOEDUS_CHECK(K::find_to_read(ctx, control, key, range, &position));
    if (K::is_cold(position)) [[unlikely]]
      return K::read_cold(ctx, control, position, range);
    if (!K::is_found(position)) return missing<K>(ctx, control, position);
    const ReadOutcome found = K::read(ctx, control, position, range);
    if (found == ReadOutcome::kMoved) continue;
    if (found == ReadOutcome::kConflict) break;
    return status_of(found);
  }
  return tries_exhausted(ctx, control, bytes);
}

// Does what get() does, and holds the record's lock until the transaction ends. A missing key is
// not locked.
template <Kind K>
Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view bytes,
                      occ::ReadRange* range) {
  const typename K::Key key = K::key_of(bytes);
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    typename K::Position position;
    FOEDUS_CHECK(K::find_to_write(ctx, control, key, Access::kLock, &position));
    if (!K::is_found(position)) return missing<K>(ctx, control, position);
    FOEDUS_CHECK(ctx.hold(control, K::record(position), bytes));
    const ReadOutcome found = K::read_here(ctx, control, position, range);
    if (found == ReadOutcome::kMoved) continue;
    if (found == ReadOutcome::kConflict) break;
    return status_of(found);
  }
  return tries_exhausted(ctx, control, bytes);
}

// ---- writes of whole payloads -------------------------------------------------------------------

// Adds the write of a whole payload, which becomes a chain of its own if `is_chain`.
template <Kind K>
Status write_payload(occ::TxnContext& ctx, occ::StorageControl* control,
                     const typename K::Position& position, std::string_view bytes,
                     const std::string_view& payload, Precondition precondition, bool is_chain) {
  if (!is_chain) [[likely]] {
    return ctx.write(LogRecordType::kPut, control, K::record(position), K::place(position), bytes,
                     0, payload, precondition);
  }
  FOEDUS_TRY(const std::uint64_t overflow, write_overflow(ctx, control, payload));
  Status status = ctx.write(LogRecordType::kPut, control, K::record(position), K::place(position),
                            bytes, 0, payload, precondition, overflow);
  if (!status.is_ok()) release_overflow(ctx, control, overflow);
  return status;
}

// Returns whether this call, an insert, has made `record`, and no transaction has committed to it
// since. This transaction has no write to it either, because it did not find the key.
inline bool is_new_to_all(const page::RecordHeader* placed, const page::RecordHeader* record,
                          WriteMode mode) {
  return mode == WriteMode::kInsert && placed != nullptr && placed == record &&
         (record->load_tid().word() & page::Tid::kFlags) == page::Tid::kDeleted;
}

// Does the work of write_whole(). Sets *placed to the record that this call inserted physically for
// the key, if any.
template <Kind K>
Status try_write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                       std::string_view bytes, const std::string_view& payload,
                       page::RecordHeader** placed) {
  const typename K::Key key = K::key_of(bytes);
  const Access access = mode == WriteMode::kInsert ? Access::kInsert : Access::kChange;
  bool is_chain = is_overflow(payload.size());
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    typename K::Position position;
    FOEDUS_CHECK(K::find_to_write(ctx, control, key, access, &position));
    if (!K::is_found(position)) {
      if (mode == WriteMode::kUpdate) return missing<K>(ctx, control, position);
      bool is_made = false;
      FOEDUS_CHECK(
          K::insert(ctx, control, key, is_chain ? 0 : payload.size(), &position, &is_made));
      if (is_made) *placed = K::record(position);
    }
    FOEDUS_SYNC_POINT("keyed:write_found");
    // A put looks at the record only if the transaction has page-version entries, for one of them
    // may say that the key is missing. The physical insert of this call has moved that entry to the
    // page's new version, so from now on the new record must stay absent, which read_presence()
    // remembers. If the record is present already, another transaction has committed to it since,
    // which no entry shows any more: a conflict.
    if (is_new_to_all(*placed, K::record(position), mode)) {
      // No look is needed: commit checks that the record is still absent (Precondition::kAbsent).
    } else if (mode != WriteMode::kPut || !ctx.sets().pages().is_empty()) {
      const ReadOutcome found =
          occ::read_presence(ctx, control, K::record(position),
                             mode == WriteMode::kInsert ? Remember::kPresence : Remember::kAbsence);
      if (found == ReadOutcome::kMoved) continue;
      if (found == ReadOutcome::kConflict) break;
      if (*placed != nullptr && found == ReadOutcome::kPresent && !ctx.sets().pages().is_empty()) {
        return ctx.conflict(ConflictReason::kRecordChanged, control, bytes);
      }
      if (mode == WriteMode::kInsert && found == ReadOutcome::kPresent) {
        return ErrorCode::kAlreadyExists;
      }
      if (mode == WriteMode::kUpdate && found == ReadOutcome::kAbsent) return ErrorCode::kNotFound;
    }
    if (!is_chain && !K::has_room(position, payload.size())) {
      bool again = false;
      FOEDUS_CHECK(K::make_room(ctx, control, key, position, payload.size(), &again, &is_chain));
      if (again) continue;
    }
    return write_payload<K>(ctx, control, position, bytes, payload, precondition_of(mode),
                            is_chain);
  }
  return tries_exhausted(ctx, control, bytes);
}

// Writes the whole payload, under the condition of `mode`. If a put or insert fails after it has
// inserted a record physically, the key's absence stays verified (absence.h).
template <Kind K>
Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view bytes, const std::string_view& payload) {
  page::RecordHeader* placed = nullptr;
  Status status = try_write_whole<K>(ctx, control, mode, bytes, payload, &placed);
  if (status.is_ok() || placed == nullptr || ctx.sets().pages().is_empty()) [[likely]]
    return status;
  return keep_absence(ctx, control, placed, bytes, std::move(status), &K::track_moved);
}

// ---- writes of parts ----------------------------------------------------------------------------

// Returns the payload that a partial write will change: that of the transaction's own put, if its
// writes to the record begin with one, or else the record's. This look at the record is not
// remembered as a read, because accepts() checks the bounds again at commit.
template <Kind K>
Payload current_of(occ::TxnContext& ctx, const typename K::Position& position,
                   const occ::WriteSet::Own& own) {
  if (own.newest != occ::WriteEntry::kNone) {
    const occ::WriteEntry& first = ctx.sets().writes()[own.first];
    if (first.log->type == LogRecordType::kPut) {
      return {first.overflow != 0, first.log->payload_bytes()};
    }
  }
  return K::payload(position);
}

// O7. Reads the whole payload of a chain, changes the part, and writes the whole as a put. *again:
// the record has moved, find it again.
template <Kind K>
Status rewrite(occ::TxnContext& ctx, occ::StorageControl* control, LogRecordType type,
               const typename K::Position& position, std::string_view bytes, std::uint32_t offset,
               std::string_view part, bool* again) {
  std::string whole;
  const ReadOutcome found = read_whole(
      [&](occ::ReadRange* range) { return K::read(ctx, control, position, range); }, &whole);
  *again = found == ReadOutcome::kMoved;
  if (found == ReadOutcome::kMoved) return {};
  if (found == ReadOutcome::kConflict) return tries_exhausted(ctx, control, bytes);
  if (found == ReadOutcome::kAbsent) return ErrorCode::kNotFound;
  if (std::uint64_t{offset} + part.size() > whole.size()) {
    return outside(control, bytes, offset, part.size(), whole.size());
  }
  change_part(type, whole.data() + offset, part);
  return write_payload<K>(ctx, control, position, bytes, whole, Precondition::kPresent,
                          is_overflow(whole.size()) || !K::has_room(position, whole.size()));
}

// Writes to payload bytes [offset, offset + part.size()): kWriteAt puts `part` there, kIncrement
// adds it to the 64-bit number, modulo 2^64. kNotFound; kInvalidArgument: not all bytes are there.
template <Kind K>
Status write_part(occ::TxnContext& ctx, occ::StorageControl* control, LogRecordType type,
                  std::string_view bytes, std::uint32_t offset, const std::string_view& part) {
  const typename K::Key key = K::key_of(bytes);
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    typename K::Position position;
    FOEDUS_CHECK(K::find_to_write(ctx, control, key, Access::kChange, &position));
    if (!K::is_found(position)) return missing<K>(ctx, control, position);
    const occ::WriteSet::Own own = ctx.sets().writes().find(K::record(position));
    const ReadOutcome found =
        occ::read_presence(ctx, control, K::record(position), own, Remember::kAbsence);
    if (found == ReadOutcome::kMoved) continue;
    if (found == ReadOutcome::kConflict) break;
    if (found == ReadOutcome::kAbsent) return ErrorCode::kNotFound;
    const Payload current = current_of<K>(ctx, position, own);
    if (current.is_chain) {
      bool again = false;
      Status status = rewrite<K>(ctx, control, type, position, bytes, offset, part, &again);
      if (again) continue;
      return status;
    }
    const std::uint64_t end = std::uint64_t{offset} + part.size();
    if (end > current.bytes) {
      FOEDUS_SYNC_POINT("keyed:part_outside");
      occ::ReadRange range;  // this look is remembered as a read
      const ReadOutcome again = K::read(ctx, control, position, &range);
      if (again == ReadOutcome::kConflict) break;
      if (again == ReadOutcome::kAbsent) return ErrorCode::kNotFound;
      if (again == ReadOutcome::kPresent && range.payload_bytes < end) {
        return outside(control, bytes, offset, part.size(), range.payload_bytes);
      }
      continue;  // the record has moved, or its payload is long enough now
    }
    return ctx.write(type, control, K::record(position), K::place(position), bytes, offset, part,
                     Precondition::kPresent);
  }
  return tries_exhausted(ctx, control, bytes);
}

// Erases the row. kNotFound if it is not there.
template <Kind K>
Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view bytes) {
  const typename K::Key key = K::key_of(bytes);
  base::SpinWait spin;
  for (unsigned tries = 0; tries < occ::kReadTries; ++tries, spin.once()) {
    typename K::Position position;
    FOEDUS_CHECK(K::find_to_write(ctx, control, key, Access::kErase, &position));
    if (!K::is_found(position)) return missing<K>(ctx, control, position);
    const ReadOutcome found =
        occ::read_presence(ctx, control, K::record(position), Remember::kAbsence);
    if (found == ReadOutcome::kMoved) continue;
    if (found == ReadOutcome::kConflict) break;
    if (found == ReadOutcome::kAbsent) return ErrorCode::kNotFound;
    FOEDUS_CHECK(ctx.write(LogRecordType::kErase, control, K::record(position), K::place(position),
                           bytes, 0, "", Precondition::kPresent));
    K::erased(ctx, control, position);
    return {};
  }
  return tries_exhausted(ctx, control, bytes);
}

// ---- the commit protocol ------------------------------------------------------------------------

// Finds the record of `entry` from the root by the full key in its log record, or makes one, and
// gives it room for the payloads that the transaction puts into it. Afterwards all write entries of
// the old record name the new record and its place. REQUIRES: the transaction holds no record lock
// of its lock phase.
template <Kind K>
Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry) {
  const typename K::Key key = K::key_of(entry->log->key());
  const std::size_t inline_bytes = inline_bytes_of(ctx, entry->record);
  for (;;) {
    typename K::Position position;
    FOEDUS_CHECK(K::find_or_insert(ctx, entry->storage, key, inline_bytes, &position));
    if (!K::has_room(position, inline_bytes)) {
      bool again = false;
      bool is_chain = false;
      FOEDUS_CHECK(
          K::make_room(ctx, entry->storage, key, position, inline_bytes, &again, &is_chain));
      if (again) continue;
      if (is_chain) FOEDUS_CHECK(put_into_chains(ctx, *entry));
    }
    if (K::record(position) != entry->record) {
      ctx.sets().writes().move(entry->record, K::record(position), K::place(position));
    }
    return {};
  }
}

}  // namespace foedus::storage::keyed
