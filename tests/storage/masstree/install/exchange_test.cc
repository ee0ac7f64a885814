// Exchanges of runs of pages, and of layers, with transactions at work: the contents of the new
// pages, and moves of records between the installer's search and its locks.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

#include "foedus-core/base/system/sync_point.h"
#include "tests/storage/masstree/fixture.h"
#include "tests/storage/masstree/install/fixture.h"
#include "tests/testing/hold.h"

namespace foedus::storage::masstree::exchange_test {
namespace {

using testing::AtSyncPoint;

// Pages with few remaining rows, all in one page of a snapshot: those between the first and the
// last one, which are hot, become one page.
class MasstreeExchangeTest : public MasstreeInstallTest {
 protected:
  static constexpr unsigned kRows = 200;
  static constexpr unsigned kStep = 6;  // from one remaining row to the next

  // Leaves enough rows that no page is joined when the others are erased.
  void make_sparse() {
    load(0, kRows);
    for (unsigned i = 0; i < kRows; ++i) {
      if (i % kStep != 0) erase(key_of(i));
    }
  }
  void heat() {
    put(key_of(0), "hot", 3);
    put(key_of(kRows / kStep * kStep), "hot", 3);
  }
  occ::TxnContext& ctx(std::uint32_t session) { return all_.session(session).ctx(); }
  std::string get(std::uint32_t session, const std::string& key) {
    const WholeRead got = read_whole([&](occ::ReadRange* range) {
      return masstree::get(ctx(session), all_.control(), key, range);
    });
    return got.status.is_ok() ? got.payload : std::string(to_string(got.status.code()));
  }
  KeyPosition find(const std::string& key) {
    return find_below(all_.all().pool(), {&all_.control()->root, nullptr}, key);
  }
  BorderPage* page_of(const std::string& key) { return find(key).at.page; }
};

// Goal: a transaction finds its own writes to a page that became part of another one.
TEST_F(MasstreeExchangeTest, own_writes_are_seen_in_a_page_that_took_over) {
  make_sparse();
  all_.compose();
  heat();
  begin(1);
  const std::string written = key_of(96);
  const std::string erased = key_of(102);
  ASSERT_TRUE(write(1, written, "mine").is_ok());
  ASSERT_TRUE(masstree::erase(ctx(1), all_.control(), erased).is_ok());
  const BorderPage* const before = page_of(written);
  all_.install();
  ASSERT_NE(page_of(written), before);
  ASSERT_TRUE(before->header.load_version().is_moved());
  EXPECT_EQ(get(1, written), "mine");
  EXPECT_EQ(get(1, erased), "not_found");
  const Status status = commit(1);
  EXPECT_TRUE(status.is_ok()) << status.message();
  rows_[written] = "mine";
  rows_.erase(erased);
  check();
}

// Goal: a key that was missed in a page that was dropped since is a phantom when it comes to a copy
// of the snapshot's page.
TEST_F(MasstreeExchangeTest, a_key_that_comes_after_its_page_was_dropped_is_a_phantom) {
  load(0, 20);
  begin(1);
  EXPECT_EQ(get(1, "missed"), "not_found");
  ASSERT_TRUE(write(1, key_of(3), "mine").is_ok());
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  put("missed", "theirs");
  EXPECT_EQ(commit(1).conflict_reason(), ConflictReason::kPageDropped);
  check();
}

// Goal: a layer whose record was erased before it became one moves along.
TEST_F(MasstreeExchangeTest, a_layer_of_an_erased_record_goes_along) {
  load(0, kRows);
  const std::string slice = key_of(99);
  put(slice + "first", "erased");
  erase(slice + "first");
  put(slice + "second", "there");
  put(slice + "third", "there, too");
  for (unsigned i = 0; i < kRows; ++i) {
    if (i % kStep != 0) erase(key_of(i));
  }
  all_.compose();
  heat();
  const BorderPage* const before = page_of(key_of(96));
  all_.install();
  ASSERT_NE(page_of(key_of(96)), before);
  check();
  glean_and_check();
}

// Goal: of pages that become one, a later one does not gain a key by way of an earlier one, which
// is marked moved first (M16). Method: the first transaction misses a key of the later page and
// writes J. The installer is stopped when the earlier page has moved. The third transaction reads
// J, reaches the new page by a row of the earlier one and puts the key there. Not both may commit.
TEST_F(MasstreeExchangeTest, a_page_that_took_over_gains_keys_when_all_others_have_moved) {
  constexpr std::chrono::milliseconds kPatience(300);
  make_sparse();
  all_.compose();
  heat();
  const std::string j = key_of(0);
  std::string of_earlier;  // rows
  std::string of_later;
  for (unsigned i = kStep; of_later.empty(); i += kStep) {
    const BorderPage* const page = page_of(key_of(i));
    if (page == page_of(j)) continue;
    if (of_earlier.empty()) of_earlier = key_of(i);
    if (page != page_of(of_earlier)) of_later = key_of(i);
  }
  const std::string missed = of_later + "-";
  const std::string saw = rows_.at(j);
  begin(1);
  ASSERT_EQ(get(1, missed), "not_found");
  ASSERT_TRUE(write(1, j, "by the first").is_ok());
  testing::Hold hold("masstree:exchange_half_moved");
  std::future<void> installing = std::async(std::launch::async, [&] { all_.install(); });
  hold.wait_until_held();
  std::future<bool> writing = std::async(std::launch::async, [&] {
    begin(2);
    const bool saw_old = get(2, j) == saw && get(2, of_earlier) == rows_.at(of_earlier);
    return write(2, missed, "by the third").is_ok() && commit(2).is_ok() && saw_old;
  });
  writing.wait_for(kPatience);
  const bool first_committed = commit(1).is_ok();
  hold.release();
  installing.get();
  EXPECT_FALSE(writing.get() && first_committed);
  EXPECT_EQ(page_of(of_later), page_of(of_earlier));
}

// Goal: verify does not take a key that came and went for one that was never there, even if an
// exchange has purged its record meanwhile (C6, P7). Method: the reader has read A, the absence of
// K, by the record of a rolled-back insert, and B, which came with K. When it has verified A, one
// commit changes A and erases K, the page of K becomes part of another one, and another session
// begins to insert K again.
TEST_F(MasstreeExchangeTest, a_key_that_came_and_went_is_not_taken_for_one_that_was_never_there) {
  const std::string a = key_of(0);
  const std::string b = key_of(96);
  const std::string k = "0000009A";
  load(0, kRows);
  begin(2);
  ASSERT_TRUE(write(2, k, "given up").is_ok());
  all_.session(2).rollback();
  page::RecordHeader* const record = find(k).record();
  ASSERT_EQ(record->load_tid().version(), 0u);
  for (unsigned i = 0; i < kRows; ++i) {
    if (i % kStep != 0) erase(key_of(i));
  }

  begin(1);
  ASSERT_EQ(get(1, a), rows_.at(a));
  ASSERT_EQ(get(1, k), "not_found");
  ASSERT_EQ(ctx(1).sets().reads().size(), 2u);
  begin(2);
  ASSERT_TRUE(write(2, k, std::string(300, 'k')).is_ok());  // so that its page moves
  ASSERT_TRUE(record->load_tid().is_moved());
  ASSERT_TRUE(write(2, b, "with it").is_ok());
  ASSERT_TRUE(commit(2).is_ok());
  ASSERT_EQ(get(1, b), "with it");
  rows_[b] = "with it";

  Status status;
  {
    const AtSyncPoint meanwhile("commit:read_moved", [&] {
      begin(2);
      ASSERT_TRUE(write(2, a, "changed").is_ok());
      ASSERT_TRUE(masstree::erase(ctx(2), all_.control(), k).is_ok());
      ASSERT_TRUE(commit(2).is_ok());
      all_.compose();
      heat();
      const BorderPage* const before = page_of(b);
      all_.install();
      ASSERT_NE(page_of(b), before);
      ASSERT_TRUE(before->header.load_version().is_moved());
      begin(3);
      ASSERT_TRUE(write(3, k, "to come").is_ok());
    });
    status = commit(1);
    EXPECT_EQ(meanwhile.runs(), 1u);
  }
  EXPECT_EQ(status.conflict_reason(), ConflictReason::kRecordChanged)
      << "it has seen A before, and B after K was there, but not K";
  all_.session(3).rollback();
  check();
}

// Goal: a layer is not exchanged at the old place of its record. Method: the page above splits when
// the installer is at the layer.
TEST_F(MasstreeExchangeTest, a_layer_whose_record_moves_behind_the_look_stays) {
  load(0, 20);
  for (unsigned i = 0; i < 10; ++i) put(key_of(10) + key_of(i), payload_of(i));
  all_.compose();
  const TreePage* const above = page_of(key_of(10));
  unsigned looks = 0;
  {
    const AtSyncPoint splitting(
        "masstree:install_looked",
        [&] {
          if (++looks != 2) return;  // the first time is at the page above
          for (unsigned i = 100; !above->header.load_version().is_moved(); ++i) {
            put(key_of(i), payload_of(i), 1);
          }
        },
        true);
    all_.install();
  }
  ASSERT_GE(looks, 2u);
  check();
  put(key_of(10) + key_of(3), "changed", 1);
  check();
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

}  // namespace
}  // namespace foedus::storage::masstree::exchange_test
