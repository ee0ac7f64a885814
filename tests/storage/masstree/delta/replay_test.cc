// A snapshot has the last commit to a row, whichever tree of a Master-Tree with a delta each change
// was made in: its TID is the highest (M48).
// ctest-labels: memory

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/delta/fixture.h"

namespace foedus::storage::masstree::replay_test {
namespace {

class DeltaReplayTest : public MasstreeDeltaTest, public ::testing::WithParamInterface<int> {
 protected:
  base::Random random_{testing::test_seed(1) * 100 + static_cast<std::uint64_t>(GetParam())};

  // Makes one change of one row by one session.
  void change(std::uint32_t session, const std::string& key) {
    const std::string small(1 + random_.below(200), static_cast<char>('a' + random_.below(26)));
    const bool exists = rows_.contains(key);
    switch (random_.below(10)) {
      case 0:
      case 1:
      case 2:
        return put_row(key, small, session);
      case 3:
        return put_row(key, kChain + small, session);
      case 4:
      case 5:
        if (exists) erase_row(key, session);
        return;
      case 6:
        if (!exists) return put_row(key, small, session);
        begin(session);
        ASSERT_TRUE(put(session, key, small, WriteMode::kUpdate).is_ok());
        break;
      case 7:
        begin(session);
        ASSERT_EQ(put(session, key, small, WriteMode::kInsert).is_ok(), !exists);
        if (!exists) rows_[key] = small;
        return expect_commit(session);
      default:
        if (!exists) return;
        begin(session);
        ASSERT_TRUE(write_part(session, key, small.substr(0, 1)).is_ok());
        rows_[key].replace(0, 1, small.substr(0, 1));
        return expect_commit(session);
    }
    rows_[key] = small;
    expect_commit(session);
  }
};

// Method: all changes of a round are made in one epoch, each by one of three sessions, of which one
// has far higher ordinals than the others. The keys are near each other, so that pages are split
// and joined, and erased records are purged.
TEST_P(DeltaReplayTest, the_last_of_many_changes_in_one_epoch_is_in_the_snapshot) {
  load_and_open();
  for (unsigned round = 0; round < 25; ++round) {
    const std::uint64_t near = random_.below(kRows - 40);
    for (unsigned i = 0; i < 60; ++i) put_alone(0, key_of(kRows - 1), rows_.at(key_of(kRows - 1)));
    const Epoch epoch = all_.all().clock().current();
    for (unsigned i = 0; i < 250; ++i) {
      const std::uint64_t at = near + random_.below(15);
      const bool is_long = random_.below(4) == 0;
      const std::string key = is_long ? key_of(at) + "--" + std::to_string(random_.below(9))
                                      : key_between(at, static_cast<unsigned>(random_.below(16)));
      ASSERT_NO_FATAL_FAILURE(change(static_cast<std::uint32_t>(random_.below(3)), key));
    }
    ASSERT_TRUE(all_.all().clock().current() == epoch) << "the test is of one epoch";
    ASSERT_NO_FATAL_FAILURE(check_rows()) << "before the snapshot, round " << round;
    all_.compose();
    if (round % 3 != 0) all_.install();
    ASSERT_NO_FATAL_FAILURE(check_rows()) << "round " << round;
  }
  expect_all_goes();
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeltaReplayTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace foedus::storage::masstree::replay_test
