// Waits for a page that another session is changing when it loses its processor.
// ctest-labels: concurrency
#include <atomic>
#include <string>
#include <thread>

#include "tests/storage/masstree/fixture.h"
#include "tests/testing/hold.h"

namespace foedus::testing::waits_test {
namespace {

class MasstreeWaitsTest : public MasstreeTest {};

// Method: a session that makes a layer of a record is stopped when the record is marked and its
// slot is not yet. A transaction that has read the record commits.
TEST_F(MasstreeWaitsTest, a_commit_sleeps_while_a_record_is_about_to_become_a_layer) {
  begin(0);
  put(0, "samesliceA", "x");
  expect_commit(0);
  begin(1);
  ASSERT_EQ(get(1, "samesliceA"), "x");
  begin(2);
  Hold marked("masstree:layer_record_marked");
  std::thread maker([this] { put(2, "samesliceB", "y"); });
  marked.wait_until_held();
  std::thread reader([this] { expect_commit(1); });
  marked.wait_for_sleeps(3);
  marked.release();
  reader.join();
  maker.join();
  expect_commit(2);
}

// Method: a session that makes a layer of a record is stopped when the record is marked and its
// slot is not yet. A transaction reads the record, which cannot be located yet.
TEST_F(MasstreeWaitsTest, a_read_sleeps_while_a_record_is_about_to_become_a_layer) {
  begin(0);
  put(0, "samesliceA", "x");
  expect_commit(0);
  begin(1);
  begin(2);
  Hold marked("masstree:layer_record_marked");
  std::thread maker([this] { put(2, "samesliceB", "y"); });
  marked.wait_until_held();
  std::thread reader([this] { EXPECT_EQ(get(1, "samesliceA"), "x"); });
  marked.wait_for_sleeps(3);
  marked.release();
  reader.join();
  maker.join();
  expect_commit(1);
  expect_commit(2);
}

// Method: a split is stopped with the page's lock and the locks of all its records. Another session
// inserts into the page: it parks.
TEST_F(MasstreeWaitsTest, an_insert_parks_while_its_page_is_being_split) {
  constexpr unsigned kRestsMax = 16;
  unsigned rows = 0;
  Hold locked("masstree:split_locked");
  std::atomic<bool> is_full = false;
  std::thread filler([&] {
    while (!is_full) {
      fill(0, rows, rows + 1, 1);
      ++rows;
    }
  });
  locked.wait_until_held();
  is_full = true;
  begin(1);
  std::thread other([this] { put(1, key_of(0) + "x", "y"); });
  locked.wait_for_parks(1);
  EXPECT_LE(locked.yields() + locked.sleeps(), kRestsMax);
  locked.release();
  filler.join();
  other.join();
  expect_commit(1);
}

}  // namespace
}  // namespace foedus::testing::waits_test
