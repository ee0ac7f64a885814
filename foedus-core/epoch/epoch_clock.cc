#include "foedus-core/epoch/epoch_clock.h"

#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/sync_point.h"

namespace foedus::epoch {

namespace {

// A commit takes microseconds; one that is still at work is looked at again after this long.
constexpr std::uint64_t kLookAgainUs = 20;
// A session that holds the clock for this long is named to the operator.
constexpr std::uint64_t kStuckUs = 1'000'000;

}  // namespace

EpochClock::EpochClock(base::Runtime* runtime, Epoch first, std::uint32_t sessions_max,
                       std::uint64_t interval_us)
    : runtime_(runtime),
      sessions_max_(sessions_max),
      interval_us_(interval_us),
      slots_(std::make_unique<SessionEpochs[]>(sessions_max)) {
  FOEDUS_INVARIANT(first.is_valid());
  current_.store_relaxed(first.number());
  published_.store_relaxed(first.number() - 1);
  reclaimable_.store_relaxed(first.number() - 1);
}

bool EpochClock::raise_hurry(Epoch waited_for) {
  // order: relaxed, the exchange decides; the word guards no other memory. Whoever raises it steps
  // or wakes the clock, so that one who finds it high enough need not.
  std::uint64_t seen = hurry_epoch_.load_relaxed();
  while (seen < waited_for.number()) {
    if (hurry_epoch_.compare_exchange_acq_rel(seen, waited_for.number())) return true;
  }
  return false;
}

bool EpochClock::try_publish(std::uint64_t epoch) {
  for (std::uint32_t i = 0; i < sessions_max_; ++i) {
    // order: acquire, pairs with leave_commit(): the commit's publish is seen.
    const std::uint64_t in_commit = slots_[i].in_commit.load_acquire();
    if (in_commit != 0 && in_commit <= epoch) {
      if (runtime_->now_us() - last_advance_us_ > kStuckUs) name_stuck(i, epoch);
      return false;
    }
  }
  stuck_session_.store_relaxed(-1);  // order: relaxed, a hint for a person, as above
  FOEDUS_SYNC_POINT("epoch:before_publish");
  // order: release, pairs with published(): whoever sees it sees the committed offsets behind it.
  published_.store_release(epoch);
  for (base::Task* const listener : listeners_) runtime_->notify(listener);
  return true;
}

void EpochClock::name_stuck(std::uint32_t session, std::uint64_t epoch) {
  // order: relaxed twice, a hint for a person.
  if (stuck_session_.load_relaxed() == session) return;
  stuck_session_.store_relaxed(session);
  if (!sink_) return;
  sink_(LogLevel::kWarning, "session " + std::to_string(session) +
                                " has been in a commit of epoch " + std::to_string(epoch) +
                                " for over a second: no commit becomes " + "durable meanwhile");
}

void EpochClock::update_reclaimable() {
  // What is stamped with the current epoch was perhaps found by a transaction pinned in it.
  std::uint64_t oldest = current_.load_relaxed();  // order: relaxed, own word
  base::fence_seq_cst();                           // order: E3, the clock's half of the argument
  for (std::uint32_t i = 0; i < sessions_max_; ++i) {
    // order: acquire, pairs with unpin(): that transaction's accesses came before.
    const std::uint64_t pinned = slots_[i].pin.load_acquire();
    if (pinned != 0 && pinned < oldest) oldest = pinned;
  }
  // order: release, pairs with reclaimable().
  reclaimable_.store_release(oldest - 1);
}

std::uint64_t EpochClock::step() {
  const std::uint64_t now_us = runtime_->now_us();
  const std::uint64_t current = current_.load_relaxed();                // order: relaxed, own word
  const bool all_published = published_.load_relaxed() == current - 1;  // order: own word
  if (!all_published && !try_publish(current - 1)) return kLookAgainUs;

  update_reclaimable();
  const bool hurried = hurry_epoch_.load_relaxed() >= current;  // order: relaxed, see hurry()
  const std::uint64_t age_us = now_us - last_advance_us_;
  if (!hurried && age_us < interval_us_) return interval_us_ - age_us;

  FOEDUS_INVARIANT(current < Epoch::kMax, current);
  // order: seq_cst store and fence: E2, the clock's half of the argument.
  current_.store_seq_cst(current + 1);
  base::fence_seq_cst();
  last_advance_us_ = now_us;
  return try_publish(current) ? 0 : kLookAgainUs;
}

}  // namespace foedus::epoch
