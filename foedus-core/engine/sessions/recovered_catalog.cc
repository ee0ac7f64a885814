// Reads the log that open() found: lists the storages that exist at its end, and samples the
// positions of their records.
#include "foedus-core/engine/sessions/recovered_catalog.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/log/log.h"

namespace foedus::engine {

namespace {

// Most segments that are read at the same time. More would keep the device busy, and transactions
// that read snapshots meanwhile would wait for it. The number is the same on all machines, so that
// the samples are the same, too, and with them the bounds of the gleaner's partitions.
constexpr std::size_t kReadersMax = 2;
constexpr unsigned kRecordsPerStep = 16'384;

constexpr std::size_t kRecordSamplesMax = 8192;

class CatalogReader {
 public:
  explicit CatalogReader(const snapshot::Manifest* previous) {
    if (previous == nullptr) return;
    covered_ = previous->covered;
    next_id_ = static_cast<std::uint32_t>(previous->next_storage_id);
    known_before_ = next_id_;
    for (const snapshot::ManifestStorage& one : previous->storages) {
      storages_[one.id] = {one.id,      one.kind,          one.name,
                           one.records, one.payload_bytes, one.fan_out_bits};
    }
  }

  // Notes what `record` says of its storage. REQUIRES: `record` is the last one that `records`
  // returned, because errors name the place of that one.
  Status read(const log::LogRecord& record, std::uint32_t soc, const log::SegmentRecords& records) {
    const auto id = static_cast<std::uint32_t>(record.storage_id);
    const bool is_covered = page::Tid(record.tid).epoch() <= covered_;
    if (id == ~std::uint32_t{0}) return records.corrupt("a record of an impossible storage");
    next_id_ = std::max(next_id_, id + 1);
    has_news_ = has_news_ || !is_covered;
    if (record.type == log::LogRecordType::kDropStorage) {
      if (record.payload_bytes() != 0) return records.corrupt("a drop that is none");
      dropped_.insert(record.storage_id);
      if (!is_covered) drops_.emplace_back(record.storage_id, record.key());
    } else if (record.type == log::LogRecordType::kCreateStorage) {
      if (!is_covered) return create(record, records);
    } else if (const Known* const known = find(record.storage_id)) {
      if (is_covered) return {};
      storage::PageSamples& samples = *known->samples;
      if (samples.is_next_taken()) samples.add(position_of(known->kind, record), soc);
    } else if (id >= known_before_) {
      unknown_.insert(record.storage_id);  // its creation may be in another segment
    }
    return {};
  }

  // Adds what `other` has read in other segments. REQUIRES: both began with the same snapshot.
  Status add(CatalogReader other) {
    next_id_ = std::max(next_id_, other.next_id_);
    has_news_ = has_news_ || other.has_news_;
    for (const page::StorageId id : other.created_) {
      const storage_meta::StorageMeta& meta = other.storages_[id];
      if (!storages_.emplace(id, meta).second) return created_twice(meta.name);
      created_.push_back(id);
    }
    for (auto& [id, samples] : other.samples_) samples_of(id).add_all(std::move(samples));
    dropped_.merge(other.dropped_);
    drops_.insert(drops_.end(), other.drops_.begin(), other.drops_.end());
    unknown_.merge(other.unknown_);
    return {};
  }

  // Returns the storages that the previous snapshot has or the log creates, without dropped ones.
  // kCorruption: the log has records of a storage that was never created; it drops a storage that
  // does not exist or has another name; or two storages have one name.
  Result<RecoveredCatalog> finish() {
    RecoveredCatalog found;
    found.next_storage_id = page::StorageId{next_id_};
    found.has_news = has_news_;
    for (const page::StorageId id : unknown_) {
      if (storages_.contains(id) || dropped_.contains(id)) continue;
      return Status::error(ErrorCode::kCorruption,
                           "the log has records of storage " +
                               std::to_string(static_cast<std::uint32_t>(id)) +
                               ", which it never creates");
    }
    FOEDUS_CHECK(check_drops());
    std::set<std::string> names;
    for (auto& [id, meta] : storages_) {
      if (dropped_.contains(id)) continue;
      if (!names.insert(meta.name).second) return created_twice(meta.name);
      found.storages.push_back(std::move(meta));
      found.samples.push_back(samples_of(id).take());
    }
    return found;
  }

 private:
  struct Known {
    page::StorageId id{};
    StorageKind kind{};
    storage::PageSamples* samples = nullptr;
  };

  storage::PageSamples& samples_of(page::StorageId id) {
    return samples_.try_emplace(id, kRecordSamplesMax).first->second;
  }

  // Returns null if the previous snapshot does not have the storage, and no record read so far
  // creates it. Caches the storages found last: the search is made for each record, and few
  // storages have most records.
  const Known* find(page::StorageId id) {
    Known& lately = lately_[static_cast<std::uint32_t>(id) % lately_.size()];
    if (lately.samples != nullptr && lately.id == id) return &lately;
    const auto found = storages_.find(id);
    if (found == storages_.end()) return nullptr;
    // The samples stay where they are: samples_ is a map.
    lately = {id, found->second.kind, &samples_of(id)};
    return &lately;
  }

  static Status created_twice(std::string_view name) {
    Status status = Status::error(ErrorCode::kCorruption, "the log creates a storage twice");
    return std::move(status.at_storage(name));
  }

  // Checks that each drop record has the id and name of a storage. A damaged record that looks like
  // a drop would otherwise remove a whole storage.
  Status check_drops() const {
    for (const auto& [id, name] : drops_) {
      const auto found = storages_.find(id);
      if (found != storages_.end() && found->second.name == name) continue;
      Status status =
          Status::error(ErrorCode::kCorruption, "the log drops storage " +
                                                    std::to_string(static_cast<std::uint32_t>(id)) +
                                                    ", which is not there, or has another name");
      return std::move(status.at_storage(name));
    }
    return {};
  }

  Status create(const log::LogRecord& record, const log::SegmentRecords& records) {
    Result<storage_meta::StorageMeta> meta =
        storage_meta::parse(record.storage_id, record.key(), record.payload());
    if (!meta.is_ok()) return records.corrupt("a create record of an impossible storage");
    if (storages_.contains(record.storage_id)) return created_twice(meta->name);
    storages_[record.storage_id] = std::move(meta).value();
    created_.push_back(record.storage_id);
    return {};
  }

  Epoch covered_;  // epoch that the previous snapshot covers
  // A storage with a lower id is in the previous snapshot, was dropped, or has its create record
  // after covered_: an id is given before its create record gets an epoch.
  std::uint32_t known_before_ = 1;
  std::uint32_t next_id_ = 1;
  bool has_news_ = false;
  std::map<page::StorageId, storage_meta::StorageMeta> storages_;
  std::vector<page::StorageId> created_;  // storages that the previous snapshot does not have
  std::map<page::StorageId, storage::PageSamples> samples_;
  std::array<Known, 64> lately_;  // cache of find()
  std::set<page::StorageId> dropped_;
  std::vector<std::pair<page::StorageId, std::string>> drops_;  // drop records after covered_
  std::set<page::StorageId> unknown_;
};

// Reads segments `first`, `first` + `step`, and so on, of a list.
class CatalogTask final : public base::Task {
 public:
  CatalogTask(const log::Log& log, const std::vector<std::size_t>& segments,
              const snapshot::Manifest* previous, base::Runtime* runtime, base::WaitPoint* finished,
              std::size_t first, std::size_t step)
      : log_(log),
        segments_(segments),
        runtime_(runtime),
        finished_(finished),
        step_(step),
        segment_(first),
        reader_(previous) {}

  const char* name() const override { return "catalog-reader"; }
  bool is_background() const override { return true; }
  std::uint64_t step() override {
    if (is_done()) return kUntilNotified;
    Result<bool> has_more = read_some();
    if (has_more.is_ok() && *has_more) return 0;
    return end(has_more.is_ok() ? Status() : std::move(has_more).status());
  }
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override {
    return end(base::out_of_memory(thrown));
  }
  // order: acquire, pairs with the release in end(): what was read is there.
  bool is_done() const { return is_done_.load_acquire() != 0; }

  // REQUIRES for these: is_done(). If the task failed, segment() is the place in the list of the
  // segment where it did.
  const Status& status() const { return status_; }
  std::size_t segment() const { return segment_; }
  CatalogReader take() { return std::move(reader_); }

 private:
  Result<bool> read_some() {
    if (records_ == nullptr) {
      if (segment_ >= segments_.size()) return false;
      FOEDUS_TRY(records_, log_.open_segment(segments_[segment_]));
    }
    // The logger's number serves as its SOC: logger l is of SOC l % socs, and the gleaner takes the
    // SOC of a sample modulo the number of SOCs.
    const std::uint32_t soc = log_.found_segment(segments_[segment_]).logger;
    for (unsigned i = 0; i < kRecordsPerStep; ++i) {
      std::uint32_t session = 0;
      FOEDUS_TRY(const log::LogRecord* const record, records_->next(&session));
      if (record == nullptr) {
        records_.reset();
        segment_ += step_;
        return true;
      }
      FOEDUS_CHECK(reader_.read(*record, soc, *records_));
    }
    return true;
  }

  std::uint64_t end(Status status) {
    status_ = std::move(status);
    is_done_.store_release(1);  // order: see is_done()
    runtime_->wake(finished_);
    return kUntilNotified;
  }

  const log::Log& log_;
  const std::vector<std::size_t>& segments_;
  base::Runtime* const runtime_;
  base::WaitPoint* const finished_;
  const std::size_t step_;

  // Used by step() until is_done(), then by the task's owner.
  std::size_t segment_;
  std::unique_ptr<log::SegmentRecords> records_;
  CatalogReader reader_;
  Status status_;

  base::AtomicWord<std::uint32_t> is_done_;
};

// Owns the tasks. Stops them before the objects that they use are destroyed.
struct CatalogTasks {
  explicit CatalogTasks(base::Runtime* of) : runtime(of) {}
  ~CatalogTasks() {
    for (const auto& task : tasks) runtime->stop(task.get());
  }
  CatalogTasks(const CatalogTasks&) = delete;
  CatalogTasks& operator=(const CatalogTasks&) = delete;

  base::Runtime* const runtime;
  base::WaitPoint finished;
  std::vector<std::unique_ptr<CatalogTask>> tasks;
};

}  // namespace

std::vector<std::size_t> uncovered_segments(const log::Log& log,
                                            const snapshot::Manifest* previous) {
  std::vector<std::size_t> segments;
  for (std::size_t i = 0; i < log.found_segment_count(); ++i) {
    const std::uint64_t newest = log.found_segment(i).newest_epoch;
    if (previous == nullptr || newest > previous->covered.number()) segments.push_back(i);
  }
  return segments;
}

Result<RecoveredCatalog> recover_catalog(const log::Log& log, const snapshot::Manifest* previous,
                                         base::Runtime* runtime) {
  const std::vector<std::size_t> segments = uncovered_segments(log, previous);
  CatalogTasks all(runtime);
  const std::size_t readers = std::clamp<std::size_t>(segments.size(), 1, kReadersMax);
  for (std::size_t i = 0; i < readers; ++i) {
    all.tasks.push_back(
        std::make_unique<CatalogTask>(log, segments, previous, runtime, &all.finished, i, readers));
  }
  for (const auto& task : all.tasks) runtime->start(task.get());
  runtime->wait(&all.finished, base::Runtime::kForever, [&all] {
    return std::ranges::all_of(all.tasks, [](const auto& task) { return task->is_done(); });
  });
  // If several tasks failed, reports the error in the lowest segment: a reader that reads one
  // segment after the other would meet that error.
  const CatalogTask* failed = nullptr;
  for (const auto& task : all.tasks) {
    if (task->status().is_ok()) continue;
    if (failed == nullptr || task->segment() < failed->segment()) failed = task.get();
  }
  if (failed != nullptr) return failed->status();
  CatalogReader reader = all.tasks.front()->take();
  for (std::size_t i = 1; i < readers; ++i) FOEDUS_CHECK(reader.add(all.tasks[i]->take()));
  return reader.finish();
}

GleanOrder order_of_found(const log::Log& log, const snapshot::Manifest* previous) {
  GleanOrder order;
  order.previous = previous;
  order.covered = log.durable_epoch_found();
  order.newest_seen = std::max(order.covered, log.first_new_epoch().previous());
  if (previous != nullptr) {
    order.covered = std::max(order.covered, previous->covered);
    order.newest_seen = std::max(order.newest_seen, previous->newest_seen);
  }
  for (const std::size_t i : uncovered_segments(log, previous)) {
    order.segments.push_back([&log, i] { return log.open_segment(i); });
  }
  return order;
}

}  // namespace foedus::engine
