#pragma once
// StagedTiers: a TieredDevice that stages its writes to the SSD, with the runtime of its flushers.

#include <memory>

#include "foedus-core/device/tiers/tiered_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/spread_disk.h"
#include "tests/testing/test_database.h"

namespace foedus::testing {

// The area of one directory: four buckets of 40 slots, two and a half extents.
inline constexpr std::uint64_t kStagedSlots = 160;
inline constexpr std::uint64_t kStagedBytes = device::kBlockBytes * (1 + 4 + kStagedSlots);

class StagedTiers {
 public:
  // `extents` is the number that memory can take beside the area. `looks` says that look() is
  // called.
  StagedTiers(SpreadDisk* disk, std::uint64_t extents, bool looks = true)
      : device_(disk->make_tiered({.nvm_bytes = extents * device::kExtentBytes + kStagedBytes},
                                  {.runtime = &runtime_, .bytes = kStagedBytes})) {
    if (looks) must(device_->look());
  }
  static std::unique_ptr<StagedTiers> open(SpreadDisk* disk, std::uint64_t extents) {
    return std::make_unique<StagedTiers>(disk, extents);
  }

  // Keeps staged pages where they are, or lets the flusher move them again.
  void hold(bool holds) { runtime_.starve(holds ? "foedus-flusher" : ""); }
  device::TieredDevice* get() const { return device_.get(); }
  device::TieredDevice* operator->() const { return device_.get(); }

 private:
  ManualRuntime runtime_;
  const std::unique_ptr<device::TieredDevice> device_;
};

}  // namespace foedus::testing
