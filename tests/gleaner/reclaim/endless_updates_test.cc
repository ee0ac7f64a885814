// A database of constant size is updated for ever, a little between two gleans: its snapshot files
// stay few, and below three times their live pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/snapshot/obsolete_snapshots.h"
#include "gleaner/reclaim/reclaim.h"
#include "gleaner/reclaim/victims.h"
#include "tests/base/test_seed.h"
#include "tests/gleaner/reclaim/snapshot_store.h"
#include "tests/testing/failing_device.h"

namespace foedus::gleaner::endless_updates_test {
namespace {

using Update = std::function<void(SnapshotStore*, std::uint64_t)>;

class EndlessUpdatesTest : public ::testing::Test {
 protected:
  // Returns the bytes of all snapshot files on the device.
  std::uint64_t file_bytes() {
    std::uint64_t bytes = 0;
    for (const std::string& name : device_.names()) {
      if (name.starts_with("snapshot-")) bytes += device_.size_of(name);
    }
    return bytes;
  }
  std::uint64_t live_bytes() const {
    std::uint64_t pages = 0;
    for (const snapshot::ManifestFile& file : store_.manifest->files) pages += file.live_pages;
    return pages * page::kPageBytes;
  }
  void glean() {
    const Status status = store_.glean();
    ASSERT_TRUE(status.is_ok()) << status.message();
    gleaned_ += store_.manifest->files.back().pages;
    for (int round = 0;; ++round) {
      ASSERT_LE(round, 2);
      const auto victims = choose_victims(*store_.manifest, {});
      if (victims.empty()) break;
      const auto moved = reclaim(&device_, *store_.manifest, victims, &counts_);
      ASSERT_TRUE(moved.is_ok()) << moved.status().message();
      store_.manifest = *moved;
      ++reclamations_;
    }
    const Status removed = snapshot::remove_obsolete_snapshots(&device_, {}, nullptr, nullptr);
    ASSERT_TRUE(removed.is_ok()) << removed.message();
  }

  // Makes `gleans` gleans, with `changes` changes among `keys` keys before each.
  void run(std::uint64_t keys, int gleans, std::uint64_t changes, const Update& update) {
    for (std::uint64_t i = 0; i < keys; ++i) update(&store_, i);
    glean();
    Contents unchanged;
    for (int i = 0; i < gleans; ++i) {
      for (std::uint64_t j = 0; j < changes; ++j) update(&store_, random_.below(keys));
      glean();
      ASSERT_FALSE(HasFailure()) << i;
      worst_ =
          std::max(worst_, static_cast<double>(file_bytes()) / static_cast<double>(live_bytes()));
      ASSERT_LT(file_bytes(), 3 * live_bytes() + (1u << 20)) << i;
      ASSERT_LE(store_.manifest->files.size(), 64u) << i;
      if (i % 50 == 49) expect_counted(&device_, *store_.manifest);
    }
    std::printf(
        "live %llu KiB; files at most %.2f times that; %llu pages gleaned, %d reclamations"
        " wrote %llu and read %llu\n",
        static_cast<unsigned long long>(live_bytes() >> 10), worst_,
        static_cast<unsigned long long>(gleaned_), reclamations_,
        static_cast<unsigned long long>(counts_.pages_written),
        static_cast<unsigned long long>(counts_.pages_read));
    EXPECT_GT(reclamations_, 0);
    // All written pages are a small multiple of those of the gleans.
    EXPECT_LT(counts_.pages_written, 2 * gleaned_);
  }

  foedus::testing::FailingDevice device_;
  SnapshotStore store_{&device_};
  base::Random random_{testing::test_seed(41)};
  ReclaimCounts counts_;
  std::uint64_t gleaned_ = 0;  // pages
  int reclamations_ = 0;
  double worst_ = 0;
};

std::string key_of(std::uint64_t i) { return "key " + std::to_string(i * 7919 % 100'003); }

TEST_F(EndlessUpdatesTest, of_an_array) {
  run(20'000, 300, 30, [&](SnapshotStore* store, std::uint64_t i) {
    store->put(i, std::string(100, static_cast<char>('a' + random_.below(26))));
  });
}

TEST_F(EndlessUpdatesTest, of_a_hash) {
  run(20'000, 300, 30, [&](SnapshotStore* store, std::uint64_t i) {
    store->put(StorageKind::kHash, key_of(i), std::string(60 + random_.below(20), 'x'));
  });
}

TEST_F(EndlessUpdatesTest, of_a_master_tree) {
  run(20'000, 300, 30, [&](SnapshotStore* store, std::uint64_t i) {
    store->put(StorageKind::kMasstree, key_of(i), std::string(60 + random_.below(20), 'x'));
  });
}

TEST_F(EndlessUpdatesTest, of_large_payloads_and_layers) {
  run(1'000, 300, 5, [&](SnapshotStore* store, std::uint64_t i) {
    const std::string key = "a long prefix " + std::to_string(i % 20) + key_of(i);
    store->put(StorageKind::kMasstree, key, std::string(2'000 + random_.below(9'000), 'x'));
    store->put(StorageKind::kHash, key, std::string(2'000 + random_.below(9'000), 'x'));
  });
}

// Sequential storages grow, and only their runs pages are ever superseded.
TEST_F(EndlessUpdatesTest, of_all_kinds_together) {
  run(5'000, 200, 20, [&](SnapshotStore* store, std::uint64_t i) {
    store->put(i * 50, std::string(100, 'x'));
    store->put(StorageKind::kHash, key_of(i), std::string(random_.below(120), 'x'));
    store->put(StorageKind::kMasstree, key_of(i), std::string(random_.below(120), 'x'));
    store->put(StorageKind::kSequential, "", std::string(random_.below(120), 'x'));
  });
}

}  // namespace
}  // namespace foedus::gleaner::endless_updates_test
