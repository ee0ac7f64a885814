#pragma once
// Catalog: which storages there are. Kept in memory; what is durable of it are the create and drop
// records in the log, ordered with data by their epochs.
//
//   E51  A storage is announced to users only after its create record is durable: every record of
//       its data has a later epoch. One whose create ran into a full device is in the log already:
//       it is kept unannounced, and the next open() of its name goes on with it.
//   E5  A drop first refuses new commits (dropped flag, looked at by verify after its fence), then
//       waits until every commit that did not see the flag is published, then logs the drop: no
//       record of the storage is newer than its drop. It is logged once: a call that comes after
//       one which ran into a full device waits for the record of that one, for a snapshot may have
//       left the storage out by then, and must not have it again. So does open() of its name, and
//       then makes a new one. The log has room for the record before commits are refused: a drop
//       that finds none leaves the storage as it was.
//   E6  Ids count upwards and are never used again.
//   E19 Life and death of a storage are noted under the lock under which their record is published:
//       who asks later which storages a durable epoch has knows all of them. Nobody waits for the
//       log while holding that lock: it is the gleaner that makes room for the log.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/log/log_record.h"
#include "foedus-core/occ/storage_control.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

class Engine;
class EngineSession;

class Catalog {
 public:
  explicit Catalog(Engine* engine) : engine_(engine) {}

  // The storage `wanted` describes, made if there is none of its name. `wanted.id` is ignored. One
  // that the newest snapshot found has is there at once; else it waits for the end of recovery, as
  // drop() does, and reports how that failed.
  Result<occ::StorageControl*> open(const storage_meta::StorageMeta& wanted);
  Status drop(std::string_view name);
  std::vector<StorageInfo> list() const;
  void add_stats(Stats* stats) const;

  // ---- recovery ------------------------------------------------------------------------------

  // A storage of the newest snapshot that was found: it can be read in snapshots. Before anybody
  // else.
  void announce_found(const storage_meta::StorageMeta& meta);
  // What there is, all of it in `newest`; null: there is no snapshot. Of what was announced before,
  // the rest is dropped: its handles are those of a dropped storage from now on.
  Status recover(const FoundCatalog& found, const snapshot::Manifest* newest);

  // ---- gleaner: any thread, never behind a call that waits for the log -------------------------

  // The storages that exist at the end of `covered`, ascending by id, and an id above all that were
  // ever given. REQUIRES: `covered` is durable.
  void list_at(Epoch covered, std::vector<storage_meta::StorageMeta>* storages,
               page::StorageId* next_id) const;
  // Null: never announced, or dropped. It stays where it is until the database is closed.
  occ::StorageControl* find(page::StorageId id) const;

 private:
  using StorageMap = std::map<std::string, occ::StorageControl*, std::less<>>;

  struct Dropped {
    occ::StorageControl* control;
    Epoch epoch;  // transactions that began up to here may still be inside
  };

  // A storage whose create record is published.
  struct Unannounced {
    std::unique_ptr<occ::StorageControl> control;
    Epoch epoch;
  };

  // From when to when a storage is there, in epochs of its DDL records.
  struct Life {
    storage_meta::StorageMeta meta;
    Epoch created;  // none: it came with a snapshot
    Epoch dropped;  // none: it was not
  };

  // Null: it is not there, or not yet.
  occ::StorageControl* find_early(const storage_meta::StorageMeta& wanted) const;
  Status create(const storage_meta::StorageMeta& wanted);
  // Its snapshot pages are below `root`; null: it has none.
  Status set_root(occ::StorageControl* control, page::SnapshotPageId root);
  // E51. REQUIRES: unannounced_ has the name.
  Result<occ::StorageControl*> announce(const std::string& name);
  Status drop_found(StorageMap::iterator found);
  bool is_drop_logged(const occ::StorageControl& control) const;
  Epoch publish_drop(const occ::StorageControl& control, log::LogRecord* record);
  void free_dropped();

  Engine* const engine_;
  mutable std::mutex mutex_;

  // Guarded by mutex_.
  std::vector<std::unique_ptr<occ::StorageControl>> controls_;  // all, dropped ones too
  StorageMap by_name_;
  std::map<std::string, Unannounced> unannounced_;
  std::vector<Dropped> dropped_;  // whose pages were not retired yet

  // Taken last; held while a DDL record is published (E19).
  mutable std::mutex ids_mutex_;
  // Guarded by ids_mutex_.
  std::map<std::uint32_t, occ::StorageControl*> by_id_;  // announced and not dropped
  std::map<std::uint32_t, Life> lives_;                  // those that a snapshot may ask for
  std::uint32_t next_id_ = 1;
};

}  // namespace foedus::engine
