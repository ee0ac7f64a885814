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

#include "foedus-core/base/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/engine/directory_names.h"
#include "foedus-core/log/segment_records.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus-core/storage/base/page_sample.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/database.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::log {
class Log;
}

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

// Moves the live pages of files that are mostly superseded. Returns the manifest of the same
// snapshot in other files, with the next number; none: there are no such files. Counts in `report`.
// REQUIRES: `newest` is the newest one, and none is being made. All that follow page ids of
// `newest` have to be given the new ones before its files go.
Result<std::optional<snapshot::Manifest>> reclaim_pages(device::Device* device,
                                                        const snapshot::Manifest& newest,
                                                        ReclaimFrom from, GleanReport* report);

// Returns the position of a record in the order of a storage of that kind; samples are of
// positions. Defined in gleaner/, as make_snapshot() is.
std::uint64_t position_of(StorageKind kind, const log::LogRecord& record);

// ---- contents of a log without a writer ---------------------------------------------------------

struct FoundCatalog {
  std::vector<storage_meta::StorageMeta> storages;    // E14, ascending by id
  page::StorageId next_storage_id{};                  // above all that were ever given
  bool has_news = false;                              // records after the snapshot before
  std::vector<std::vector<storage::PageSample>> samples;  // of the log's records, by storage
};

// Reads the found log for its storages, several segments in parallel, by tasks of `runtime`.
// `previous`: null: there is no snapshot.
Result<FoundCatalog> read_found_catalog(const log::Log& log, const snapshot::Manifest* previous,
                                        base::Runtime* runtime);

// Returns the newest manifest; none: there is no snapshot yet.
Result<std::optional<snapshot::Manifest>> find_newest_manifest(device::Device* device);
// Returns kCorruption if the log or a manifest is missing. Segments are removed only once a
// snapshot covers them. A log has its savepoint before any commit that a snapshot could hold.
Status check_together(device::Device* device, const log::Log& log,
                      const std::optional<snapshot::Manifest>& newest);

// Returns an order for all that `log` was found to hold; the caller fills in storages and memory.
// REQUIRES: Log::make_cut_durable() was successful (E13).
GleanOrder order_of_found(const log::Log& log, const snapshot::Manifest* previous);

// A directory that no engine has open: locked, with its log read, its newest manifest, its catalog.
class ClosedDirectory {
 public:
  // `socs`: 0: those of the machine. kBusy: it is open. kNotFound: there is no log in it.
  // kInvalidArgument: `names` are refused. kCorruption, kWrongVersion, kIoError, kOutOfSpace (E13).
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
  // Returns the epoch up to which all commits are durable.
  Epoch durable() const { return durable_; }
  Epoch newest_seen() const { return newest_seen_; }
  // Returns the storages (E14), ascending by id. The next id is above all that were ever given.
  const std::vector<storage_meta::StorageMeta>& storages() const { return catalog_.storages; }
  page::StorageId next_storage_id() const { return catalog_.next_storage_id; }

  // Returns how long it took to read the catalog.
  std::uint64_t catalog_us() const { return catalog_us_; }

  // The segments of the log, those of one logger in their order.
  std::size_t segment_count() const;
  Result<std::unique_ptr<log::SegmentRecords>> open_segment(std::size_t index) const;
  // Returns an order for all of it.
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
