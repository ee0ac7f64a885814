// Gleaning: the snapshot of a tail that recovery has sorted, and the end of its waiting rows.
#include <utility>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/gleaning.h"
#include "foedus-core/engine/unapplied.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kNextTailUs = 2'000'000;  // after a failure
constexpr std::uint64_t kEndLookUs = 20'000;      // while something keeps the rows from their end
constexpr std::uint64_t kUnusedLookUs = 500;

}  // namespace

void Gleaning::take_unapplied(std::unique_ptr<Unapplied> unapplied) {
  unapplied_ = std::move(unapplied);
  has_tail_.store_relaxed(1);  // order: relaxed, recovery is over afterwards
}

// Makes the tail's snapshot, then ends its rows. Returns false while no other is made (E40).
bool Gleaning::step_unapplied() {
  const std::uint64_t now_us = engine_->runtime().now_us();
  if (unapplied_->has_ended()) return forget_unapplied(now_us);
  const bool is_allowed = !engine_->state().is_recovery_given_up() && engine_->check_open().is_ok();
  if (!is_allowed || now_us < tail_next_us_) return is_tail_gleaned_;
  if (!is_tail_gleaned_) {
    Status status = base::catching([this] { return glean_unapplied(); });
    if (status.is_ok()) {
      newest_->set_has_failed(false);
      engine_->snapshots().set_trouble({});
    } else {
      if (status.code() != ErrorCode::kClosed) tail_has_failed(std::move(status), now_us);
      return false;
    }
  }
  const Status ended = base::catching([this] { return end_unapplied(); });
  const bool is_soon = (ended.is_ok() || ended.code() == ErrorCode::kConflict) &&
                       !unapplied_->has_ended();
  tail_next_us_ = engine_->runtime().now_us() + (is_soon ? kEndLookUs : kNextTailUs);
  const bool is_trouble = !ended.is_ok() && !is_soon && ended.code() != ErrorCode::kClosed;
  if (is_trouble) engine_->operator_log().say_of_gleaner(LogLevel::kWarning, ended);
  // Scans that wait for the end of the rows report it.
  if (is_trouble || std::exchange(tail_is_troubled_, is_trouble)) {
    engine_->snapshots().set_trouble(is_trouble ? ended : Status());
    tail_is_troubled_ = is_trouble;
  }
  return true;
}

// Frees the tail once no operation uses it. It has the memory of a glean: the next one waits a
// little.
bool Gleaning::forget_unapplied(std::uint64_t now_us) {
  if (!unapplied_->is_unused()) {
    engine_->clock().hurry(engine_->clock().current());
    if (tail_next_us_ < now_us) return true;
    engine_->runtime().pause(kUnusedLookUs);
    return false;
  }
  unapplied_.reset();
  return true;
}

void Gleaning::tail_has_failed(Status status, std::uint64_t now_us) {
  tail_next_us_ = now_us + kNextTailUs;
  engine_->operator_log().say_of_gleaner(LogLevel::kError, status);
  const bool is_full = status.code() == ErrorCode::kOutOfSpace;
  answer(step_request_, std::move(status));
  if (!is_full) return;
  const Status freed = base::catching([this] { return give_up_older(); });
  if (!freed.is_ok()) engine_->operator_log().say_of_gleaner(LogLevel::kWarning, freed);
}

// Ends the waiting rows, once nothing volatile leads to pages that lack them (E41).
Status Gleaning::end_unapplied() {
  const std::optional<snapshot::Manifest> newest = newest_->get();
  FOEDUS_CHECK(installer_->settle(*newest, unapplied_number_));
  if (installer_->oldest_needed() < unapplied_number_) return {};
  unapplied_->end_sequential();
  return unapplied_->end(session_);
}

Status Gleaning::glean_unapplied() {
  const std::uint64_t begin_us = engine_->runtime().now_us();
  const page::SnapshotNumber before = engine_->snapshots().newest();
  FOEDUS_CHECK(newest_->look_again());
  FOEDUS_CHECK(make_disk_room(0));
  std::optional<snapshot::Manifest> made = newest_->get();
  GleanReport report;
  // If it covers the tail, an earlier attempt has made the snapshot and failed afterwards.
  if (!made.has_value() || made->covered < unapplied_->covered()) {
    if (made.has_value()) unapplied_->tail().follow(*made);
    FOEDUS_SYNC_POINT("gleaning:before_tail");
    FOEDUS_TRY(made, unapplied_->tail().compose(&report));
  }
  newest_->set(*made);
  FOEDUS_CHECK(engine_->log()->remove_segments_up_to(made->covered));  // E16
  const std::uint64_t install_us = engine_->runtime().now_us();
  (void)installer_->take_cpu_us();  // of an installation that failed
  const std::uint64_t install_cpu_us = base::thread_cpu_us();
  FOEDUS_CHECK(installer_->install(*made, Drop::kAsNeeded, &report));
  FOEDUS_CHECK(installer_->settle(*made, before));
  unapplied_number_ = made->number;
  is_tail_gleaned_ = true;
  report.install_us = engine_->runtime().now_us() - install_us;
  report.total_cpu_us += base::thread_cpu_us() - install_cpu_us + installer_->take_cpu_us();
  report.total_us = engine_->runtime().now_us() - begin_us;
  requests_->count(report);
  has_tail_.store_relaxed(0);  // order: relaxed, a hint: see make_last()
  return {};
}

}  // namespace foedus::engine
