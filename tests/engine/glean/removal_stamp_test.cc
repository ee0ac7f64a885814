// ctest-labels: crash
// E16: a snapshot is removed only if every open transaction began after the last pointer to it was
// changed. One thread and a simulated device; the test takes the steps of the gleaner's task.
#include <algorithm>
#include <optional>

#include "foedus-core/snapshot/files/manifest.h"
#include "tests/engine/glean/tree_life.h"

namespace foedus::removal_stamp_test {
namespace {

using testing::FailingDevice;
using testing::must;
using testing::TreeLife;

// A database with two snapshots. Only the newest one is kept, and a transaction reads the first.
// The task of the gleaner has stopped.
class RemovalStampTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kEpochsUs = 5'000;

  RemovalStampTest() {
    first_ = glean('a');
    of_first_.emplace(must(
        engine::begin_txn(other_, {.isolation = Isolation::kSnapshot, .newest_existing = true})));
    second_ = glean('b');
    life_.runtime.run_for(1'000'000);
    life_.runtime.starve("foedus-gleaner");
    EXPECT_TRUE(exists(first_)) << "a transaction reads it";
  }

  snapshot::Manifest glean(char letter) {
    life_.write(100, letter, &rows_);
    must(life_.engine->gleaning()->scheduler().glean({}));
    return *life_.engine->gleaning()->newest().get();
  }
  bool exists(const snapshot::Manifest& manifest) {
    const auto numbers = must(snapshot::find_manifests(&device_));
    return std::find(numbers.begin(), numbers.end(), manifest.number) != numbers.end();
  }
  engine::SnapshotInstaller& installer() { return life_.engine->gleaning()->installer(); }
  // Does one step of the gleaner's task when the clock has made the last stamp due, unless an open
  // transaction holds it back.
  void remove() {
    life_.runtime.run_for(kEpochsUs);
    must(life_.engine->gleaning()->retention().remove_unread());
  }

  FailingDevice device_;
  TreeLife life_{&device_};
  engine::EngineSession* const other_ = must(life_.engine->take_session());
  testing::TreeRows rows_;
  snapshot::Manifest first_;
  snapshot::Manifest second_;
  std::optional<Txn> of_first_;
};

// Goal: a transaction that may have found a pointer to the first snapshot keeps it, although the
// transaction began after the stamp of an earlier removal. Method: the second installation is said
// to have missed a pointer, and is made up for after the transaction has begun, while the stamp is
// pending.
TEST_F(RemovalStampTest, a_pointer_that_is_changed_after_the_stamp_asks_for_another_stamp) {
  installer().set_installed(first_);
  of_first_->rollback();
  must(life_.engine->gleaning()->retention().remove_unread());  // its last reader: sets the stamp
  life_.runtime.run_for(kEpochsUs);
  Txn reader = must(engine::begin_txn(other_, {}));
  must(reader.get(life_.tree, key(0)));
  must(installer().settle(second_, second_.number));
  ASSERT_EQ(installer().oldest_needed(), second_.number);
  for (int i = 0; i < 3; ++i) {
    remove();
    EXPECT_TRUE(exists(first_)) << "the reader may have found a pointer to it";
  }
  reader.rollback();
  remove();
  EXPECT_FALSE(exists(first_)) << "no glean is needed";
  life_.expect(rows_);
}

// Goal: a pointer that was changed after the stamp does not keep what was unneeded at the stamp.
// Method: a transaction begins after the stamp, and a third snapshot is installed meanwhile.
TEST_F(RemovalStampTest, what_was_not_needed_at_the_stamp_goes_although_others_are_installed) {
  of_first_->rollback();
  must(life_.engine->gleaning()->retention().remove_unread());
  life_.runtime.run_for(kEpochsUs);
  Txn reader = must(engine::begin_txn(other_, {}));
  must(reader.get(life_.tree, key(0)));
  GleanReport report;
  must(installer().install(second_, engine::Drop::kNone, &report));
  remove();
  EXPECT_FALSE(exists(first_));
  must(reader.get(life_.tree, key(1)));
  must(reader.commit());
}

}  // namespace
}  // namespace foedus::removal_stamp_test
