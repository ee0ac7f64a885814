#pragma once
// The interface between core and gleaner: an order for one snapshot, and the call that carries it
// out. The call is defined in gleaner/ and resolved when the library is linked, so that nothing of
// the core includes the gleaner.
//
//   E13 A glean reads only durable log. It reads a running log up to an epoch that was announced as
//       durable. It reads a log that open() found after the cut of that log was made durable
//       (log L11). Otherwise a crash could lose commits from the log that a durable snapshot has.
//   E14 The storages of a snapshot are those of the one before, and those that the log creates up
//       to the covered epoch. Storages that the log drops up to then are left out.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/engine/setup/directory_names.h"
#include "foedus-core/log/segments/records.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/snapshot/files/file_in_making.h"
#include "foedus-core/snapshot/files/live_pages.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage/base/page_sample.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/database.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

// A storage whose pages were made without the log (bulk load), and the file with these pages, which
// is complete and synced.
struct LoadedStorage {
  storage_meta::StorageMeta meta;
  page::SnapshotPageId root;
  snapshot::PageAccounting accounting;
  snapshot::ManifestFile file;
  Epoch epoch;  // of all rows; a snapshot with the storage covers it
};

// Makes the pages of a new Master-Tree from its rows. Used by one thread. After an error every call
// returns it, or another one.
class TreeLoad {
 public:
  virtual ~TreeLoad() = default;
  // Adds a row. kInvalidArgument: the key is not above that of the row before. REQUIRES: key and
  // payload are within their limits. Returns errors of the device.
  virtual Status add(std::string_view key, std::string_view payload) = 0;
  // Completes the file. Called once, as the last call.
  virtual Result<LoadedStorage> finish() = 0;
};

// Begins the pages of a new storage, in a file with this name. All rows get the TID `tid`. Errors
// as of snapshot::SnapshotWriter::create().
Result<std::unique_ptr<TreeLoad>> begin_tree_load(device::Device* device,
                                                  const snapshot::SnapshotName& file,
                                                  const storage_meta::StorageMeta& meta,
                                                  page::Tid tid);

// An order for one snapshot. The objects that it points to must outlive make_snapshot().
struct GleanOrder {
  using OpenSegment = std::function<Result<std::unique_ptr<log::SegmentRecords>>()>;

  device::Device* device = nullptr;
  base::Runtime* runtime = nullptr;
  const numa::Topology* topology = nullptr;

  // Functions that open the segments of the log. The gleaner calls each of them once, in any
  // thread. Together the segments have all records of epochs after those of `previous` up to
  // `covered`. Segments of one logger are in the order of the log.
  std::vector<OpenSegment> segments;
  std::uint64_t log_bytes = 0;  // approximate size of the segments, for `progress`
  // The storages that exist at the end of `covered`, ascending by id (E14).
  std::vector<storage_meta::StorageMeta> storages;
  page::StorageId next_storage_id{};  // above all ids ever given
  // For each of `storages`, samples of the positions that changed and of the SOCs that changed
  // them. The gleaner divides a storage among reducers by them. May be empty.
  std::vector<std::vector<storage::PageSample>> samples;
  const snapshot::Manifest* previous = nullptr;  // null: there is none
  // A storage that the snapshot has besides; neither `previous` nor the log knows of it. Null:
  // there is none.
  const LoadedStorage* load = nullptr;
  const snapshot::FileInMaking* in_making = nullptr;  // F9; may be null
  Epoch covered;
  Epoch newest_seen;  // newest epoch in the log or of the clock; not below `covered`

  std::uint32_t mappers = 0;                // 1..kMaxSocs; 0: one for each SOC
  std::uint32_t reducers = 0;               // composers and files, too; values as for mappers
  std::uint64_t reducer_bytes = 64u << 20;  // memory of each reducer
  Facility huge_pages = Facility::kTry;     // for the reducers' memory; never kRequire
  // Binding of the reducers' memory and threads to SOCs, round-robin; never kRequire.
  Facility numa_binding = Facility::kTry;
  // Memory of reducers that stays allocated for later gleans, whose reducer_bytes must not be
  // larger. A glean adds memory for reducers that have none, and leaves all memory there. Null: the
  // glean frees its memory.
  std::vector<numa::SocMemory>* memory = nullptr;

  // True: composers read pages of the previous snapshot ahead, since no cache has them yet.
  bool reads_ahead = false;

  // The thread that calls make_snapshot() calls the next three functions. Each may be empty.
  // Called before the first page is written; may wait.
  std::function<void()> before_pages;

  // Called now and then with the progress.
  GleanProgressSink progress;
  // Called now and then. If it returns true, the glean ends with kClosed, unless its manifest is
  // about to be written.
  std::function<bool()> is_given_up;

  // Returns the number of the snapshot to be made.
  page::SnapshotNumber number() const {
    const auto before = previous == nullptr ? 0 : static_cast<std::uint32_t>(previous->number);
    return page::SnapshotNumber{before + 1};
  }
  // Returns the epoch that the previous snapshot covers; none if there is no previous snapshot.
  Epoch covered_before() const { return previous == nullptr ? Epoch() : previous->covered; }
};

// Makes a snapshot, durable on return, and returns its manifest. If that fails, the files that were
// written are orphaned, and the previous snapshot stays the newest. But if only the last sync of
// the directory failed, the new manifest may be on the device (E27). REQUIRES: one call at a time
// for a directory.
Result<snapshot::Manifest> make_snapshot(const GleanOrder& order, GleanReport* report);

// The sorted log records of a GleanOrder, from which a snapshot can be made later. Any thread can
// read the records, also after the snapshot was made, by the index of the storage in
// GleanOrder::storages and the index of the record in that storage. Keys are in the order of the
// storage. Records of one key are in the order of their commits.
class SortedTail {
 public:
  virtual ~SortedTail() = default;

  // Returns whether record() and find() may be used. False: records were spilled to the device, or
  // those of a storage are in several sorted runs.
  virtual bool is_in_memory() const = 0;
  // Returns the memory that the records take.
  virtual std::uint64_t bytes() const = 0;
  virtual const std::vector<storage_meta::StorageMeta>& storages() const = 0;
  virtual std::size_t record_count(std::size_t storage) const = 0;
  // REQUIRES, as find() does: is_in_memory().
  virtual const log::LogRecord& record(std::size_t storage, std::size_t index) const = 0;
  // Returns the index of the first record whose key is not before `key`, which has the form of a
  // log record's key; record_count() if there is none.
  virtual std::size_t find(std::size_t storage, std::string_view key) const = 0;

  // Replaces the manifest of the previous snapshot by one that covers the same epochs: its live
  // pages may have moved to other files. REQUIRES: no snapshot is being made.
  virtual void follow(const snapshot::Manifest& previous) = 0;
  // Makes the snapshot, as make_snapshot() does. Can be called again after a failure. One thread at
  // a time.
  virtual Result<snapshot::Manifest> compose(GleanReport* report) = 0;
};

// Sorts the log records of the order: the first half of make_snapshot(). The objects that the order
// points to must outlive the returned one, except for the previous manifest, which is copied.
Result<std::unique_ptr<SortedTail>> sort_tail(GleanOrder order);

// The limits of superseded pages and of files above which reclaim_pages() moves pages. Those of
// kUrgent are higher than the usual ones, so that pages seldom move while a caller waits.
enum class ReclaimFrom : std::uint8_t { kUsual, kUrgent };

// Moves live pages of some files to a new file, if superseded pages or files are too many. Returns
// the manifest of the same snapshot with the new list of files and the next number, or nullopt if
// nothing is moved. Adds the moved pages to report->pages_moved.
// `in_making`: F9; may be null.
// REQUIRES: `newest` is the newest manifest, and no snapshot is being made. The caller gives the
// new page ids to all holders of page ids of `newest` before the old files are removed.
Result<std::optional<snapshot::Manifest>> reclaim_pages(device::Device* device,
                                                        const snapshot::Manifest& newest,
                                                        ReclaimFrom from,
                                                        const snapshot::FileInMaking* in_making,
                                                        GleanReport* report);

// Returns the position (the partitioning key, see PageSample) of a record in a storage of the kind,
// or 0 if no storage of the kind can have the record. Defined in gleaner/.
std::uint64_t position_of(StorageKind kind, const log::LogRecord& record);

}  // namespace foedus::engine
