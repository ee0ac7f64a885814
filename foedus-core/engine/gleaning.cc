#include "foedus-core/engine/gleaning.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/snapshot/snapshot_format.h"
#include "foedus-core/snapshot/unneeded.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/storage/page_check.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kDueLookUs = 20'000;          // between two looks whether a glean is due
constexpr std::uint64_t kEarlyLookUs = 5'000;         // instead, if a glean begins early (E44)
constexpr std::uint64_t kKeepMemoryUs = 5'000'000;    // from the begin of the last glean
constexpr std::uint64_t kNextGleanUs = 2'000'000;     // after a glean that failed
// Bytes of its segment that a mapper has in memory.
constexpr std::uint64_t kMapperBytes = 4u << 20;
// Least memory of a reducer. Half of its inbox, which is three eighths of it, has room for the
// largest row and for chunks of two runs (G20).
constexpr std::uint64_t kReducerBytesMin = 12u << 20;
constexpr std::uint64_t kGleanBytesMin = kReducerBytesMin + kMapperBytes;

// Limits for the pages that a glean samples to divide storages among reducers, 16 bytes each. One
// storage is divided by 512 groups, of each of which some samples are enough. The last limit is for
// all storages together.
constexpr std::size_t kPageSamplesMax = 64u << 10;
constexpr std::size_t kPageSamplesMin = 1u << 10;
constexpr std::size_t kAllPageSamplesMax = 1u << 20;

std::size_t samples_for_each(std::size_t storages) {
  const std::size_t share = kAllPageSamplesMax / std::max<std::size_t>(storages, 1);
  return std::clamp(share / 2 * 2, kPageSamplesMin, kPageSamplesMax);
}

}  // namespace

Gleaning::Gleaning(Engine* engine, std::uint32_t session, std::uint32_t install_sessions)
    : engine_(engine), session_(session), install_sessions_(install_sessions) {}
Gleaning::~Gleaning() = default;

Status Gleaning::make_parts() {
  const Options& options = engine_->options();
  FOEDUS_TRY(caches_,
             SnapshotCaches::make({.options = &options,
                                   .runtime = &engine_->runtime(),
                                   .device = engine_->device(),
                                   .topology = &engine_->topology(),
                                   .budget = &engine_->budget(),
                                   .clock = &engine_->clock(),
                                   .lender = engine_->cache_borrows() ? &engine_->pool() : nullptr,
                                   .operator_log = &engine_->operator_log()}));
  requests_ = std::make_unique<GleanRequests>(&engine_->runtime(), &engine_->operator_log());
  newest_ = std::make_unique<NewestManifest>(
      NewestManifest::Parts{.device = engine_->device(),
                            .snapshots = &engine_->snapshots(),
                            .caches = caches_.get(),
                            .operator_log = &engine_->operator_log()});
  forecast_ = std::make_unique<GleanForecast>(GleanForecast::Parts{.runtime = &engine_->runtime(),
                                                                   .log = engine_->log(),
                                                                   .pool = &engine_->pool(),
                                                                   .newest = newest_.get()});
  closer_ = std::make_unique<device::FileCloser>(&engine_->runtime());
  throttle_ = std::make_unique<WriteThrottle>(
      WriteThrottle::Parts{.options = &options,
                           .runtime = &engine_->runtime(),
                           .state = &engine_->state(),
                           .log = engine_->log(),
                           .pool = &engine_->pool(),
                           .newest = newest_.get(),
                           .forecast = forecast_.get(),
                           .operator_log = &engine_->operator_log()});
  deltas_ = std::make_unique<DeltaPhases>(DeltaPhases::Parts{.runtime = &engine_->runtime(),
                                                             .clock = &engine_->clock(),
                                                             .pool = &engine_->pool(),
                                                             .catalog = &engine_->catalog(),
                                                             .session = session_});
  installer_ = std::make_unique<SnapshotInstaller>(
      SnapshotInstaller::Parts{.options = &options,
                               .runtime = &engine_->runtime(),
                               .topology = &engine_->topology(),
                               .clock = &engine_->clock(),
                               .pool = &engine_->pool(),
                               .catalog = &engine_->catalog(),
                               .caches = caches_.get(),
                               .snapshots = &engine_->snapshots(),
                               .newest = newest_.get(),
                               .throttle = throttle_.get(),
                               .requests = requests_.get(),
                               .deltas = deltas_.get(),
                               .operator_log = &engine_->operator_log(),
                               .session = session_,
                               .install_sessions = install_sessions_});
  last_us_ = engine_->runtime().now_us();
  return {};
}

// ---- open

GleanOrder Gleaning::base_order(std::uint32_t tasks_min, std::uint64_t bytes_beside) {
  const GleanOptions& options = engine_->options().glean;
  GleanOrder order;
  order.device = engine_->device();
  order.runtime = &engine_->runtime();
  order.topology = &engine_->topology();
  order.before_pages = [this] { closer_->wait(); };  // E50
  // Memory that a tail holds is part of it. Memory kept for the next glean then has another size.
  std::uint64_t memory_bytes = options.memory_bytes + bytes_beside;
  if (unapplied_ != nullptr) {
    memory_bytes += unapplied_->bytes_borrowed();
    const std::uint64_t held = unapplied_->bytes_held();
    memory_bytes = std::max(memory_bytes - std::min(memory_bytes, held), kGleanBytesMin);
  }
  const auto as_many_as_fit = [](std::uint64_t wanted, std::uint64_t bytes, std::uint64_t each) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, bytes / each));
  };
  order.mappers =
      as_many_as_fit(std::max(options.mappers, tasks_min), memory_bytes / 3, kMapperBytes);
  const std::uint64_t rest = memory_bytes - order.mappers * kMapperBytes;
  const std::uint32_t reducers = std::max(options.reducers, tasks_min);
  order.reducers = as_many_as_fit(reducers, rest, kReducerBytesMin);
  order.reducer_bytes = rest / order.reducers;
  // Required facilities were checked when the database was opened; here they are tried.
  if (engine_->options().huge_pages == Facility::kOff) order.huge_pages = Facility::kOff;
  if (engine_->options().numa_binding == Facility::kOff) order.numa_binding = Facility::kOff;
  order.memory = unapplied_ == nullptr ? &glean_memory_ : nullptr;
  return order;
}

// ---- requests

Result<GleanReport> Gleaning::glean(const GleanProgressSink& progress) {
  // A glean covers all that is committed now if it begins once that is durable.
  FOEDUS_CHECK(engine_->durability().wait(engine_->clock().current(), base::Runtime::kForever));
  const std::uint64_t request = requests_->add(progress);
  nudge();
  return requests_->wait(request);
}

// Ends a last glean at twice `most_us`: no estimate is worth a close() that hangs.
void Gleaning::make_last(std::uint64_t most_us) {
  // order: relaxed, recovery set it before it was over; a stale 1 only spares a glean
  if (has_tail_.load_relaxed() != 0) return;
  const std::uint64_t behind = forecast_->log_behind();
  if (most_us == 0 || behind == 0 || newest_->has_failed() || engine_->log_has_failed()) return;
  if (forecast_->us_of(behind) > static_cast<double>(most_us)) return;
  last_until_us_.store_relaxed(engine_->runtime().now_us() +
                               2 * most_us);  // order: last_until_us()
  // The task has reported what went wrong.
  base::trying([this] { (void)glean({}).is_ok(); });
}

void Gleaning::end() {
  requests_->end();
  engine_->snapshots().end();
}

void Gleaning::nudge() { engine_->runtime().notify(this); }

void Gleaning::add_stats(Stats* stats) const {
  caches_->add_stats(stats);
  stats->log_bytes_behind = forecast_->log_behind();
  if (const std::optional<snapshot::Manifest> newest = newest_->get(); newest.has_value()) {
    stats->snapshot = static_cast<std::uint32_t>(newest->number);
    stats->covered_epoch = newest->covered;
  }
  requests_->add_stats(stats);
}

// ---- the task

// Returns the percentage of their memory above which volatile pages cause a glean. It is lowered
// (E44) only if the glean will write little more than was logged, as for rows in key order. For
// random rows, fewer and larger gleans write less.
std::uint32_t Gleaning::begin_percent(std::uint64_t log_bytes) const {
  const std::uint32_t percent = engine_->options().glean.volatile_percent;
  const bool is_cheap = forecast_->expected_pages(log_bytes) * page::kPageBytes <= 2 * log_bytes;
  return is_cheap ? installer_->drop_goal().begin_percent(percent) : percent;
}

bool Gleaning::is_due(Drop* drop) {
  *drop = Drop::kAsNeeded;
  const std::uint64_t now_us = engine_->runtime().now_us();
  if (requests_->is_waiting()) {
    *drop = Drop::kAll;
    return true;
  }
  if (newest_->has_failed() && now_us - last_us_ < kNextGleanUs) return false;
  if (engine_->snapshots().is_awaited()) return true;
  const std::uint64_t behind = forecast_->log_behind();
  // A snapshot covers whole epochs, and log may take long to become durable.
  if (behind == 0 || !has_more_durable()) return false;
  const GleanOptions& options = engine_->options().glean;
  return (options.log_bytes != 0 && behind >= options.log_bytes) ||
         (options.log_bytes_max != 0 && behind >= options.log_bytes_max / 4) ||  // E18
         (options.pages != 0 && forecast_->expected_pages(behind) >= options.pages) ||
         (options.interval_us != 0 && now_us - last_us_ >= options.interval_us) ||
         (options.volatile_percent != 0 && installer_->pages_above(begin_percent(behind)) != 0);
}

// True if the durable epoch is past what the newest snapshot covers; otherwise a glean has nothing
// to do.
bool Gleaning::has_more_durable() const {
  return engine_->durability().durable() > engine_->snapshots().covered();
}

void Gleaning::answer(std::uint64_t request, Status status) noexcept {
  engine_->snapshots().set_trouble(status);
  newest_->set_has_failed(!status.is_ok());
  requests_->answer(request, std::move(status));
}

// Handles a lack of memory outside a glean. Frees the memory kept from the last one, which may
// help.
std::uint64_t Gleaning::step_failed(const std::bad_alloc& thrown) noexcept {
  glean_memory_.clear();
  const Status status = base::out_of_memory(thrown);
  engine_->operator_log().say_of_gleaner(LogLevel::kError, status);
  answer(step_request_, status);
  return kDueLookUs;
}

std::uint64_t Gleaning::step() {
  const OpenState& state = engine_->state();
  if (!state.is_recovery_over()) {
    engine_->recovery().run();
    has_recovered_ = state.recovery_status().is_ok();
    if (has_recovered_) engine_->pool().allow_lending();  // it needs no more off their bound
    return 0;
  }
  if (!state.recovery_status().is_ok()) return kUntilNotified;
  step_request_ = requests_->newest();
  installer_->reclaim();
  deltas_->step();
  if (unapplied_ != nullptr && !step_unapplied()) return kDueLookUs;
  if (std::exchange(has_recovered_, false)) reclaim_recovered();
  // A failure here is no answer for those that wait for a snapshot. The next glean, which may begin
  // only after they asked, looks again.
  const Status removed = base::catching([this]() -> Status {
    if (!engine_->snapshots().expire().empty()) stamp_removal();
    return remove_if_unread();
  });
  if (!removed.is_ok()) {
    if (removed.code() == ErrorCode::kOutOfMemory) glean_memory_.clear();
    engine_->operator_log().say_of_gleaner(LogLevel::kWarning, removed);
    newest_->set_has_failed(true);
  }
  Drop drop;
  // Once close() has begun, only the last glean is made: other requesters get kClosed from end().
  const bool is_allowed = last_until_us() != 0 || engine_->check_open().is_ok();
  if (!is_due(&drop) || !is_allowed) {
    const bool is_idle = engine_->runtime().now_us() - last_us_ >= kKeepMemoryUs;
    if (is_idle && !glean_memory_.empty()) glean_memory_.clear();
    if (installer_->settle_while_idle()) stamp_removal();
    if (engine_->device()->wants_room()) make_tier_room();
    const bool is_early =
        begin_percent(forecast_->log_behind()) < engine_->options().glean.volatile_percent;
    return is_early ? kEarlyLookUs : kDueLookUs;
  }
  step_request_ = requests_->newest();
  last_us_ = engine_->runtime().now_us();
  Status status = base::catching([&] { return last_until_us() == 0 ? run(drop) : run_last(); });
  if (!status.is_ok()) engine_->operator_log().say_of_gleaner(LogLevel::kError, status);
  const bool is_full = status.code() == ErrorCode::kOutOfSpace;
  answer(step_request_, std::move(status));
  if (is_full) {
    const Status freed = base::catching([this] { return give_up_older(); });
    if (!freed.is_ok()) engine_->operator_log().say_of_gleaner(LogLevel::kWarning, freed);
  }
  return 0;
}

Status Gleaning::run(Drop drop) {
  GleanReport report;
  const std::uint64_t begin_us = engine_->runtime().now_us();
  GleanForecast::Running running(forecast_.get());
  const page::SnapshotNumber before = engine_->snapshots().newest();
  FOEDUS_TRY(snapshot::Manifest manifest, make(
                                              [&](const GleanProgress& progress) {
                                                running.at(progress);
                                                requests_->tell(progress);
                                              },
                                              &report));
  // Otherwise it was there.
  running.has_snapshot(report, manifest.covered > engine_->snapshots().covered());
  FOEDUS_SYNC_POINT("gleaning:manifest_durable");
  newest_->set(manifest);
  FOEDUS_CHECK(engine_->log()->remove_segments_up_to(manifest.covered));  // E16
  FOEDUS_SYNC_POINT("gleaning:log_cut");
  const std::uint64_t install_us = engine_->runtime().now_us();
  running.at({.stage = GleanStage::kInstall});
  (void)installer_->take_cpu_us();  // of an installation that failed
  const std::uint64_t install_cpu_us = base::thread_cpu_us();
  FOEDUS_CHECK(installer_->install(manifest, drop, &report));
  FOEDUS_CHECK(installer_->settle(manifest, before));
  const std::uint64_t installed_us = engine_->runtime().now_us();
  report.install_us = installed_us - install_us;
  FOEDUS_CHECK(reclaim_files(std::move(manifest), &report));
  report.reclaim_us = engine_->runtime().now_us() - installed_us;
  report.total_cpu_us += base::thread_cpu_us() - install_cpu_us + installer_->take_cpu_us();
  report.total_cpu_us += closer_->take_cpu_us();  // a removal's end may count for the next
  report.total_us = engine_->runtime().now_us() - begin_us;
  running.has_ended(report);
  requests_->count(report);
  return {};
}

// Installs nothing: no transaction will read volatile pages any more, so they need no files.
Status Gleaning::run_last() {
  GleanReport report;
  FOEDUS_TRY(const snapshot::Manifest manifest,
             make([this](const GleanProgress& progress) { requests_->tell(progress); }, &report));
  take_recovered(manifest);
  return remove_superseded();
}

// Makes the next snapshot. Returns the newest one if nothing has become durable since.
Result<snapshot::Manifest> Gleaning::make(const GleanProgressSink& progress, GleanReport* report) {
  FOEDUS_CHECK(newest_->look_again());
  FOEDUS_CHECK(make_disk_room(forecast_->most_pages(forecast_->log_behind())));
  const std::optional<snapshot::Manifest> previous = newest_->get();
  GleanOrder order = base_order();
  order.previous = previous.has_value() ? &*previous : nullptr;
  order.covered = engine_->durability().durable();  // E15: first
  FOEDUS_SYNC_POINT("gleaning:covered");
  engine_->log()->roll_segments();  // so that the next glean need not read these again
  if (previous.has_value() && order.covered <= previous->covered) {
    report->snapshot = static_cast<std::uint32_t>(previous->number);
    report->covered = previous->covered;
    return *previous;
  }
  log::Log& log = *engine_->log();
  for (const log::LogSegment& segment : log.segments()) {
    const Epoch covered = order.covered;
    order.segments.push_back(
        [&log, segment, covered] { return log.open_segment(segment, covered); });
  }
  order.newest_seen = engine_->clock().current();
  engine_->catalog().list_at(order.covered, &order.storages, &order.next_storage_id);
  sample_pages(&order);
  order.log_bytes = forecast_->log_behind();
  order.progress = progress;
  if (const std::uint64_t until_us = last_until_us(); until_us != 0) {
    order.is_given_up = [this, until_us] { return engine_->runtime().now_us() >= until_us; };
  }
  return make_snapshot(order, report);
}

void Gleaning::sample_pages(GleanOrder* order) {
  order->samples.resize(order->storages.size());
  if (order->reducers == 1) return;
  const std::size_t samples_max = samples_for_each(order->storages.size());
  for (std::size_t i = 0; i < order->storages.size(); ++i) {
    const epoch::Pinned pinned(&engine_->clock(), session_);  // E17
    const occ::StorageControl* const control = engine_->catalog().find(order->storages[i].id);
    if (control == nullptr || control->is_dropped()) continue;
    storage::PageSamples samples(samples_max);
    storage::sample_pages(engine_->pool(), *control, &samples);
    order->samples[i] = samples.take();
  }
}

// Takes over a snapshot while nothing in memory could lead to earlier ones.
void Gleaning::take_recovered(const snapshot::Manifest& manifest, bool is_newest) {
  is_newest ? newest_->set(manifest) : newest_->set_older(manifest);
  installer_->set_installed(manifest);
}

}  // namespace foedus::engine
