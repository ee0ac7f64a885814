// The last epochs of a directory: commits end in an error, and earlier commits can be read.
#include <gtest/gtest.h>

#include <string>

#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/engine_of.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::last_epochs_test {
namespace {

using testing::must;

// Makes the files of a directory say that they have seen this epoch.
void forge_newest_seen(const std::string& directory, Epoch seen) {
  const auto device = must(device::FileDevice::open(directory, Facility::kTry));
  snapshot::Manifest manifest = must(snapshot::read_newest_manifest(device.get()));
  manifest.newest_seen = seen;
  must(snapshot::restore_manifest(device.get(), manifest));
}

class LastEpochsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Database db = must(Database::open(options()));
    const Hash hash = must(db.open_hash("hash"));
    must(db.transact([&](Txn& txn) { return txn.put(hash, "key", "row"); }));
    must(db.glean());
    must(db.close());
  }
  Options options() const { return testing::small_options(directory_.path()); }
  void expect_read_only() {
    Database db = must(Database::open(options()));
    const Hash hash = must(db.open_hash("hash"));
    const auto get = [&](Txn& txn) { return txn.get(hash, "key"); };
    EXPECT_EQ(must(db.transact(get)), "row");
    EXPECT_EQ(must(db.snapshot(get)), "row");
    const auto put = db.transact([&](Txn& txn) { return txn.put(hash, "key", "other"); });
    EXPECT_EQ(put.code(), ErrorCode::kNotSupported);
    EXPECT_NE(put.message().find("copy the rows"), std::string::npos);
    EXPECT_EQ(db.open_hash("new").code(), ErrorCode::kNotSupported);
    EXPECT_EQ(db.drop_storage("hash").code(), ErrorCode::kNotSupported);
    EXPECT_EQ(must(db.transact(get)), "row");
    must(db.close());
  }

  testing::TestDirectory directory_;
};

TEST_F(LastEpochsTest, commits_are_refused_and_reads_go_on_however_often_it_is_opened) {
  forge_newest_seen(directory_.path(), epoch::kCommitEpochMax);
  for (int i = 0; i < 3; ++i) expect_read_only();
}

// Goal: a drop that begins in time ends well in a later epoch, and the next open() finds it.
// Method: the clock passes the last epoch of commits after the drop has looked at it.
TEST_F(LastEpochsTest, a_drop_that_began_in_time_may_be_late) {
  {
    Database db = must(Database::open(options()));
    must(db.open_hash("dropped"));
    must(db.close());
  }
  forge_newest_seen(directory_.path(), Epoch(epoch::kCommitEpochMax.number() - 2'000));
  {
    Database db = must(Database::open(options()));
    const epoch::EpochClock& clock = testing::engine_of(db).clock();
    const testing::AtSyncPoint at("catalog:drop_marked", [&] {
      while (clock.current() <= epoch::kCommitEpochMax) testing::nap();
    });
    must(db.drop_storage("dropped"));
    EXPECT_EQ(at.runs(), 1u);
    EXPECT_EQ(db.open_hash("dropped").code(), ErrorCode::kNotSupported);
    must(db.close());
  }
  Database db = must(Database::open(options()));
  EXPECT_EQ(db.storages().size(), 1u);
  const auto get = [&](Txn& txn) { return txn.get(must(db.open_hash("hash")), "key"); };
  EXPECT_EQ(must(db.transact(get)), "row");
}

TEST_F(LastEpochsTest, a_directory_without_any_is_refused) {
  forge_newest_seen(directory_.path(), Epoch(Epoch::kMax));
  const auto opened = Database::open(options());
  EXPECT_EQ(opened.code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace foedus::last_epochs_test
