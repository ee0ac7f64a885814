#include "gleaner/map_reduce.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "gleaner/stage_clock.h"

namespace foedus::gleaner {

MapReduce::MapReduce(const engine::GleanOrder& order, const PartitionTable& table)
    : order_(order),
      table_(table),
      sources_(distribute_segments(order)),
      reducers_(order),
      mappers_(order) {}

Status MapReduce::run() {
  const StageClock clock(order_.runtime);
  FOEDUS_CHECK(start_reducers());
  start_mappers();
  const auto are_done = [this] { return mappers_.are_done() && reducers_.are_done(); };
  FOEDUS_CHECK(wait_for_tasks(order_, &finished_, are_done, [this]() -> GleanProgress {
    std::uint64_t bytes = 0;
    for (const auto& mapper : mappers_) bytes += mapper->bytes_read();
    return {GleanStage::kMap, std::min(bytes, order_.log_bytes), order_.log_bytes};
  }));
  us_ = clock.us();
  // Reducers first: a mapper whose reducer failed has only kClosed, and the reducer's status tells
  // why.
  for (const auto& reducer : reducers_) FOEDUS_CHECK(reducer->status());
  for (const auto& mapper : mappers_) FOEDUS_CHECK(mapper->status());
  return {};
}

void MapReduce::count(GleanReport* report) const {
  report->map_reduce_us += us_;
  for (const auto& mapper : mappers_) {
    report->records_read += mapper->counts().read;
    report->map_cpu_us += mapper->counts().cpu_us;
  }
  for (const auto& reducer : reducers_) {
    const ReducerCounts& counts = reducer->counts();
    report->runs_spilled += counts.runs;
    report->sort_cpu_us += counts.sort_cpu_us;
    report->reduce_cpu_us += counts.cpu_us - counts.sort_cpu_us;
  }
}

std::uint64_t MapReduce::records_shipped() const {
  std::uint64_t records = 0;
  for (const auto& mapper : mappers_) records += mapper->counts().shipped;
  return records;
}

Status MapReduce::begin_streams() {
  for (const auto& reducer : reducers_) FOEDUS_CHECK(reducer->begin_streams());
  return {};
}

// Returns the memory of a reducer, on its SOC. A piece that was kept from an earlier glean goes to
// the reducer of the same number. REQUIRES: the reducers of lower numbers have their memory.
Result<char*> MapReduce::memory_of(std::uint32_t reducer) {
  const std::uint64_t bytes = order_.reducer_bytes;
  std::vector<numa::SocMemory>& pieces = order_.memory == nullptr ? memory_ : *order_.memory;
  if (reducer == pieces.size()) {
    FOEDUS_TRY(numa::SocMemory memory, numa::SocMemory::reserve(bytes, order_.huge_pages));
    FOEDUS_CHECK(memory.commit(0, bytes));
    FOEDUS_CHECK(
        memory.place(*order_.topology, soc_of(order_, reducer), 0, bytes, order_.numa_binding));
    pieces.push_back(std::move(memory));
  }
  FOEDUS_INVARIANT(pieces[reducer].bytes() >= bytes, pieces[reducer].bytes(), bytes);
  return pieces[reducer].begin();
}

Status MapReduce::start_reducers() {
  for (std::uint32_t i = 0; i < table_.partitions(); ++i) {
    ReducerOptions options{.snapshot = order_.number(),
                           .soc = i,
                           .mappers = static_cast<std::uint32_t>(sources_.size()),
                           .memory_bytes = order_.reducer_bytes};
    FOEDUS_TRY(options.memory, memory_of(i));
    reducers_.start(
        std::make_unique<Reducer>(order_.runtime, &finished_, order_.device, &table_, options));
  }
  return {};
}

void MapReduce::start_mappers() {
  std::vector<Inbox*> inboxes;
  for (const auto& reducer : reducers_) inboxes.push_back(reducer->inbox());
  const MapperOptions options{.covered = order_.covered_before(), .newest = order_.covered};
  for (const auto& source : sources_) {
    mappers_.start(std::make_unique<Mapper>(order_.runtime, &finished_, &table_, source.get(),
                                            inboxes, options));
  }
}

}  // namespace foedus::gleaner
