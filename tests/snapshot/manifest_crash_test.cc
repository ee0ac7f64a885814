// ctest-labels: crash
// Failures while manifests are written and old files are removed: the newest manifest is the old
// one or the new one, never none, and every file that it lists is there, whole.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/snapshot/files/manifest_format.h"
#include "tests/snapshot/snapshot_rig.h"

namespace foedus::snapshot::manifest_crash_test {
namespace {

constexpr std::uint64_t kSeeds[] = {FailingDevice::kDropAll, FailingDevice::kKeepAll, 3, 4, 5, 6,
                                    7, 8, 9, 10, 11, 12};

std::string describe(std::uint64_t skip, std::uint64_t seed) {
  return "power fails at call " + std::to_string(skip) + ", seed " + std::to_string(seed);
}

// Checks all files of the newest manifest, and returns its number.
std::uint32_t check_newest(device::Device* device) {
  const auto newest = read_newest_manifest(device);
  if (!newest.is_ok()) {
    ADD_FAILURE() << newest.status().message();
    return 0;
  }
  const auto number = static_cast<std::uint32_t>(newest->number);
  EXPECT_EQ(*newest, manifest_of(number));
  const Status whole = check_snapshot(device, *newest);
  EXPECT_TRUE(whole.is_ok()) << whole.message();
  return number;
}

// Goal: a snapshot is made atomically. Method: power fails at every call that changes the device,
// from the first page of the second snapshot to the last sync of its manifest.
TEST(ManifestCrashTest, power_fails_at_every_call_of_a_new_snapshot) {
  for (const std::uint64_t seed : kSeeds) {
    bool was_lost = true;
    for (std::uint64_t skip = 0; was_lost; ++skip) {
      SCOPED_TRACE(describe(skip, seed));
      FailingDevice device;
      ASSERT_OK(make_snapshot(&device, 1));
      device.lose_power_after(skip);
      const Status status = make_snapshot(&device, 2);
      was_lost = device.has_lost_power();
      EXPECT_NE(status.is_ok(), was_lost);
      device.crash_power(seed);
      const std::uint32_t newest = check_newest(&device);
      EXPECT_GE(newest, was_lost ? 1u : 2u);
      if (HasFailure()) return;
    }
  }
}

// Goal: orphaned files of a crash are no obstacle, and are removed. Method: a crash at each call of
// a new snapshot, then the snapshot is made again, and another one; orphaned files are removed
// before.
TEST(ManifestCrashTest, after_a_crash_at_any_call_leftovers_go_and_the_next_snapshot_is_made) {
  for (const std::uint64_t seed : kSeeds) {
    bool was_lost = true;
    for (std::uint64_t skip = 0; was_lost; ++skip) {
      SCOPED_TRACE(describe(skip, seed));
      FailingDevice device;
      ASSERT_OK(make_snapshot(&device, 1));
      device.lose_power_after(skip);
      [[maybe_unused]] const Status lost = make_snapshot(&device, 2);
      was_lost = device.has_lost_power();
      device.crash_power(seed);
      const std::uint32_t newest = check_newest(&device);
      ASSERT_OK(remove_orphaned_files(&device));
      const auto orphaned_files = find_orphaned_files(&device);
      ASSERT_OK(orphaned_files);
      EXPECT_TRUE(orphaned_files->empty());
      EXPECT_EQ(device.names().size(), 3 * newest);  // two files and a manifest each
      if (newest == 1) ASSERT_OK(make_snapshot(&device, 2));
      ASSERT_OK(make_snapshot(&device, 3));
      EXPECT_EQ(check_newest(&device), 3u);
      if (HasFailure()) return;
    }
  }
}

// Goal: the next attempt under the same number replaces orphaned files that were not removed.
TEST(ManifestCrashTest, the_same_number_is_tried_again_over_leftovers_of_a_crash) {
  for (const std::uint64_t seed : kSeeds) {
    bool was_lost = true;
    for (std::uint64_t skip = 0; was_lost; ++skip) {
      SCOPED_TRACE(describe(skip, seed));
      FailingDevice device;
      ASSERT_OK(make_snapshot(&device, 1));
      for (std::uint32_t soc = 0; soc < 2; ++soc) ASSERT_OK(write_file(&device, 2, soc, 9));
      ASSERT_OK(device.open(kNewManifestName, device::Access::kCreate));
      ASSERT_OK(device.sync_directory());
      device.lose_power_after(skip);
      [[maybe_unused]] const Status lost = make_snapshot(&device, 2);
      was_lost = device.has_lost_power();
      device.crash_power(seed);
      const std::uint32_t newest = check_newest(&device);
      EXPECT_GE(newest, was_lost ? 1u : 2u);
      if (newest == 1) ASSERT_OK(make_snapshot(&device, 2));
      EXPECT_EQ(check_newest(&device), 2u);
      if (HasFailure()) return;
    }
  }
}

// Removes the first two snapshots; the third one is the newest, and perhaps not durable.
Status retire_old(device::Device* device) {
  for (const std::uint32_t number : {1u, 2u}) {
    const Status removed = remove_manifest(device, SnapshotNumber{number});
    if (!removed.is_ok() && removed.code() != ErrorCode::kNotFound) return removed;
  }
  return remove_orphaned_files(device);
}

// Goal: F4. Method: the process dies before the directory with the third manifest is synced, so
// that a power failure could remove its name. The next process removes files that the third one
// does not need, and power fails at every call of that.
TEST(ManifestCrashTest, power_fails_at_every_call_while_old_snapshots_go) {
  for (const std::uint64_t seed : kSeeds) {
    bool was_lost = true;
    for (std::uint64_t skip = 0; was_lost; ++skip) {
      SCOPED_TRACE(describe(skip, seed));
      FailingDevice device;
      for (std::uint32_t number = 1; number <= 2; ++number) {
        ASSERT_OK(make_snapshot(&device, number));
      }
      device.fail(Call::kSyncDirectory, 1, EIO);
      ASSERT_EQ(make_snapshot(&device, 3).code(), ErrorCode::kIoError);
      device.crash_process();
      ASSERT_EQ(check_newest(&device), 3u);
      device.lose_power_after(skip);
      const Status status = retire_old(&device);
      was_lost = device.has_lost_power();
      EXPECT_NE(status.is_ok(), was_lost);
      device.crash_power(seed);
      EXPECT_GE(check_newest(&device), 2u);
      const auto numbers = find_manifests(&device);
      ASSERT_OK(numbers);
      for (const SnapshotNumber number : *numbers) {  // each manifest that came back has its files
        const auto manifest = read_manifest(&device, number);
        ASSERT_OK(manifest);
        const Status whole = check_snapshot(&device, *manifest);
        EXPECT_TRUE(whole.is_ok()) << whole.message();
      }
      if (HasFailure()) return;
    }
  }
}

TEST(ManifestCrashTest, what_remove_leftovers_removed_does_not_come_back) {
  FailingDevice device;
  ASSERT_OK(make_snapshot(&device, 1));
  ASSERT_OK(write_file(&device, 2, 0, 9));
  ASSERT_OK(device.sync_directory());
  ASSERT_OK(remove_orphaned_files(&device));
  device.crash_power(FailingDevice::kDropAll);
  EXPECT_FALSE(device.exists("snapshot-00000002-0"));
  EXPECT_EQ(check_newest(&device), 1u);
}

// Goal: V2, a manifest whose sync failed never gets its name. Method: each sync fails once.
TEST(ManifestCrashTest, after_a_failed_sync_the_old_one_is_the_newest) {
  for (const std::uint64_t skip : {0u, 1u, 2u}) {  // two files, the manifest
    FailingDevice device;
    ASSERT_OK(make_snapshot(&device, 1));
    device.fail(Call::kSync, skip, EIO);
    EXPECT_EQ(make_snapshot(&device, 2).code(), ErrorCode::kIoError);
    EXPECT_EQ(check_newest(&device), 1u);
    device.crash_power(FailingDevice::kKeepAll);
    EXPECT_EQ(check_newest(&device), 1u);
    ASSERT_OK(make_snapshot(&device, 2));
    device.crash_power(FailingDevice::kDropAll);
    EXPECT_EQ(check_newest(&device), 2u);
  }
}

// Goal: every error of every call is returned, and none loses the old snapshot. Method: each kind
// of call fails at its n-th time, for each n up to the number of calls.
TEST(ManifestCrashTest, an_error_of_any_call_is_returned_and_the_old_one_stays) {
  for (const Call call : {Call::kCreate, Call::kWrite, Call::kSync, Call::kList, Call::kRemove,
                          Call::kRename, Call::kSyncDirectory}) {
    for (std::uint64_t skip = 0;; ++skip) {
      SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + " after " +
                   std::to_string(skip));
      FailingDevice device;
      ASSERT_OK(make_snapshot(&device, 1));
      for (std::uint32_t soc = 0; soc < 2; ++soc) ASSERT_OK(write_file(&device, 2, soc, 9));
      ASSERT_OK(device.open(kNewManifestName, device::Access::kCreate));
      const std::uint64_t before = device.calls(call);
      device.fail(call, skip, EIO);
      const Status status = make_snapshot(&device, 2);
      if (device.calls(call) - before <= skip) break;
      EXPECT_EQ(status.code(), ErrorCode::kIoError);
      device.crash_power(FailingDevice::kDropAll);
      EXPECT_EQ(check_newest(&device), 1u);
      if (HasFailure()) return;
    }
  }
}

TEST(ManifestCrashTest, an_error_while_old_snapshots_go_is_returned) {
  for (const Call call : {Call::kOpen, Call::kRead, Call::kList, Call::kRemove,
                          Call::kSyncDirectory}) {
    for (std::uint64_t skip = 0;; ++skip) {
      SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + " after " +
                   std::to_string(skip));
      FailingDevice device;
      for (std::uint32_t number = 1; number <= 3; ++number) {
        ASSERT_OK(make_snapshot(&device, number));
      }
      const std::uint64_t before = device.calls(call);
      device.fail(call, skip, EIO);
      const Status status = retire_old(&device);
      if (device.calls(call) - before <= skip) break;
      EXPECT_EQ(status.code(), ErrorCode::kIoError);
      EXPECT_EQ(check_newest(&device), 3u);
      if (HasFailure()) return;
    }
  }
}

// Goal: a full disk only delays the new snapshot, which is made once there is space.
TEST(ManifestCrashTest, on_a_full_disk_the_old_one_stays_until_there_is_room) {
  std::uint64_t refused = 0;
  for (std::uint64_t room = 0; room <= 40'000; room += 1'000) {
    FailingDevice device;
    ASSERT_OK(make_snapshot(&device, 1));
    std::uint64_t used = 0;
    for (const std::string& name : device.names()) used += device.size_of(name);
    device.set_capacity(used + room);
    const Status status = make_snapshot(&device, 2);
    if (!status.is_ok()) {
      ++refused;
      EXPECT_EQ(status.code(), ErrorCode::kOutOfSpace);
      EXPECT_EQ(check_newest(&device), 1u);
      device.set_capacity(~std::uint64_t{0});
      ASSERT_OK(make_snapshot(&device, 2));
    }
    EXPECT_EQ(check_newest(&device), 2u);
  }
  EXPECT_GT(refused, 32u);
  EXPECT_LT(refused, 40u);
}

// Goal: snapshots can be made on a real device, which also needs aligned direct writes, names, and
// a directory. Method: with and without direct I/O, if the file system has it.
TEST(ManifestCrashTest, snapshots_are_made_and_go_on_a_real_device) {
  for (const Facility direct_io : {Facility::kTry, Facility::kOff}) {
    std::string root = (std::filesystem::temp_directory_path() / "foedus-snap-XXXXXX").string();
    ASSERT_NE(mkdtemp(root.data()), nullptr);
    {
      const auto device = device::FileDevice::open(root, direct_io);
      ASSERT_OK(device);
      for (std::uint32_t number = 1; number <= 3; ++number) {
        ASSERT_OK(write_file(device->get(), number, 0, 9));  // an abandoned attempt
        ASSERT_OK(make_snapshot(device->get(), number));
      }
      EXPECT_EQ(check_newest(device->get()), 3u);
      ASSERT_OK(retire_old(device->get()));
      EXPECT_EQ(check_newest(device->get()), 3u);
      EXPECT_FALSE(std::filesystem::exists(root + "/manifest-00000002"));
      EXPECT_FALSE(std::filesystem::exists(root + "/snapshot-00000001-0"));
    }
    std::filesystem::remove_all(root);
  }
}

TEST(LeftoversTest, only_what_no_manifest_lists_is_one) {
  FailingDevice device;
  for (std::uint32_t number = 1; number <= 3; ++number) ASSERT_OK(make_snapshot(&device, number));
  for (const char* const name :
       {"snapshot-00000004-0", "snapshot-00000002-5", "manifest-new", "savepoint", "log-0-00000001",
        "snapshot-4-0", "notes", "snapshot-00000004-0.old"}) {
    ASSERT_OK(device.open(name, device::Access::kCreate));
  }
  using Names = std::vector<std::string>;
  auto orphaned_files = find_orphaned_files(&device);
  ASSERT_OK(orphaned_files);
  EXPECT_EQ(*orphaned_files, (Names{"manifest-new", "snapshot-00000002-5", "snapshot-00000004-0"}));

  ASSERT_OK(remove_manifest(&device, SnapshotNumber{1}));
  ASSERT_OK(remove_manifest(&device, SnapshotNumber{2}));
  orphaned_files = find_orphaned_files(&device);
  ASSERT_OK(orphaned_files);
  EXPECT_EQ(*orphaned_files, (Names{"manifest-new", "snapshot-00000001-0", "snapshot-00000001-1",
                                    "snapshot-00000002-5", "snapshot-00000004-0"}));

  ASSERT_OK(remove_orphaned_files(&device));
  EXPECT_EQ(device.names(),
            (Names{"log-0-00000001", "manifest-00000003", "notes", "savepoint",
                   "snapshot-00000002-0", "snapshot-00000002-1", "snapshot-00000003-0",
                   "snapshot-00000003-1", "snapshot-00000004-0.old", "snapshot-4-0"}));
  EXPECT_EQ(check_newest(&device), 3u);
  const std::uint64_t before = device.changing_calls();
  ASSERT_OK(remove_orphaned_files(&device));
  EXPECT_EQ(device.changing_calls(), before);
}

// Goal: no file is removed that a damaged manifest may need: none at all if the newest one is
// damaged, none of its snapshot or before if an older one is.
TEST(LeftoversTest, beside_a_damaged_manifest_nothing_is_removed_that_it_may_need) {
  FailingDevice device;
  for (std::uint32_t number = 1; number <= 3; ++number) {
    ASSERT_OK(write_file(&device, number, 5, 1));
    ASSERT_OK(make_snapshot(&device, number));
  }
  const std::size_t names = device.names().size();
  device.flip_bit("manifest-00000003", 60, 0);
  EXPECT_EQ(remove_orphaned_files(&device).code(), ErrorCode::kCorruption);
  EXPECT_EQ(device.names().size(), names);
  device.flip_bit("manifest-00000003", 60, 0);
  device.flip_bit("manifest-00000002", 60, 0);
  const auto orphaned_files = find_orphaned_files(&device);
  ASSERT_OK(orphaned_files);
  EXPECT_EQ(*orphaned_files, std::vector<std::string>{"snapshot-00000003-5"});
  ASSERT_OK(remove_orphaned_files(&device));
  EXPECT_EQ(device.names().size(), names - 1);
}

// Goal: the files of a lost newest manifest are not orphaned for a database that knows it, although
// no manifest lists them any more. Method: the manifest is damaged, or missing, with an older one
// or without.
TEST(LeftoversTest, of_a_lost_manifest_there_are_none_for_who_knows_it) {
  FailingDevice device;
  for (std::uint32_t number = 1; number <= 2; ++number) ASSERT_OK(make_snapshot(&device, number));
  ASSERT_OK(write_file(&device, 3, 0, 1));
  const Manifest known = manifest_of(2);
  const auto expect_nothing_goes = [&] {
    const auto names = device.names();
    EXPECT_EQ(remove_orphaned_files(&device, &known).code(), ErrorCode::kCorruption);
    EXPECT_EQ(device.names(), names);
  };
  device.set_size("manifest-00000002", 40);
  expect_nothing_goes();
  device.drop_file("manifest-00000002");
  expect_nothing_goes();
  device.drop_file("manifest-00000001");
  expect_nothing_goes();
  ASSERT_OK(restore_manifest(&device, known));
  ASSERT_OK(remove_orphaned_files(&device, &known));
  EXPECT_FALSE(device.exists("snapshot-00000003-0"));
  ASSERT_OK(check_snapshot(&device, known));
}

}  // namespace
}  // namespace foedus::snapshot::manifest_crash_test
