#include "foedus-core/log/durability.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"

namespace foedus::internal {

namespace {

// The clock forgets nothing, but a waiter looks again after this long.
constexpr std::uint64_t kAskAgainUs = 100'000;
// Who has less time than this does not take the device's sync upon himself.
constexpr std::uint64_t kHelpUs = 10'000'000;

}  // namespace

DurabilityWaits::DurabilityWaits(base::Runtime* runtime, bool always_durable)
    : runtime_(runtime), durable_(always_durable ? Epoch::kMax : 0) {}

DurabilityWaits::~DurabilityWaits() {
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
      Status status = trouble();
      if (!status.is_ok()) return status;  // ok: the device has room again
    }
    const std::uint64_t spent_us = runtime_->now_us() - begin_us;
    if (spent_us >= timeout_us) {
      return Status::error(ErrorCode::kTimeout,
                           "epoch " + std::to_string(epoch.number()) + " is not durable yet");
    }
    FOEDUS_INVARIANT(clock_ != nullptr);
    const auto ready = [&] { return is_durable(epoch) || !is_well(); };
    const bool asked = clock_->raise_hurry(epoch);
    const bool helps = asked && !helped_.empty() && timeout_us - spent_us >= kHelpUs;
    if (helps && runtime_->help(helped_, ready)) continue;
    if (asked) runtime_->notify(clock_);
    runtime_->wait(&moved_, std::min(timeout_us - spent_us, kAskAgainUs), ready);
  }
}

void DurabilityWaits::on_durable(Epoch epoch, Callback callback) {
  Status status = base::check_process(generation_);
  if (status.is_ok()) {
    const std::lock_guard lock(mutex_);
    if (!is_durable(epoch)) {
      if (!has_failed()) {  // L8
        status = base::catching([&] {
          callbacks_[epoch.number()].push_back(std::move(callback));  // moves once there is room
          return Status();
        });
        if (status.is_ok()) return;
      } else {
        status = trouble_status_;
      }
    }
  }
  callback(status);
}

void DurabilityWaits::announce(Epoch epoch) {
  std::map<std::uint64_t, std::vector<Callback>> ready;
  {
    const std::lock_guard lock(mutex_);
    if (is_durable(epoch) || has_failed()) return;
    // order: release, pairs with durable(): the device has all of it.
    durable_.store_release(epoch.number());
    while (!callbacks_.empty() && callbacks_.begin()->first <= epoch.number()) {
      ready.insert(callbacks_.extract(callbacks_.begin()));
    }
  }
  runtime_->wake(&moved_);
  for (const auto& entry : ready) {
    for (const Callback& callback : entry.second) callback(Status());
  }
}

void DurabilityWaits::set_out_of_space(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (has_failed()) return;
    trouble_status_ = status;
    // order: release, pairs with is_well(); the status itself is read under the mutex.
    trouble_.store_release(status.is_ok() ? kNone : kOutOfSpace);
  }
  runtime_->wake(&moved_);
}

void DurabilityWaits::fail(const Status& status) {
  FOEDUS_INVARIANT(!status.is_ok());
  std::map<std::uint64_t, std::vector<Callback>> left;
  {
    const std::lock_guard lock(mutex_);
    if (has_failed()) return;
    trouble_status_ = status;
    trouble_.store_release(kFailed);  // order: release, pairs with has_failed()
    left.swap(callbacks_);
  }
  runtime_->wake(&moved_);
  for (const auto& entry : left) {
    for (const Callback& callback : entry.second) callback(status);
  }
}

}  // namespace foedus::internal
