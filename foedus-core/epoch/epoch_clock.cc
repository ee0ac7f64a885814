#include "foedus-core/epoch/epoch_clock.h"

#include <algorithm>
#include <string>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/probe.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::epoch {

namespace {

// How soon the clock looks again for the end of a commit that holds it back, or of a cache pin that
// a thread waits for. Either lasts for microseconds.
constexpr std::uint64_t kLookAgainUs = 20;
// A waiter for frames repeats its request after this long.
constexpr std::uint64_t kAskAgainUs = 1'000;
// A session that holds the clock back for this long is reported to the operator.
constexpr std::uint64_t kStuckUs = 1'000'000;

// Raises `word` to `value`. Returns false if it was already at least `value`.
bool raise(base::AtomicWord<std::uint64_t>* word, std::uint64_t value) {
  // order: relaxed, the exchange decides; the word guards no other memory.
  std::uint64_t seen = word->load_relaxed();
  while (seen < value) {
    if (word->compare_exchange_acq_rel(seen, value)) return true;
  }
  return false;
}

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
  cache_reclaimable_.store_relaxed(first.number() - 1);
  stepped_us_.store_relaxed(runtime->now_us());
}

Status epochs_used_up() {
  return Status::error(ErrorCode::kNotSupported,
                       "nearly all of 2^36 epochs are used: there is no commit any more; copy the "
                       "rows to a new directory");
}

bool EpochClock::raise_requested_epoch(Epoch waited_for) {
  // The caller that raises requested_epoch_ steps or wakes the clock. A caller that finds it high
  // enough has nothing left to do.
  return raise(&requested_epoch_, waited_for.number());
}

bool EpochClock::wait_cache_reclaimable(Epoch wanted, std::uint64_t* left_us) {
  const auto ready = [&] { return cache_reclaimable() >= wanted; };
  for (std::uint64_t then_us = runtime_->now_us(); !ready();) {
    // The request is stored before the clock is asked to step, so that this step, or one soon
    // after, finds it.
    raise(&cache_wanted_, wanted.number());
    raise_requested_epoch(wanted);
    // One or two steps in this thread cost less than two switches of threads.
    if (runtime_->help({this}, ready)) return true;
    runtime_->notify(this);
    runtime_->wait(&cache_moved_, std::min(*left_us, kAskAgainUs), ready);
    const std::uint64_t now_us = runtime_->now_us();
    *left_us -= std::min(*left_us, now_us - then_us);
    then_us = now_us;
    if (*left_us == 0) return ready();
  }
  return true;
}

bool EpochClock::try_publish(std::uint64_t epoch) {
  for (std::uint32_t i = 0; i < sessions_max_; ++i) {
    // order: acquire, pairs with leave_commit(): the commit's publish is seen.
    const std::uint64_t in_commit = slots_[i].in_commit.load_acquire();
    if (in_commit != 0 && in_commit <= epoch) {
      if (runtime_->now_us() - last_advance_us_ > kStuckUs) report_stuck(i, epoch);
      return false;
    }
  }
  stuck_session_.store_relaxed(-1);  // order: relaxed, a hint for a person, as above
  FOEDUS_SYNC_POINT("epoch:before_publish");
  // order: release, pairs with published(): a logger that sees the epoch sees the committed offsets
  // of its commits.
  published_.store_release(epoch);
  for (base::Task* const listener : listeners_) runtime_->notify(listener);
  return true;
}

void EpochClock::report_stuck(std::uint32_t session, std::uint64_t epoch) {
  // order: relaxed twice, a hint for a person.
  if (stuck_session_.load_relaxed() == session) return;
  stuck_session_.store_relaxed(session);
  if (!sink_) return;
  sink_(LogLevel::kWarning, "session " + std::to_string(session) +
                                " has been in a commit of epoch " + std::to_string(epoch) +
                                " for over a second: no commit becomes " + "durable meanwhile");
}

// Returns the epoch of the session's pin, 0 if it has none. E26: clears a pin that was lent for too
// long.
std::uint64_t EpochClock::look_at_pin(SessionEpochs* words) const {
  // order: acquire, pairs with unpin() and lend_pin(): the session's accesses came before.
  std::uint64_t pin = words->pin.load_acquire();
  const std::uint64_t epoch = epoch_of_pin(pin);
  if (pin == epoch) [[likely]] return epoch;
  // order: relaxed, after the acquire: lent_us is the begin of this loan or of a later one. The
  // session stored it before now_us() is read below, so the difference is not negative.
  const std::uint64_t lent_us = words->lent_us.load_relaxed();
  if (runtime_->now_us() - lent_us <= kLentUsMax) return epoch;
  // A failed exchange means that the session took its pin back first. Its pin is not older than
  // `epoch`, so `epoch` is safe to return.
  return words->pin.compare_exchange_acq_rel(pin, 0) ? 0 : epoch;
}

void EpochClock::update_reclaimable() {
  // A transaction that is pinned in the current epoch may have found pages that are stamped with
  // this epoch. So reclaimable stays below the current epoch.
  const std::uint64_t current = current_.load_relaxed();  // order: relaxed, own word
  std::uint64_t oldest = current;
  std::uint64_t oldest_cache = current;
  base::fence_seq_cst();  // order: pins are loaded after current was raised (E3, E20)
  for (std::uint32_t i = 0; i < sessions_max_; ++i) {
    const std::uint64_t pinned = look_at_pin(&slots_[i]);
    if (pinned != 0 && pinned < oldest) oldest = pinned;
    // order: acquire, pairs with unpin_cache(): the session's accesses came before.
    const std::uint64_t cache_pinned = slots_[i].cache_pin.load_acquire();
    if (cache_pinned != 0 && cache_pinned < oldest_cache) oldest_cache = cache_pinned;
  }
  // order: release, pairs with reclaimable().
  reclaimable_.store_release(oldest - 1);
  // order: relaxed, own word.
  if (cache_reclaimable_.load_relaxed() == oldest_cache - 1) return;
  // order: release, pairs with cache_reclaimable().
  cache_reclaimable_.store_release(oldest_cache - 1);
  runtime_->wake(&cache_moved_);
}

// E21. Returns after how many microseconds the clock has to step again: `us`, or fewer if a thread
// waits for cache_reclaimable.
std::uint64_t EpochClock::rest_us(std::uint64_t us) const {
  // order: relaxed twice. A waiter notifies the clock after it has raised cache_wanted_. The other
  // word is the clock's own.
  const bool is_awaited = cache_wanted_.load_relaxed() > cache_reclaimable_.load_relaxed();
  return is_awaited ? std::min(us, kLookAgainUs) : us;
}

// Returns how long an epoch lasts at least if a waiter has asked for its end (E28).
std::uint64_t EpochClock::epoch_us_min(std::uint64_t current) const {
  constexpr std::uint64_t kHalf = (Epoch::kMax + 1) / 2;
  constexpr std::uint64_t kSteady = kHalf / 4 * 3;  // reached at 7/8 of all epochs
  if (current < kHalf) [[likely]] return 0;
  return std::min(current - kHalf, kSteady) * interval_us_ / kSteady;
}

std::uint64_t EpochClock::step() {
  const std::uint64_t now_us = runtime_->now_us();
  const std::uint64_t current = current_.load_relaxed();                // order: relaxed, own word
  const bool all_published = published_.load_relaxed() == current - 1;  // order: own word
  if (!all_published && !try_publish(current - 1)) return kLookAgainUs;

  update_reclaimable();
  const bool hurried =
      requested_epoch_.load_relaxed() >= current;  // order: relaxed, as in rest_us()
  const std::uint64_t age_us = now_us - last_advance_us_;
  const std::uint64_t due_us = hurried ? epoch_us_min(current) : interval_us_;
  if (age_us < due_us) return rest_us(due_us - age_us);
  if (current == Epoch::kMax) return interval_us_;  // E28

  stepped_us_.store_relaxed(now_us);  // order: relaxed, a time
  // order: seq_cst store and fence. try_publish() loads in_commit only after this store. A session
  // stores in_commit, fences, and then loads the epoch. So the clock sees that in_commit, or the
  // session's commit is of the new epoch (E2).
  current_.store_seq_cst(current + 1);
  base::fence_seq_cst();
  last_advance_us_ = now_us;
  FOEDUS_PROBE(epoch_begin, current + 1);
  return try_publish(current) ? 0 : kLookAgainUs;
}

}  // namespace foedus::epoch
