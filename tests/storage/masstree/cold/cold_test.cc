// Master-Trees whose pages are partly snapshot pages: reading them, and making them volatile.
// ctest-labels: memory

#include "tests/storage/masstree/cold/fixture.h"

namespace foedus::storage::masstree::cold_test {
namespace {

TEST_F(MasstreeColdTest, reads_of_a_cold_tree_make_nothing_volatile) {
  load(kRows, key_of);
  glean_all();
  check(1, kRows, key_of);
  for (unsigned i = 0; i < 500; ++i) {
    ASSERT_EQ(get_alone(1, key_of(i) + "x"), std::nullopt);
    ASSERT_EQ(get_alone(1, key_of(kRows + i)), std::nullopt);
    ASSERT_EQ(get_alone(1, key_of(i).substr(0, 7)), std::nullopt);
  }
  EXPECT_EQ(volatile_pages(), 0u);
}
TEST_F(MasstreeColdTest, reads_of_cold_layers_make_nothing_volatile) {
  load(kRows, deep_key);
  glean_all();
  check(1, kRows, deep_key);
  for (unsigned i = 0; i < 500; ++i) {
    ASSERT_EQ(get_alone(1, deep_key(i) + "x"), std::nullopt);
    ASSERT_EQ(get_alone(1, key_of(i)), std::nullopt);
  }
  EXPECT_EQ(volatile_pages(), 0u);
}
TEST_F(MasstreeColdTest, a_storage_without_records_is_cold_after_a_glean) {
  glean_all();
  EXPECT_EQ(get_alone(0, "nothing"), std::nullopt);
  EXPECT_EQ(volatile_pages(), 0u);
  put_alone(0, "something", "x");
  EXPECT_EQ(get_alone(1, "something"), "x");
  EXPECT_EQ(get_alone(1, "nothing"), std::nullopt);
}
TEST_F(MasstreeColdTest, many_gleans) {
  load(kRows, key_of);
  glean_all();
  for (unsigned round = 1; round < 8; ++round) {
    for (unsigned i = 0; i < 300; ++i) {
      const unsigned at = (i * 37 + round * 911) % (2 * kRows);
      put_alone(round % 3, key_of(at), payload_of(at));
      put_alone(round % 3, deep_key(at) + "deeper still", payload_of(at));
    }
    check(3, kRows, key_of);
    glean_all();
    check(3, kRows, key_of);
  }
}
TEST_F(MasstreeColdTest, a_write_makes_its_path_volatile_and_no_more) {
  load(kRows, key_of);
  glean_all();
  put_alone(1, key_of(14), "changed");
  EXPECT_EQ(volatile_pages(), 3u);
  EXPECT_EQ(get_alone(2, key_of(14)), "changed");
  EXPECT_EQ(get_alone(2, key_of(15)), payload_of(15));
  EXPECT_EQ(get_alone(2, key_of(15'000)), payload_of(15'000));
  EXPECT_EQ(volatile_pages(), 3u);
}
// P3: the snapshot's root stays in the pointer when the tree grows.
TEST_F(MasstreeColdTest, a_tree_that_grows_keeps_the_snapshots_root) {
  load(20, key_of);
  glean_all();
  for (unsigned i = 20; i < 400; ++i) put_alone(1, key_of(i), payload_of(i));
  const page::DualPageIds root = all_.control()->root.load();
  EXPECT_GT(all_.all().pool().resolve(root.volatile_page)->level, 0u);
  EXPECT_EQ(root.snapshot_page, all_.root());
}
// Goal: each operation finds the rows of the snapshot, and changes them as it changes volatile
// ones.
TEST_F(MasstreeColdTest, every_operation_on_a_cold_record) {
  for (const bool deep : {false, true}) {
    const auto key = [deep](std::uint64_t i) { return deep ? deep_key(i) : key_of(1000 + i); };
    load(2000, key);
    glean_all();
    occ::TxnContext& txn = ctx(0);
    const std::string number("\1\0\0\0\0\0\0\0", 8);
    begin(0);
    EXPECT_EQ(put(0, key(1), "x", WriteMode::kInsert).code(), ErrorCode::kAlreadyExists);
    EXPECT_EQ(put(0, key(5000), "x", WriteMode::kUpdate).code(), ErrorCode::kNotFound);
    EXPECT_TRUE(put(0, key(2), "two", WriteMode::kUpdate).is_ok());
    EXPECT_TRUE(put(0, key(5001), "new", WriteMode::kInsert).is_ok());
    EXPECT_TRUE(put(0, key(3), std::string(700, 'l')).is_ok());
    EXPECT_TRUE(storage::write_at(txn, all_.control(), key(4), 3, "part").is_ok());
    EXPECT_EQ(storage::write_at(txn, all_.control(), key(4), 90, "p").code(),
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(storage::write_at(txn, all_.control(), key(5002), 0, "p").code(),
              ErrorCode::kNotFound);
    EXPECT_TRUE(storage::increment(txn, all_.control(), key(5), 8, 1).is_ok());
    EXPECT_TRUE(erase(0, key(6)).is_ok());
    EXPECT_EQ(erase(0, key(5003)).code(), ErrorCode::kNotFound);
    occ::ReadRange range;
    EXPECT_TRUE(masstree::get_for_update(txn, all_.control(), key(7), &range).is_ok());
    EXPECT_EQ(range.payload_bytes, payload_of(7).size());
    masstree::prefetch(txn, all_.control(), key(8));
    EXPECT_EQ(get(0, key(8)), payload_of(8));
    EXPECT_EQ(get(0, key(3)), std::string(700, 'l'));
    EXPECT_EQ(get(0, key(6)), std::nullopt);
    expect_commit(0);
    glean_all();
    EXPECT_EQ(get_alone(1, key(1)), payload_of(1));
    EXPECT_EQ(get_alone(1, key(2)), "two");
    EXPECT_EQ(get_alone(1, key(5001)), "new");
    EXPECT_EQ(get_alone(1, key(3)), std::string(700, 'l'));
    EXPECT_EQ(get_alone(1, key(4)), payload_of(4).replace(3, 4, "part"));
    std::string five = payload_of(5);
    five[8] = static_cast<char>(five[8] + 1);
    EXPECT_EQ(get_alone(1, key(5)), five);
    EXPECT_EQ(get_alone(1, key(6)), std::nullopt);
    EXPECT_EQ(volatile_pages(), 0u);
  }
}
TEST_F(MasstreeColdTest, payloads_in_chains_of_a_snapshot) {
  const std::string large(10'000, 'L');
  begin(0);
  for (unsigned i = 0; i < 100; ++i) ASSERT_TRUE(put(0, key_of(i), large).is_ok());
  ASSERT_TRUE(put(0, "12345678abcdefgh", large).is_ok());
  expect_commit(0);
  glean_all();
  EXPECT_EQ(get_alone(1, key_of(1)), large);
  put_alone(1, key_of(2), "inline now");  // the others are copied, with the ids of their chains
  EXPECT_EQ(get_alone(1, key_of(1)), large);
  EXPECT_EQ(get_alone(1, key_of(2)), "inline now");
  put_alone(1, "12345678abcdefghi", "the other one goes to a layer");
  EXPECT_EQ(get_alone(2, "12345678abcdefgh"), large);
  for (unsigned i = 100; i < 200; ++i) put_alone(1, key_of(i), std::string(300, 'x'));  // splits
  for (unsigned i = 3; i < 100; ++i) ASSERT_EQ(get_alone(1, key_of(i)), large) << i;
  begin(1);
  ASSERT_TRUE(storage::write_at(ctx(1), all_.control(), key_of(3), 9'990, "end").is_ok());
  ASSERT_TRUE(storage::increment(ctx(1), all_.control(), key_of(4), 8'000, 1).is_ok());
  ASSERT_TRUE(put(1, key_of(5), large + large).is_ok());
  ASSERT_TRUE(erase(1, key_of(6)).is_ok());
  expect_commit(1);
  for (const bool again : {false, true}) {
    EXPECT_EQ(get_alone(2, key_of(3)), std::string(large).replace(9'990, 3, "end"));
    EXPECT_EQ(get_alone(2, key_of(4)), std::string(large).replace(8'000, 1, "M"));
    EXPECT_EQ(get_alone(2, key_of(5)), large + large);
    EXPECT_EQ(get_alone(2, key_of(6)), std::nullopt);
    if (!again) glean_all();
  }
}
TEST_F(MasstreeColdTest, a_page_that_cannot_be_read_is_an_error_of_its_reader_alone) {
  load(kRows, key_of);
  glean_all();
  begin(0);
  all_.pages().fail_read_after(0);
  EXPECT_EQ(read(0, key_of(14)).status.code(), ErrorCode::kIoError);
  all_.pages().fail_read_after(0);
  EXPECT_EQ(put(0, key_of(14), "x").code(), ErrorCode::kIoError);
  EXPECT_EQ(get(0, key_of(14)), payload_of(14));
  ASSERT_TRUE(put(0, key_of(14), "x").is_ok());
  expect_commit(0);
  EXPECT_EQ(get_alone(1, key_of(14)), "x");
}

// ---- sets of a transaction

TEST_F(MasstreeColdTest, a_read_of_a_snapshot_page_conflicts_with_a_later_write_there) {
  load(kRows, key_of);
  glean_all();
  begin(0);
  ASSERT_EQ(get(0, key_of(14)), payload_of(14));
  put_alone(1, key_of(14), "changed");
  ASSERT_TRUE(put(0, key_of(13'000), "x").is_ok());
  expect_conflict(0, ConflictReason::kPageInstalled);
}
TEST_F(MasstreeColdTest, a_key_missed_in_a_snapshot_page_conflicts_with_a_later_insert) {
  load(kRows, key_of);
  glean_all();
  begin(0);
  ASSERT_EQ(get(0, "phantom"), std::nullopt);
  put_alone(1, "phantom", "boo");
  ASSERT_TRUE(put(0, key_of(13'000), "x").is_ok());
  expect_conflict(0, ConflictReason::kPageInstalled);
}
// Two transactions read each other's writes in snapshot pages: one of them must fail.
TEST_F(MasstreeColdTest, no_write_skew_over_snapshot_pages) {
  for (const unsigned far : {15u, 13'000u}) {
    load(kRows, key_of);
    glean_all();
    begin(0);
    begin(1);
    ASSERT_EQ(get(0, key_of(14)), payload_of(14));
    ASSERT_EQ(get(1, key_of(far)), payload_of(far));
    ASSERT_TRUE(put(0, key_of(far), "x").is_ok());
    ASSERT_TRUE(put(1, key_of(14), "y").is_ok());
    const bool first = commit(0).is_ok();
    const bool second = commit(1).is_ok();
    EXPECT_FALSE(first && second);
  }
}
TEST_F(MasstreeColdTest, an_own_install_does_not_hide_later_writes_of_others) {
  for (const char* const what : {"record", "absence", "layer"}) {
    load(20, key_of);
    load(200, [](std::uint64_t i) { return "layer---" + key_of(i); });
    glean_all();
    begin(0);
    ASSERT_EQ(get(0, key_of(4)), payload_of(4));
    ASSERT_EQ(get(0, "phantom"), std::nullopt);
    ASSERT_EQ(get(0, "layer---" + key_of(7)), payload_of(7));
    ASSERT_TRUE(put(0, key_of(5), "x").is_ok());  // one page, with the key of the layer
    if (*what == 'r') put_alone(1, key_of(4), "changed");
    if (*what == 'a') put_alone(1, "phantom", "boo");
    if (*what == 'l') put_alone(1, "layer---" + key_of(7), "changed");
    EXPECT_EQ(commit(0).code(), ErrorCode::kConflict) << what;
    begin(1);
    ASSERT_TRUE(put(1, key_of(4), payload_of(4)).is_ok());
    ASSERT_NE(erase(1, "phantom").code(), ErrorCode::kConflict);
    expect_commit(1);
  }
}
TEST_F(MasstreeColdTest, an_own_install_is_no_conflict) {
  load(kRows, deep_key);
  glean_all();
  begin(0);
  ASSERT_EQ(get(0, deep_key(14)), payload_of(14));
  ASSERT_EQ(get(0, deep_key(12'000)), payload_of(12'000));
  ASSERT_EQ(get(0, "missing"), std::nullopt);
  ASSERT_EQ(scan(0, deep_key(15), deep_key(40)).size(), 25u);
  ASSERT_TRUE(put(0, deep_key(15), "a").is_ok());
  ASSERT_TRUE(put(0, deep_key(14), "b").is_ok());
  ASSERT_TRUE(put(0, "missing", "c", WriteMode::kInsert).is_ok());
  ASSERT_EQ(get(0, deep_key(14)), "b");
  ASSERT_EQ(get(0, "missing"), "c");
  expect_commit(0);
  EXPECT_EQ(get_alone(1, deep_key(14)), "b");
}
// Goal: own inserts that split pages which the transaction has made volatile are no conflict.
TEST_F(MasstreeColdTest, own_inserts_into_pages_that_were_read_cold_are_no_conflict) {
  load(300, key_of);
  glean_all();
  begin(0);
  for (unsigned i = 0; i < 300; ++i) ASSERT_EQ(get(0, key_of(i)), payload_of(i));
  for (unsigned i = 300; i < 3000; ++i) {
    ASSERT_EQ(get(0, key_of(i)), std::nullopt);
    ASSERT_TRUE(put(0, key_of(i), payload_of(i), WriteMode::kInsert).is_ok());
  }
  for (unsigned i = 0; i < 300; ++i) {
    ASSERT_TRUE(put(0, key_of(i) + "longer", payload_of(i), WriteMode::kInsert).is_ok());
  }
  expect_commit(0);
  check(1, 3000, key_of);
  glean_all();
  check(1, 3000, key_of);
}

// ---- interleavings

// Goal: splits of pages and shifts of children do not invalidate a reader's pointer.
TEST_F(MasstreeColdTest, splits_of_the_holder_are_no_conflict) {
  load(kRows, key_of);
  glean_all();
  put_alone(1, key_of(14), "its path is volatile now");
  begin(0);
  for (unsigned i = 600; i < 4000; i += 10) ASSERT_EQ(get(0, key_of(i)), payload_of(i));
  const Statistics before = verify_tree(all_.all().pool(), all_.control());
  std::string between = key_of(14);
  for (unsigned i = 0; i < 300; ++i) {
    put_slice(14 * 16 + 1 + i % 12, between.data());
    put_alone(1, between + "-" + key_of(i), std::string(900, 'x'));
    put_slice(16 * 16 + 1 + i % 12, between.data());
    put_alone(1, between, std::string(900, 'x'));
  }
  for (unsigned i = 20; i < 60; ++i) put_alone(1, key_of(i), std::string(1200, 'y'));
  const Statistics after = verify_tree(all_.all().pool(), all_.control());
  EXPECT_GT(after.interior_pages, before.interior_pages);
  EXPECT_GT(after.border_pages, before.border_pages + 50);
  ASSERT_TRUE(put(0, key_of(4000), "x").is_ok());
  expect_commit(0);
}
TEST_F(MasstreeColdTest, an_install_behind_a_split_of_the_holder_is_seen) {
  load(kRows, key_of);
  glean_all();
  put_alone(1, key_of(14), "its path is volatile now");
  begin(0);
  for (unsigned i = 600; i < 4000; i += 10) ASSERT_EQ(get(0, key_of(i)), payload_of(i));
  for (unsigned i = 20; i < 60; ++i) put_alone(1, key_of(i), std::string(1200, 'y'));
  put_alone(1, key_of(2001), "changed");
  ASSERT_TRUE(put(0, key_of(13'000), "x").is_ok());
  expect_conflict(0, ConflictReason::kPageInstalled);
}
// Splits do not invalidate a reader's pointer to a layer.
TEST_F(MasstreeColdTest, splits_of_the_page_above_a_layer_are_no_conflict) {
  for (const bool installs : {false, true}) {
    load(kRows, deep_key);
    glean_all();
    put_alone(1, key_of(1) + "?", "the page above is volatile now");
    begin(0);
    for (unsigned i = 0; i < 500; ++i) ASSERT_EQ(get(0, deep_key(i)), payload_of(i));
    for (unsigned i = 0; i < 300; ++i) put_alone(1, key_of(i).substr(0, 7), std::string(500, 'x'));
    for (unsigned i = 0; i < 10; ++i) put_alone(1, key_of(i), std::string(500, 'x'));
    if (installs) put_alone(1, deep_key(333), payload_of(333));
    ASSERT_TRUE(put(0, deep_key(13'000), "x").is_ok());
    if (installs) {
      expect_conflict(0, ConflictReason::kPageInstalled);
    } else {
      expect_commit(0);
    }
  }
}
TEST_F(MasstreeColdTest, one_of_two_installs_wins) {
  load(kRows, deep_key);
  glean_all();
  std::uint64_t won = 0;
  begin(0);
  {
    AtSyncPoint other(
        "masstree:before_install",
        [&] {
          put_alone(1, deep_key(15), "theirs");
          won = volatile_pages();
        },
        false);
    ASSERT_TRUE(put(0, deep_key(14), "mine").is_ok());
    EXPECT_EQ(other.runs(), 1u);
  }
  EXPECT_EQ(volatile_pages(), won - 1);  // counted while the loser's copy existed
  expect_commit(0);
  EXPECT_EQ(get_alone(2, deep_key(14)), "mine");
  EXPECT_EQ(get_alone(2, deep_key(15)), "theirs");
}
// Goal: a copy of a snapshot page that is outdated by now is not installed.
TEST_F(MasstreeColdTest, a_glean_between_the_copy_and_its_install) {
  load(kRows, deep_key);
  glean_all();
  begin(0);
  {
    AtSyncPoint other("masstree:before_install", [&] {
      put_alone(1, deep_key(15), "newer");
      glean_all_but_copies();
    });
    ASSERT_TRUE(put(0, deep_key(14), "mine").is_ok());
    EXPECT_EQ(other.runs(), 1u);
  }
  EXPECT_EQ(get(0, deep_key(15)), "newer");
  expect_commit(0);
  EXPECT_EQ(get_alone(2, deep_key(15)), "newer");
}
// The volatile pointer becomes non-null and null again between a read and its verify.
TEST_F(MasstreeColdTest, a_pointer_that_is_null_again_has_changed) {
  load(kRows, deep_key);
  glean_all();
  begin(0);
  ASSERT_EQ(get(0, deep_key(14)), payload_of(14));
  put_alone(1, deep_key(14), "changed");
  glean_all();
  ASSERT_TRUE(put(0, deep_key(13'000), "x").is_ok());
  EXPECT_EQ(commit(0).code(), ErrorCode::kConflict);
}
TEST_F(MasstreeColdTest, an_install_between_the_read_and_the_end_of_its_search) {
  load(kRows, key_of);
  glean_all();
  begin(0);
  {
    AtSyncPoint other("masstree:cold_read", [&] { put_alone(1, key_of(14), "changed"); });
    ASSERT_EQ(get(0, key_of(14)), payload_of(14));
  }
  ASSERT_TRUE(put(0, key_of(13'000), "x").is_ok());
  expect_conflict(0, ConflictReason::kPageInstalled);
}

}  // namespace
}  // namespace foedus::storage::masstree::cold_test
