#pragma once
// Catalog: which storages there are. Kept in memory; what is durable of it are the create and drop
// records in the log, ordered with data by their epochs.
//
//   E4  A storage is announced to users only after its create record is durable: every record of
//       its data has a later epoch. One whose create ran into a full device is in the log already:
//       it is kept unannounced, and the next open() of its name goes on with it.
//   E5  A drop first refuses new commits (dropped flag, looked at by verify after its fence), then
//       waits until every commit that did not see the flag is published, then logs the drop: no
//       record of the storage is newer than its drop.
//   E6  Ids count upwards and are never used again.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/occ/storage_control.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

class Engine;
class EngineSession;

class Catalog {
 public:
  explicit Catalog(Engine* engine) : engine_(engine) {}

  // The storage `wanted` describes, made if there is none of its name. `wanted.id` is ignored.
  Result<occ::StorageControl*> open(const storage_meta::StorageMeta& wanted);
  Status drop(std::string_view name);
  std::vector<StorageInfo> list() const;
  void add_stats(Stats* stats) const;

  // ---- recovery: one thread, before anybody else ---------------------------------------------

  // Takes over a storage from the log.
  Status recover(const storage_meta::StorageMeta& meta);
  // Never to be used again.
  void reserve_id(page::StorageId id);
  // Null: not there.
  occ::StorageControl* find(page::StorageId id) const;

 private:
  struct Dropped {
    occ::StorageControl* control;
    Epoch epoch;  // transactions that began up to here may still be inside
  };

  // A storage whose create record is published.
  struct Unannounced {
    std::unique_ptr<occ::StorageControl> control;
    Epoch epoch;
  };

  Status create(const storage_meta::StorageMeta& wanted);
  // E4. REQUIRES: unannounced_ has the name.
  Result<occ::StorageControl*> announce(const std::string& name);
  void free_dropped();

  Engine* const engine_;
  mutable std::mutex mutex_;

  // Guarded by mutex_.
  std::vector<std::unique_ptr<occ::StorageControl>> controls_;  // all, dropped ones too
  std::map<std::string, occ::StorageControl*, std::less<>> by_name_;
  std::map<std::uint32_t, occ::StorageControl*> by_id_;
  std::map<std::string, Unannounced> unannounced_;
  std::vector<Dropped> dropped_;  // whose pages were not retired yet
  std::uint32_t next_id_ = 1;
};

}  // namespace foedus::engine
