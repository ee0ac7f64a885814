// ctest-labels: concurrency
// An operation fails half-way, and its transaction goes on to commit. Its earlier reads must still
// hold at the commit, and the remains of the operation must not hide that they do not.
#include <string>

#include "tests/testing/test_database.h"

namespace foedus::failed_write_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

Options small_ring() {
  Options options = small_options("");
  options.log.buffer_bytes = 64u << 10;
  return options;
}

// A payload that is too large for the log records of one transaction.
const std::string& too_large() {
  static const std::string payload(40'000, 'x');
  return payload;
}

class FailedWriteTest : public ::testing::Test {
 protected:
  FailedWriteTest()
      : db_(small_ring()),
        tree_(must(db_->open_masstree("tree"))),
        hash_(must(db_->open_hash("hash"))),
        array_(must(db_->open_array("array", 10, 8))),
        first_(must(db_->new_session())),
        second_(must(db_->new_session())) {}

  // Fills the transaction's part of the ring until a record of 1000 bytes does not fit.
  void fill_ring(Txn& txn) {
    Status status;
    while (status.is_ok()) status = txn.put(hash_, "filler", std::string(900, 'f'));
    EXPECT_EQ(status.code(), ErrorCode::kTooLarge);
  }
  void commit_second(const KeyedStorage& storage, std::string_view key) {
    Txn two = must(second_.begin());
    must(two.insert(storage, key, "theirs"));
    EXPECT_EQ(must(two.get_as<std::uint64_t>(array_, 0)), 0u);
    must(two.commit());
  }

  // The first session found no `key` and writes a cell. The second one inserts the key and reads
  // the old cell. One of them has to fail.
  void run(const KeyedStorage& storage, std::string_view key, std::string_view payload,
           bool is_put) {
    Txn one = must(first_.begin());
    EXPECT_FALSE(must(one.contains(storage, key)));
    must(one.put(array_, 0, std::uint64_t{1}));
    if (payload.size() < 2000) fill_ring(one);
    const Status failed =
        is_put ? one.put(storage, key, payload) : one.insert(storage, key, payload);
    EXPECT_EQ(failed.code(), ErrorCode::kTooLarge) << failed.message();
    commit_second(storage, key);
    const Result<Ticket> ticket = one.commit();
    EXPECT_EQ(ticket.code(), ErrorCode::kConflict);
  }

  TestDatabase db_;
  Masstree tree_;
  Hash hash_;
  Array array_;
  Session first_;
  Session second_;
};

TEST_F(FailedWriteTest, insert_into_a_tree_leaves_the_absence_seen) {
  run(tree_, "k", std::string(1000, 'x'), false);
}
TEST_F(FailedWriteTest, insert_of_a_chain_into_a_tree_leaves_the_absence_seen) {
  run(tree_, "k", too_large(), false);
}
TEST_F(FailedWriteTest, put_into_a_tree_leaves_the_absence_seen) {
  run(tree_, "k", std::string(1000, 'x'), true);
}
TEST_F(FailedWriteTest, insert_into_a_hash_leaves_the_absence_seen) {
  run(hash_, "k", std::string(1000, 'x'), false);
}
TEST_F(FailedWriteTest, insert_of_a_chain_into_a_hash_leaves_the_absence_seen) {
  run(hash_, "k", too_large(), false);
}
TEST_F(FailedWriteTest, put_into_a_hash_leaves_the_absence_seen) {
  run(hash_, "k", std::string(1000, 'x'), true);
}

}  // namespace
}  // namespace foedus::failed_write_test
