#include "foedus-core/log/durability.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/probe.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/base/user_call.h"

namespace foedus::internal {

namespace {

// After this long a waiter asks the clock again for an early epoch advance. The clock forgets no
// request, so this is a precaution only.
constexpr std::uint64_t kAskAgainUs = 100'000;
// A waiter with less time than this does not wait for the device's sync in its own thread.
constexpr std::uint64_t kHelpUs = 10'000'000;

}  // namespace

DurabilityWaits::DurabilityWaits(base::Runtime* runtime, bool always_durable)
    : runtime_(runtime), durable_(always_durable ? Epoch::kMax : 0) {}

DurabilityWaits::~DurabilityWaits() {
  stop();
  fail(Status::error(ErrorCode::kClosed, "the database was closed"));
}

Status DurabilityWaits::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_status_;
}

Status DurabilityWaits::wait(Epoch epoch, std::uint64_t timeout_us) {
  if (!is_durable(epoch)) FOEDUS_CHECK(base::check_process(generation_));
  const std::uint64_t begin_us = is_durable(epoch) ? 0 : runtime_->now_us();
  for (;;) {
    if (is_durable(epoch)) return {};
    if (!is_well()) {
      FOEDUS_SYNC_POINT("durability:unwell");
      Status status = trouble();
      if (!status.is_ok()) return status;  // ok: the device has space again
    }
    const std::uint64_t spent_us = runtime_->now_us() - begin_us;
    if (spent_us >= timeout_us) {
      std::string text;  // stays empty if there is no memory for it: the error code suffices
      base::trying([&] {
        text.append("epoch ").append(std::to_string(epoch.number())).append(" is not durable yet");
      });
      return Status::error(ErrorCode::kTimeout, std::move(text));
    }
    FOEDUS_INVARIANT(clock_ != nullptr);
    const auto ready = [&] { return is_durable(epoch) || !is_well(); };
    const bool asked = clock_->raise_requested_epoch(epoch);
    const bool helps = asked && !helped_.empty() && timeout_us - spent_us >= kHelpUs;
    if (helps && runtime_->help(helped_, ready)) continue;
    if (asked) runtime_->notify(clock_);
    runtime_->wait(point_of(epoch.number()), std::min(timeout_us - spent_us, kAskAgainUs), ready);
  }
}

void DurabilityWaits::wake_all() {
  for (base::WaitPoint& point : moved_) runtime_->wake(&point);
}

void DurabilityWaits::on_durable(Epoch epoch, Callback callback) {
  if (!callback) return;
  Status status = base::check_process(generation_);
  if (status.is_ok()) {
    const std::lock_guard lock(mutex_);
    if (!is_durable(epoch)) {
      if (!has_failed()) {  // L8
        status = base::catching([&] {
          callbacks_[epoch.number()].push_back(std::move(callback));  // moves once there is memory
          return Status();
        });
        if (status.is_ok()) return;
      } else {
        status = trouble_status_;
      }
    }
  }
  call(callback, status);
}

// ---- callbacks

void DurabilityWaits::start() {
  runtime_->start(&teller_);
  const std::lock_guard lock(mutex_);
  has_teller_ = true;
}

void DurabilityWaits::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!has_teller_) return;
    has_teller_ = false;
  }
  runtime_->stop(&teller_);
  call_due();
}

void DurabilityWaits::tell() {
  bool has_teller;
  {
    const std::lock_guard lock(mutex_);
    has_teller = has_teller_;
  }
  if (has_teller) {
    runtime_->notify(&teller_);
  } else {
    call_due();
  }
}

// Calls the callbacks that are due, and then those that are left, each group in the order of
// epochs. A callback that the table had no memory for is not among them: on_durable() has called it
// with an error (L8).
void DurabilityWaits::call_due() {
  for (;;) {
    CallbackTable::node_type next;
    Status status;
    {
      const std::lock_guard lock(mutex_);
      if (due_.empty()) status = trouble_status_;
      CallbackTable& from = due_.empty() ? left_ : due_;
      if (from.empty()) return;
      next = from.extract(from.begin());
    }
    for (const Callback& callback : next.mapped()) call(callback, status);
  }
}

void DurabilityWaits::call(const Callback& callback, const Status& status) noexcept {
  base::call_user(
      this, [&] { callback(status); },
      [this](const std::string& what) {
        if (sink_) sink_(LogLevel::kError, "a callback of on_durable() has thrown: " + what);
      });
}

// ---- log

void DurabilityWaits::announce(Epoch epoch) {
  bool is_any_due = false;
  std::uint64_t points;  // of the epochs that have become durable
  {
    const std::lock_guard lock(mutex_);
    if (is_durable(epoch) || has_failed()) return;
    points = std::min(epoch.number() - durable().number(), kWaitPoints);
    // order: release, pairs with durable(): the device has all of it.
    durable_.store_release(epoch.number());
    FOEDUS_PROBE(epoch_durable, epoch.number());
    while (!callbacks_.empty() && callbacks_.begin()->first <= epoch.number()) {
      due_.insert(callbacks_.extract(callbacks_.begin()));
      is_any_due = true;
    }
  }
  for (std::uint64_t i = 0; i < points; ++i) runtime_->wake(point_of(epoch.number() - i));
  if (is_any_due) tell();
}

void DurabilityWaits::set_out_of_space(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (has_failed()) return;
    trouble_status_ = status;
    // order: release, pairs with is_well(); the status itself is read under the mutex.
    trouble_.store_release(status.is_ok() ? kNone : kOutOfSpace);
  }
  wake_all();
}

void DurabilityWaits::fail(const Status& status) {
  FOEDUS_INVARIANT(!status.is_ok());
  {
    const std::lock_guard lock(mutex_);
    if (has_failed()) return;
    trouble_status_ = status;
    trouble_.store_release(kFailed);  // order: release, pairs with has_failed()
    left_.swap(callbacks_);
  }
  wake_all();
  tell();
}

}  // namespace foedus::internal
