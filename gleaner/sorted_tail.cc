// sort_tail(): carries out a glean that the engine orders in two steps, sort and compose. The
// engine reads the sorted records in between.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "gleaner/compose/kinds.h"
#include "gleaner/glean.h"
#include "gleaner/partition/partition.h"
#include "gleaner/reduce/reducer.h"
#include "gleaner/segment_source.h"

namespace foedus::gleaner {

namespace {

// Deals the segments out to the mappers, those of one logger in their order (G40).
std::vector<std::unique_ptr<SegmentSource>> deal(const engine::GleanOrder& order,
                                                 std::uint32_t mappers) {
  std::vector<std::vector<SegmentPart>> parts(mappers);
  for (std::size_t i = 0; i < order.segments.size(); ++i) {
    parts[i % mappers].push_back({static_cast<std::uint32_t>(i), order.segments[i]});
  }
  std::vector<std::unique_ptr<SegmentSource>> sources;
  for (auto& some : parts) sources.push_back(std::make_unique<SegmentSource>(std::move(some)));
  return sources;
}

std::vector<std::vector<std::uint64_t>> boundaries_of(const engine::GleanOrder& order,
                                                      std::uint32_t reducers) {
  std::vector<std::vector<std::uint64_t>> all;
  for (std::size_t i = 0; i < order.storages.size(); ++i) {
    std::vector<PositionSample> samples;
    if (i < order.samples.size()) {
      for (const storage::PageSample& one : order.samples[i]) {
        samples.push_back({one.position, one.soc});
      }
    }
    all.push_back(choose_boundaries(order.storages[i], std::move(samples), reducers,
                                    order.topology->socs()));
    for (std::uint64_t& boundary : all.back())
      boundary = align_boundary(order.storages[i], boundary);
  }
  return all;
}

class SortedOrder final : public engine::SortedTail {
 public:
  explicit SortedOrder(engine::GleanOrder order)
      : order_(std::move(order)),
        previous_(order_.previous == nullptr ? std::nullopt : std::optional(*order_.previous)),
        begin_us_(order_.runtime->now_us()),
        begin_cpu_us_(base::thread_cpu_us()) {}

  Status sort() {
    const auto by_default = [this](std::uint32_t count) {
      return count == 0 ? order_.topology->socs() : count;
    };
    const std::uint32_t mappers = by_default(order_.mappers);
    const std::uint32_t reducers = by_default(order_.reducers);
    if (mappers > kMaxSocs || reducers > kMaxSocs ||
        order_.reducer_bytes < ReducerOptions::kMemoryBytesMin) {
      return Status::error(ErrorCode::kInvalidArgument,
                           "a glean has 1 to 64 mappers, and 1 to 64 reducers "
                           "of at least 131072 bytes");
    }
    sources_ = deal(order_, mappers);
    fill_in(reducers);
    glean_ = std::make_unique<Glean>(input_);
    FOEDUS_CHECK(glean_->sort());
    collect();
    sort_cpu_us_ = base::thread_cpu_us() - begin_cpu_us_;
    sort_us_ = order_.runtime->now_us() - begin_us_;
    return {};
  }

  bool is_in_memory() const override { return is_in_memory_; }
  std::uint64_t bytes() const override {
    std::uint64_t bytes = 0;
    for (const auto& reducer : glean_->reducers()) bytes += reducer->bytes_in_memory();
    return bytes;
  }
  const std::vector<storage_meta::StorageMeta>& storages() const override {
    return order_.storages;
  }
  std::size_t record_count(std::size_t storage) const override {
    std::size_t count = 0;
    for (const SortedGroup& part : parts_[storage]) count += part.items.size();
    return count;
  }

  const log::LogRecord& record(std::size_t storage, std::size_t index) const override {
    for (const SortedGroup& part : parts_[storage]) {
      if (index < part.items.size()) return *part.entry(index).log();
      index -= part.items.size();
    }
    FOEDUS_INVARIANT(false, storage, index);
  }

  std::size_t find(std::size_t storage, std::string_view key) const override {
    const std::uint64_t position = position_of(order_.storages[storage].kind, key);
    std::size_t before = 0;
    for (const SortedGroup& part : parts_[storage]) {
      // The search compares keys only where positions are equal.
      const auto [first, last] = std::ranges::equal_range(part.items, position, {},
                                                          &SortItem::position);
      const auto key_of = [&](const SortItem& item) {
        return item.entry(part.memory)->log()->key();
      };
      const auto at = std::ranges::lower_bound(first, last, key, {}, key_of);
      before += static_cast<std::size_t>(at - part.items.begin());
      if (at != part.items.end()) break;
    }
    return before;
  }

  void follow(const snapshot::Manifest& previous) override {
    FOEDUS_INVARIANT(previous_.has_value() && previous_->covered == previous.covered);
    *previous_ = previous;
  }

  Result<snapshot::Manifest> compose(GleanReport* report) override {
    const std::uint64_t begin_us = order_.runtime->now_us();
    const std::uint64_t begin_cpu_us = base::thread_cpu_us();
    GleanCounts counts;
    FOEDUS_TRY(snapshot::Manifest manifest, glean_->compose(&counts));
    report->snapshot = static_cast<std::uint32_t>(manifest.number);
    report->covered = manifest.covered;
    report->records_read = counts.records_read;
    report->records_composed = counts.records_composed;
    report->runs_spilled = counts.runs_spilled;
    report->pages_written = counts.pages_written;
    report->map_reduce_us = counts.map_reduce_us;
    report->compose_us = counts.compose_us;
    report->total_us = sort_us_ + order_.runtime->now_us() - begin_us;
    report->map_cpu_us = counts.map_cpu_us;
    report->sort_cpu_us = counts.sort_cpu_us;
    report->reduce_cpu_us = counts.reduce_cpu_us;
    report->compose_cpu_us = counts.compose_cpu_us;
    report->total_cpu_us =
        sort_cpu_us_ + base::thread_cpu_us() - begin_cpu_us + counts.task_cpu_us;
    return manifest;
  }

 private:
  void fill_in(std::uint32_t reducers) {
    for (const auto& source : sources_) input_.sources.push_back(source.get());
    input_.device = order_.device;
    input_.runtime = order_.runtime;
    input_.topology = order_.topology;
    input_.storages = order_.storages;
    input_.next_storage_id = order_.next_storage_id;
    input_.previous = previous_.has_value() ? &*previous_ : nullptr;
    input_.covered = order_.covered;
    input_.newest_seen = order_.newest_seen;
    input_.reducers = reducers;
    input_.boundaries = boundaries_of(order_, reducers);
    input_.reducer_bytes = order_.reducer_bytes;
    input_.huge_pages = order_.huge_pages;
    input_.numa_binding = order_.numa_binding;
    input_.memory = order_.memory;
    input_.reads_ahead = order_.reads_ahead;
    input_.before_pages = order_.before_pages;
    if (order_.progress) {
      input_.mapping = [this](std::uint64_t bytes) {
        order_.progress({GleanStage::kMap, std::min(bytes, order_.log_bytes), order_.log_bytes});
      };
      input_.composing = [this](std::uint64_t done, std::uint64_t total) {
        order_.progress({GleanStage::kCompose, done, total});
      };
    }
    input_.is_given_up = order_.is_given_up;
  }

  // Collects each storage's parts in the order of reducers. Partitions ascend with positions (G10),
  // so the parts one after another are in the storage's order.
  void collect() {
    parts_.resize(order_.storages.size());
    for (const auto& reducer : glean_->reducers()) {
      is_in_memory_ = is_in_memory_ && reducer->is_all_in_memory();
      page::StorageId before{};
      for (const SortedGroup& group : reducer->in_memory()) {
        is_in_memory_ = is_in_memory_ && group.storage != before;
        before = group.storage;
        const auto meta = std::ranges::lower_bound(order_.storages, group.storage, {},
                                                   &storage_meta::StorageMeta::id);
        FOEDUS_INVARIANT(meta != order_.storages.end() && meta->id == group.storage,
                         static_cast<std::uint32_t>(group.storage));
        const auto storage = static_cast<std::size_t>(meta - order_.storages.begin());
        parts_[storage].push_back(group);
      }
    }
  }

  const engine::GleanOrder order_;
  std::optional<snapshot::Manifest> previous_;
  const std::uint64_t begin_us_;
  const std::uint64_t begin_cpu_us_;
  std::uint64_t sort_us_ = 0;
  std::uint64_t sort_cpu_us_ = 0;
  std::vector<std::unique_ptr<SegmentSource>> sources_;
  GleanInput input_;
  std::unique_ptr<Glean> glean_;
  bool is_in_memory_ = true;
  std::vector<std::vector<SortedGroup>> parts_;  // by storage; only parts with records
};

}  // namespace
}  // namespace foedus::gleaner

namespace foedus::engine {

Result<std::unique_ptr<SortedTail>> sort_tail(GleanOrder order) {
  return base::catching([&]() -> Result<std::unique_ptr<SortedTail>> {
    auto sorted = std::make_unique<gleaner::SortedOrder>(std::move(order));
    FOEDUS_CHECK(sorted->sort());
    return std::unique_ptr<SortedTail>(std::move(sorted));
  });
}

}  // namespace foedus::engine
