// Gleaning: the snapshot of a tail that recovery has sorted, and the end of its rows that wait.
#include <utility>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/gleaning.h"
#include "foedus-core/engine/unapplied.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kNextTryUs = 2'000'000;  // after a failure

}  // namespace

void Gleaning::take_unapplied(std::unique_ptr<Unapplied> unapplied) {
  unapplied_ = std::move(unapplied);
  const std::lock_guard lock(mutex_);
  has_tail_ = true;
}

// False: no other snapshot may be made yet (E40), or there is something to do soon.
bool Gleaning::step_unapplied() {
  if (unapplied_->has_ended()) {
    if (unapplied_->is_unused()) {
      unapplied_.reset();
    } else {
      engine_->clock().hurry(engine_->clock().current());
    }
    return true;
  }
  const std::uint64_t now_us = engine_->runtime().now_us();
  const bool is_allowed = !engine_->recovery().is_given_up() && engine_->check_open().is_ok();
  if (!is_allowed || (has_failed() && now_us - last_us_ < kNextTryUs)) return is_tail_gleaned_;
  last_us_ = now_us;
  Status status = base::catching([this] { return run_unapplied(); });
  const bool is_full = status.code() == ErrorCode::kOutOfSpace;
  if (!status.is_ok() && status.code() != ErrorCode::kClosed) {
    report_trouble(LogLevel::kError, status);
    answer(step_request_, std::move(status));
  } else if (status.is_ok()) {
    has_failed_.store_relaxed(0);  // order: relaxed, a hint
    engine_->snapshots().set_trouble({});
  }
  if (is_full && !is_tail_gleaned_) {
    const Status freed = base::catching([this] { return give_up_older(); });
    if (!freed.is_ok()) report_trouble(LogLevel::kWarning, freed);
  }
  return is_tail_gleaned_;
}

Status Gleaning::run_unapplied() {
  if (!is_tail_gleaned_) FOEDUS_CHECK(glean_unapplied());
  // E41: nothing volatile leads to pages that lack the tail's rows.
  const std::optional<snapshot::Manifest> newest = manifest();
  FOEDUS_CHECK(settle(*newest, newest->number));
  if (oldest_needed() < unapplied_number_) return {};
  return unapplied_->end();
}

Status Gleaning::glean_unapplied() {
  const std::uint64_t begin_us = engine_->runtime().now_us();
  const page::SnapshotNumber before = engine_->snapshots().newest();
  FOEDUS_CHECK(look_again());
  FOEDUS_CHECK(make_disk_room(0));
  std::optional<snapshot::Manifest> made = manifest();
  GleanReport report;
  // Else an attempt before was successful, without knowing.
  if (!made.has_value() || made->covered < unapplied_->covered()) {
    if (made.has_value()) unapplied_->tail().follow(*made);
    FOEDUS_SYNC_POINT("gleaning:before_tail");
    FOEDUS_TRY(made, unapplied_->tail().compose(&report));
  }
  set_manifest(*made);
  publish(*made);
  FOEDUS_CHECK(engine_->log()->remove_segments_up_to(made->covered));  // E16
  const std::uint64_t install_us = engine_->runtime().now_us();
  const std::uint64_t install_cpu_us = base::thread_cpu_us();
  FOEDUS_CHECK(install(*made, Drop::kAsNeeded, &report));
  FOEDUS_CHECK(settle(*made, before));
  unapplied_number_ = made->number;
  is_tail_gleaned_ = true;
  report.install_us = engine_->runtime().now_us() - install_us;
  report.total_cpu_us += base::thread_cpu_us() - install_cpu_us;
  report.total_us = engine_->runtime().now_us() - begin_us;
  count(report);
  const std::lock_guard lock(mutex_);
  has_tail_ = false;
  return {};
}

}  // namespace foedus::engine
