// The operations of storage/keyed/operations.h on one tree.
#include "foedus-core/storage/masstree/operations/operations.h"

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/read_record.h"
#include "foedus-core/storage/keyed/operations.h"
#include "foedus-core/storage/masstree/change/insert.h"
#include "foedus-core/storage/masstree/change/merge.h"
#include "foedus-core/storage/masstree/change/track.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/operations/locate.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/search/snapshot_find.h"

namespace foedus::storage::masstree {

namespace {

using occ::ReadOutcome;

// The kind for storage/keyed/kind.h.
struct Tree {
  using Key = std::string_view;
  using Position = KeyPosition;
  struct ReadScope {
    explicit ReadScope(occ::TxnContext& ctx) : reads(&ctx.cold_pages()) {}
    occ::ColdReads reads;
  };

  static std::string_view key_of(std::string_view bytes) { return bytes; }

  static Status find_to_read(occ::TxnContext& ctx, occ::StorageControl* control,
                             std::string_view key, occ::ReadRange*, KeyPosition* position) {
    return locate(ctx, control, key, Intent::kRead, position);
  }
  static bool is_cold(const KeyPosition& position) { return position.at.is_cold; }
  // Reads a row of a snapshot page. The pointer that was followed covers record and absence (M19).
  [[gnu::noinline]] static Status read_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                                            const KeyPosition& position, occ::ReadRange* range) {
    if (!position.found()) return ErrorCode::kNotFound;
    if (masstree::read_cold(ctx, position.at.page, position.slot, range)) return {};
    return ctx.no_page(control);
  }

  static Status find_to_write(occ::TxnContext& ctx, occ::StorageControl* control,
                              std::string_view key, keyed::Access access, KeyPosition* position) {
    const bool is_change = access == keyed::Access::kChange;
    return locate(ctx, control, key, is_change ? Intent::kPut : Intent::kWrite, position);
  }
  static bool is_found(const KeyPosition& position) { return position.found(); }
  static page::RecordHeader* record(const KeyPosition& position) { return position.record(); }
  static std::uint32_t place(const KeyPosition& position) { return position.index; }
  static keyed::Payload payload(const KeyPosition& position) {
    const Slot slot = position.at.page->slot(position.index);
    return {slot.is_chain(), slot.payload_bytes()};
  }
  static void remember_missing(occ::TxnContext& ctx, occ::StorageControl* control,
                               const KeyPosition& position) {
    ctx.sets().remember_page(&position.at.page->header, position.at.version, control);
    // A write to the key in the other tree needs a TID above the purged one (M48).
    ctx.raise_tid_floor(page::Tid(position.at.page->header.purged_tid));
  }

  static ReadOutcome read_here(occ::TxnContext& ctx, occ::StorageControl* control,
                               const KeyPosition& position, occ::ReadRange* range) {
    return read_at(ctx, control, position.record(), position.index, range);
  }
  // Reads a record, or follows it if it has moved while its page is not marked yet, because readers
  // wait for no move. If own writes of the record have to follow it first (M9), locate() updates
  // them.
  static ReadOutcome read(occ::TxnContext& ctx, occ::StorageControl* control,
                          const KeyPosition& position, occ::ReadRange* range) {
    page::RecordHeader* record = position.record();
    std::uint32_t place = position.index;
    for (;;) {
      const ReadOutcome found = read_at(ctx, control, record, place, range);
      if (found != ReadOutcome::kMoved || ctx.sets().writes().contains(record)) [[likely]]
        return found;
      if (!masstree::track_moved(ctx.pool(), control, record, &record, &place)) return found;
    }
  }

  static Status insert(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                       std::size_t payload_bytes, KeyPosition* position, bool* is_made) {
    return masstree::place(ctx, control, key, payload_bytes, position, is_made);
  }
  static Status find_or_insert(occ::TxnContext& ctx, occ::StorageControl* control,
                               std::string_view key, std::size_t payload_bytes,
                               KeyPosition* position) {
    bool is_made = false;
    return masstree::place(ctx, control, key, payload_bytes, position, &is_made);
  }
  static bool has_room(const KeyPosition& position, std::size_t payload_bytes) {
    return position.slot.capacity() >= payload_bytes;
  }
  static Status make_room(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                          const KeyPosition& position, std::size_t payload_bytes, bool* again,
                          bool* is_chain) {
    return masstree::make_room(ctx, control, key, position, payload_bytes, again, is_chain);
  }

  // Merges a page that may be empty now. Only erasures of its first or last key look: a session
  // that empties the page in the order of its keys erases one of them last.
  static void erased(occ::TxnContext& ctx, occ::StorageControl* control,
                     const KeyPosition& position) {
    const bool at_end = position.index == 0 || position.index + 1 == position.at.version.keys();
    if (at_end) merge_emptied(ctx, control, position);
  }

  static bool track_moved(page::PagePool& pool, occ::StorageControl* control,
                          page::RecordHeader* record, page::RecordHeader** to,
                          std::uint32_t* place) {
    return masstree::track_moved(pool, control, record, to, place);
  }
};

}  // namespace

namespace one_tree {

Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range) {
  return keyed::get<Tree>(ctx, control, key, range);
}

Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range) {
  return keyed::get_for_update<Tree>(ctx, control, key, range);
}

Status write_whole(occ::TxnContext& ctx, occ::StorageControl* control, WriteMode mode,
                   std::string_view key, const std::string_view& payload) {
  return keyed::write_whole<Tree>(ctx, control, mode, key, payload);
}

Status write_part(occ::TxnContext& ctx, occ::StorageControl* control, log::LogRecordType type,
                  std::string_view key, std::uint32_t offset, const std::string_view& part) {
  return keyed::write_part<Tree>(ctx, control, type, key, offset, part);
}

Status erase(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  return keyed::erase<Tree>(ctx, control, key);
}

Status materialize(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                   Made* made) {
  KeyPosition position;
  FOEDUS_CHECK(locate(ctx, control, key, Intent::kWrite, &position));
  made->is_new = false;
  if (!position.found()) FOEDUS_CHECK(place(ctx, control, key, 0, &position, &made->is_new));
  made->record = position.record();
  made->place = position.index;
  return {};
}

// Locks the record of the key, which is made if need be. An own page-version that said that the key
// is missing is raised by the new record. So the new record is remembered as absent in its place.
Status hold_any(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  Made made;
  FOEDUS_CHECK(materialize(ctx, control, key, &made));
  FOEDUS_SYNC_POINT("masstree:lock_placed");
  FOEDUS_CHECK(ctx.hold(control, made.record, key));
  if (!made.is_new || ctx.sets().pages().is_empty()) return {};
  const ReadOutcome found = occ::read_presence(ctx, control, made.record, occ::Remember::kAbsence);
  return found == ReadOutcome::kAbsent ? Status()
                                       : ctx.conflict(ConflictReason::kRecordChanged, control, key);
}

}  // namespace one_tree

Status relocate(occ::TxnContext& ctx, occ::WriteEntry* entry) {
  return keyed::relocate<Tree>(ctx, entry);
}

}  // namespace foedus::storage::masstree
