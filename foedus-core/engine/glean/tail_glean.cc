#include "foedus-core/engine/glean/tail_glean.h"

#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kNextTailUs = 2'000'000;  // until the next try, after a failure
constexpr std::uint64_t kEndLookUs = 20'000;      // until the next try to end rows that are in use
constexpr std::uint64_t kUnusedLookUs = 500;

}  // namespace

void TailGlean::take(std::unique_ptr<Unapplied> unapplied) {
  parts_.unapplied->set(std::move(unapplied));
  has_tail_.store_relaxed(1);  // order: relaxed, the end of recovery comes after it
}

bool TailGlean::step(std::uint64_t request) {
  if (rows() == nullptr) return true;
  const std::uint64_t now_us = parts_.runtime->now_us();
  if (rows()->has_ended()) return forget(now_us);
  const bool is_allowed =
      !parts_.state->is_recovery_given_up() && parts_.state->check_open().is_ok();
  if (!is_allowed || now_us < next_us_) return is_gleaned_;
  if (!is_gleaned_) {
    Status status = base::catching([this] { return glean(); });
    if (status.is_ok()) {
      parts_.newest->set_has_failed(false);
      parts_.snapshots->set_trouble({});
    } else {
      if (status.code() != ErrorCode::kClosed) has_failed(std::move(status), request, now_us);
      return false;
    }
  }
  const Status ended = base::catching([this] { return end_rows(); });
  const bool is_soon =
      (ended.is_ok() || ended.code() == ErrorCode::kConflict) && !rows()->has_ended();
  next_us_ = parts_.runtime->now_us() + (is_soon ? kEndLookUs : kNextTailUs);
  const bool is_trouble = !ended.is_ok() && !is_soon && ended.code() != ErrorCode::kClosed;
  if (is_trouble) parts_.operator_log->say_of_gleaner(LogLevel::kWarning, ended);
  // A scan that waits for the end of the rows returns this error.
  if (is_trouble || std::exchange(is_troubled_, is_trouble)) {
    parts_.snapshots->set_trouble(is_trouble ? ended : Status());
    is_troubled_ = is_trouble;
  }
  return true;
}

// Frees the tail once no operation uses it. Until then it holds memory that gleans use, so the next
// glean waits, but not past next_us_. Returns whether that glean may begin.
bool TailGlean::forget(std::uint64_t now_us) {
  if (!rows()->is_unused()) {
    parts_.clock->request_advance(parts_.clock->current());
    if (next_us_ < now_us) return true;
    parts_.runtime->pause(kUnusedLookUs);
    return false;
  }
  parts_.unapplied->reset();
  return true;
}

void TailGlean::has_failed(Status status, std::uint64_t request, std::uint64_t now_us) {
  next_us_ = now_us + kNextTailUs;
  parts_.operator_log->say_of_gleaner(LogLevel::kError, status);
  const bool is_full = status.code() == ErrorCode::kOutOfSpace;
  parts_.requests->answer(request, std::move(status));
  if (!is_full) return;
  const Status freed = base::catching([this] { return parts_.retention->give_up_older(); });
  if (!freed.is_ok()) parts_.operator_log->say_of_gleaner(LogLevel::kWarning, freed);
}

// Ends the waiting rows, once no volatile page leads to pages of earlier snapshots, which lack
// these rows (E41).
Status TailGlean::end_rows() {
  const std::optional<snapshot::Manifest> newest = parts_.newest->get();
  FOEDUS_CHECK(parts_.installer->settle(*newest, number_));
  if (parts_.installer->oldest_needed() < number_) return {};
  rows()->end_sequential();
  return rows()->end(parts_.session);
}

Status TailGlean::glean() {
  const std::uint64_t begin_us = parts_.runtime->now_us();
  const page::SnapshotNumber before = parts_.snapshots->newest();
  FOEDUS_CHECK(parts_.newest->look_again());
  FOEDUS_CHECK(parts_.retention->make_disk_room(0));
  std::optional<snapshot::Manifest> made = parts_.newest->get();
  GleanReport report;
  // If the newest manifest covers the tail, an earlier try has made the snapshot and failed later.
  if (!made.has_value() || made->covered < rows()->covered()) {
    if (made.has_value()) rows()->tail().follow(*made);
    FOEDUS_SYNC_POINT("gleaning:before_tail");
    FOEDUS_TRY(made, rows()->tail().compose(&report));
  }
  parts_.newest->set(*made);
  FOEDUS_CHECK(parts_.log->remove_segments_up_to(made->covered));  // E16: the manifest is durable
  const std::uint64_t install_us = parts_.runtime->now_us();
  (void)parts_.installer->take_cpu_us();  // discards the time of an installation that failed
  const std::uint64_t install_cpu_us = base::thread_cpu_us();
  FOEDUS_CHECK(parts_.installer->install(*made, Drop::kAsNeeded, &report));
  FOEDUS_CHECK(parts_.installer->settle(*made, before));
  number_ = made->number;
  is_gleaned_ = true;
  report.install_us = parts_.runtime->now_us() - install_us;
  report.total_cpu_us += base::thread_cpu_us() - install_cpu_us + parts_.installer->take_cpu_us();
  report.total_us = parts_.runtime->now_us() - begin_us;
  parts_.requests->count(report);
  has_tail_.store_relaxed(0);  // order: relaxed, a hint: see make_last()
  return {};
}

}  // namespace foedus::engine
