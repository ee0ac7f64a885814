#include "foedus-core/storage/sequential/sequential_storage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/sequential/sequential_cursor.h"
#include "foedus/options.h"
#include "tests/storage/storages.h"

namespace foedus::storage::sequential::storage_test {
namespace {

class SequentialTest : public ::testing::Test {
 protected:
  SequentialTest() { control_ = make(); }
  occ::StorageControl* make() {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kSequential;
    return all_.make(meta);
  }

  Status append(std::uint32_t session, std::string_view payload) {
    return sequential::append(all_.ctx(session), control_, payload);
  }
  void append_now(std::uint32_t session, std::string_view payload) {
    all_.session(session).begin();
    EXPECT_TRUE(append(session, payload).is_ok());
    EXPECT_TRUE(all_.session(session).commit().is_ok());
  }
  std::vector<std::string> scan(std::uint32_t session, occ::StorageControl* control = nullptr) {
    std::vector<std::string> rows;
    Cursor cursor;
    Status status = cursor.open(all_.ctx(session), control == nullptr ? control_ : control);
    while (status.is_ok() && !cursor.at_end()) {
      rows.emplace_back(cursor.payload());
      status = cursor.next();
    }
    EXPECT_TRUE(status.is_ok()) << status.message();
    return rows;
  }
  std::vector<std::string> scan_now(occ::StorageControl* control = nullptr) {
    all_.session(0).begin();
    std::vector<std::string> rows = scan(0, control);
    EXPECT_TRUE(all_.session(0).commit().is_ok());
    return rows;
  }

  Storages all_{{.sessions = 300}};
  occ::StorageControl* control_ = nullptr;
};

using Rows = std::vector<std::string>;

TEST_F(SequentialTest, records_come_in_the_order_of_their_tids) {
  EXPECT_EQ(scan_now(), Rows{});
  Rows expected;
  for (int i = 0; i < 500; ++i) {
    expected.push_back(std::to_string(i) + std::string(i % 50, '.'));
    append_now(i % 3, expected.back());
    all_.pass_epochs();  // one TID epoch each, so that the order is that of time
  }
  EXPECT_EQ(scan_now(), expected);
}

// Goal: two sessions' appends of one epoch and ordinal are told apart by session. Method: first
// commits of two sessions in one epoch.
TEST_F(SequentialTest, ties_are_broken_by_session) {
  append_now(3, "third");
  append_now(1, "first");
  append_now(2, "second");
  EXPECT_EQ(all_.ctx(1).last_tid(), all_.ctx(3).last_tid());
  EXPECT_EQ(scan_now(), (Rows{"first", "second", "third"}));
}

TEST_F(SequentialTest, appends_of_one_transaction_keep_their_order) {
  all_.session(0).begin();
  Rows expected;
  for (int i = 0; i < 300; ++i) {
    expected.push_back(std::string(i % 97, 'x') + std::to_string(i));
    EXPECT_TRUE(append(0, expected.back()).is_ok());
  }
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(scan_now(), expected);
}

TEST_F(SequentialTest, own_appends_are_seen_last_and_while_scanning) {
  append_now(1, "old");
  all_.session(0).begin();
  EXPECT_TRUE(append(0, "own").is_ok());
  Cursor cursor;
  ASSERT_TRUE(cursor.open(all_.ctx(), control_).is_ok());
  EXPECT_EQ(cursor.payload(), "old");
  EXPECT_TRUE(append(0, "later").is_ok());
  ASSERT_TRUE(cursor.next().is_ok());
  EXPECT_EQ(cursor.payload(), "own");
  ASSERT_TRUE(cursor.next().is_ok());
  EXPECT_EQ(cursor.payload(), "later");
  ASSERT_TRUE(cursor.next().is_ok());
  EXPECT_TRUE(cursor.at_end());
  cursor.close();
  // A transaction's own appends are no conflict, also beyond the end of a page.
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(append(0, std::string(200, 'x')).is_ok());
  const Status status = all_.session(0).commit();
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(scan_now().size(), 103u);
}

TEST_F(SequentialTest, rolled_back_appends_are_not_there) {
  append_now(0, "a");
  all_.session(0).begin();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(append(0, std::string(500, 'x')).is_ok());
  all_.session(0).rollback();
  append_now(0, "b");
  EXPECT_EQ(scan_now(), (Rows{"a", "b"}));
}

TEST_F(SequentialTest, payloads_of_all_sizes) {
  Rows expected;
  for (std::size_t bytes = 0; bytes <= kMaxSequentialPayloadBytes; bytes += 256) {
    expected.emplace_back(bytes, 'p');
    append_now(0, expected.back());
  }
  all_.session(0).begin();
  EXPECT_EQ(append(0, std::string(kMaxSequentialPayloadBytes + 1, 'p')).code(),
            ErrorCode::kTooLarge);
  all_.session(0).rollback();
  EXPECT_EQ(scan_now(), expected);
}

// ---- phantoms -----------------------------------------------------------------------------------

// Goal: each append of another session after a scan is a conflict. Method: appends to an existing
// chain, to a new one, to one of another heads page, and beyond the end of a page.
TEST_F(SequentialTest, later_appends_of_others_conflict) {
  for (const std::uint32_t other : {1u, 2u, 200u}) {
    for (int round = 0; round < 2; ++round) {
      all_.session(0).begin();
      scan(0);
      EXPECT_TRUE(append(0, "mine").is_ok());
      append_now(other, "phantom");
      EXPECT_EQ(all_.session(0).commit().conflict_reason(), ConflictReason::kPageGained) << other;
    }
  }
  append_now(1, std::string(3000, 'x'));
  all_.session(0).begin();
  scan(0);
  EXPECT_TRUE(append(0, "mine").is_ok());
  append_now(1, std::string(3000, 'y'));
  EXPECT_EQ(all_.session(0).commit().conflict_reason(), ConflictReason::kPageGained);
}

// Goal: an append that is in a chain but not committed when the scan passes it conflicts if it
// commits before the scanner.
TEST_F(SequentialTest, appends_that_commit_after_the_scan_conflict) {
  all_.session(1).begin();
  EXPECT_TRUE(append(1, "in flight").is_ok());
  all_.session(0).begin();
  EXPECT_EQ(scan(0), Rows{});
  EXPECT_TRUE(append(0, "mine").is_ok());
  ASSERT_TRUE(all_.session(1).commit().is_ok());
  EXPECT_EQ(all_.session(0).commit().conflict_reason(), ConflictReason::kRecordChanged);

  all_.session(1).begin();
  EXPECT_TRUE(append(1, "rolled back").is_ok());
  all_.session(0).begin();
  EXPECT_EQ(scan(0), Rows{"in flight"});
  all_.session(1).rollback();
  EXPECT_TRUE(all_.session(0).commit().is_ok());
}

TEST_F(SequentialTest, appends_never_conflict_with_each_other) {
  all_.session(0).begin();
  all_.session(1).begin();
  EXPECT_TRUE(append(0, "a").is_ok());
  EXPECT_TRUE(append(1, "b").is_ok());
  EXPECT_TRUE(all_.session(1).commit().is_ok());
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(scan_now().size(), 2u);
}

}  // namespace
}  // namespace foedus::storage::sequential::storage_test
