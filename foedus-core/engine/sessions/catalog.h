#pragma once
// Catalog: the storages of a database, kept in memory. It is rebuilt at open from the newest
// snapshot and from the create and drop records of the log, whose epochs order them with records of
// data.
//
//   E51  A storage is announced to users only after its create record is durable, so that every
//       record of its data has a later epoch. If a full device keeps the create record from
//       becoming durable, the record stays in the log buffer of the engine's own session. The
//       catalog keeps the storage unannounced, and the next open() of its name waits for the record
//       again.
//   E5  A drop sets the dropped flag. A commit reads the flag in its verify phase, after its fence,
//       and is refused if the flag is set. The drop waits until every commit that did not see the
//       flag is published, and only then logs its record. So no record of the storage is newer than
//       its drop. A drop is logged once, even if a full device keeps the record from becoming
//       durable. A later drop() or open() of the name waits for the same record; open() then makes
//       a new storage. A second record would give the drop a later epoch in list_at(). A snapshot
//       up to an epoch between both records would then have the storage again, although an earlier
//       one has left it out. Space in the log is reserved before commits are refused: a drop that
//       finds none leaves the storage as it was.
//   E6  Ids of storages count upwards and are never used again.
//   E19 A create or drop record is published, and its epoch noted in the catalog, under one lock.
//       So list_at() knows all storages of a durable epoch. No thread waits for the log while it
//       holds that lock: the gleaner takes it too, and the gleaner makes space in the log.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/sessions/ddl_log.h"
#include "foedus-core/engine/sessions/recovered_catalog.h"
#include "foedus-core/engine/setup/open_state.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/durability.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

class Catalog {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    const OpenState* state = nullptr;
    epoch::EpochClock* clock = nullptr;
    internal::DurabilityWaits* durability = nullptr;
    page::PagePool* pool = nullptr;
    DdlLog* ddl = nullptr;  // guarded by mutex_
    std::uint64_t database = 0;
  };
  explicit Catalog(const Parts& parts) : parts_(parts) {}
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Returns the storage that `wanted` describes; creates it if there is none of its name.
  // `wanted.id` is ignored. Returns a storage of the newest snapshot at once, even during recovery.
  // For other storages, as in drop(), the call waits for the end of recovery, and returns the error
  // of a recovery that failed.
  Result<occ::StorageControl*> open(const storage_meta::StorageMeta& wanted);
  Status drop(std::string_view name);

  // Bulk loads (E60, E61). reserve() gives the name of a new Master-Tree an id, and keeps others
  // from creating a storage of that name until release() or enter_loaded(). kAlreadyExists: there
  // is one. enter_loaded() announces the storage, whose pages are in a durable snapshot.
  Result<storage_meta::StorageMeta> reserve(std::string_view name);
  void release(std::string_view name);
  Result<occ::StorageControl*> enter_loaded(const storage_meta::StorageMeta& meta,
                                            page::SnapshotPageId root);
  std::vector<StorageInfo> list() const;
  void add_stats(Stats* stats) const;

  // ---- recovery ------------------------------------------------------------------------------

  // Enters a storage of the newest snapshot that open() found, so that transactions can read
  // snapshots during recovery. Called before any user has a session.
  void announce_found(const storage_meta::StorageMeta& meta);
  // Makes the storages of `found` with their roots in `newest`; null: there is no snapshot. Users
  // see no difference before enter_recovered(): if recovery fails until then, they can read the
  // storages of announce_found() in snapshots, and open no others.
  Status recover(const RecoveredCatalog& found, const snapshot::Manifest* newest);
  // Enters the storages of recover(). A storage of announce_found() that is not among them was
  // dropped by the log: sets its dropped flag, so that its handles are refused. Called when nothing
  // can make recovery fail any more.
  void enter_recovered() noexcept;

  // ---- gleaner: any thread; takes ids_mutex_ only, which no thread holds in a wait for the log --

  // Lists the storages that exist at the end of epoch `covered`, ascending by id. Sets `*next_id`
  // to an id above all that storages ever had. REQUIRES: `covered` is durable.
  void list_at(Epoch covered, std::vector<storage_meta::StorageMeta>* storages,
               page::StorageId* next_id) const;
  // Returns the name of a storage that exists, or was dropped in this run; empty: any other id.
  std::string name_of(page::StorageId id) const;
  // Returns the control of a storage, or null if it was never announced or its drop was logged. The
  // control stays valid until the database closes.
  occ::StorageControl* find(page::StorageId id) const;

 private:
  using StorageMap = std::map<std::string, occ::StorageControl*, std::less<>>;

  struct Dropped {
    occ::StorageControl* control;
    Epoch epoch;  // transactions that began up to this epoch may still follow its pages
  };

  // A storage whose create record is published, but not known to be durable (E51).
  struct Unannounced {
    std::unique_ptr<occ::StorageControl> control;
    Epoch epoch;
  };

  // A storage exists from epoch `created` to epoch `dropped`: the epochs of its create and drop
  // records.
  struct Life {
    storage_meta::StorageMeta meta;
    Epoch created;  // invalid: found at open, and so older than all epochs of this run
    Epoch dropped;  // invalid: not dropped
  };

  // What recover() has made for enter_recovered().
  struct Recovered {
    StorageMap by_name;
    std::map<std::uint32_t, occ::StorageControl*> by_id;
    std::map<std::uint32_t, Life> lives;
    std::vector<occ::StorageControl*> dropped;  // storages of announce_found() that are gone
    std::uint32_t next_id = 1;
  };

  occ::StorageControl* find_early(const storage_meta::StorageMeta& wanted) const;
  Status create(const storage_meta::StorageMeta& wanted);
  // Makes `root`, a snapshot page, the storage's root; if it is null, makes an empty storage.
  Status set_root(occ::StorageControl* control, page::SnapshotPageId root);
  // Waits until the create record is durable, then announces the storage (E51). REQUIRES:
  // unannounced_ has the name.
  Result<occ::StorageControl*> announce(const std::string& name);
  Status drop_found(StorageMap::iterator found);
  bool is_drop_logged(const occ::StorageControl& control) const;
  Epoch publish_drop(const occ::StorageControl& control, log::LogRecord* record);
  void free_dropped();

  const Parts parts_;
  mutable std::mutex mutex_;

  // Guarded by mutex_.
  std::vector<std::unique_ptr<occ::StorageControl>> controls_;  // dropped ones too
  StorageMap by_name_;
  std::map<std::string, Unannounced> unannounced_;
  std::set<std::string, std::less<>> reserved_;  // names of loads
  std::vector<Dropped> dropped_;  // storages whose pages are not freed yet
  Recovered recovered_;           // between recover() and enter_recovered()

  // Taken after mutex_; held while a DDL record is published (E19).
  mutable std::mutex ids_mutex_;
  // Guarded by ids_mutex_.
  std::map<std::uint32_t, occ::StorageControl*> by_id_;  // announced and not dropped
  std::map<std::uint32_t, Life> lives_;                  // all of this run, for list_at()
  std::uint32_t next_id_ = 1;
};

}  // namespace foedus::engine
