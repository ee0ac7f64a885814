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
#include "gleaner/reduce/reducer.h"

namespace foedus::gleaner {

namespace {

constexpr std::uint64_t kProgressUs = 50'000;  // between two calls of GleanInput::mapping
constexpr std::uint64_t kGivenUpUs = 10'000;    // between two of is_given_up

}  // namespace

// Holds what the stages hand over to one another.
class Glean::Steps {
 public:
  explicit Steps(const GleanInput& input)
      : input_(input), old_pages_(input.device, [&input](const page::PageHeader& page) {
          FOEDUS_INVARIANT(input.previous != nullptr, page.page_id);
          return storage::broken_rule(page, input.previous->covered);
        }) {}
  ~Steps() {
    // All tasks stop before the members that they use are destroyed.
    for (const auto& mapper : mappers_) input_.runtime->stop(mapper.get());
    for (const auto& reducer : reducers_) input_.runtime->stop(reducer.get());
    for (const auto& ahead : ahead_) input_.runtime->stop(ahead.get());
    for (const auto& composer : composers_) input_.runtime->stop(composer.get());
  }

  Status sort() {
    FOEDUS_CHECK(remove_leftovers());
    FOEDUS_CHECK(remove_leftover_runs(input_.device));
    FOEDUS_CHECK(partition());
    const std::uint64_t begin_us = input_.runtime->now_us();
    FOEDUS_CHECK(start_reducers());
    FOEDUS_CHECK(start_mappers());
    FOEDUS_CHECK(wait());
    sorted_.map_reduce_us = input_.runtime->now_us() - begin_us;
    return {};
  }

  Result<snapshot::Manifest> compose(GleanCounts* counts) {
    counts_ = sorted_;
    if (std::exchange(was_given_up_, false)) {  // G44
      for (const auto& reducer : reducers_) FOEDUS_CHECK(reducer->begin_streams());
      FOEDUS_CHECK(remove_leftovers());
    }
    const std::uint64_t begin_us = input_.runtime->now_us();
    const std::uint64_t begin_cpu_us = base::thread_cpu_us();
    FOEDUS_CHECK(compose_all());
    FOEDUS_TRY(snapshot::Manifest manifest, finish());
    counts_.compose_us = input_.runtime->now_us() - begin_us;
    counts_.compose_cpu_us = base::thread_cpu_us() - begin_cpu_us;
    std::uint64_t task_cpu_us = counts_.map_cpu_us + counts_.sort_cpu_us + counts_.reduce_cpu_us;
    for (const auto& composer : composers_) {
      counts_.compose_cpu_us += composer->cpu_us();
      task_cpu_us += composer->cpu_us();
    }
    counts_.task_cpu_us = task_cpu_us;
    *counts = counts_;
    return manifest;
  }
  // Removes the files that no manifest lists. The files of the previous snapshot stay, because its
  // manifest may be lost (E27).
  Status remove_leftovers() const {
    return snapshot::remove_leftovers(input_.device, input_.previous);
  }

  // Stops the tasks after a failure, so that nothing writes any more and the written files can be
  // removed (G41).
  void give_up_composing() {
    for (const auto& ahead : ahead_) input_.runtime->stop(ahead.get());
    for (const auto& composer : composers_) input_.runtime->stop(composer.get());
    ahead_.clear();
    composers_.clear();
    writers_.clear();
    roots_.clear();
    was_given_up_ = true;
  }

  const std::vector<std::unique_ptr<Reducer>>& reducers() const { return reducers_; }

 private:
  Status partition() {
    std::vector<StoragePartitions> partitions;
    for (std::size_t i = 0; i < input_.storages.size(); ++i) {
      StoragePartitions one{input_.storages[i].id, input_.storages[i].kind, {}};
      if (i < input_.boundaries.size()) one.boundaries = input_.boundaries[i];
      // The first partition has all positions; the others are empty.
      if (one.boundaries.empty()) {
        one.boundaries.assign(input_.reducers - 1, ~std::uint64_t{0});
      }
      partitions.push_back(std::move(one));
    }
    FOEDUS_TRY(PartitionTable table, PartitionTable::make(input_.reducers, std::move(partitions),
                                                          input_.next_storage_id));
    table_.emplace(std::move(table));
    return {};
  }

  page::SnapshotNumber number() const {
    const auto before = input_.previous == nullptr
                            ? 0
                            : static_cast<std::uint32_t>(input_.previous->number);
    return page::SnapshotNumber{before + 1};
  }

  // Returns the SOC of the partition or mapper with this number. Partitions, and mappers, are dealt
  // out to the SOCs in turn.
  std::uint32_t soc_of(std::size_t number) const {
    return static_cast<std::uint32_t>(number % input_.topology->socs());
  }

  // Starts the task of a partition or a mapper on the processors of its SOC (G45). Memory that the
  // task allocates lies there, and so does the memory that a reducer is given.
  void start_one(base::Task* task, std::size_t number) {
    input_.runtime->start_on(
        task, input_.topology->background_processors(soc_of(number), input_.numa_binding));
  }

  // Returns the next piece of memory. Every glean takes the pieces in one order, so that a kept
  // piece goes to the reducer that had it before.
  Result<char*> take_memory(std::uint32_t number, std::uint64_t bytes) {
    std::vector<numa::SocMemory>& pieces = input_.memory == nullptr ? memory_ : *input_.memory;
    const std::size_t piece = pieces_taken_++;
    if (piece == pieces.size()) {
      const std::uint32_t soc = soc_of(number);
      FOEDUS_TRY(numa::SocMemory memory, numa::SocMemory::reserve(bytes, input_.huge_pages));
      FOEDUS_CHECK(memory.commit(0, bytes));
      FOEDUS_CHECK(memory.place(*input_.topology, soc, 0, bytes, input_.numa_binding));
      pieces.push_back(std::move(memory));
    }
    FOEDUS_INVARIANT(pieces[piece].bytes() >= bytes, pieces[piece].bytes(), bytes);
    return pieces[piece].begin();
  }

  Status start_reducers() {
    for (std::uint32_t i = 0; i < input_.reducers; ++i) {
      ReducerOptions options{.snapshot = number(),
                             .soc = i,
                             .mappers = static_cast<std::uint32_t>(input_.sources.size())};
      FOEDUS_TRY(options.memory, take_memory(i, input_.reducer_bytes));
      options.memory_bytes = input_.reducer_bytes;
      reducers_.push_back(
          std::make_unique<Reducer>(input_.runtime, &finished_, input_.device, &*table_, options));
      start_one(reducers_.back().get(), i);
    }
    return {};
  }

  Status start_mappers() {
    std::vector<Inbox*> inboxes;
    for (const auto& reducer : reducers_) inboxes.push_back(reducer->inbox());
    const Epoch covered_before = input_.previous == nullptr ? Epoch() : input_.previous->covered;
    const MapperOptions options{.covered = covered_before, .newest = input_.covered};
    for (RecordSource* const source : input_.sources) {
      mappers_.push_back(std::make_unique<Mapper>(input_.runtime, &finished_, &*table_, source,
                                                  inboxes, options));
    }
    for (std::size_t i = 0; i < mappers_.size(); ++i) start_one(mappers_[i].get(), i);
    return {};
  }

  Status check_given_up() const {
    if (!input_.is_given_up || !input_.is_given_up()) return {};
    return Status::error(ErrorCode::kClosed, "the glean was cancelled");
  }

  template <typename Ready, typename Tell>
  Status wait_until(const Ready& all_done, const Tell& tell) {
    const bool tells = input_.mapping || input_.composing;
    const std::uint64_t look_us = input_.is_given_up ? kGivenUpUs
                                  : tells            ? kProgressUs
                                                     : base::Runtime::kForever;
    std::uint64_t untold_us = 0;
    while (!input_.runtime->wait(&finished_, look_us, all_done)) {
      FOEDUS_CHECK(check_given_up());
      untold_us += look_us;
      if (untold_us < kProgressUs) continue;
      untold_us = 0;
      tell();
    }
    return {};
  }

  Status wait() {
    const auto all_done = [this] {
      const auto is_done = [](const auto& task) { return task->is_done(); };
      return std::all_of(mappers_.begin(), mappers_.end(), is_done) &&
             std::all_of(reducers_.begin(), reducers_.end(), is_done);
    };
    FOEDUS_CHECK(wait_until(all_done, [this] {
      if (!input_.mapping) return;
      std::uint64_t bytes = 0;
      for (const auto& mapper : mappers_) bytes += mapper->bytes_read();
      input_.mapping(bytes);
    }));
    // Reducers first: a mapper whose reducer failed has only kClosed, and the reducer's status
    // tells why.
    for (const auto& reducer : reducers_) {
      if (!reducer->status().is_ok()) return reducer->status();
      sorted_.runs_spilled += reducer->counts().runs;
      sorted_.reduce_cpu_us += reducer->counts().cpu_us - reducer->counts().sort_cpu_us;
      sorted_.sort_cpu_us += reducer->counts().sort_cpu_us;
    }
    for (const auto& mapper : mappers_) {
      if (!mapper->status().is_ok()) return mapper->status();
      sorted_.records_read += mapper->counts().read;
      records_shipped_ += mapper->counts().shipped;
      sorted_.map_cpu_us += mapper->counts().cpu_us;
    }
    return {};
  }

  Status compose_all() {
    if (input_.before_pages) input_.before_pages();
    manifest_ = {};
    manifest_.number = number();
    manifest_.covered = input_.covered;
    manifest_.newest_seen = input_.newest_seen;
    manifest_.next_storage_id = input_.next_storage_id;
    for (const storage_meta::StorageMeta& meta : input_.storages) {
      roots_.push_back(snapshot::root_in(input_.previous, meta.id));
    }
    for (std::uint32_t i = 0; i < input_.reducers; ++i) {
      FOEDUS_TRY(auto writer, snapshot::SnapshotWriter::create(input_.device, manifest_.number, i));
      writers_.push_back(std::move(writer));
    }
    for (std::uint32_t i = 0; i < input_.reducers; ++i) {
      composers_.push_back(std::make_unique<PartitionComposer>(
          PartitionComposer::Parts{.runtime = input_.runtime,
                                   .finished = &finished_,
                                   .table = &*table_,
                                   .storages = &input_.storages,
                                   .roots = &roots_,
                                   .previous = &old_pages_,
                                   .records = reducers_[i].get(),
                                   .writer = writers_[i].get(),
                                   .partition = i}));
      start_one(composers_.back().get(), i);
    }
    for (std::uint32_t i = 0; input_.reads_ahead && i < input_.reducers; ++i) {
      ahead_.push_back(std::make_unique<PartitionReadAhead>(composers_[i].get(), *reducers_[i]));
      start_one(ahead_.back().get(), i);
    }
    const auto all_done = [this] {
      return std::all_of(composers_.begin(), composers_.end(),
                         [](const auto& composer) { return composer->is_done(); });
    };
    FOEDUS_CHECK(wait_until(all_done, [this] {
      if (!input_.composing) return;
      std::uint64_t records = 0;
      for (const auto& reducer : reducers_) records += reducer->records_merged();
      input_.composing(std::min(records, records_shipped_), records_shipped_);
    }));
    for (const auto& composer : composers_) FOEDUS_CHECK(composer->status());
    for (const auto& reducer : reducers_) counts_.records_composed += reducer->records_streamed();
    for (std::size_t i = 0; i < input_.storages.size(); ++i) FOEDUS_CHECK(join_storage(i));
    return {};
  }

  // Joins what the partitions composed of a storage under its new root. REQUIRES: all composers are
  // done.
  Status join_storage(std::size_t index) {
    const storage_meta::StorageMeta& meta = input_.storages[index];
    snapshot::ManifestStorage storage{.id = meta.id,
                                      .kind = meta.kind,
                                      .name = meta.name,
                                      .records = meta.records,
                                      .payload_bytes = meta.payload_bytes,
                                      .fan_out_bits = meta.fan_out_bits,
                                      .root = roots_[index],
                                      .boundaries = table_->storages()[index].boundaries};
    const auto* const before = snapshot::find_storage(input_.previous, meta.id);
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
  Result<snapshot::Manifest> finish() {
    if (input_.previous != nullptr) manifest_.files = input_.previous->files;
    for (std::uint32_t i = 0; i < writers_.size(); ++i) {
      FOEDUS_CHECK(writers_[i]->finish());
      const std::uint32_t pages = writers_[i]->pages();
      counts_.pages_written += pages;
      if (pages != 0) manifest_.files.push_back({manifest_.number, i, pages, 0});
    }
    FOEDUS_CHECK(check_given_up());
    snapshot::settle_files(&manifest_);
    FOEDUS_CHECK(snapshot::write_manifest(input_.device, manifest_));
    return std::move(manifest_);
  }

  const GleanInput& input_;
  snapshot::SnapshotFiles old_pages_;
  std::optional<PartitionTable> table_;
  base::WaitPoint finished_;
  std::vector<numa::SocMemory> memory_;  // if the input gives none
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
  GleanCounts sorted_;  // of sort() alone
  GleanCounts counts_;
};

Glean::Glean(const GleanInput& input) : input_(input) {}
Glean::~Glean() = default;

Status Glean::sort() {
  FOEDUS_INVARIANT(input_.covered <= input_.newest_seen, input_.covered.number());
  if (input_.reducers == 0 || input_.reducers > kMaxSocs || input_.sources.empty()) {
    return Status::error(ErrorCode::kInvalidArgument, "a glean has 1 to " +
                                                          std::to_string(kMaxSocs) +
                                                          " reducers and at least one mapper");
  }
  return base::catching([this] {
    steps_ = std::make_unique<Steps>(input_);
    return steps_->sort();
  });
}

Result<snapshot::Manifest> Glean::compose(GleanCounts* counts) {
  Result<snapshot::Manifest> made = base::catching([&] { return steps_->compose(counts); });
  if (made.is_ok()) return made;
  steps_->give_up_composing();
  // The next glean removes what cannot be removed now (G41). The caller gets the first error.
  const Status ignored = base::catching([this] { return steps_->remove_leftovers(); });
  static_cast<void>(ignored.is_ok());
  return made;
}

const std::vector<std::unique_ptr<Reducer>>& Glean::reducers() const { return steps_->reducers(); }

Result<snapshot::Manifest> glean(const GleanInput& input, GleanCounts* counts) {
  Glean glean(input);
  FOEDUS_CHECK(glean.sort());
  return glean.compose(counts);
}

}  // namespace foedus::gleaner
