#include "gleaner/glean.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/snapshot/leftovers.h"
#include "foedus-core/snapshot/snapshot_reader.h"
#include "foedus-core/snapshot/snapshot_writer.h"
#include "foedus-core/storage/page_check.h"
#include "gleaner/compose/kinds.h"
#include "gleaner/compose/partition_composer.h"
#include "gleaner/compose/partition_read_ahead.h"
#include "gleaner/map/mapper.h"
#include "gleaner/partitions.h"
#include "gleaner/reduce/reducer.h"
#include "gleaner/segment_source.h"

namespace foedus::gleaner {

namespace {

constexpr std::uint64_t kProgressUs = 50'000;   // between two calls of GleanOrder::progress
constexpr std::uint64_t kGivenUpUs = 10'000;    // between two of is_given_up

Status check_numbers(const engine::GleanOrder& order) {
  const bool is_possible = order.mappers <= kMaxSocs && order.reducers <= kMaxSocs &&
                           order.reducer_bytes >= ReducerOptions::kMemoryBytesMin;
  if (is_possible) return {};
  return Status::error(
      ErrorCode::kInvalidArgument,
      "a glean has 1 to 64 mappers, and 1 to 64 reducers of at least 131072 bytes");
}

}  // namespace

// Holds what the stages hand over to one another.
class Glean::Steps {
 public:
  Steps(const engine::GleanOrder& order, PartitionTable table)
      : order_(order),
        table_(std::move(table)),
        old_pages_(order.device, [&order](const page::PageHeader& page) {
          FOEDUS_INVARIANT(order.previous != nullptr, page.page_id);
          return storage::broken_rule(page, order.previous->covered);
        }) {}
  ~Steps() {
    // All tasks stop before the members that they use are destroyed.
    for (const auto& mapper : mappers_) order_.runtime->stop(mapper.get());
    for (const auto& reducer : reducers_) order_.runtime->stop(reducer.get());
    for (const auto& ahead : ahead_) order_.runtime->stop(ahead.get());
    for (const auto& composer : composers_) order_.runtime->stop(composer.get());
  }

  Status sort(GleanReport* report) {
    FOEDUS_CHECK(remove_leftovers());
    FOEDUS_CHECK(remove_leftover_runs(order_.device));
    const std::uint64_t begin_us = order_.runtime->now_us();
    sources_ = deal_segments(order_);
    FOEDUS_CHECK(start_reducers());
    FOEDUS_CHECK(start_mappers());
    FOEDUS_CHECK(wait(report));
    report->map_reduce_us = order_.runtime->now_us() - begin_us;
    return {};
  }

  // `report`: of sort() on the way in, of both on the way out.
  Result<snapshot::Manifest> compose(GleanReport* report) {
    if (std::exchange(was_given_up_, false)) {  // G44
      for (const auto& reducer : reducers_) FOEDUS_CHECK(reducer->begin_streams());
      FOEDUS_CHECK(remove_leftovers());
    }
    const std::uint64_t begin_us = order_.runtime->now_us();
    const std::uint64_t begin_cpu_us = base::thread_cpu_us();
    FOEDUS_CHECK(compose_all());
    FOEDUS_TRY(snapshot::Manifest manifest, finish(report));
    report->snapshot = static_cast<std::uint32_t>(manifest.number);
    report->covered = manifest.covered;
    for (const auto& reducer : reducers_) report->records_composed += reducer->records_streamed();
    report->compose_us = order_.runtime->now_us() - begin_us;
    report->compose_cpu_us = base::thread_cpu_us() - begin_cpu_us;
    for (const auto& composer : composers_) report->compose_cpu_us += composer->cpu_us();
    report->total_us += report->compose_us;
    report->total_cpu_us += report->compose_cpu_us;
    return manifest;
  }
  // Removes the files that no manifest lists. The files of the previous snapshot stay, because its
  // manifest may be lost (E27).
  Status remove_leftovers() const {
    return snapshot::remove_leftovers(order_.device, order_.previous);
  }

  // Stops the tasks after a failure, so that nothing writes any more and the written files can be
  // removed (G41).
  void give_up_composing() {
    for (const auto& ahead : ahead_) order_.runtime->stop(ahead.get());
    for (const auto& composer : composers_) order_.runtime->stop(composer.get());
    ahead_.clear();
    composers_.clear();
    writers_.clear();
    roots_.clear();
    was_given_up_ = true;
  }

  const std::vector<std::unique_ptr<Reducer>>& reducers() const { return reducers_; }

 private:
  page::SnapshotNumber number() const {
    const auto before =
        order_.previous == nullptr ? 0 : static_cast<std::uint32_t>(order_.previous->number);
    return page::SnapshotNumber{before + 1};
  }

  // Returns the SOC of the partition or mapper with this number. Partitions, and mappers, are dealt
  // out to the SOCs in turn.
  std::uint32_t soc_of(std::size_t number) const {
    return static_cast<std::uint32_t>(number % order_.topology->socs());
  }

  // Starts the task of a partition or a mapper on the processors of its SOC (G45). Memory that the
  // task allocates lies there, and so does the memory that a reducer is given.
  void start_one(base::Task* task, std::size_t number) {
    order_.runtime->start_on(
        task, order_.topology->background_processors(soc_of(number), order_.numa_binding));
  }

  // Returns the next piece of memory. Every glean takes the pieces in one order, so that a kept
  // piece goes to the reducer that had it before.
  Result<char*> take_memory(std::uint32_t number, std::uint64_t bytes) {
    std::vector<numa::SocMemory>& pieces = order_.memory == nullptr ? memory_ : *order_.memory;
    const std::size_t piece = pieces_taken_++;
    if (piece == pieces.size()) {
      const std::uint32_t soc = soc_of(number);
      FOEDUS_TRY(numa::SocMemory memory, numa::SocMemory::reserve(bytes, order_.huge_pages));
      FOEDUS_CHECK(memory.commit(0, bytes));
      FOEDUS_CHECK(memory.place(*order_.topology, soc, 0, bytes, order_.numa_binding));
      pieces.push_back(std::move(memory));
    }
    FOEDUS_INVARIANT(pieces[piece].bytes() >= bytes, pieces[piece].bytes(), bytes);
    return pieces[piece].begin();
  }

  Status start_reducers() {
    for (std::uint32_t i = 0; i < table_.partitions(); ++i) {
      ReducerOptions options{
          .snapshot = number(), .soc = i, .mappers = static_cast<std::uint32_t>(sources_.size())};
      FOEDUS_TRY(options.memory, take_memory(i, order_.reducer_bytes));
      options.memory_bytes = order_.reducer_bytes;
      reducers_.push_back(
          std::make_unique<Reducer>(order_.runtime, &finished_, order_.device, &table_, options));
      start_one(reducers_.back().get(), i);
    }
    return {};
  }

  Status start_mappers() {
    std::vector<Inbox*> inboxes;
    for (const auto& reducer : reducers_) inboxes.push_back(reducer->inbox());
    const Epoch covered_before = order_.previous == nullptr ? Epoch() : order_.previous->covered;
    const MapperOptions options{.covered = covered_before, .newest = order_.covered};
    for (const auto& source : sources_) {
      mappers_.push_back(std::make_unique<Mapper>(order_.runtime, &finished_, &table_, source.get(),
                                                  inboxes, options));
    }
    for (std::size_t i = 0; i < mappers_.size(); ++i) start_one(mappers_[i].get(), i);
    return {};
  }

  Status check_given_up() const {
    if (!order_.is_given_up || !order_.is_given_up()) return {};
    return Status::error(ErrorCode::kClosed, "the glean was cancelled");
  }

  template <typename Ready, typename Tell>
  Status wait_until(const Ready& all_done, const Tell& tell) {
    const bool tells = static_cast<bool>(order_.progress);
    const std::uint64_t look_us = order_.is_given_up ? kGivenUpUs
                                  : tells            ? kProgressUs
                                                     : base::Runtime::kForever;
    std::uint64_t untold_us = 0;
    while (!order_.runtime->wait(&finished_, look_us, all_done)) {
      FOEDUS_CHECK(check_given_up());
      untold_us += look_us;
      if (untold_us < kProgressUs) continue;
      untold_us = 0;
      tell();
    }
    return {};
  }

  Status wait(GleanReport* report) {
    const auto all_done = [this] {
      const auto is_done = [](const auto& task) { return task->is_done(); };
      return std::all_of(mappers_.begin(), mappers_.end(), is_done) &&
             std::all_of(reducers_.begin(), reducers_.end(), is_done);
    };
    FOEDUS_CHECK(wait_until(all_done, [this] {
      if (!order_.progress) return;
      std::uint64_t bytes = 0;
      for (const auto& mapper : mappers_) bytes += mapper->bytes_read();
      bytes = std::min(bytes, order_.log_bytes);
      order_.progress({GleanStage::kMap, bytes, order_.log_bytes});
    }));
    // Reducers first: a mapper whose reducer failed has only kClosed, and the reducer's status
    // tells why.
    for (const auto& reducer : reducers_) {
      if (!reducer->status().is_ok()) return reducer->status();
      report->runs_spilled += reducer->counts().runs;
      report->reduce_cpu_us += reducer->counts().cpu_us - reducer->counts().sort_cpu_us;
      report->sort_cpu_us += reducer->counts().sort_cpu_us;
    }
    for (const auto& mapper : mappers_) {
      if (!mapper->status().is_ok()) return mapper->status();
      report->records_read += mapper->counts().read;
      records_shipped_ += mapper->counts().shipped;
      report->map_cpu_us += mapper->counts().cpu_us;
    }
    return {};
  }

  Status compose_all() {
    if (order_.before_pages) order_.before_pages();
    manifest_ = {};
    manifest_.number = number();
    manifest_.covered = order_.covered;
    manifest_.newest_seen = order_.newest_seen;
    manifest_.next_storage_id = order_.next_storage_id;
    for (const storage_meta::StorageMeta& meta : order_.storages) {
      roots_.push_back(snapshot::root_in(order_.previous, meta.id));
    }
    for (std::uint32_t i = 0; i < table_.partitions(); ++i) {
      FOEDUS_TRY(auto writer, snapshot::SnapshotWriter::create(order_.device, manifest_.number, i));
      writers_.push_back(std::move(writer));
    }
    for (std::uint32_t i = 0; i < table_.partitions(); ++i) {
      composers_.push_back(std::make_unique<PartitionComposer>(
          PartitionComposer::Parts{.runtime = order_.runtime,
                                   .finished = &finished_,
                                   .table = &table_,
                                   .storages = &order_.storages,
                                   .roots = &roots_,
                                   .previous = &old_pages_,
                                   .records = reducers_[i].get(),
                                   .writer = writers_[i].get(),
                                   .partition = i}));
      start_one(composers_.back().get(), i);
    }
    for (std::uint32_t i = 0; order_.reads_ahead && i < table_.partitions(); ++i) {
      ahead_.push_back(std::make_unique<PartitionReadAhead>(composers_[i].get(), *reducers_[i]));
      start_one(ahead_.back().get(), i);
    }
    const auto all_done = [this] {
      return std::all_of(composers_.begin(), composers_.end(),
                         [](const auto& composer) { return composer->is_done(); });
    };
    FOEDUS_CHECK(wait_until(all_done, [this] {
      if (!order_.progress) return;
      std::uint64_t records = 0;
      for (const auto& reducer : reducers_) records += reducer->records_merged();
      records = std::min(records, records_shipped_);
      order_.progress({GleanStage::kCompose, records, records_shipped_});
    }));
    for (const auto& composer : composers_) FOEDUS_CHECK(composer->status());
    for (std::size_t i = 0; i < order_.storages.size(); ++i) FOEDUS_CHECK(join_storage(i));
    return {};
  }

  // Joins what the partitions composed of a storage under its new root. REQUIRES: all composers are
  // done.
  Status join_storage(std::size_t index) {
    const storage_meta::StorageMeta& meta = order_.storages[index];
    snapshot::ManifestStorage storage{.id = meta.id,
                                      .kind = meta.kind,
                                      .name = meta.name,
                                      .records = meta.records,
                                      .payload_bytes = meta.payload_bytes,
                                      .fan_out_bits = meta.fan_out_bits,
                                      .root = roots_[index],
                                      .boundaries = table_.storages()[index].boundaries};
    const auto* const before = snapshot::find_storage(order_.previous, meta.id);
    if (before != nullptr) storage.live = before->live;
    const bool has_records =
        std::any_of(composers_.begin(), composers_.end(), [index](const auto& composer) {
          return composer->subtrees(index).has_value();
        });
    if (has_records) {
      std::vector<Subtree> subtrees;
      for (const auto& composer : composers_) {
        std::optional<std::vector<Subtree>> some = composer->subtrees(index);
        if (!some.has_value()) {
          FOEDUS_TRY(some, composer->compose_nothing(index));
        }
        subtrees.insert(subtrees.end(), some->begin(), some->end());
      }
      FOEDUS_TRY(storage.root, join(composers_.front()->composition(index), subtrees));
    }
    snapshot::PageLedger ledger;
    for (const auto& composer : composers_) ledger.add(composer->ledger(index));
    Status counted = ledger.apply_to(&storage.live);
    if (!counted.is_ok()) return std::move(counted.at_storage(meta.name));
    manifest_.storages.push_back(std::move(storage));
    return {};
  }

  // Finishes the files, then writes the manifest that makes them a snapshot (G41).
  Result<snapshot::Manifest> finish(GleanReport* report) {
    if (order_.previous != nullptr) manifest_.files = order_.previous->files;
    for (std::uint32_t i = 0; i < writers_.size(); ++i) {
      FOEDUS_CHECK(writers_[i]->finish());
      const std::uint32_t pages = writers_[i]->pages();
      report->pages_written += pages;
      if (pages != 0) manifest_.files.push_back({manifest_.number, i, pages, 0});
    }
    FOEDUS_CHECK(check_given_up());
    snapshot::settle_files(&manifest_);
    FOEDUS_CHECK(snapshot::write_manifest(order_.device, manifest_));
    return std::move(manifest_);
  }

  const engine::GleanOrder& order_;
  const PartitionTable table_;
  snapshot::SnapshotFiles old_pages_;
  std::vector<std::unique_ptr<SegmentSource>> sources_;  // the log, once; one for each mapper
  base::WaitPoint finished_;
  std::vector<numa::SocMemory> memory_;  // if the order gives none
  std::size_t pieces_taken_ = 0;
  std::vector<std::unique_ptr<Reducer>> reducers_;
  std::vector<std::unique_ptr<Mapper>> mappers_;
  std::vector<page::SnapshotPageId> roots_;  // of the previous snapshot, by storage
  std::vector<std::unique_ptr<snapshot::SnapshotWriter>> writers_;  // by partition
  std::vector<std::unique_ptr<PartitionComposer>> composers_;       // by partition
  std::vector<std::unique_ptr<PartitionReadAhead>> ahead_;          // by partition, or none
  snapshot::Manifest manifest_;
  bool was_given_up_ = false;
  std::uint64_t records_shipped_ = 0;  // by all mappers
};

Glean::Glean(const engine::GleanOrder& order) : order_(order) {}
Glean::~Glean() = default;

Status Glean::sort() {
  FOEDUS_CHECK(check_numbers(order_));
  return base::catching([this]() -> Status {
    FOEDUS_TRY(PartitionTable table, partitions_of(order_));
    return sort(std::move(table));
  });
}

Status Glean::sort(PartitionTable table) {
  FOEDUS_INVARIANT(order_.covered <= order_.newest_seen, order_.covered.number());
  return base::catching([&] {
    const std::uint64_t begin_us = order_.runtime->now_us();
    const std::uint64_t begin_cpu_us = base::thread_cpu_us();
    steps_ = std::make_unique<Steps>(order_, std::move(table));
    FOEDUS_CHECK(steps_->sort(&sorted_));
    sorted_.total_us = order_.runtime->now_us() - begin_us;
    sorted_.total_cpu_us = base::thread_cpu_us() - begin_cpu_us + sorted_.map_cpu_us +
                           sorted_.sort_cpu_us + sorted_.reduce_cpu_us;
    return Status();
  });
}

Result<snapshot::Manifest> Glean::compose(GleanReport* report) {
  *report = sorted_;
  Result<snapshot::Manifest> made = base::catching([&] { return steps_->compose(report); });
  if (made.is_ok()) return made;
  steps_->give_up_composing();
  // The next glean removes what cannot be removed now (G41). The caller gets the first error.
  const Status ignored = base::catching([this] { return steps_->remove_leftovers(); });
  static_cast<void>(ignored.is_ok());
  return made;
}

const std::vector<std::unique_ptr<Reducer>>& Glean::reducers() const { return steps_->reducers(); }

}  // namespace foedus::gleaner
