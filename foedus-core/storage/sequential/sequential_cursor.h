#pragma once
// Cursor over a sequential storage. The records of the snapshot come first: they are older than all
// that is volatile alone (S8). All sessions' chains follow, merged by TID, ties broken by session.
// Records of one TID and session are in the order of their appends. This transaction's own appends
// are last, as it will commit after all that it sees.

#include <cstdint>
#include <string_view>
#include <vector>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/sequential/sequential_page.h"
#include "foedus-core/storage/sequential/sequential_snapshot_scan.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/status.h"

namespace foedus::storage::sequential {

//     closed --open()--> at a record --next()--> … --next()--> at_end() --close()--> closed
//
// Can be opened again and again; keeps its buffers, so that nothing is allocated once it has seen
// its usual load.
class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Moves to the first record, or to at_end(). kConflict. Other errors: those of
  // SnapshotScan::open(). A serializable transaction remembers the root, the end of every chain,
  // and which sessions have no chain. Later appends of other sessions are a conflict, and so is the
  // next snapshot.
  Status open(occ::TxnContext& ctx, occ::StorageControl* control);
  // Does what open() does, for the records of one snapshot alone, in which the storage has `root`.
  // Nothing is remembered, and nothing conflicts.
  Status open_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root);
  // Moves to the next record. Fails as open() does. REQUIRES: open and !at_end().
  Status next();
  bool at_end() const { return at_end_; }
  // Returns the record, valid until the next call of another method. REQUIRES: open and !at_end().
  std::string_view payload() const { return payload_; }
  // Ends the scan, also after a failure; may be called twice.
  void close();

 private:
  // The chain of one session, at a present record.
  struct Lane {
    SequentialPage* page;
    std::uint32_t index;   // records of `page` that were looked at
    std::uint32_t offset;  // of the next record
    std::uint32_t session;
    SequentialRecord* record;
    std::uint64_t version;  // of its TID
  };

  static bool comes_after(const Lane& left, const Lane& right) {
    if (left.version != right.version) return left.version > right.version;
    return left.session > right.session;
  }
  void prepare(occ::TxnContext& ctx, occ::StorageControl* control);
  Status open_lanes(page::VolatilePageId root);
  Status add_lanes(HeadsPage* heads);
  Status push_next(Lane lane);
  Status read_first();
  Status read_volatile();
  void take_own();

  occ::TxnContext* ctx_ = nullptr;
  occ::StorageControl* control_ = nullptr;
  SnapshotScan snapshot_;
  std::vector<Lane> lanes_;  // a heap, the earliest record in front
  std::vector<char> buffer_;
  std::string_view payload_;
  std::uint32_t next_own_ = 0;   // entry of the write set to look at next
  occ::WriteSet::State writes_;  // own writes when next_own_ was set
  bool at_end_ = true;
};

}  // namespace foedus::storage::sequential
