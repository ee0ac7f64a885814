#pragma once
// The interface between core and gleaner: an order for one snapshot, and the call that carries it
// out. The call is defined in gleaner/ and resolved when the library is linked, so that nothing of
// the core includes the gleaner.
//
//   E13 A glean reads only what is durable. It reads a running log up to an epoch that was
//       announced, and a found log after its cut was made durable (log L11). What a glean writes
//       must not outlive what it was made of.
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
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage/base/page_sample.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/database.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

// An order for one snapshot. The objects that it points to outlive the call.
struct GleanOrder {
  using OpenSegment = std::function<Result<std::unique_ptr<log::SegmentRecords>>()>;

  device::Device* device = nullptr;
  base::Runtime* runtime = nullptr;
  const numa::Topology* topology = nullptr;

  // The log: these segments have all records of epochs after `previous` up to `covered`, those of
  // one logger in their order. Any thread opens them, each once.
  std::vector<OpenSegment> segments;
  std::uint64_t log_bytes = 0;  // their size, about, for the progress
  // The storages that exist at the end of `covered`, ascending by id (E14).
  std::vector<storage_meta::StorageMeta> storages;
  page::StorageId next_storage_id{};  // above all that were ever given
  // Samples of what changed where, for each of `storages`, as far as is known; may be empty.
  std::vector<std::vector<storage::PageSample>> samples;
  const snapshot::Manifest* previous = nullptr;  // null: there is none
  Epoch covered;
  Epoch newest_seen;  // not below covered

  std::uint32_t mappers = 0;                // 1..kMaxSocs; 0: one for each SOC
  std::uint32_t reducers = 0;               // and composers and files; as for mappers
  std::uint64_t reducer_bytes = 64u << 20;  // memory of each
  Facility huge_pages = Facility::kTry;     // for that memory; never kRequire
  // Binding of that memory, and of the threads that use it, to SOCs in turn; never kRequire.
  Facility numa_binding = Facility::kTry;
  // Memory of earlier gleans with as many reducers of the same size. This glean uses it, and leaves
  // it there for the next. Null: the glean takes its own, and gives it back.
  std::vector<numa::SocMemory>* memory = nullptr;

  // True if pages of the previous snapshot, likely to be on the device alone, are read ahead.
  bool reads_ahead = false;

  // Called by the calling thread before the first page is written; may wait, and be empty.
  std::function<void()> before_pages;

  // Called with the progress, by the calling thread; may be empty.
  GleanProgressSink progress;
  // Called by the calling thread, now and then; may be empty. True: the glean ends with kClosed,
  // unless it has got so far that its manifest is about to be written.
  std::function<bool()> is_given_up;

  // Returns the number of the snapshot to be made.
  page::SnapshotNumber number() const {
    const auto before = previous == nullptr ? 0 : static_cast<std::uint32_t>(previous->number);
    return page::SnapshotNumber{before + 1};
  }
  // Returns the epoch up to which the snapshot before has all commits; none if there is none.
  Epoch covered_before() const { return previous == nullptr ? Epoch() : previous->covered; }
};

// Makes the snapshot durable, and returns its manifest. On failure the newest snapshot is the one
// before, and the files that were written are orphaned. REQUIRES: one call at a time for a
// directory.
Result<snapshot::Manifest> make_snapshot(const GleanOrder& order, GleanReport* report);

// The sorted records of an order, of which a snapshot can be made later. Meanwhile any thread can
// read them: a storage by its place in the order, a record by its place in the storage. Records of
// one key are together, the oldest first; keys are in the order of the storage.
class SortedTail {
 public:
  virtual ~SortedTail() = default;

  // Returns whether all records can be read. False: some were spilled, or are in no single order.
  virtual bool is_in_memory() const = 0;
  // Returns the memory that the records take.
  virtual std::uint64_t bytes() const = 0;
  virtual const std::vector<storage_meta::StorageMeta>& storages() const = 0;
  virtual std::size_t record_count(std::size_t storage) const = 0;
  // REQUIRES: is_in_memory(), for this and for find().
  virtual const log::LogRecord& record(std::size_t storage, std::size_t index) const = 0;
  // Returns the place of the first record whose key is not before `key`, the bytes of a log record.
  virtual std::size_t find(std::size_t storage, std::string_view key) const = 0;

  // Takes another manifest for the snapshot before. REQUIRES: no snapshot is being made.
  virtual void follow(const snapshot::Manifest& previous) = 0;
  // Makes the snapshot, as make_snapshot() does. It can be tried again after a failure. One thread
  // at a time.
  virtual Result<snapshot::Manifest> compose(GleanReport* report) = 0;
};

// Does the first half of make_snapshot(). What the order points to outlives what is returned, but
// for the manifest of the snapshot before.
Result<std::unique_ptr<SortedTail>> sort_tail(GleanOrder order);

// How many superseded pages, or how many files, are too many: the usual number, or a larger one for
// when a caller waits.
enum class ReclaimFrom : std::uint8_t { kUsual, kUrgent };

// Moves live pages of some files to a new file, if superseded pages or files are too many. Returns
// the manifest of the same snapshot with the new list of files and the next number, or nullopt if
// nothing is moved. Adds the moved pages to report->pages_moved.
// REQUIRES: `newest` is the newest manifest, and no snapshot is being made. The caller gives the
// new page ids to all holders of page ids of `newest` before the old files are removed.
Result<std::optional<snapshot::Manifest>> reclaim_pages(device::Device* device,
                                                        const snapshot::Manifest& newest,
                                                        ReclaimFrom from, GleanReport* report);

// Returns the position of a record in the order of a storage of that kind; samples are of
// positions. Defined in gleaner/, as make_snapshot() is.
std::uint64_t position_of(StorageKind kind, const log::LogRecord& record);

}  // namespace foedus::engine
