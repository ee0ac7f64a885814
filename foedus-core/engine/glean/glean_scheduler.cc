#include "foedus-core/engine/glean/glean_scheduler.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/probe.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kDueLookUs = 20'000;        // between two looks whether a glean is due
constexpr std::uint64_t kEarlyLookUs = 5'000;       // between two looks if gleans begin early (E44)
constexpr std::uint64_t kKeepMemoryUs = 5'000'000;  // memory is kept this long after a glean began
constexpr std::uint64_t kNextGleanUs = 2'000'000;   // between two gleans, if the first has failed
}  // namespace

// ---- requests

Result<GleanReport> GleanScheduler::glean(const GleanProgressSink& progress) {
  // A glean covers what is durable when it begins. So all commits have to be durable first.
  FOEDUS_CHECK(parts_.durability->wait(parts_.clock->current(), base::Runtime::kForever));
  const std::uint64_t request = parts_.requests->add(progress);
  nudge();
  return parts_.requests->wait(request);
}

// Gives up the last glean after twice `most_us`: the estimate may be wrong, and close() waits for
// that glean.
void GleanScheduler::make_last(std::uint64_t most_us) {
  if (parts_.tail->has_tail()) return;
  const std::uint64_t behind = parts_.forecast->log_behind();
  if (most_us == 0 || behind == 0 || parts_.newest->has_failed() || parts_.log->has_failed())
    return;
  if (parts_.forecast->us_of(behind) > static_cast<double>(most_us)) return;
  last_until_us_.store_relaxed(parts_.runtime->now_us() + 2 * most_us);  // order: last_until_us()
  // A failure is ignored here: the gleaner's task reports it to the operator.
  base::trying([this] { (void)glean({}).is_ok(); });
}

// ---- the task

// Returns the percentage of their memory above which volatile pages cause a glean. This is less
// than volatile_percent (E44) only if the glean is expected to write at most twice the bytes that
// were logged, as for rows in key order. For random rows, fewer and larger gleans write less in
// total.
std::uint32_t GleanScheduler::begin_percent(std::uint64_t log_bytes) const {
  const std::uint32_t percent = parts_.options->pages.volatile_percent;
  const bool is_cheap =
      parts_.forecast->expected_pages(log_bytes) * page::kPageBytes <= 2 * log_bytes;
  return is_cheap ? parts_.installer->drop_goal().begin_percent(percent) : percent;
}

bool GleanScheduler::is_due(Drop* drop) const {
  *drop = Drop::kAsNeeded;
  const std::uint64_t now_us = parts_.runtime->now_us();
  if (parts_.requests->is_waiting()) {
    *drop = Drop::kAll;
    return true;
  }
  if (parts_.newest->has_failed() && now_us - last_us_ < kNextGleanUs) return false;
  if (parts_.snapshots->is_awaited()) return true;
  const std::uint64_t behind = parts_.forecast->log_behind();
  // New log bytes alone make no glean due: a snapshot covers whole durable epochs, and these bytes
  // may not be durable yet.
  if (behind == 0 || !has_more_durable()) return false;
  const GleanOptions& options = parts_.options->glean;
  return (options.log_bytes != 0 && behind >= options.log_bytes) ||
         (options.log_bytes_max != 0 && behind >= options.log_bytes_max / 4) ||  // E18
         (options.interval_us != 0 && now_us - last_us_ >= options.interval_us) ||
         (parts_.options->pages.volatile_percent != 0 &&
          parts_.installer->pages_above(begin_percent(behind)) != 0);
}

// True if the durable epoch is past what the newest snapshot covers; otherwise a glean has nothing
// to do.
bool GleanScheduler::has_more_durable() const {
  return parts_.durability->durable() > parts_.snapshots->covered();
}

// Handles a lack of memory outside a glean. Frees the memory that was kept from the last glean, so
// that the next step may succeed.
std::uint64_t GleanScheduler::step_failed(const std::bad_alloc& thrown) noexcept {
  parts_.orders->free_memory();
  const Status status = base::out_of_memory(thrown);
  parts_.operator_log->say_of_gleaner(LogLevel::kError, status);
  parts_.requests->answer(step_request_, status);
  return kDueLookUs;
}

std::uint64_t GleanScheduler::step() {
  if (!parts_.state->is_recovery_over()) {
    recover();
    return 0;
  }
  if (!parts_.state->recovery_status().is_ok()) return kUntilNotified;
  step_request_ = parts_.requests->newest();
  parts_.installer->reclaim();
  parts_.deltas->step();
  if (!parts_.tail->step(step_request_)) return kDueLookUs;
  if (std::exchange(has_recovered_, false)) parts_.retention->reclaim_recovered();
  remove_unread();
  Drop drop;
  // Once close() has begun, only the last glean is made: other requesters get kClosed from
  // GleanRequests::end().
  const bool is_allowed = last_until_us() != 0 || parts_.state->check_open().is_ok();
  if (!is_due(&drop) || !is_allowed) return step_idle();
  step_request_ = parts_.requests->newest();
  last_us_ = parts_.runtime->now_us();
  FOEDUS_PROBE(glean_begin, parts_.forecast->log_behind());
  Status status = base::catching([&] { return last_until_us() == 0 ? run(drop) : run_last(); });
  FOEDUS_PROBE(glean_end, static_cast<int>(status.code()));
  if (!status.is_ok()) parts_.operator_log->say_of_gleaner(LogLevel::kError, status);
  const bool is_full = status.code() == ErrorCode::kOutOfSpace;
  parts_.requests->answer(step_request_, std::move(status));
  if (is_full) {
    const Status freed = base::catching([this] { return parts_.retention->give_up_older(); });
    if (!freed.is_ok()) parts_.operator_log->say_of_gleaner(LogLevel::kWarning, freed);
  }
  return 0;
}

void GleanScheduler::recover() {
  parts_.recovery->run();
  has_recovered_ = parts_.state->recovery_status().is_ok();
  if (has_recovered_) parts_.pool->allow_lending();  // recovery borrows no more of the pool
}

// Removes files that no transaction reads any more. A failure is told to the operator, but answers
// no call that waits for a snapshot: the next glean tries again (E27), and may succeed.
void GleanScheduler::remove_unread() {
  const Status removed = base::catching([this] { return parts_.retention->remove_unread(); });
  if (removed.is_ok()) return;
  if (removed.code() == ErrorCode::kOutOfMemory) parts_.orders->free_memory();
  parts_.operator_log->say_of_gleaner(LogLevel::kWarning, removed);
  parts_.newest->set_has_failed(true);
}

// Does the gleaner's work while no glean is due. Frees memory that was kept from the last glean.
// Installs the newest snapshot again in storages whose volatile pages may still lead to an earlier
// one. Makes room in the NVM tier if the device asks for it. Returns the time until the next step.
std::uint64_t GleanScheduler::step_idle() {
  if (parts_.runtime->now_us() - last_us_ >= kKeepMemoryUs) parts_.orders->free_memory();
  parts_.installer->settle_while_idle();
  parts_.retention->make_wanted_tier_room();
  const bool is_early =
      begin_percent(parts_.forecast->log_behind()) < parts_.options->pages.volatile_percent;
  return is_early ? kEarlyLookUs : kDueLookUs;
}

Status GleanScheduler::run(Drop drop) {
  GleanReport report;
  const std::uint64_t begin_us = parts_.runtime->now_us();
  GleanForecast::Running running(parts_.forecast);
  const page::SnapshotNumber before = parts_.snapshots->newest();
  FOEDUS_TRY(snapshot::Manifest manifest, make(
                                              [&](const GleanProgress& progress) {
                                                running.at(progress);
                                                parts_.requests->tell(progress);
                                              },
                                              &report));
  // If there was nothing to glean, make() has returned the newest manifest, whose covered epoch is
  // published already: `is_news` is false.
  running.has_snapshot(report, manifest.covered > parts_.snapshots->covered());
  FOEDUS_SYNC_POINT("gleaning:manifest_durable");
  parts_.newest->set(manifest);
  FOEDUS_CHECK(parts_.loads->enter(manifest));
  FOEDUS_CHECK(parts_.log->remove_segments_up_to(manifest.covered));  // E16
  FOEDUS_SYNC_POINT("gleaning:log_cut");
  const std::uint64_t install_us = parts_.runtime->now_us();
  running.at({.stage = GleanStage::kInstall});
  FOEDUS_PROBE(glean_stage, static_cast<int>(GleanStage::kInstall));
  (void)parts_.installer->take_cpu_us();  // discards the time of an installation that failed
  const std::uint64_t install_cpu_us = base::thread_cpu_us();
  FOEDUS_CHECK(parts_.installer->install(manifest, drop, &report));
  FOEDUS_CHECK(parts_.installer->settle(manifest, before));
  const std::uint64_t installed_us = parts_.runtime->now_us();
  report.install_us = installed_us - install_us;
  FOEDUS_PROBE(snapshot_installed, report.snapshot, report.covered.number(), report.pages_dropped);
  FOEDUS_CHECK(parts_.retention->reclaim_files(std::move(manifest), &report));
  report.reclaim_us = parts_.runtime->now_us() - installed_us;
  report.total_cpu_us += base::thread_cpu_us() - install_cpu_us + parts_.installer->take_cpu_us();
  // A removal that goes on after this glean counts for the next one.
  report.total_cpu_us += parts_.retention->take_cpu_us();
  report.total_us = parts_.runtime->now_us() - begin_us;
  running.has_ended(report);
  parts_.requests->count(report);
  return {};
}

// Makes the snapshot of close(), and does not install it: no transaction will follow pointers of
// volatile pages to earlier snapshots any more. So files that only superseded snapshots need are
// removed without an installation.
Status GleanScheduler::run_last() {
  GleanReport report;
  FOEDUS_TRY(
      const snapshot::Manifest manifest,
      make([this](const GleanProgress& progress) { parts_.requests->tell(progress); }, &report));
  parts_.retention->take_uninstalled(manifest);
  return parts_.retention->remove_superseded();
}

// Makes the next snapshot, and returns its manifest. Returns the newest manifest if nothing has
// become durable since that was made. With a load there is a next snapshot in any case: an epoch
// without commits becomes durable, too.
Result<snapshot::Manifest> GleanScheduler::make(const GleanProgressSink& progress,
                                                GleanReport* report) {
  FOEDUS_CHECK(parts_.newest->look_again());
  const GleanForecast& forecast = *parts_.forecast;
  FOEDUS_CHECK(parts_.retention->make_disk_room(forecast.most_pages(forecast.log_behind())));
  const std::optional<snapshot::Manifest> previous = parts_.newest->get();
  const snapshot::Manifest* const before = previous.has_value() ? &*previous : nullptr;
  const std::shared_ptr<const LoadedStorage> load = parts_.loads->offer();
  if (load != nullptr) {
    const Epoch covered = before == nullptr ? Epoch() : before->covered;
    FOEDUS_CHECK(
        parts_.durability->wait(std::max(load->epoch, covered.next()), base::Runtime::kForever));
  }
  GleanOrder order = parts_.orders->next(before, parts_.unapplied->get());
  order.load = load.get();
  if (before != nullptr && order.covered <= before->covered) {
    report->snapshot = static_cast<std::uint32_t>(before->number);
    report->covered = before->covered;
    return *before;
  }
  order.log_bytes = forecast.log_behind();
  order.progress = progress;
  if (const std::uint64_t until_us = last_until_us(); until_us != 0) {
    order.is_given_up = [this, until_us] { return parts_.runtime->now_us() >= until_us; };
  }
  return make_snapshot(order, report);
}

}  // namespace foedus::engine
