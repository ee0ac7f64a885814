// Promises of every storage with keys to transactions (storage/keyed/operations.h).
#include <map>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus/options.h"
#include "tests/base/test_seed.h"
#include "tests/storage/keyed/keyed_fixture.h"

namespace foedus::storage::keyed::contract_test {
namespace {

using testing::AtSyncPoint;

constexpr std::size_t kInline = kInlinePayloadBytesMax;

using KeyedContractTest = KeyedTest;
INSTANTIATE_TEST_SUITE_P(, KeyedContractTest,
                         ::testing::Values(StorageKind::kMasstree, StorageKind::kHash),
                         name_of_kind);

// ---- whole payloads -----------------------------------------------------------------------------

TEST_P(KeyedContractTest, what_was_put_is_there_after_commit) {
  begin(0);
  EXPECT_EQ(get(0, "a"), std::nullopt);
  EXPECT_TRUE(put(0, "a", "one").is_ok());
  EXPECT_TRUE(put(0, "", "empty key").is_ok());
  EXPECT_TRUE(put(0, std::string(kMaxKeyBytes, 'k'), std::string(kInline, 'p')).is_ok());
  EXPECT_EQ(get(0, "a"), "one");
  expect_commit(0);
  EXPECT_EQ(get_now("a"), "one");
  EXPECT_EQ(get_now(""), "empty key");
  EXPECT_EQ(get_now(std::string(kMaxKeyBytes, 'k')), std::string(kInline, 'p'));
}

TEST_P(KeyedContractTest, writes_that_are_rolled_back_are_gone) {
  put_now(0, "a", "old");
  begin(0);
  EXPECT_TRUE(put(0, "a", "new").is_ok());
  EXPECT_TRUE(put(0, "b", std::string(10'000, 'x')).is_ok());
  all_.session(0).rollback();
  EXPECT_EQ(get_now("a"), "old");
  EXPECT_EQ(get_now("b"), std::nullopt);
  EXPECT_EQ(verify().overflow_pages, 0u);
}

TEST_P(KeyedContractTest, modes_say_what_they_miss) {
  begin(0);
  EXPECT_EQ(put(0, "a", "x", WriteMode::kUpdate).code(), ErrorCode::kNotFound);
  EXPECT_EQ(erase(0, "a").code(), ErrorCode::kNotFound);
  EXPECT_EQ(get_for_update(0, "a").code(), ErrorCode::kNotFound);
  EXPECT_TRUE(put(0, "a", "1", WriteMode::kInsert).is_ok());
  EXPECT_EQ(put(0, "a", "2", WriteMode::kInsert).code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(put(0, "a", "3", WriteMode::kUpdate).is_ok());
  EXPECT_TRUE(erase(0, "a").is_ok());
  EXPECT_EQ(put(0, "a", "4", WriteMode::kUpdate).code(), ErrorCode::kNotFound);
  EXPECT_EQ(write_at(0, "a", 0, "4").code(), ErrorCode::kNotFound);
  EXPECT_EQ(increment(0, "a", 0, 4).code(), ErrorCode::kNotFound);
  EXPECT_TRUE(put(0, "a", "5", WriteMode::kInsert).is_ok());
  expect_commit(0);
  EXPECT_EQ(get_now("a"), "5");
  begin(0);
  EXPECT_EQ(put(0, "a", "6", WriteMode::kInsert).code(), ErrorCode::kAlreadyExists);
  expect_commit(0);
}

// Goal: O7 to O9. Method: payloads of all sizes around the limit replace one another.
TEST_P(KeyedContractTest, payloads_change_between_inline_and_chains) {
  const std::size_t sizes[] = {0, 7, kInline, kInline + 1, 4016, 4017, 100'000};
  for (const std::size_t from : sizes) {
    for (const std::size_t to : sizes) {
      put_now(0, "a", std::string(from, 'f'));
      EXPECT_EQ(get_now("a"), std::string(from, 'f'));
      put_now(0, "a", std::string(to, 't'));
      EXPECT_EQ(get_now("a"), std::string(to, 't'));
    }
  }
  EXPECT_EQ(verify().overflow_pages, page::OverflowPage::pages_of(100'000));
  erase_now(0, "a");
  EXPECT_EQ(verify().overflow_pages, 0u);
}

// ---- parts of payloads --------------------------------------------------------------------------

TEST_P(KeyedContractTest, parts_see_own_writes) {
  put_now(0, "a", std::string(32, '.'));
  begin(0);
  EXPECT_TRUE(write_at(0, "a", 8, std::string(8, '\0')).is_ok());
  EXPECT_TRUE(increment(0, "a", 8, 300).is_ok());
  EXPECT_TRUE(increment(0, "a", 8, -44).is_ok());
  EXPECT_EQ(write_at(0, "a", 30, "abc").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(increment(0, "a", 25, 1).code(), ErrorCode::kInvalidArgument);
  std::string expected(32, '.');
  expected.replace(8, 8, std::string("\0\1\0\0\0\0\0\0", 8));
  EXPECT_EQ(get(0, "a"), expected);
  expect_commit(0);
  EXPECT_EQ(get_now("a"), expected);
}

// Goal: a part is checked against the payload that the transaction has put, and no other.
TEST_P(KeyedContractTest, parts_of_an_own_put_may_be_where_the_row_had_none) {
  put_now(0, "a", "short");
  begin(0);
  EXPECT_TRUE(write_at(0, "a", 0, "S").is_ok());
  EXPECT_TRUE(put(0, "a", std::string(64, '.')).is_ok());
  EXPECT_TRUE(write_at(0, "a", 60, "long").is_ok());
  EXPECT_EQ(write_at(0, "a", 61, "long").code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(put(0, "a", std::string(8, '\0')).is_ok());
  EXPECT_EQ(write_at(0, "a", 60, "long").code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(increment(0, "a", 0, 7).is_ok());
  expect_commit(0);
  EXPECT_EQ(get_now("a"), std::string("\7\0\0\0\0\0\0\0", 8));
}

TEST_P(KeyedContractTest, increments_add_up) {
  begin(0);
  EXPECT_TRUE(put(0, "counter", std::string(64, '\0'), WriteMode::kInsert).is_ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(increment(0, "counter", 8, 5).is_ok());
  EXPECT_TRUE(write_at(0, "counter", 30, "part").is_ok());
  expect_commit(0);
  begin(0);
  EXPECT_TRUE(increment(0, "counter", 8, -1).is_ok());
  const std::optional<std::string> seen = get(0, "counter");
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ((*seen)[8], 14);
  EXPECT_EQ(seen->substr(30, 4), "part");
  begin(1);
  EXPECT_TRUE(increment(1, "counter", 8, 100).is_ok());
  expect_commit(1);
  expect_conflict(0, ConflictReason::kRecordChanged);  // the transaction has read the number
}

TEST_P(KeyedContractTest, increments_that_read_nothing_do_not_conflict) {
  put_now(0, "counter", std::string(16, '\0'));
  begin(0);
  EXPECT_TRUE(increment(0, "counter", 8, -1).is_ok());
  begin(1);
  EXPECT_TRUE(increment(1, "counter", 8, 8).is_ok());
  expect_commit(1);
  expect_commit(0);
  EXPECT_EQ((*get_now("counter"))[8], 7);
}

TEST_P(KeyedContractTest, parts_of_chains_are_applied) {
  std::string expected(20'000, 'x');
  put_now(0, "a", expected);
  begin(0);
  EXPECT_TRUE(write_at(0, "a", 12'345, "hello").is_ok());
  EXPECT_TRUE(write_at(0, "a", 0, std::string(8, '\0')).is_ok());
  EXPECT_TRUE(increment(0, "a", 0, 65).is_ok());
  EXPECT_EQ(write_at(0, "a", 19'999, "no").code(), ErrorCode::kInvalidArgument);
  expected.replace(12'345, 5, "hello");
  expected.replace(0, 8, std::string("A\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(get(0, "a"), expected);
  expect_commit(0);
  EXPECT_EQ(get_now("a"), expected);
  EXPECT_EQ(verify().overflow_pages, page::OverflowPage::pages_of(20'000));
}

// Goal: a part that was prepared for an inline payload is not applied to a chain, nor beyond a
// payload that became short. Method: another session's put between call and commit.
TEST_P(KeyedContractTest, parts_conflict_when_the_payload_has_another_shape) {
  for (const std::size_t size : {std::size_t{4}, std::size_t{9'000}}) {
    put_now(0, "a", std::string(64, 'x'));
    begin(1);
    EXPECT_TRUE(write_at(1, "a", 60, "abcd").is_ok());
    put_now(0, "a", std::string(size, 'y'));
    EXPECT_EQ(all_.session(1).commit().code(), ErrorCode::kConflict);
    EXPECT_EQ(get_now("a"), std::string(size, 'y'));
  }
}

// Goal: a write to a part reports kNotFound, not a wrong range, if the row is erased meanwhile.
// Method: the row is erased, or becomes longer, between the first check of its length and the one
// that counts.
TEST_P(KeyedContractTest, a_part_of_a_row_that_changes_is_looked_for_again) {
  const std::pair<std::string, ErrorCode> cases[] = {{"", ErrorCode::kNotFound},
                                                     {"payload.", ErrorCode::kInvalidArgument},
                                                     {"payload.........", ErrorCode::kOk}};
  for (const auto& [payload, expected] : cases) {
    put_now(0, "key", "........");
    begin(0);
    const AtSyncPoint outside("keyed:part_outside", [&, &now = payload] {
      if (now.empty()) {
        erase_now(1, "key");
      } else {
        put_now(1, "key", now);
      }
    });
    const Status status = write_at(0, "key", 8, "own");
    EXPECT_EQ(status.code(), expected) << status.message();
    EXPECT_EQ(outside.runs(), 1u);
    all_.session(0).rollback();
  }
}

// Goal: a read that begins within an incremented number does not see the increment if the same
// transaction then made the row too short for the number.
TEST_P(KeyedContractTest, an_increment_is_gone_when_its_row_becomes_shorter) {
  const auto part_of = [this](std::uint32_t offset, std::uint32_t count, Status* status) {
    std::string part(count, '?');
    occ::ReadRange range{part.data(), count, offset, 0};
    *status = get_range(0, "counter", &range);
    part.resize(status->is_ok() ? range.wanted_of(range.payload_bytes) : 0);
    return part;
  };
  put_now(0, "counter", std::string(64, 'c'));
  begin(0);
  ASSERT_TRUE(increment(0, "counter", 20, 5).is_ok());
  EXPECT_TRUE(put(0, "counter", std::string(23, 's')).is_ok());
  Status status;
  EXPECT_EQ(part_of(21, 4, &status), "ss");
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_TRUE(erase(0, "counter").is_ok());
  part_of(21, 4, &status);
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_TRUE(put(0, "counter", std::string(24, 't'), WriteMode::kInsert).is_ok());
  ASSERT_TRUE(increment(0, "counter", 16, 1).is_ok());
  EXPECT_EQ(part_of(15, 3, &status), "tut");
  expect_commit(0);
  // Another transaction makes the row shorter before its first read.
  begin(0);
  ASSERT_TRUE(increment(0, "counter", 16, 5).is_ok());
  put_now(1, "counter", std::string(19, 's'));
  part_of(17, 4, &status);
  EXPECT_TRUE(status.is_ok() || status.code() == ErrorCode::kConflict) << status.message();
  expect_conflict(0, ConflictReason::kRetryBound);
}

// ---- missing keys -------------------------------------------------------------------------------

TEST_P(KeyedContractTest, a_key_that_was_missed_and_then_inserted_conflicts) {
  begin(0);
  EXPECT_EQ(get(0, "missed"), std::nullopt);
  EXPECT_TRUE(put(0, "mine", "x").is_ok());
  put_now(1, "missed", "here");
  expect_conflict(0, ConflictReason::kPageGained);
}

TEST_P(KeyedContractTest, a_row_that_was_seen_as_deleted_and_then_committed_conflicts) {
  begin(1);
  EXPECT_TRUE(put(1, "absent", "y", WriteMode::kInsert).is_ok());  // the record exists physically
  begin(0);
  EXPECT_EQ(get(0, "absent"), std::nullopt);
  EXPECT_TRUE(put(0, "other", "x").is_ok());
  expect_commit(1);
  expect_conflict(0, ConflictReason::kRecordChanged);
}

// Method: the transaction misses keys, then inserts enough to split the pages in which it missed
// them.
TEST_P(KeyedContractTest, own_inserts_are_no_phantoms) {
  begin(0);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(get(0, key_number(i)), std::nullopt);
    EXPECT_EQ(get(0, "never" + std::to_string(i)), std::nullopt);
    EXPECT_TRUE(put(0, key_number(i), std::string(150, 'v'), WriteMode::kInsert).is_ok());
  }
  for (int i = 0; i < 300; ++i) EXPECT_EQ(get(0, key_number(i)), std::string(150, 'v'));
  expect_commit(0);
  EXPECT_EQ(verify().records, 300u);
}

// Goal: an insert commits if another transaction has inserted and erased its key in between.
TEST_P(KeyedContractTest, an_insert_whose_key_comes_and_goes_meanwhile_commits) {
  begin(0);
  EXPECT_TRUE(put(0, "key", "mine", WriteMode::kInsert).is_ok());
  put_now(1, "key", "theirs");
  erase_now(1, "key");
  expect_commit(0);
  EXPECT_EQ(get_now("key"), "mine");
  begin(0);
  EXPECT_TRUE(put(0, "another", "mine", WriteMode::kInsert).is_ok());
  put_now(1, "another", "theirs");
  EXPECT_EQ(all_.session(0).commit().code(), ErrorCode::kConflict);
  EXPECT_EQ(get_now("another"), "theirs");
}

// ---- records that move --------------------------------------------------------------------------

// Goal: own writes and page-versions follow when another session splits the pages. Method: two
// transactions write by turns; the other one's writes are rolled back, so that nothing conflicts.
TEST_P(KeyedContractTest, own_writes_are_found_after_other_sessions_moved_them) {
  begin(0);
  begin(1);
  for (int i = 0; i < 300; ++i) {
    const std::string key = key_number(i);
    EXPECT_TRUE(put(0, key, "first").is_ok());
    EXPECT_TRUE(put(1, "other" + key, std::string(150, 'o')).is_ok());
    EXPECT_TRUE(put(0, key, "second").is_ok());
    for (int k = 0; k <= i; k += 7) ASSERT_EQ(get(0, key_number(k)), "second") << k << " " << i;
  }
  all_.session(1).rollback();
  expect_commit(0);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(get_now(key_number(i)), "second");
}

// Goal: own writes follow a record that another session made larger. Method: the other session puts
// a longer payload and rolls back.
TEST_P(KeyedContractTest, own_writes_are_found_after_other_sessions_made_room_for_their_records) {
  put_now(0, "a", "old");
  begin(0);
  EXPECT_TRUE(put(0, "a", "mine").is_ok());
  EXPECT_TRUE(write_at(0, "a", 3, "E").is_ok());
  begin(1);
  EXPECT_TRUE(put(1, "a", std::string(500, 'o')).is_ok());
  EXPECT_EQ(get(0, "a"), "minE");
  EXPECT_TRUE(erase(0, "a").is_ok());
  EXPECT_EQ(get(0, "a"), std::nullopt);
  all_.session(1).rollback();
  expect_commit(0);
  EXPECT_EQ(get_now("a"), std::nullopt);
}

// Goal: P7. Method: a key is erased, its page is made anew without it, and it is inserted again:
// the TID is above that of the erasure.
TEST_P(KeyedContractTest, a_purged_key_starts_above_its_erasure) {
  put_now(0, "victim", "v");
  erase_now(0, "victim");
  const page::Tid erased = all_.ctx().last_tid();
  all_.pass_epochs();
  for (int i = 0; verify().deleted_records != 0; ++i) {
    ASSERT_LT(i, 1000);
    put_now(0, key_number(i), std::string(300, 'v'));
  }
  put_now(1, "victim", "again");
  EXPECT_GT(all_.ctx(1).last_tid().version(), erased.version());
}

// ---- all of it ----------------------------------------------------------------------------------

// Goal: reads, absence, erasures and growth agree with a map. Method: random operations in
// transactions of random length, some rolled back.
TEST_P(KeyedContractTest, agrees_with_a_map) {
  const std::uint64_t seed = testing::test_seed(base::system_seed());
  SCOPED_TRACE("FOEDUS_SEED=" + std::to_string(seed));
  base::Random random(seed);
  std::map<std::string, std::string> committed;
  for (int t = 0; t < 3000; ++t) {
    std::map<std::string, std::string> model = committed;
    begin(0);
    for (std::uint64_t n = random.below(8); n-- != 0;) {
      const std::string key = key_number(random.below(1500)) + std::string(random.below(20), 'k');
      const bool present = model.contains(key);
      const std::string payload(random.below(100) == 0 ? random.below(6000) : random.below(200),
                                static_cast<char>('a' + random.below(26)));
      switch (random.below(7)) {
        case 0:
        case 1: {
          ASSERT_TRUE(put(0, key, payload).is_ok());
          model[key] = payload;
          break;
        }
        case 2: {
          const Status status = erase(0, key);
          ASSERT_EQ(status.is_ok(), present) << status.message();
          model.erase(key);
          break;
        }
        case 3: {
          const Status status = put(0, key, payload, WriteMode::kInsert);
          ASSERT_EQ(status.code(), present ? ErrorCode::kAlreadyExists : ErrorCode::kOk);
          model.try_emplace(key, payload);
          break;
        }
        case 4: {
          const std::size_t at = random.below(200);
          const bool is_inside = present && at + 3 <= model[key].size();
          const Status status = write_at(0, key, static_cast<std::uint32_t>(at), "abc");
          ASSERT_EQ(status.code(), is_inside ? ErrorCode::kOk
                                   : present ? ErrorCode::kInvalidArgument
                                             : ErrorCode::kNotFound);
          if (is_inside) model[key].replace(at, 3, "abc");
          break;
        }
        default: {
          const std::optional<std::string> found = get(0, key);
          ASSERT_EQ(found.has_value(), present) << key;
          if (present) {
            ASSERT_EQ(*found, model[key]) << key;
          }
        }
      }
    }
    if (random.below(5) == 0) {
      all_.session(0).rollback();
    } else {
      expect_commit(0);
      committed = model;
    }
    if (t % 50 == 0) all_.pass_epochs();
  }
  EXPECT_EQ(verify().records, committed.size());
  for (const auto& [key, payload] : committed) ASSERT_EQ(get_now(key), payload) << key;
}

// ---- no pages -----------------------------------------------------------------------------------

class SmallKeyedContractTest : public KeyedTest {
 protected:
  SmallKeyedContractTest() : KeyedTest(StoragesOptions{.sessions = 2, .pool_bytes = 4u << 20}) {}
};
INSTANTIATE_TEST_SUITE_P(, SmallKeyedContractTest,
                         ::testing::Values(StorageKind::kMasstree, StorageKind::kHash),
                         name_of_kind);

TEST_P(SmallKeyedContractTest, without_pages_writes_fail_and_reads_go_on) {
  const auto payload_of = [](int i) { return std::string(i % 3 == 0 ? 3000 : 700, 'v'); };
  int count = 0;
  for (Status status; status.is_ok();) {
    begin(0);
    status = put(0, key_number(count), payload_of(count));
    if (status.is_ok()) {
      expect_commit(0);
      ++count;
    } else {
      EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
      all_.session(0).rollback();
    }
  }
  EXPECT_GT(count, 500);
  for (int i = 0; i < count; ++i) EXPECT_EQ(get_now(key_number(i)), payload_of(i));
  EXPECT_EQ(verify().records, static_cast<std::uint64_t>(count));
}

}  // namespace
}  // namespace foedus::storage::keyed::contract_test
