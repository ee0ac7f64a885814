#pragma once
// Recovery: makes a snapshot of the log's tail, which the newest snapshot does not cover, by a
// glean (paper §6.3, appendix B.3). Meanwhile snapshot transactions read the snapshots that were
// found. A long tail is only sorted before the database opens: its rows are applied when an
// operation first touches them (unapplied.h), and the open database makes the snapshot.
//
//   begin(): cut of the log durable ──► found snapshots readable, their storages known ──► users
//   run():   tail sorted ──┬─► composed ──► published ──┬─► storages made ──► log begins
//                          └─► its rows wait ───────────┘   ──► log truncated ──► catalog ──► over
//
//   E23 Until recovery is over no transaction follows a storage's root pointer or reaches a
//       volatile page, and there is no commit. Only transactions of snapshot isolation begin, and
//       they follow the roots of the snapshot that they entered. So recovery may set roots and drop
//       storages without the precautions of a running database. For the removal of files, only the
//       rule for snapshot readers holds (E52, E53).
//   E24 A thread that waits for the end of recovery holds no mutex that run() takes. In particular,
//       it locks the catalog's mutex after the wait. Otherwise the thread and run() would wait for
//       each other.
//   E25 Recovery that fails, or is given up because the database is closed, leaves a directory from
//       which the next open recovers the same data. Until the log begins, recovery adds only
//       snapshots of what the directory holds. It removes only snapshots that are superseded or
//       damaged, and log segments that the newest snapshot covers. The step "log truncated" removes
//       the rest of these segments once the log has begun. The catalog changes in the last step,
//       which cannot fail. So after a recovery that failed, the storages of the snapshot that
//       open() found can be read in snapshots, and no others are there.

#include <cstdint>
#include <memory>
#include <optional>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/glean/glean_orders.h"
#include "foedus-core/engine/glean/snapshot_retention.h"
#include "foedus-core/engine/glean/tail_glean.h"
#include "foedus-core/engine/sessions/catalog.h"
#include "foedus-core/engine/sessions/recovered_catalog.h"
#include "foedus-core/engine/sessions/session_factory.h"
#include "foedus-core/engine/sessions/unapplied.h"
#include "foedus-core/engine/setup/borrowed_memory.h"
#include "foedus-core/engine/setup/open_state.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/engine/setup/session_memory.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/engine/snapshots/newest_manifest.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/durability.h"
#include "foedus-core/log/log.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/status.h"

namespace foedus::engine {

class Recovery {
 public:
  struct Parts {
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    OpenState* state = nullptr;
    device::Device* device = nullptr;
    log::Log* log = nullptr;
    internal::DurabilityWaits* durability = nullptr;
    epoch::EpochClock* clock = nullptr;
    const page::PagePool* pool = nullptr;
    SessionMemory* session_memory = nullptr;
    SessionFactory* sessions = nullptr;
    Snapshots* snapshots = nullptr;
    Catalog* catalog = nullptr;
    NewestManifest* newest = nullptr;
    SnapshotRetention* retention = nullptr;
    GleanOrders* orders = nullptr;
    TailGlean* tail = nullptr;
    const OperatorLog* operator_log = nullptr;
  };
  explicit Recovery(const Parts& parts) : parts_(parts) {}
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  // Makes the log's cut durable and the snapshots that were found readable, before any user has a
  // session. `newest`: the manifest of the newest snapshot, if there is one.
  Status begin(std::optional<snapshot::Manifest> newest);
  // Recovers the tail and the catalog, and starts the log. Called once, by the gleaner's task.
  void run();

  // ---- any thread ----------------------------------------------------------------------------

  // Returns the last epoch of the tail whose rows wait; none if recovery has left no such rows:
  // then a snapshot has all commits that were found. REQUIRES: OpenState::is_recovery_over().
  Epoch found_up_to() const { return found_up_to_; }

 private:
  Status check_given_up() const;
  Status publish_found();
  Status recover();
  Status glean_tail_in_room(RecoveredCatalog* found);
  Status glean_tail(RecoveredCatalog* found);
  bool can_wait(const SortedTail& tail) const;
  Status compose(SortedTail* tail);
  Status hold(std::unique_ptr<SortedTail> tail, BorrowedMemory* borrowed, Epoch covered);
  std::uint64_t bytes_to_borrow() const;
  Status tidy();

  const Parts parts_;

  // Used by begin(), then by run().
  std::optional<snapshot::Manifest> manifest_;  // manifest of the newest snapshot
  std::unique_ptr<Unapplied> unapplied_;        // rows of the tail that wait; null: none do
  Epoch found_up_to_;                           // constant once recovery is over
};

}  // namespace foedus::engine
