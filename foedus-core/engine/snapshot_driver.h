#pragma once
// What the core gives to the gleaner, and the gleaner to the core: an order for one snapshot, and
// the call that carries it out. The call is defined in gleaner/ and resolved when the library is
// linked, so that nothing of the core includes the gleaner.
//
//   E13 A glean reads only what is durable: of a log that runs, epochs up to one that was
//       announced; of one that was found, after its cut was made durable (log L11). What it writes
//       must not outlive what it was made of.
//   E14 The storages of a snapshot are those of the one before and of the log's creations, without
//       those that the log drops up to the epoch that is covered.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/engine/directory_names.h"
#include "foedus-core/log/segment_records.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/occ/page_sample.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/database.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::log {
class Log;
}

namespace foedus::engine {

// One snapshot to be made. What it points to outlives the call.
struct GleanOrder {
  using OpenSegment = std::function<Result<std::unique_ptr<log::SegmentRecords>>()>;

  device::Device* device = nullptr;
  base::Runtime* runtime = nullptr;
  const numa::Topology* topology = nullptr;

  // The log: all records of epochs behind `previous` up to `covered` are in these segments, those
  // of one logger in their order. Opened by any thread, each once.
  std::vector<OpenSegment> segments;
  std::uint64_t log_bytes = 0;  // about as many are in them, for the progress
  // Those that exist at the end of `covered`, ascending by id (E14).
  std::vector<storage_meta::StorageMeta> storages;
  page::StorageId next_storage_id{};  // above all that were ever given
  // What changed where, by storage (same places), as far as anything is known; may be empty.
  std::vector<std::vector<occ::PageSample>> samples;
  const snapshot::Manifest* previous = nullptr;  // null: there is none
  Epoch covered;
  Epoch newest_seen;  // not below covered

  std::uint32_t mappers = 0;                // 1..kMaxSocs; 0: one for each SOC
  std::uint32_t reducers = 0;               // and composers and files; the same
  std::uint64_t reducer_bytes = 64u << 20;  // memory of each
  Facility huge_pages = Facility::kTry;     // for that memory; never kRequire
  // Of that memory, and of the threads that use it, to SOCs in turn; never kRequire.
  Facility numa_binding = Facility::kTry;
  // Memory of gleans before with as many reducers of the same size, which this one uses and leaves
  // there for the next. Null: it takes its own, and gives it back.
  std::vector<numa::SocMemory>* memory = nullptr;

  // Pages of the snapshot before are likely to be on the device alone: they are read ahead.
  bool reads_ahead = false;

  // Called by the calling thread before the first page is written; may wait, and be empty.
  std::function<void()> before_pages;

  // Told of the progress, by the calling thread; may be empty.
  GleanProgressSink progress;
  // Asked by the calling thread, now and then; may be empty. True: the glean ends with kClosed,
  // unless it has got so far that its manifest is about to be written.
  std::function<bool()> is_given_up;
};

// Makes the snapshot durable, and returns its manifest. On failure the newest snapshot is the one
// before, and what was written is leftovers. REQUIRES: one at a time for a directory.
Result<snapshot::Manifest> make_snapshot(const GleanOrder& order, GleanReport* report);

// The records of an order, sorted, of which a snapshot can be made later. Meanwhile they can be
// looked at, a storage by its place in the order, a record by its place in the storage: those of
// one key together, keys in the order of the storage, the oldest record of a key first. Any thread.
class SortedTail {
 public:
  virtual ~SortedTail() = default;

  // Whether all records can be looked at. False: some were spilled, or are in no single order.
  virtual bool is_in_memory() const = 0;
  // Memory that records take.
  virtual std::uint64_t bytes() const = 0;
  virtual const std::vector<storage_meta::StorageMeta>& storages() const = 0;
  virtual std::size_t record_count(std::size_t storage) const = 0;
  // REQUIRES: is_in_memory(), for this and the next.
  virtual const log::LogRecord& record(std::size_t storage, std::size_t index) const = 0;
  // The place of the first record whose key is not before `key`, in the bytes of a log record.
  virtual std::size_t find(std::size_t storage, std::string_view key) const = 0;

  // The snapshot before has another manifest by now. Not while one is made.
  virtual void follow(const snapshot::Manifest& previous) = 0;
  // Makes the snapshot, as make_snapshot() does. After a failure it can be tried again. By one
  // thread.
  virtual Result<snapshot::Manifest> compose(GleanReport* report) = 0;
};

// The first half of make_snapshot(). What the order points to outlives what is returned, but for
// the manifest of the snapshot before.
Result<std::unique_ptr<SortedTail>> sort_tail(GleanOrder order);

// How much room superseded pages, or how many files, are too much: as usual, or where somebody
// waits and it must not get out of hand all the same.
enum class ReclaimFrom : std::uint8_t { kUsual, kUrgent };

// Moves the live pages of files that are mostly superseded, if there are such: the same snapshot in
// other files, with the next number. Nothing: it is well as it is. Counts in `report`. REQUIRES:
// `newest` is; none is being made. Whoever follows page ids of `newest` has to be given the new
// ones before its files go.
Result<std::optional<snapshot::Manifest>> reclaim_pages(device::Device* device,
                                                        const snapshot::Manifest& newest,
                                                        ReclaimFrom from, GleanReport* report);

// Where a record of a storage of that kind stands in the storage's order: what samples are of.
// Defined as make_snapshot() is.
std::uint64_t position_of(StorageKind kind, const log::LogRecord& record);

// ---- what is in a log that nobody writes to -----------------------------------------------------

struct FoundCatalog {
  std::vector<storage_meta::StorageMeta> storages;    // E14, ascending by id
  page::StorageId next_storage_id{};                  // above all that were ever given
  bool has_news = false;                              // records behind the snapshot before
  std::vector<std::vector<occ::PageSample>> samples;  // of the log's records, by storage
};

// `previous`: null: there is no snapshot. Reads several segments side by side, by tasks of
// `runtime`.
Result<FoundCatalog> read_found_catalog(const log::Log& log, const snapshot::Manifest* previous,
                                        base::Runtime* runtime);

// Null: there is no snapshot yet.
Result<std::optional<snapshot::Manifest>> find_newest_manifest(device::Device* device);
// kCorruption: the log or a manifest is missing. Segments are removed once a snapshot covers them,
// and a log has its savepoint before anything is committed that a snapshot could hold.
Status check_together(device::Device* device, const log::Log& log,
                      const std::optional<snapshot::Manifest>& newest);

// An order for all that `log` was found to hold; storages and memory are left to the caller.
// REQUIRES: Log::make_cut_durable() was successful (E13).
GleanOrder order_of_found(const log::Log& log, const snapshot::Manifest* previous);

// A directory that no engine has open: locked, its log read, its newest manifest, its catalog.
class ClosedDirectory {
 public:
  // `socs`: 0: those of the machine. kBusy: it is open. kNotFound: there is no log in it.
  // kInvalidArgument: of `names`. kCorruption, kWrongVersion, kIoError, kOutOfSpace (E13).
  static Result<std::unique_ptr<ClosedDirectory>> open(const DirectoryNames& names,
                                                       std::uint32_t socs, LogSink sink);
  ~ClosedDirectory();
  ClosedDirectory(const ClosedDirectory&) = delete;
  ClosedDirectory& operator=(const ClosedDirectory&) = delete;

  device::Device* device() { return device_.get(); }
  base::Runtime* runtime() { return runtime_.get(); }
  const numa::Topology& topology() const { return *topology_; }
  // Null: there is no snapshot yet.
  const snapshot::Manifest* newest_manifest() const {
    return manifest_.has_value() ? &*manifest_ : nullptr;
  }
  // All commits of it and before are durable.
  Epoch durable() const { return durable_; }
  Epoch newest_seen() const { return newest_seen_; }
  // E14, ascending by id; and an id above all that were ever given.
  const std::vector<storage_meta::StorageMeta>& storages() const { return catalog_.storages; }
  page::StorageId next_storage_id() const { return catalog_.next_storage_id; }

  // How long the catalog's records were looked for.
  std::uint64_t catalog_us() const { return catalog_us_; }

  // Segments of the log, those of one logger in their order.
  std::size_t segment_count() const;
  Result<std::unique_ptr<log::SegmentRecords>> open_segment(std::size_t index) const;
  // All of it.
  GleanOrder order() const;

 private:
  ClosedDirectory() = default;
  Status read(const DirectoryNames& names, std::uint32_t socs, LogSink sink);

  std::unique_ptr<base::Runtime> runtime_;
  std::unique_ptr<numa::Topology> topology_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<log::Log> log_;
  std::optional<snapshot::Manifest> manifest_;
  Epoch durable_;
  Epoch newest_seen_;
  FoundCatalog catalog_;
  std::uint64_t catalog_us_ = 0;
};

}  // namespace foedus::engine
