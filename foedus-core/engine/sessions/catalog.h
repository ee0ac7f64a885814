#pragma once
// Catalog: the storages of a database. It is kept in memory. Durable are the create and drop
// records in the log, ordered with data by their epochs.
//
//   E51  A storage is announced to users only after its create record is durable: every record of
//       its data has a later epoch. If the create ran into a full device, its record is in the log
//       already. The storage is kept unannounced, and the next open() of its name goes on with it.
//   E5  A drop sets the dropped flag, which verify reads after its fence: new commits are refused.
//       It waits until every commit that did not see the flag is published, then logs the drop. No
//       record of the storage is newer than its drop. A drop is logged once. A call that follows
//       one which ran into a full device waits for the record of that one. A snapshot may leave the
//       storage out by then, and must not have it again. An open() of its name waits too, and then
//       makes a new storage. Space in the log is reserved before commits are refused: a drop that
//       finds none leaves the storage as it was.
//   E6  Ids count upwards and are never used again.
//   E19 Creation and drop of a storage are noted under the lock under which their record is
//       published. So list_at() knows all storages of a durable epoch. No thread waits for the log
//       while it holds that lock: the gleaner takes it too, and the gleaner makes space in the log.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/sessions/ddl_log.h"
#include "foedus-core/engine/sessions/found_catalog.h"
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
    DdlLog* ddl = nullptr;  // used under mutex_
    std::uint64_t database = 0;
  };
  explicit Catalog(const Parts& parts) : parts_(parts) {}
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Returns the storage that `wanted` describes; creates it if there is none of its name.
  // `wanted.id` is ignored. A storage of the newest snapshot that was found is returned at once.
  // Otherwise it waits for the end of recovery, as drop() does, and returns the error of a recovery
  // that failed.
  Result<occ::StorageControl*> open(const storage_meta::StorageMeta& wanted);
  Status drop(std::string_view name);
  std::vector<StorageInfo> list() const;
  void add_stats(Stats* stats) const;

  // ---- recovery ------------------------------------------------------------------------------

  // Enters a storage of the newest snapshot that was found, for transactions that read snapshots.
  // Called before any user has a session.
  void announce_found(const storage_meta::StorageMeta& meta);
  // Enters the storages of `found`, whose roots are in `newest` (null: there is no snapshot). Drops
  // storages that were announced before and are not in `found`: their handles become those of a
  // dropped storage.
  Status recover(const FoundCatalog& found, const snapshot::Manifest* newest);

  // ---- gleaner: any thread, waits for no call that waits for the log ---------------------------

  // Lists the storages that exist at the end of `covered`, ascending by id. `next_id` gets an id
  // above all that were ever given. REQUIRES: `covered` is durable.
  void list_at(Epoch covered, std::vector<storage_meta::StorageMeta>* storages,
               page::StorageId* next_id) const;
  // Returns null if it was never announced, or was dropped. The control stays until the database
  // closes.
  occ::StorageControl* find(page::StorageId id) const;

 private:
  using StorageMap = std::map<std::string, occ::StorageControl*, std::less<>>;

  struct Dropped {
    occ::StorageControl* control;
    Epoch epoch;  // transactions that began up to here may still be inside
  };

  // A storage whose create record is published, but not known to be durable (E51).
  struct Unannounced {
    std::unique_ptr<occ::StorageControl> control;
    Epoch epoch;
  };

  // The epochs of a storage's DDL records, from `created` to `dropped`.
  struct Life {
    storage_meta::StorageMeta meta;
    Epoch created;  // none: it came with a snapshot
    Epoch dropped;  // none: it was not
  };

  // Returns null if the storage is not there, or not yet.
  occ::StorageControl* find_early(const storage_meta::StorageMeta& wanted) const;
  Status create(const storage_meta::StorageMeta& wanted);
  // Makes `root` the storage's root of snapshot pages; if it is null, makes an empty storage.
  Status set_root(occ::StorageControl* control, page::SnapshotPageId root);
  // Waits for the create record, then announces the storage (E51). REQUIRES: unannounced_ has the
  // name.
  Result<occ::StorageControl*> announce(const std::string& name);
  Status drop_found(StorageMap::iterator found);
  bool is_drop_logged(const occ::StorageControl& control) const;
  Epoch publish_drop(const occ::StorageControl& control, log::LogRecord* record);
  void free_dropped();

  const Parts parts_;
  mutable std::mutex mutex_;

  // Guarded by mutex_.
  std::vector<std::unique_ptr<occ::StorageControl>> controls_;  // all, dropped ones too
  StorageMap by_name_;
  std::map<std::string, Unannounced> unannounced_;
  std::vector<Dropped> dropped_;  // their pages are not retired yet

  // Taken last; held while a DDL record is published (E19).
  mutable std::mutex ids_mutex_;
  // Guarded by ids_mutex_.
  std::map<std::uint32_t, occ::StorageControl*> by_id_;  // announced and not dropped
  std::map<std::uint32_t, Life> lives_;                  // those that a snapshot may ask for
  std::uint32_t next_id_ = 1;
};

}  // namespace foedus::engine
