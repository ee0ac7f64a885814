#pragma once
// SpreadDisk: a main directory and two others of one machine, where power fails in all at once.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/device/spread/spread_device.h"
#include "foedus-core/device/tiers/tiered_device.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/test_database.h"

namespace foedus::testing {

class SpreadDisk {
 public:
  SpreadDisk() : SpreadDisk({nullptr, nullptr, nullptr}) {}
  ~SpreadDisk() { watch({}); }
  SpreadDisk(const SpreadDisk&) = delete;
  SpreadDisk& operator=(const SpreadDisk&) = delete;

  FailingDevice& main() { return *disks_[0]; }
  FailingDevice& a() { return *disks_[1]; }
  FailingDevice& b() { return *disks_[2]; }
  const std::array<std::unique_ptr<FailingDevice>, 3>& disks() const { return disks_; }

  // Opens the database's device. If `turned`, the other directories are named in reverse order.
  std::unique_ptr<device::SpreadDevice> open(bool turned = false, std::uint64_t seed = 1) {
    std::vector<device::Device*> others = {&a(), &b()};
    if (turned) std::swap(others[0], others[1]);
    return must(device::SpreadDevice::make(&main(), std::move(others), seed));
  }

  // Opens `main` and `a` as the NVM tier and `b` as the SSD tier.
  std::unique_ptr<device::TieredDevice> open_tiered(const device::TierLimits& limits,
                                                    const device::TierStaging& staging = {}) {
    auto tiers = make_tiered(limits, staging);
    must(tiers->look());
    return tiers;
  }
  // Makes the device of open_tiered(); the caller has to call look().
  std::unique_ptr<device::TieredDevice> make_tiered(const device::TierLimits& limits,
                                                    const device::TierStaging& staging = {}) {
    auto behind = must(device::SpreadDevice::make(&main(), {&a()}, 1, {&b()}));
    return std::make_unique<device::TieredDevice>(std::move(behind), limits,
                                                  device::Access::kReadDirect, staging);
  }

  // Lets power fail in all directories at the first changing call to any of them after `skip` more.
  void lose_power_after(std::uint64_t skip) {
    left_ = skip;
    watch([this](const CallSeen& call) {
      if (has_lost_power_ || !is_changing(call.kind) || left_-- != 0) return;
      has_lost_power_ = true;
      for (const auto& disk : disks_) disk->lose_power_after(0);
    });
  }
  bool has_lost_power() const { return has_lost_power_; }
  // `seed` has the meaning that FailingDevice gives it.
  void crash_power(std::uint64_t seed) {
    watch({});
    has_lost_power_ = false;
    const bool is_extreme = seed == FailingDevice::kDropAll || seed == FailingDevice::kKeepAll;
    for (const auto& disk : disks_) {
      disk->crash_power(seed);
      if (!is_extreme) ++seed;
    }
  }
  std::unique_ptr<SpreadDisk> copy() const {
    return std::unique_ptr<SpreadDisk>(
        new SpreadDisk({disks_[0]->copy(), disks_[1]->copy(), disks_[2]->copy()}));
  }

 private:
  explicit SpreadDisk(std::array<std::unique_ptr<FailingDevice>, 3> disks)
      : disks_(std::move(disks)) {
    constexpr const char* kPaths[] = {"/main", "/a", "/b"};
    for (std::size_t i = 0; i < disks_.size(); ++i) {
      if (disks_[i] == nullptr) disks_[i] = std::make_unique<FailingDevice>(kPaths[i]);
    }
  }
  void watch(const FailingDevice::Observer& observer) {
    for (const auto& disk : disks_) disk->set_observer(observer);
  }

  std::array<std::unique_ptr<FailingDevice>, 3> disks_;
  std::uint64_t left_ = 0;
  bool has_lost_power_ = false;
};

// The kinds of crash: no unsynced sector survives, all do, or random ones.
inline constexpr std::uint64_t kCrashes[] = {
    FailingDevice::kDropAll, FailingDevice::kKeepAll, 3, 4, 5, 6};

// Calls `act` on copies of `disk`, on each of which power fails at another changing call, and then
// `check` with the remains, for each kind of crash. `open` makes the argument of `act` from a copy.
// Returns the number of changing calls.
template <typename Open, typename Act, typename Check>
std::uint64_t at_each_call(const SpreadDisk& disk, Open open, Act act, Check check) {
  std::uint64_t calls = 0;
  for (const std::uint64_t how : kCrashes) {
    bool has_ended = false;
    for (calls = 0; !has_ended && !::testing::Test::HasFailure(); ++calls) {
      SCOPED_TRACE("call " + std::to_string(calls) + ", crash " + std::to_string(how));
      const auto copy = disk.copy();
      const auto opened = open(copy.get());
      copy->lose_power_after(calls);
      act(&*opened);
      has_ended = !copy->has_lost_power();
      copy->crash_power(how);
      check(copy.get());
    }
  }
  return calls;
}

}  // namespace foedus::testing
