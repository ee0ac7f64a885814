// ctest-labels: crash
// Failures while a snapshot is reclaimed and old files are removed: the newest snapshot is the one
// before or the one after, and all pages below its roots are there.
#include "gleaner/reclaim/reclaim.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "foedus-core/snapshot/files/orphaned_files.h"
#include "foedus-core/snapshot/obsolete_snapshots.h"
#include "gleaner/reclaim/victims.h"
#include "tests/gleaner/reclaim/snapshot_store.h"
#include "tests/testing/failing_device.h"

namespace foedus::gleaner::reclaim_test {
namespace {

using foedus::testing::Call;
using foedus::testing::FailingDevice;
using page::SnapshotNumber;
using snapshot::Manifest;

constexpr std::uint32_t kGleans = 5;

std::string payload_of(std::uint64_t i) {
  return std::string(i % 40 == 0 ? 6000 : i % 100, static_cast<char>('a' + i % 26));
}

// Makes five snapshots on the device, and returns the manifest of the last one.
Manifest make_snapshots(FailingDevice* device) {
  SnapshotStore store(device);
  for (std::uint64_t glean = 0; glean < kGleans; ++glean) {
    for (std::uint64_t i = glean; i < 500; i += glean * 7 + 1) {
      const std::string key = "key " + std::to_string(i * 7919 % 500);
      store.put(i * 97, std::string(100, static_cast<char>('a' + glean)));
      store.put(StorageKind::kHash, key, payload_of(i + glean));
      store.put(StorageKind::kMasstree, i % 3 == 0 ? "some prefix of " + key : key,
                payload_of(i * 3 + glean));
      if (i < 50) store.put(StorageKind::kSequential, "", std::string(i * 9, 'x'));
    }
    const Status status = store.glean();
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  return *store.manifest;
}

std::vector<snapshot::ManifestFile> first_files(const Manifest& manifest, std::size_t count) {
  return {manifest.files.begin(), manifest.files.begin() + static_cast<std::ptrdiff_t>(count)};
}

// Reclaims, and removes the files that only the old manifest needs, as a user of the directory
// does.
Status reclaim_and_remove(FailingDevice* device, const Manifest& manifest) {
  ReclaimCounts counts;
  FOEDUS_CHECK(reclaim(device, manifest, first_files(manifest, 3), &counts).status());
  return snapshot::remove_obsolete_snapshots(device, {}, nullptr, nullptr);
}

class ReclaimTest : public ::testing::Test {
 protected:
  ReclaimTest() : manifest_(make_snapshots(&full_)), contents_(contents_of(&full_, manifest_)) {
    EXPECT_TRUE(snapshot::remove_obsolete_snapshots(&full_, {}, nullptr, nullptr).is_ok());
    EXPECT_TRUE(full_.sync_directory().is_ok());  // otherwise older manifests could come back
    EXPECT_EQ(manifest_.files.size(), kGleans);
  }

  // Checks that every manifest has all its pages, and returns the newest number.
  SnapshotNumber expect_whole(FailingDevice* device) {
    const auto numbers = snapshot::find_manifests(device);
    EXPECT_TRUE(numbers.is_ok() && !numbers->empty());
    if (!numbers.is_ok() || numbers->empty()) return {};
    for (const SnapshotNumber number : *numbers) {
      const auto manifest = snapshot::read_manifest(device, number);
      EXPECT_TRUE(manifest.is_ok()) << manifest.status().message();
      if (!manifest.is_ok()) continue;
      EXPECT_EQ(contents_of(device, *manifest), contents_) << static_cast<std::uint32_t>(number);
      expect_counted(device, *manifest);
    }
    return numbers->back();
  }

  FailingDevice full_;  // with the last manifest and its files only
  const Manifest manifest_;
  const Contents contents_;
};

TEST_F(ReclaimTest, the_same_snapshot_is_in_other_files) {
  ReclaimCounts counts;
  const auto victims = first_files(manifest_, 3);
  const auto moved = reclaim(&full_, manifest_, victims, &counts);
  ASSERT_TRUE(moved.is_ok()) << moved.status().message();
  EXPECT_EQ(moved->number, SnapshotNumber{kGleans + 1});
  EXPECT_EQ(moved->covered, manifest_.covered);
  EXPECT_GE(counts.files_emptied, 3u);
  EXPECT_GT(counts.pages_written, 0u);
  for (const snapshot::ManifestFile& file : moved->files) {
    for (const auto& victim : victims) ASSERT_FALSE(file.snapshot == victim.snapshot);
  }
  // The old manifest can be read until it is removed.
  EXPECT_EQ(expect_whole(&full_), SnapshotNumber{kGleans + 1});
  ASSERT_TRUE(snapshot::remove_obsolete_snapshots(&full_, {}, nullptr, nullptr).is_ok());
  EXPECT_EQ(expect_whole(&full_), SnapshotNumber{kGleans + 1});
  EXPECT_FALSE(full_.exists("snapshot-00000001-0"));
  EXPECT_EQ(full_.names().size(), moved->files.size() + 1);
}

// G72. Goal: reads are announced to a device that can do many at a time. Method: the test checks
// for each page that is read whether it was announced; only the root and the file's first page are
// not.
TEST(ReclaimReadAheadTest, all_pages_below_the_root_are_announced) {
  for (const StorageKind kind :
       {StorageKind::kArray, StorageKind::kHash, StorageKind::kMasstree}) {
    SCOPED_TRACE(std::string(to_string(kind)));
    FailingDevice device;
    SnapshotStore store(&device);
    for (std::uint64_t glean = 0; glean < 3; ++glean) {
      for (std::uint64_t i = glean; i < 300; i += glean + 1) {
        const std::string payload(100, static_cast<char>('a' + glean));
        if (kind == StorageKind::kArray) {
          store.put(i * 97, payload);
        } else {
          store.put(kind, "key " + std::to_string(i), payload);
        }
      }
      ASSERT_TRUE(store.glean().is_ok());
    }
    std::uint64_t announced = 0;
    std::uint64_t others = 0;
    device.set_observer([&](const foedus::testing::CallSeen& call) {
      if (call.kind != Call::kRead || !call.name.starts_with("snapshot-")) return;
      ++(device.was_announced(call.name, call.offset) ? announced : others);
    });
    ReclaimCounts counts;
    const auto victims = first_files(*store.manifest, 2);
    ASSERT_TRUE(reclaim(&device, *store.manifest, victims, &counts).is_ok());
    EXPECT_GT(announced, 8u);
    EXPECT_LE(others, 1u + store.manifest->files.size());
  }
}

TEST_F(ReclaimTest, the_same_manifest_gives_the_same_bytes) {
  std::vector<char> bytes[2];
  for (auto& one : bytes) {
    const auto device = full_.copy();
    ReclaimCounts counts;
    ASSERT_TRUE(reclaim(device.get(), manifest_, first_files(manifest_, 2), &counts).is_ok());
    one = device->bytes_of("snapshot-00000006-0");
  }
  EXPECT_GT(bytes[0].size(), 10 * page::kPageBytes);
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST_F(ReclaimTest, all_files_become_one_without_a_superseded_page) {
  ReclaimCounts counts;
  const auto moved = reclaim(&full_, manifest_, manifest_.files, &counts);
  ASSERT_TRUE(moved.is_ok()) << moved.status().message();
  ASSERT_EQ(moved->files.size(), 1u);
  EXPECT_EQ(moved->files[0].pages, moved->files[0].live_pages);
  EXPECT_EQ(expect_whole(&full_), moved->number);
}

TEST_F(ReclaimTest, power_fails_at_every_call) {
  for (const std::uint64_t seed : {FailingDevice::kDropAll, FailingDevice::kKeepAll,
                                   std::uint64_t{3}, std::uint64_t{4}, std::uint64_t{5}}) {
    bool was_lost = true;
    for (std::uint64_t skip = 0; was_lost; ++skip) {
      SCOPED_TRACE("call " + std::to_string(skip) + ", seed " + std::to_string(seed));
      const auto device = full_.copy();
      device->lose_power_after(skip);
      const Status status = reclaim_and_remove(device.get(), manifest_);
      was_lost = device->has_lost_power();
      EXPECT_NE(status.is_ok(), was_lost);
      device->crash_power(seed);
      const SnapshotNumber newest = expect_whole(device.get());
      EXPECT_TRUE(newest == manifest_.number || newest == SnapshotNumber{kGleans + 1});
      // Remaining files are no obstacle for the next reclamation.
      const auto found = snapshot::read_newest_manifest(device.get());
      ASSERT_TRUE(found.is_ok());
      const Status again = reclaim_and_remove(device.get(), *found);
      EXPECT_TRUE(again.is_ok()) << again.message();
      expect_whole(device.get());
      if (HasFailure()) return;
    }
  }
}

TEST_F(ReclaimTest, an_error_of_any_call_is_returned_and_nothing_is_lost) {
  for (const Call kind : {Call::kOpen, Call::kCreate, Call::kRead, Call::kWrite, Call::kSync,
                          Call::kList, Call::kRemove, Call::kRename, Call::kSyncDirectory}) {
    const auto whole = full_.copy();
    const std::uint64_t before = whole->calls(kind);
    ASSERT_TRUE(reclaim_and_remove(whole.get(), manifest_).is_ok());
    const std::uint64_t calls = whole->calls(kind) - before;
    EXPECT_GT(calls, 0u);
    for (std::uint64_t skip = 0; skip < calls; skip += kind == Call::kRead ? 29 : 1) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", call " +
                   std::to_string(skip));
      const auto device = full_.copy();
      // An open for an announced page is tried again when the page is read.
      const bool is_hint = kind == Call::kOpen || kind == Call::kRead;
      device->fail(kind, skip, EIO, is_hint);
      const Status status = reclaim_and_remove(device.get(), manifest_);
      device->clear_faults();
      expect_whole(device.get());
      EXPECT_EQ(status.code(), ErrorCode::kIoError) << status.message();
      if (HasFailure()) return;
    }
  }
}

TEST_F(ReclaimTest, what_another_attempt_left_goes) {
  ASSERT_TRUE(full_.open("snapshot-00000006-3", device::Access::kCreate).is_ok());
  ReclaimCounts counts;
  ASSERT_TRUE(reclaim(&full_, manifest_, first_files(manifest_, 1), &counts).is_ok());
  EXPECT_FALSE(full_.exists("snapshot-00000006-3"));
}

TEST_F(ReclaimTest, on_a_full_device_the_old_snapshot_stays) {
  const auto device = full_.copy();
  std::uint64_t used = 0;
  for (const std::string& name : device->names()) used += device->size_of(name);
  device->set_capacity(used + 20 * page::kPageBytes);
  const auto names = device->names();
  EXPECT_EQ(reclaim_and_remove(device.get(), manifest_).code(), ErrorCode::kOutOfSpace);
  EXPECT_EQ(expect_whole(device.get()), manifest_.number);
  EXPECT_EQ(device->names(), names) << "what was written takes no space until the next try";
  device->set_capacity(~std::uint64_t{0});
  EXPECT_TRUE(reclaim_and_remove(device.get(), manifest_).is_ok());
  EXPECT_EQ(expect_whole(device.get()), SnapshotNumber{kGleans + 1});
}

// Goal: a page of another storage, or a flipped bit, is named. Method: the root's file is damaged.
TEST_F(ReclaimTest, damaged_pages_are_corruption) {
  const auto device = full_.copy();
  device->flip_bit("snapshot-00000001-0", 3 * page::kPageBytes + 200, 1);
  device->flip_bit("snapshot-00000005-0", 3 * page::kPageBytes + 200, 1);
  ReclaimCounts counts;
  EXPECT_EQ(reclaim(device.get(), manifest_, manifest_.files, &counts).code(),
            ErrorCode::kCorruption);
  Manifest other = manifest_;
  std::swap(other.storages[1].root, other.storages[2].root);
  std::swap(other.storages[1].live, other.storages[2].live);
  const auto mixed = reclaim(&full_, other, other.files, &counts);
  EXPECT_EQ(mixed.code(), ErrorCode::kCorruption);
  EXPECT_EQ(mixed.status().storage(), other.storages[1].name);
}

}  // namespace
}  // namespace foedus::gleaner::reclaim_test
