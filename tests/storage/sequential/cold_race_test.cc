// Sequential storages: installs and drops at named places of appends and scans, in one thread.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "foedus-core/base/system/sync_point.h"
#include "tests/storage/sequential/cold.h"

namespace foedus::storage::sequential::cold_race_test {
namespace {

using SequentialColdRaceTest = SequentialColdTest;

using Rows = SequentialCold::Rows;

// Runs `act` once, the next time that the thread reaches `place`.
class AtSyncPoint {
 public:
  AtSyncPoint(std::string place, std::function<void()> act) {
    place_ = std::move(place);
    act_ = std::move(act);
    base::set_sync_point_hook(&AtSyncPoint::reached);
  }
  ~AtSyncPoint() {
    base::set_sync_point_hook(nullptr);
    EXPECT_FALSE(act_) << "nobody came to " << place_;
    act_ = nullptr;
  }

 private:
  static void reached(const char* place) {
    if (place_ != place || !act_) return;
    std::exchange(act_, nullptr)();
  }
  static inline std::string place_;
  static inline std::function<void()> act_;
};

// An owner and an install that wait for each other at named places, in the order of `step`.
std::atomic<int> step{0};

void wait_for(int wanted) {
  while (step.load() < wanted) std::this_thread::yield();
}

void take_turns(const char* name) {
  const std::string place = name;
  if (place == "sequential:pin_looked" && step.load() == 0) {
    step = 1;  // the owner begins, and loads the tail
    wait_for(2);
  } else if (place == "sequential:linked" && step.load() == 1) {
    step = 2;  // the owner has a next page, and goes on when its tail is taken
    wait_for(3);
  } else if (place == "sequential:tail_taken" && step.load() == 2) {
    step = 3;
    wait_for(4);
  }
}

// Goal: S10, a page that got a next one between two checks of the pin is not the last one, even if
// the taken tail said so and all records are quiet. Method: the owner loads the tail before it is
// taken, and then stores another one and commits.
TEST_F(SequentialColdRaceTest, an_owner_that_links_a_page_behind_the_exchange_keeps_it) {
  append_expected(0, std::string(3000, 'a'));
  all_.compose();
  all_.all().pass_epochs();
  step = 0;
  base::set_sync_point_hook(&take_turns);
  std::thread owner([this] {
    wait_for(1);
    all_.append_now(0, std::string(3000, 'b'));
    step = 4;
  });
  all_.install();
  owner.join();
  base::set_sync_point_hook(nullptr);
  expected_.emplace_back(std::string(3000, 'b'));
  EXPECT_EQ(all_.scan_now(), expected_);
}

// The owner's transaction begins when the tail is taken, before the check of its pin.
TEST_F(SequentialColdRaceTest, an_owner_that_begins_meanwhile_finds_its_tail_again) {
  append_expected(0, "one");
  all_.compose();
  {
    const AtSyncPoint at("sequential:tail_taken", [this] { all_.session(0).begin(); });
    EXPECT_EQ(all_.install().pages_kept, 3u);
  }
  ASSERT_TRUE(all_.append(0, "two").is_ok());
  expected_.emplace_back("two");
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

// The owner links a next page when the installer has taken the page for the last one.
TEST_F(SequentialColdRaceTest, an_owner_that_links_a_page_meanwhile_keeps_both) {
  append_expected(0, std::string(3000, 'a'));
  all_.compose();
  {
    const AtSyncPoint at("sequential:before_tail",
                         [this] { append_expected(0, std::string(3000, 'b')); });
    EXPECT_EQ(all_.install().pages_kept, 4u);
  }
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

// Goal: a scan knows the end of the chain while the tail is taken. Method: the page stays, because
// it has a newer record; a later append to it is a phantom.
TEST_F(SequentialColdRaceTest, a_scan_finds_the_end_of_a_chain_without_a_tail) {
  append_expected(0, "one");
  all_.compose();
  append_expected(0, "newer");
  {
    const AtSyncPoint at("sequential:tail_taken", [this] {
      all_.session(3).begin();
      EXPECT_EQ(all_.scan(3), expected_);
    });
    EXPECT_EQ(all_.install().pages_kept, 3u);
  }
  append_expected(0, "phantom");
  EXPECT_EQ(all_.session(3).commit().conflict_reason(), ConflictReason::kPageGained);
}

// Goal: a scan finds the end of a chain whose tail is an old page. Method: the owner has linked a
// page, and marked the one before it moved, but has not changed the tail.
TEST_F(SequentialColdRaceTest, a_scan_finds_the_end_of_a_chain_behind_an_old_tail) {
  append_expected(0, std::string(3000, 'a'));
  {
    const AtSyncPoint at("sequential:moved", [this] {
      all_.session(3).begin();
      EXPECT_EQ(all_.scan(3), expected_);
    });
    append_expected(0, std::string(3000, 'b'));
  }
  EXPECT_EQ(all_.session(3).commit().conflict_reason(), ConflictReason::kPageGained);
}

// A glean and its install at every step of an append and of the making of pages for it.
TEST_F(SequentialColdRaceTest, an_install_within_an_append_loses_nothing) {
  for (const std::string place : {"before_count", "linked", "moved"}) {
    append_expected(1, "of another session");
    {
      const AtSyncPoint at("sequential:" + place, [this] { all_.glean(); });
      for (char byte = 'a'; byte < 'd'; ++byte) append_expected(0, std::string(1500, byte));
    }
    EXPECT_EQ(all_.scan_now(), expected_) << place;
    all_.glean();
    EXPECT_EQ(all_.scan_now(), expected_) << place;
  }
  expect_at_rest();
}

// A glean drops the page that the owner has reached.
TEST_F(SequentialColdRaceTest, an_append_looks_again_when_its_root_or_heads_page_has_gone) {
  for (const std::string place : {"before_root", "before_chain"}) {
    all_.glean();
    append_expected(1, "of another session");
    if (place == "before_root") all_.glean();
    {
      const AtSyncPoint at("sequential:" + place, [this] { all_.glean(); });
      append_expected(0, "one");
    }
    EXPECT_EQ(all_.scan_now(), expected_) << place;
    expect_at_rest();
  }
}
TEST(SequentialColdManyTest, an_append_looks_again_when_the_root_has_gone_above_its_heads_page) {
  SequentialCold all(HeadsPage::kChains + 2);
  all.append_now(0, "one");
  {
    const AtSyncPoint at("sequential:before_heads", [&all] { all.glean(); });
    all.append_now(HeadsPage::kChains, "two");
  }
  EXPECT_EQ(all.scan_now(), (Rows{"one", "two"}));
  EXPECT_EQ(all.glean().pages_kept, 0u);
  EXPECT_EQ(all.scan_now(), (Rows{"one", "two"}));
}

TEST_F(SequentialColdRaceTest, one_of_two_sessions_makes_the_root) {
  {
    expect_at_rest();
    const AtSyncPoint at("sequential:before_root", [this] {
      append_expected(1, "first");
      all_.all().pass_epochs();
    });
    append_expected(0, "second");
  }
  EXPECT_EQ(all_.volatile_pages(), 4u);  // root, heads, two of records
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

// The root is made volatile after the installer has read its pointer and before the change.
TEST_F(SequentialColdRaceTest, a_root_that_is_made_meanwhile_gets_the_new_snapshot) {
  load();
  all_.glean();
  append_expected(1, "in the next snapshot");
  all_.glean();
  all_.all().pass_epochs();
  all_.compose_anew();
  {
    const AtSyncPoint at("sequential:install_looked", [this] { append_expected(0, "meanwhile"); });
    EXPECT_EQ(all_.install().pages_kept, 3u);
  }
  EXPECT_EQ(all_.control()->root.load().snapshot_page, all_.root());
  all_.remove_old_files();
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

// Readers reach a page by the tail even if the head is beyond it.
TEST_F(SequentialColdRaceTest, a_page_that_the_tail_names_stays) {
  append_expected(0, std::string(3000, 'a'));
  {
    const AtSyncPoint at("sequential:moved", [this] {
      all_.glean();
      EXPECT_EQ(all_.volatile_pages(), 4u);  // root, heads, it and the one behind it
    });
    append_expected(0, std::string(3000, 'b'));
  }
  EXPECT_EQ(all_.scan_now(), expected_);
  expect_at_rest();
}

// Goal: a dirty scan misses no row in an install. Method: all rows in memory move to a snapshot
// between the scan's reads of the two halves.
TEST_F(SequentialColdRaceTest, a_dirty_scan_loses_nothing_to_an_install) {
  load();
  all_.glean();
  append_expected(0, "volatile");
  for (const Isolation isolation : {Isolation::kDirtyRead, Isolation::kSerializable}) {
    TxnOptions options;
    options.isolation = isolation;
    append_expected(1, "too");
    all_.session(3).begin(options);
    {
      const AtSyncPoint at("sequential:snapshot_open", [this] { all_.glean(); });
      EXPECT_EQ(all_.scan(3), expected_);
    }
    all_.session(3).rollback();
  }
}

// A cursor goes on in pages that were dropped meanwhile.
TEST_F(SequentialColdRaceTest, a_cursor_goes_on_in_pages_that_were_dropped) {
  load();
  TxnOptions options;
  options.isolation = Isolation::kDirtyRead;
  all_.session(3).begin(options);
  Cursor cursor;
  ASSERT_TRUE(cursor.open(all_.session(3).ctx(), all_.control()).is_ok());
  Rows rows;
  while (!cursor.at_end()) {
    rows.emplace_back(cursor.payload());
    if (rows.size() == 10) {
      EXPECT_EQ(all_.glean().pages_kept, 0u);
    }
    ASSERT_TRUE(cursor.next().is_ok());
  }
  EXPECT_EQ(rows, expected_);
  cursor.close();
  all_.session(3).rollback();
}

}  // namespace
}  // namespace foedus::storage::sequential::cold_race_test
