// ctest-labels: crash
// Files that no kept snapshot needs are removed, in an order in which each remaining manifest has
// its files.
#include "foedus-core/snapshot/obsolete_snapshots.h"

#include <cerrno>
#include <string>
#include <vector>

#include "foedus-core/epoch/epoch_clock.h"
#include "tests/snapshot/snapshot_rig.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::snapshot::obsolete_snapshots_test {
namespace {

using Names = std::vector<std::string>;
using Numbers = std::vector<SnapshotNumber>;

// Makes snapshots 1 to `count`. Each lists its two files and those of the one before.
void make_snapshots(FailingDevice* device, std::uint32_t count) {
  for (std::uint32_t number = 1; number <= count; ++number) {
    ASSERT_OK(make_snapshot(device, number));
  }
}

TEST(UnneededTest, only_the_newest_one_stays_with_what_it_lists) {
  FailingDevice device;
  make_snapshots(&device, 4);
  ASSERT_OK(write_file(&device, 5, 0, 3));  // of an attempt
  ASSERT_OK(remove_obsolete_snapshots(&device, {}, nullptr, nullptr));
  const Names expected = {"manifest-00000004", "snapshot-00000003-0", "snapshot-00000003-1",
                          "snapshot-00000004-0", "snapshot-00000004-1"};
  EXPECT_EQ(device.names(), expected);
  const std::uint64_t calls = device.changing_calls();
  ASSERT_OK(remove_obsolete_snapshots(&device, {}, nullptr, nullptr));
  EXPECT_EQ(device.changing_calls(), calls);
}

TEST(UnneededTest, what_is_kept_keeps_its_files) {
  FailingDevice device;
  make_snapshots(&device, 5);
  ASSERT_OK(remove_obsolete_snapshots(&device, {SnapshotNumber{2}, SnapshotNumber{77}}, nullptr,
                                      nullptr));
  const Names expected = {"manifest-00000002",   "manifest-00000005",   "snapshot-00000001-0",
                          "snapshot-00000001-1", "snapshot-00000002-0", "snapshot-00000002-1",
                          "snapshot-00000004-0", "snapshot-00000004-1", "snapshot-00000005-0",
                          "snapshot-00000005-1"};
  EXPECT_EQ(device.names(), expected);
  ASSERT_OK(check_snapshot(&device, manifest_of(2)));
  ASSERT_OK(check_snapshot(&device, manifest_of(5)));
}

TEST(UnneededTest, a_file_that_went_meanwhile_is_no_error) {
  FailingDevice device;
  make_snapshots(&device, 4);
  device.set_observer([&](const foedus::testing::CallSeen& call) {
    if (call.kind == Call::kRemove && call.name == "snapshot-00000001-0") {
      device.drop_file(call.name);
    }
  });
  ASSERT_OK(remove_obsolete_snapshots(&device, {}, nullptr, nullptr));
  EXPECT_EQ(device.names().size(), 5u);
}

TEST(UnneededTest, a_manifest_that_cannot_be_removed_is_an_error_and_keeps_all_files) {
  for (std::uint64_t skip = 0; skip < 3; ++skip) {
    FailingDevice device;
    make_snapshots(&device, 4);
    device.fail(Call::kRemove, skip, EIO);
    EXPECT_EQ(remove_obsolete_snapshots(&device, {}, nullptr, nullptr).code(), ErrorCode::kIoError);
    EXPECT_EQ(device.names().size(), 12 - skip);
    ASSERT_OK(remove_obsolete_snapshots(&device, {}, nullptr, nullptr));
    EXPECT_EQ(device.names().size(), 5u);
  }
}

TEST(UnneededTest, without_a_snapshot_there_is_nothing_to_do) {
  FailingDevice device;
  ASSERT_OK(remove_obsolete_snapshots(&device, {}, nullptr, nullptr));
  EXPECT_EQ(device.changing_calls(), 0u);
}

// Goal: no file is removed that an unreadable old manifest may need, and all other removals go on.
TEST(UnneededTest, what_a_damaged_manifest_may_need_stays_until_it_goes) {
  FailingDevice device;
  make_snapshots(&device, 5);
  ASSERT_OK(write_file(&device, 6, 0, 3));  // of an attempt
  const std::string damaged = "manifest-00000002";
  ASSERT_OK(device.open(damaged, device::Access::kReadWrite).value()->truncate(40));
  const Numbers keep = {SnapshotNumber{2}};
  ASSERT_OK(remove_obsolete_snapshots(&device, keep, nullptr, nullptr));
  const Names expected = {"manifest-00000002",   "manifest-00000005",   "snapshot-00000001-0",
                          "snapshot-00000001-1", "snapshot-00000002-0", "snapshot-00000002-1",
                          "snapshot-00000004-0", "snapshot-00000004-1", "snapshot-00000005-0",
                          "snapshot-00000005-1"};
  EXPECT_EQ(device.names(), expected);
  ASSERT_OK(remove_obsolete_snapshots(&device, {}, nullptr, nullptr));
  EXPECT_EQ(device.names().size(), 5u);

  // If the newest one cannot be read the call fails, and no file is removed.
  ASSERT_OK(write_file(&device, 6, 0, 3));
  ASSERT_OK(device.open("manifest-00000005", device::Access::kReadWrite).value()->truncate(40));
  EXPECT_EQ(remove_obsolete_snapshots(&device, {}, nullptr, nullptr).code(),
            ErrorCode::kCorruption);
  EXPECT_EQ(device.names().size(), 6u);
}

// Goal: no file without a name stays open. Method: a removal fails between manifests and files; the
// next glean, which knows of no open files, removes these.
TEST(UnneededTest, files_that_others_have_removed_are_closed_by_the_next_attempt) {
  FailingDevice device;
  make_snapshots(&device, 3);
  SnapshotFiles files(&device);
  for (std::uint32_t number = 1; number <= 3; ++number) {
    ASSERT_OK(read_and_compare(&files, SnapshotPageId(SnapshotNumber{number}, 0, 1)));
  }
  ASSERT_EQ(files.open_files().size(), 3u);
  device.fail(Call::kList, 3, EIO);
  ASSERT_EQ(remove_obsolete_snapshots(&device, {}, &files, nullptr).code(), ErrorCode::kIoError);
  ASSERT_OK(remove_orphaned_files(&device));
  EXPECT_EQ(device.names().size(), 5u);
  ASSERT_OK(remove_obsolete_snapshots(&device, {}, &files, nullptr));
  EXPECT_EQ(files.open_files().size(), 2u);
}

// Goal: a caller that frees the space later gets the removed files open. Method: two files are
// removed, of which one cannot be opened.
TEST(UnneededTest, removed_files_are_handed_out_open) {
  FailingDevice device;
  make_snapshots(&device, 3);
  std::uint64_t opened = 0;
  device.set_observer([&](const foedus::testing::CallSeen& call) {
    if (call.kind != Call::kOpen || !call.name.starts_with("snapshot-")) return;
    if (opened++ == 0) device.fail(Call::kOpen, 0, EMFILE);
  });
  device::OpenFiles removed;
  ASSERT_OK(remove_obsolete_snapshots(&device, {}, nullptr, nullptr, &removed));
  EXPECT_EQ(opened, 2u);
  EXPECT_EQ(device.names().size(), 5u);
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_NE(removed[0]->path().find("snapshot-00000001-1"), std::string::npos);
  const std::uint64_t used = device.used_bytes();
  removed.clear();
  EXPECT_LT(device.used_bytes(), used);
}

// Goal: open files are closed and cached pages forgotten first. Method: pages of three snapshots
// are cached; those of the first have no file any more, and a search for one reads again.
TEST(UnneededTest, caches_forget_and_files_are_closed) {
  FailingDevice device;
  make_snapshots(&device, 3);
  SnapshotFiles files(&device);
  foedus::testing::ManualRuntime runtime;
  epoch::EpochClock clock(&runtime, Epoch(10), 8, 1000);
  const numa::Topology topology = *numa::Topology::make(1);
  clock.pin(0);
  base::MemoryBudget budget(8u << 20);
  const auto cache = *PageCache::make(&topology, &budget, 4u << 20, Facility::kTry, Facility::kTry,
                                      &files, &clock);
  const auto find = [&](std::uint32_t number) {
    Status status;
    const page::PageHeader* const page =
        cache->find(0, SnapshotPageId(SnapshotNumber{number}, 0, 1), &status);
    return page == nullptr ? status : Status();
  };
  for (std::uint32_t number = 1; number <= 3; ++number) ASSERT_OK(find(number));
  ASSERT_OK(remove_obsolete_snapshots(&device, {}, &files, cache.get()));
  const std::uint64_t misses = cache->statistics().misses;
  ASSERT_OK(find(2));
  ASSERT_OK(find(3));
  EXPECT_EQ(cache->statistics().misses, misses);
  EXPECT_EQ(find(1).code(), ErrorCode::kCorruption);  // missing
}

// Goal: each manifest that a crash leaves has its files, and a second call does the rest. Method:
// power fails at every call; the newest manifest may not be durable yet.
TEST(UnneededTest, power_fails_at_every_call) {
  for (const std::uint64_t seed :
       {FailingDevice::kDropAll, FailingDevice::kKeepAll, std::uint64_t{3}, std::uint64_t{4}}) {
    bool was_lost = true;
    for (std::uint64_t skip = 0; was_lost; ++skip) {
      SCOPED_TRACE("call " + std::to_string(skip) + ", seed " + std::to_string(seed));
      FailingDevice device;
      make_snapshots(&device, 3);
      device.fail(Call::kSyncDirectory, 1, EIO);
      ASSERT_EQ(make_snapshot(&device, 4).code(), ErrorCode::kIoError);
      device.crash_process();
      device.lose_power_after(skip);
      const Status status = remove_obsolete_snapshots(&device, {}, nullptr, nullptr);
      was_lost = device.has_lost_power();
      EXPECT_NE(status.is_ok(), was_lost);
      device.crash_power(seed);
      const auto numbers = find_manifests(&device);
      ASSERT_OK(numbers);
      ASSERT_GE(static_cast<std::uint32_t>(numbers->back()), 3u);
      for (const SnapshotNumber number : *numbers) {
        const Status whole = check_snapshot(&device, *read_manifest(&device, number));
        EXPECT_TRUE(whole.is_ok()) << whole.message();
      }
      ASSERT_OK(remove_obsolete_snapshots(&device, {}, nullptr, nullptr));
      EXPECT_EQ(device.names().size(), 5u);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace foedus::snapshot::obsolete_snapshots_test
