// ctest-labels: concurrency
// The moment in which an insert is visible to other sessions and no page counts it yet. A session
// that remembered the count must notice a key committed there. Method: one session reads an absent
// key, one is stopped in an insert, and one commits the key by way of that insert.
#include <chrono>
#include <cstdio>
#include <future>
#include <string>
#include <vector>

#include "tests/testing/hold.h"
#include "tests/testing/test_database.h"

namespace foedus::phantom_window_test {
namespace {

using testing::must;
using testing::TestDatabase;

// Time that the third session gets for a commit that must not succeed yet.
constexpr std::chrono::milliseconds kPatience(300);

class PhantomWindowTest : public ::testing::Test {
 protected:
  PhantomWindowTest() : db_(options()), other_(must(db_->open_masstree("other"))) {
    must(db_->transact([&](Txn& txn) -> Status { return txn.put(other_, "J", 1); }));
    for (int i = 0; i < 80; ++i) sessions_.push_back(must(db_->new_session()));
  }
  static Options options() {
    Options options = testing::small_options("");
    options.sessions_max = 100;
    return options;
  }
  // Goal: no write skew. Method: the second transaction is stopped within `insert`, at `place`. The
  // first one does `miss` and writes J; the third one reads the old J and does `write`. Neither has
  // seen the writes of the other, so not both may commit. `write` may wait for a lock of the second
  // one, so the test waits for it no longer than kPatience.
  template <typename Miss, typename Insert, typename Write>
  void expect_no_skew(const char* place, Miss&& miss, Insert&& insert, Write&& write) {
    Txn first = must(sessions_[0].begin());
    miss(first);
    must(first.put(other_, "J", 2));
    testing::Hold hold(place);
    std::future<void> inserting = std::async(std::launch::async, [&] {
      Txn second = must(sessions_[75].begin());
      must(insert(second));
      second.rollback();
    });
    hold.wait_until_held();
    std::future<bool> writing = std::async(std::launch::async, [&] {
      Txn third = must(sessions_[76].begin());
      const bool saw_old = must(third.get_as<int>(other_, "J")) == 1;
      return write(third).is_ok() && third.commit().is_ok() && saw_old;
    });
    writing.wait_for(kPatience);
    const bool first_committed = first.commit().is_ok();
    hold.release();
    inserting.get();
    EXPECT_FALSE(writing.get() && first_committed);
  }
  void expect_no_skew_at(const char* place, const KeyedStorage& table, const std::string& key,
                         const std::string& neighbour) {
    expect_no_skew(
        place,
        [&](Txn& txn) {
          EXPECT_EQ(txn.get_as<int>(table, key).status().code(), ErrorCode::kNotFound);
        },
        [&](Txn& txn) { return txn.put(table, neighbour, 9); },
        [&](Txn& txn) { return txn.put(table, key, 7); });
  }

  TestDatabase db_;
  Masstree other_;
  std::vector<Session> sessions_;  // more chains of appends than one page can begin
};

// The insert that is stopped makes the record of the same key.
TEST_F(PhantomWindowTest, a_record_of_a_hash_storage_counts_when_it_can_be_locked) {
  expect_no_skew_at("hash:inserted", must(db_->open_hash("hash")), "key", "key");
}

// The key is a third one of its slice, in the layer that is made for the second one.
TEST_F(PhantomWindowTest, a_new_layer_counts_when_it_can_gain_keys) {
  const Masstree tree = must(db_->open_masstree("tree"));
  must(db_->transact([&](Txn& txn) -> Status { return txn.put(tree, "slice 00first", 1); }));
  expect_no_skew_at("masstree:layer_marked", tree, "slice 00third", "slice 00second");
}

// Goal: of two pages that are joined, the second does not gain a key by way of the first, which is
// marked moved earlier. Method: an insert joins pages of erased rows. Another session meanwhile
// reaches the new page by a key of the first page, and then inserts a key of the second, which a
// reader has missed.
TEST_F(PhantomWindowTest, a_joined_page_gains_keys_when_both_pages_have_moved) {
  const Masstree tree = must(db_->open_masstree("tree"));
  const std::string payload(100, 'x');
  constexpr int kKeysPerPage = 27;
  const auto key_in = [](int page, int number) {
    char key[9];
    std::snprintf(key, sizeof(key), "%08d", (page * kKeysPerPage) * 10 + number);
    return std::string(key);
  };
  const auto fill = [&](Txn& txn) -> Status {
    for (int i = 0; i < 4 * kKeysPerPage; ++i) {
      FOEDUS_CHECK(txn.put(tree, key_in(0, i * 10), payload));
    }
    return {};
  };
  must(db_->transact(fill));
  for (int i = 0; i < 4 * kKeysPerPage; ++i) {
    if (i % 9 == 8) continue;
    must(db_->transact([&](Txn& txn) -> Status { return txn.erase(tree, key_in(0, i * 10)); }));
  }
  expect_no_skew(
      "masstree:merge_half_moved",
      [&](Txn& txn) {
        EXPECT_EQ(txn.get(tree, key_in(2, 205)).status().code(), ErrorCode::kNotFound);
      },
      [&](Txn& txn) { return txn.put(tree, key_in(1, 5), payload); },
      [&](Txn& txn) -> Status {
        FOEDUS_CHECK(txn.get(tree, key_in(1, 80)).status());
        return txn.put(tree, key_in(2, 205), payload);
      });
}

// The first append of a session goes to the heads page that another session is just making.
TEST_F(PhantomWindowTest, a_heads_page_counts_when_it_can_gain_chains) {
  const Sequential log = must(db_->open_sequential("log"));
  expect_no_skew(
      "sequential:heads_installed",
      [&](Txn& txn) {
        for ([[maybe_unused]] const auto& row : txn.scan(log)) ADD_FAILURE();
      },
      [&](Txn& txn) { return txn.append(log, "second"); },
      [&](Txn& txn) { return txn.append(log, "third"); });
}

}  // namespace
}  // namespace foedus::phantom_window_test
