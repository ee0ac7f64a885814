#pragma once
// StorageLoads: bulk loads, one at a time. A load makes the pages of a new storage in a file of its
// own, beside transactions and gleans. The next glean takes these pages over as they are.
//
//   begin() ──► filling ── complete() ──► offered to each glean ── its manifest is durable ──►
//   there
//                  └─ withdraw(): gone          └─ withdraw(): gone once a manifest lacks it
//
//   E60 A load is in no log: the manifest that lists its file makes the storage, with all rows and
//       durably. After a crash before that, there is no storage, and its file is orphaned.
//   E61 The name of a load is reserved until no durable manifest can have its storage, or the
//       catalog has it. Otherwise the log could create another storage of that name, and recovery
//       would find two. A glean that fails may leave a manifest (E27), so a load that was offered
//       to a glean is withdrawn only when a later manifest lacks it.
//   E62 The file is that of SOC kMaxSocs - 1 of the snapshot after the newest one. Gleans have at
//       most kMaxSocs - 1 files, so no glean of that number has the same file, and later gleans
//       have other numbers.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/engine/sessions/catalog.h"
#include "foedus-core/engine/setup/open_state.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/engine/snapshots/newest_manifest.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/snapshot/files/file_in_making.h"
#include "foedus/status.h"

namespace foedus::engine {

// One load. The user's handle and StorageLoads share it.
struct StorageLoad {
  // Constant once StorageLoads::begin() has returned the load.
  storage_meta::StorageMeta meta;
  std::shared_ptr<const base::AtomicWord<std::uint64_t>> opened_in;  // StorageLoads::opened_in_

  // Used by the thread that loads. Null: complete, or over.
  std::unique_ptr<TreeLoad> tree;
  Status failure;  // of the first call that failed for good

  // Guarded by the mutex of StorageLoads.
  std::shared_ptr<const LoadedStorage> loaded;  // once complete
  occ::StorageControl* control = nullptr;       // once the storage is there
  bool is_offered = false;
  bool is_withdrawn = false;
};

class StorageLoads {
 public:
  struct Parts {
    device::Device* device = nullptr;
    epoch::EpochClock* clock = nullptr;
    Catalog* catalog = nullptr;
    const NewestManifest* newest = nullptr;
  };
  explicit StorageLoads(const Parts& parts);
  StorageLoads(const StorageLoads&) = delete;
  StorageLoads& operator=(const StorageLoads&) = delete;

  // ---- the thread that loads -------------------------------------------------------------------

  // Begins a load of a new Master-Tree. kAlreadyExists: there is a storage of that name. kBusy:
  // another load runs. kInvalidArgument: the name. Errors of the device.
  Result<std::shared_ptr<StorageLoad>> begin(std::string_view name);
  // Completes the pages of the load, so that gleans are offered it. Does nothing if they are.
  Status complete(StorageLoad* load);
  // Returns the storage, or null while no glean has made it.
  occ::StorageControl* control_of(const StorageLoad& load) const;
  // Gives the load up. Does nothing if its storage is there, or the load is over.
  void withdraw(const std::shared_ptr<StorageLoad>& load);
  // Ends all loads, because the database closes. No handle of a load follows a pointer to the
  // engine afterwards. REQUIRES: no call of a load runs, now or later.
  void close();

  // ---- the gleaner's task ----------------------------------------------------------------------

  // Returns the complete load, which the next manifest shall have; null: there is none.
  std::shared_ptr<const LoadedStorage> offer();
  // Enters the storage of the load if the durable manifest has it (E60).
  Status enter(const snapshot::Manifest& manifest);

  const snapshot::FileInMaking& in_making() const { return in_making_; }

 private:
  Status start(std::string_view name, StorageLoad* load);
  void end_current();

  const Parts parts_;
  // The generation of the process that opened the database (E12); 0: it is closed. Handles of loads
  // outlive the database, and look here first.
  const std::shared_ptr<base::AtomicWord<std::uint64_t>> opened_in_;
  snapshot::FileInMaking in_making_;
  std::string file_name_;  // of the current load; set by begin()
  mutable std::mutex mutex_;
  std::shared_ptr<StorageLoad> current_;  // guarded by mutex_; null: there is no load
};

}  // namespace foedus::engine
