// ctest-labels: concurrency
// Edge cases of calls: handles of no storage, the bound of tries, payloads that grow while they are
// read.
#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "foedus-core/base/system/sync_point.h"
#include "tests/testing/test_database.h"

namespace foedus::txn_calls_test {
namespace {

using testing::must;
using testing::TestDatabase;

TEST(TxnCallsTest, a_handle_of_no_storage_is_refused_by_all) {
  TestDatabase db;
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  char bytes[8];
  const std::span<std::byte> out = std::as_writable_bytes(std::span<char>(bytes));
  const auto refused = [](const Status& status) {
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << status.message();
    EXPECT_NE(status.message().find("handle of no storage"), std::string::npos) << status.message();
  };
  EXPECT_EQ(Storage().id(), 0u);  // of no storage
  EXPECT_EQ(Masstree().kind(), StorageKind());
  EXPECT_EQ(Masstree().name(), "");
  for (const KeyedStorage& none : {KeyedStorage(Masstree()), KeyedStorage(Hash())}) {
    refused(txn.get(none, "k", out).status());
    refused(txn.get(none, "k").status());
    refused(txn.get_as<int>(none, "k").status());
    refused(txn.get_for_update_as<int>(none, "k").status());
    refused(txn.read_at(none, "k", 0, out));
    refused(txn.contains(none, "k").status());
    ReadRequest request{.key = "k", .out = out};
    refused(txn.get_many(none, {&request, 1}));
    txn.prefetch(none, "k");
    refused(txn.put(none, "k", 1));
    refused(txn.insert(none, "k", 1));
    refused(txn.update(none, "k", 1));
    refused(txn.write_at(none, "k", 0, "v"));
    refused(txn.increment(none, "k", 0, 1));
    refused(txn.erase(none, "k"));
  }
  const Array array;
  refused(txn.get(array, 0, out));
  refused(txn.get_as<int>(array, 0).status());
  refused(txn.get_for_update(array, 0, out));
  refused(txn.read_at(array, 0, 0, out));
  ArrayReadRequest request{.out = out};
  refused(txn.get_many(array, {&request, 1}));
  txn.prefetch(array, 0);
  refused(txn.put(array, 0, 1));
  refused(txn.put(array, 0, ""));
  refused(txn.write_at(array, 0, 0, "v"));
  refused(txn.increment(array, 0, 0, 1));
  refused(txn.append(Sequential(), "v"));
  refused(txn.scan(Masstree(), "", "").failure().value());
  refused(txn.scan(Sequential()).failure().value());
  must(txn.commit());  // the transaction goes on
}

// Goal: an error of the transaction or the index is reported before one of the size.
TEST(TxnCallsTest, a_payload_of_the_wrong_size_is_looked_at_last) {
  TestDatabase db;
  const Array array = must(db->open_array("a", 10, 8));
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  EXPECT_EQ(txn.put(array, 3, "short").code(), ErrorCode::kInvalidArgument);
  const Status status = txn.put(array, 10, "short");
  EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(status.message().find("index 10 of"), std::string::npos) << status.message();
  must(txn.commit());
  EXPECT_EQ(txn.put(array, 3, "short").code(), ErrorCode::kClosed);
}

// Rows of a doomed transaction may be of no state that ever existed.
TEST(TxnCallsTest, a_scan_ends_where_its_transaction_does) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  const Sequential log = must(db->open_sequential("log"));
  must(db->transact([&](Txn& txn) -> Status {
    for (const char* const row : {"a", "b", "c"}) {
      FOEDUS_CHECK(txn.put(tree, row, "row"));
      FOEDUS_CHECK(txn.append(log, "row"));
    }
    return {};
  }));
  Session session = must(db->new_session());
  for (const bool is_doomed : {false, true}) {
    for (const bool is_reverse : {false, true}) {
      Txn txn = must(session.begin());
      Scan rows = txn.scan(tree, "a", "z", {.reverse = is_reverse});
      Scan entries = txn.scan(log);
      Scan::iterator row = rows.begin();
      Scan::iterator entry = entries.begin();
      ASSERT_FALSE(row == rows.end() || entry == entries.end());
      if (is_doomed) {
        must(db->transact([&](Txn& other) { return other.put(tree, row->key, "other"); }));
        EXPECT_EQ(txn.verify().code(), ErrorCode::kConflict);
      } else {
        must(txn.commit());
      }
      ++row;
      ++entry;
      const ErrorCode expected = is_doomed ? ErrorCode::kConflict : ErrorCode::kClosed;
      for (Scan* const scan : {&rows, &entries}) {
        ASSERT_TRUE(scan->failure().has_value());
        EXPECT_EQ(scan->failure()->code(), expected) << scan->failure()->message();
      }
      EXPECT_TRUE(row == rows.end() && entry == entries.end());
    }
  }
}

// Tries for memory do not turn the bound of tries off: conflicts still end.
TEST(TxnCallsTest, tries_for_room_leave_the_bound_of_tries) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  must(db->transact([&](Txn& txn) -> Status {
    for (std::uint32_t i = 0; i < 300; ++i) {
      FOEDUS_CHECK(txn.put(tree, key(i), std::string(1000, 'x')));
    }
    return {};
  }));
  int calls = 0;
  const Status status = db->transact(
      [&](Txn&) -> Status {
        if (++calls == 1) return ErrorCode::kOutOfMemory;  // a glean makes room, and it runs again
        if (calls > 20) return Status::rolled_back();
        return Status::conflict(ConflictReason::kRecordChanged);
      },
      {.tries_max = 1});
  EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
  EXPECT_EQ(calls, 2);
}

// Runs an action each time that a payload is longer than expected.
class AtLongPayload {
 public:
  explicit AtLongPayload(std::function<void()> action) {
    action_ = std::move(action);
    base::set_sync_point_hook([](const char* place) {
      if (action_ && std::string_view(place) == "txn:get_again") action_();
    });
  }
  ~AtLongPayload() {
    base::set_sync_point_hook(nullptr);
    action_ = nullptr;
  }

 private:
  static inline thread_local std::function<void()> action_;
};

class TakenRowsTest : public ::testing::Test {
 protected:
  TakenRowsTest() {
    Txn txn = must(other_.begin());
    for (char c = 'a'; c <= 'j'; ++c) must(txn.put(tree_, std::string(1, c), "old"));
    must(txn.commit());
  }
  // Moves to the fourth row, when three more were read ahead.
  static void go_on(Scan::iterator* row) {
    for (int i = 0; i < 3; ++i) ++*row;
    EXPECT_EQ((**row).key, "d");
  }

  TestDatabase db_;
  const Masstree tree_ = must(db_->open_masstree("tree"));
  Session session_ = must(db_->new_session());
  Session other_ = must(db_->new_session());
};

TEST_F(TakenRowsTest, end_with_their_transaction) {
  Txn txn = must(session_.begin());
  Scan rows = txn.scan(tree_, "", "");
  Scan::iterator row = rows.begin();
  go_on(&row);
  txn.rollback();
  ++row;
  EXPECT_TRUE(row == rows.end());
  EXPECT_EQ(rows.failure().value().code(), ErrorCode::kClosed);
}

TEST_F(TakenRowsTest, end_with_the_conflict_of_their_transaction) {
  Txn txn = must(session_.begin());
  Scan rows = txn.scan(tree_, "", "");
  Scan::iterator row = rows.begin();
  go_on(&row);
  Txn writer = must(other_.begin());
  must(writer.put(tree_, "b", "new"));
  must(writer.commit());
  EXPECT_EQ(txn.verify().code(), ErrorCode::kConflict);
  ++row;
  EXPECT_TRUE(row == rows.end());
  EXPECT_EQ(rows.failure().value().code(), ErrorCode::kConflict);
}

TEST_F(TakenRowsTest, count_for_the_limit) {
  for (std::uint64_t limit = 0; limit < 12; ++limit) {
    Txn txn = must(session_.begin());
    std::uint64_t count = 0;
    for (const Row& row : txn.scan(tree_, "", "", {.limit = limit})) {
      EXPECT_EQ(row.key, std::string(1, static_cast<char>('a' + count)));
      ++count;
    }
    EXPECT_EQ(count, std::min<std::uint64_t>(limit, 10));
    must(txn.commit());
  }
}

TEST(TxnCallsTest, a_read_of_an_array_that_others_change_conflicts) {
  TestDatabase db;
  const Array array = must(db->open_array("array", 10, 8));
  Session session = must(db->new_session());
  Session other = must(db->new_session());
  Txn txn = must(session.begin());
  std::uint64_t value = 7;
  const std::span<std::byte> out = std::as_writable_bytes(std::span(&value, 1));
  must(txn.get(array, 3, out));
  EXPECT_EQ(value, 0u);
  must(txn.read_at(array, 4, 2, out.first(2)));
  EXPECT_EQ(txn.read_at(array, 4, 7, out.first(2)).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(txn.get(array, 10, out).code(), ErrorCode::kInvalidArgument);
  Txn writer = must(other.begin());
  must(writer.put(array, 3, std::uint64_t{1}));
  must(writer.commit());
  must(txn.put(array, 5, std::uint64_t{1}));
  EXPECT_EQ(txn.commit().code(), ErrorCode::kConflict);
}

// The call reads more rows than are in flight at once, with own writes before and after rows
// without.
TEST(TxnCallsTest, get_many_of_an_array_sees_own_writes) {
  constexpr std::uint64_t kRows = 100;
  TestDatabase db;
  const Array array = must(db->open_array("array", kRows, 8));
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  std::array<std::uint64_t, kRows> values;
  std::array<ArrayReadRequest, kRows> requests;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    requests[i] = {.index = i, .out = std::as_writable_bytes(std::span(&values[i], 1))};
  }
  const auto wanted = [](std::uint64_t i) { return i % 3 == 0 ? i + 1 : 0; };
  must(txn.get_many(array, requests));
  for (std::uint64_t i = 0; i < kRows; ++i) EXPECT_EQ(values[i], 0u) << i;
  for (std::uint64_t i = 0; i < kRows; i += 3) must(txn.put(array, i, wanted(i)));
  must(txn.get_many(array, requests));
  for (std::uint64_t i = 0; i < kRows; ++i) EXPECT_EQ(values[i], wanted(i)) << i;
  must(txn.commit());
}

// A dirty read has no commit that would notice half a payload.
TEST(TxnCallsTest, a_payload_that_grows_while_it_is_read_is_whole) {
  TestDatabase db;
  const Hash hash = must(db->open_hash("hash"));
  const Masstree tree = must(db->open_masstree("tree"));
  Session reader = must(db->new_session());
  Session writer = must(db->new_session());
  for (const KeyedStorage& storage : {KeyedStorage(hash), KeyedStorage(tree)}) {
    const auto write = [&](std::size_t bytes) {
      Txn txn = must(writer.begin());
      must(txn.put(storage, "k", std::string(bytes, static_cast<char>('a' + bytes / 1000))));
      must(txn.commit());
    };
    write(600);
    std::size_t bytes = 600;
    const AtLongPayload long_payload([&] {
      if (bytes < 5000) write(bytes += 1000);
    });
    Txn txn = must(reader.begin({.isolation = Isolation::kDirtyRead}));
    EXPECT_EQ(must(txn.get(storage, "k")), std::string(5600, 'f'));
    must(txn.commit());
  }
}

// Goal: a transaction that locks all of its reads may read many records. Method: records of an
// array, in both directions, some of them twice; another session finds them free afterwards.
TEST(TxnCallsTest, a_transaction_may_hold_very_many_locks) {
  constexpr std::uint64_t kRecords = 60'000;
  TestDatabase db;
  const Array array = must(db->open_array("array", kRecords, 8));
  Session session = must(db->new_session());
  Session other = must(db->new_session());
  for (const bool ascends : {true, false}) {
    Txn txn = must(session.begin());
    std::uint64_t value;
    for (std::uint64_t i = 0; i < kRecords + 10; ++i) {
      const std::uint64_t index = i % kRecords;
      must(txn.get_for_update(array, ascends ? index : kRecords - 1 - index,
                              std::as_writable_bytes(std::span(&value, 1))));
    }
    must(txn.put(array, kRecords / 2, std::uint64_t{7}));
    must(txn.commit());
    Txn next = must(other.begin());
    must(next.put(array, 5, std::uint64_t{ascends}));
    must(next.commit());
  }
}

}  // namespace
}  // namespace foedus::txn_calls_test
