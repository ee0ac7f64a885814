#include "foedus-core/engine/glean/glean_orders.h"

#include <algorithm>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/dispatch.h"

namespace foedus::engine {

namespace {

// Bytes of a segment that a mapper holds in memory.
constexpr std::uint64_t kMapperBytes = 4u << 20;
// Least memory of a reducer. Half of the reducer's inbox takes three eighths of this memory. That
// half has room for the largest row and for chunks of two runs (G20).
constexpr std::uint64_t kReducerBytesMin = 12u << 20;
constexpr std::uint64_t kGleanBytesMin = kReducerBytesMin + kMapperBytes;

// Limits of the page samples by which a glean divides storages among reducers; a sample has 16
// bytes. The first two limits are for one storage: the gleaner divides a storage into up to 512
// groups, and some samples of each group are enough. The last limit is for all storages together.
constexpr std::size_t kPageSamplesMax = 64u << 10;
constexpr std::size_t kPageSamplesMin = 1u << 10;
constexpr std::size_t kAllPageSamplesMax = 1u << 20;

std::size_t samples_for_each(std::size_t storages) {
  const std::size_t share = kAllPageSamplesMax / std::max<std::size_t>(storages, 1);
  return std::clamp(share / 2 * 2, kPageSamplesMin, kPageSamplesMax);
}

}  // namespace

GleanOrder GleanOrders::base(std::uint32_t tasks_min, std::uint64_t bytes_beside,
                             const Unapplied* tail) {
  const GleanOptions& options = parts_.options->glean;
  GleanOrder order;
  order.device = parts_.device;
  order.runtime = parts_.runtime;
  order.topology = parts_.topology;
  order.in_making = parts_.in_making;
  order.before_pages = [this] { parts_.retention->wait_for_blocks(); };  // E50
  // A recovered tail holds a part of the gleaner's memory, so the reducers of this glean are
  // smaller. Their memory is not kept for the next glean, whose reducers may be larger.
  std::uint64_t memory_bytes = options.memory_bytes + bytes_beside;
  if (tail != nullptr) {
    memory_bytes += tail->bytes_borrowed();
    const std::uint64_t held = tail->bytes_held();
    memory_bytes = std::max(memory_bytes - std::min(memory_bytes, held), kGleanBytesMin);
  }
  const auto as_many_as_fit = [](std::uint64_t wanted, std::uint64_t bytes, std::uint64_t each) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, bytes / each));
  };
  order.mappers =
      as_many_as_fit(std::max(options.mappers, tasks_min), memory_bytes / 3, kMapperBytes);
  const std::uint64_t rest = memory_bytes - order.mappers * kMapperBytes;
  // One file of each snapshot is left to a bulk load (E62).
  const std::uint32_t reducers = std::min(std::max(options.reducers, tasks_min), kMaxSocs - 1);
  order.reducers = as_many_as_fit(reducers, rest, kReducerBytesMin);
  order.reducer_bytes = rest / order.reducers;
  // kRequire becomes kTry here: open() has made sure that the facility exists, and a glean that
  // does not get it now goes on without it.
  if (parts_.options->pages.huge_pages == Facility::kOff) order.huge_pages = Facility::kOff;
  if (parts_.options->pages.numa_binding == Facility::kOff) order.numa_binding = Facility::kOff;
  order.memory = tail == nullptr ? &memory_ : nullptr;
  return order;
}

GleanOrder GleanOrders::next(const snapshot::Manifest* previous, const Unapplied* tail) {
  GleanOrder order = base(1, 0, tail);
  order.previous = previous;
  order.covered = parts_.durability->durable();  // E15: before the segments are listed
  FOEDUS_SYNC_POINT("gleaning:covered");
  parts_.log->roll_segments();  // so that the next glean need not read old segments again
  if (previous != nullptr && order.covered <= previous->covered) return order;
  log::Log& log = *parts_.log;
  for (const log::LogSegment& segment : log.segments()) {
    const Epoch covered = order.covered;
    // What the last snapshot covers stays for change streams only.
    if (previous != nullptr && segment.newest_epoch <= previous->covered.number()) continue;
    order.segments.push_back(
        [&log, segment, covered] { return log.open_segment(segment, covered); });
  }
  order.newest_seen = parts_.clock->current();
  parts_.catalog->list_at(order.covered, &order.storages, &order.next_storage_id);
  sample_pages(&order);
  return order;
}

void GleanOrders::sample_pages(GleanOrder* order) const {
  order->samples.resize(order->storages.size());
  if (order->reducers == 1) return;
  const std::size_t samples_max = samples_for_each(order->storages.size());
  for (std::size_t i = 0; i < order->storages.size(); ++i) {
    const epoch::Pinned pinned(parts_.clock, parts_.session);  // E17: before is_dropped() is asked
    const occ::StorageControl* const control = parts_.catalog->find(order->storages[i].id);
    if (control == nullptr || control->is_dropped()) continue;
    storage::PageSamples samples(samples_max);
    storage::sample_pages(*parts_.pool, *control, &samples);
    order->samples[i] = samples.take();
  }
}

}  // namespace foedus::engine
