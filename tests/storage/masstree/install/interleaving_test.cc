// Installations of a Master-Tree with calls of other sessions between their steps.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/masstree/change/adopt.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "tests/storage/masstree/fixture.h"
#include "tests/storage/masstree/install/fixture.h"

namespace foedus::storage::masstree::interleaving_test {
namespace {

using InstallInterleavingTest = MasstreeInstallTest;

using testing::AtSyncPoint;

// Goal: pages that split after the installer's search keep their new rows. Method: inserts all over
// the tree, after the children of each interior page were searched.
TEST_F(InstallInterleavingTest, what_splits_behind_the_look_stays) {
  load(0, 5'000);
  all_.compose();
  unsigned round = 0;
  {
    const AtSyncPoint inserting(
        "masstree:install_searched",
        [&] {
          ++round;
          for (unsigned i = 0; i < 200; ++i) {
            put(key_of(i * 25) + "." + std::to_string(round), payload_of(i), 1);
          }
        },
        true);
    all_.install();
    EXPECT_GT(inserting.runs(), 0u);
  }
  check();
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// Goal: an update between the search and the locks keeps its page.
TEST_F(InstallInterleavingTest, what_changes_behind_the_look_stays) {
  load(0, 5'000);
  all_.compose();
  {
    const AtSyncPoint updating("masstree:install_searched", [&] {
      for (unsigned i = 0; i < 50; ++i) put(key_of(i * 100), "new", 1);
      for (unsigned i = 0; i < 50; ++i) erase(key_of(i * 100 + 1), 1);
    });
    all_.install();
    EXPECT_EQ(updating.runs(), 1u);
  }
  check();
  EXPECT_GT(volatile_pages(), 50u);
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// Goal: a cold page that a session makes volatile after the search keeps the writes to it. Method:
// all pages of the snapshot are new, so that cold ones would be exchanged, too.
TEST_F(InstallInterleavingTest,
       a_cold_page_that_is_written_behind_the_look_keeps_what_was_written) {
  load(0, 5'000);
  all_.glean();
  put(key_of(10), "volatile");
  all_.compose_anew();
  {
    const AtSyncPoint writing("masstree:install_searched", [&] { put(key_of(4'000), "new", 1); });
    all_.install();
    EXPECT_EQ(writing.runs(), 1u);
  }
  check();
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// Goal: an interior page that has split after the search is not exchanged, although its parent
// still leads to it. Method: a full page.
TEST_F(InstallInterleavingTest, an_interior_page_that_splits_behind_the_look_stays) {
  const auto root = [&] {
    const page::VolatilePageId id = all_.control()->root.load_volatile();
    return TreePage::of(all_.all().pool().resolve(id));
  };
  for (unsigned i = 0;
       root()->is_border() || root()->header.load_version().keys() < InteriorPage::kSeparatorsMax;
       ++i) {
    put(key_of(i), payload_of(i));
  }
  all_.compose();
  {
    const AtSyncPoint splitting("masstree:install_searched", [&] {
      begin(1);
      const Change change =
          split_interior(all_.session(1).ctx(), all_.control(), InteriorPage::of(root()), 1);
      EXPECT_EQ(change, Change::kDone);
      ASSERT_TRUE(commit(1).is_ok());
    });
    all_.install();
    EXPECT_EQ(splitting.runs(), 1u);
  }
  check();
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// A transaction with a record in a page that became part of another one commits, unless a key that
// it missed there is inserted into the new page.
TEST_F(InstallInterleavingTest, a_merge_of_pages_aborts_nobody) {
  load(0, 20'000);
  for (unsigned i = 0; i < 20'000; ++i) {
    if (i % 500 != 0) erase(key_of(i));
  }
  all_.compose();
  put(key_of(3), "hot");
  put(key_of(19'999), "hot");
  begin(1);
  char bytes[256];
  occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
  ASSERT_TRUE(get(all_.session(1).ctx(), all_.control(), key_of(10'000), &range).is_ok());
  ASSERT_TRUE(write(1, key_of(10'500), "changed").is_ok());
  begin(2);
  const std::string missed = key_of(10'000) + ".";
  ASSERT_EQ(get(all_.session(2).ctx(), all_.control(), missed, &range).code(),
            ErrorCode::kNotFound);
  const std::uint64_t before = volatile_pages();
  all_.install();
  EXPECT_LT(volatile_pages(), before / 2);
  check();
  rows_[key_of(10'500)] = "changed";
  const Status status = commit(1);
  EXPECT_TRUE(status.is_ok()) << status.message();
  put(missed, "added");
  EXPECT_EQ(commit(2).conflict_reason(), ConflictReason::kPageGained);
  check();
}

// Goal: a transaction that begins some epochs after an exchange has marked the records of its
// pages, and writes to a page that is not marked moved yet, sees its write afterwards. So does an
// older transaction with a write to a page that is already marked. Method: many pages become one,
// and both transactions act when one of the pages is marked moved; the write is read before there
// is a later exchange.
TEST_F(InstallInterleavingTest, a_write_to_a_page_that_is_about_to_move_is_seen) {
  load(0, 20'000);
  for (unsigned i = 0; i < 20'000; ++i) {
    if (i % 500 != 0) erase(key_of(i));
  }
  all_.compose();
  put(key_of(3), "hot");
  put(key_of(19'999), "hot");
  const std::string has_moved = key_of(500);
  const std::string about_to_move = key_of(4'000);
  all_.all().pass_epochs();  // pages without a birth are older
  begin(2);
  ASSERT_TRUE(write(2, has_moved, "older").is_ok());
  const auto read_by = [&](std::uint32_t session, const std::string& key) {
    return read_whole([&](occ::ReadRange* range) {
      return get(all_.session(session).ctx(), all_.control(), key, range);
    });
  };
  const auto is_marked = [&](const std::string& key) {
    const KeyPosition position =
        find_below(all_.all().pool(), {&all_.control()->root, nullptr}, key);
    return position.record()->load_tid().is_moved();
  };
  {
    std::optional<AtSyncPoint> exchanged;
    const auto look = [&] {
      if (is_marked(has_moved)) return;  // otherwise its new place would be found
      EXPECT_EQ(read_by(2, has_moved).payload, "older");
      for (int i = 0; i < 3; ++i) all_.all().pass_epochs();
      begin(1);
      ASSERT_TRUE(is_marked(about_to_move));
      ASSERT_TRUE(write(1, about_to_move, "own").is_ok());
      exchanged.emplace("masstree:exchanged",
                        [&] { EXPECT_EQ(read_by(1, about_to_move).payload, "own"); });
    };
    const AtSyncPoint window("masstree:exchange_half_moved", look, true);
    all_.install();
    ASSERT_TRUE(exchanged.has_value());
    EXPECT_EQ(exchanged->runs(), 1u);
  }
  const Status status = commit(1);
  EXPECT_TRUE(status.is_ok()) << status.message();
  rows_[about_to_move] = "own";
  all_.session(2).rollback();
  check();
}

// Goal: at every step of an installation a reader sees every row or conflicts. Method: reads of all
// parts of the tree at each step, in transactions of their own, and in one that was begun before.
TEST_F(InstallInterleavingTest, who_reads_between_the_steps_sees_every_row_or_conflicts) {
  load(0, 3'000);
  for (unsigned i = 0; i < 300; ++i) put("pair" + key_of(i / 3) + "." + key_of(i), payload_of(i));
  std::vector<std::string> names;
  for (const auto& [name, payload] : rows_) names.push_back(name);
  for (const char* const place :
       {"masstree:before_drop", "masstree:drop_records_moved", "masstree:dropped",
        "masstree:exchange_moved", "masstree:exchanged", "masstree:installed"}) {
    for (std::size_t i = 0; i < names.size(); i += 10) put(names[i], std::string(place) + names[i]);
    all_.compose();
    put(names[17], "hot");
    put(names[2'000], "hot");
    begin(3);  // reads all along
    unsigned seen = 0;
    unsigned at = 0;
    const auto look = [&](std::uint32_t session, const std::string& name) {
      const WholeRead got = read_whole([&](occ::ReadRange* range) {
        return get(all_.session(session).ctx(), all_.control(), name, range);
      });
      if (got.status.is_ok()) {
        EXPECT_EQ(got.payload, rows_.at(name)) << place;
        ++seen;
      } else {
        EXPECT_EQ(got.status.code(), ErrorCode::kConflict) << place << ' ' << name;
      }
    };
    {
      const AtSyncPoint reading(
          place,
          [&] {
            for (unsigned i = 0; i < 6; ++i, at += 37) {
              begin(2);
              look(2, names[at % names.size()]);
              if (commit(2).is_ok()) ++seen;
            }
            if (!all_.session(3).ctx().is_doomed()) look(3, names[at % names.size()]);
          },
          true);
      all_.install();
      EXPECT_GT(reading.runs(), 0u) << place;
    }
    EXPECT_GT(seen, 0u) << place;
    all_.session(3).rollback();
    check();
  }
}

// Goal: writes of a transaction survive the exchange of their pages, and its reads there conflict
// at most. Method: transactions are open while nearly all pages are dropped.
TEST_F(InstallInterleavingTest, writes_to_pages_that_go_are_made_again) {
  load(0, 3'000);
  all_.compose();
  put(key_of(1'500), "hot");
  begin(1);  // blind
  ASSERT_TRUE(write(1, key_of(100), "changed").is_ok());
  ASSERT_TRUE(write(1, key_of(100) + ".new", "inserted").is_ok());
  begin(2);
  char bytes[256];
  occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
  ASSERT_TRUE(get(all_.session(2).ctx(), all_.control(), key_of(2'900), &range).is_ok());
  ASSERT_TRUE(write(2, key_of(200), "changed").is_ok());
  all_.install();
  EXPECT_LE(volatile_pages(), 12u);
  const Status status = commit(1);
  EXPECT_TRUE(status.is_ok()) << status.message();
  rows_[key_of(100)] = "changed";
  rows_[key_of(100) + ".new"] = "inserted";
  EXPECT_EQ(commit(2).conflict_reason(), ConflictReason::kPageDropped);
  check();
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// Goal: a write that cannot be made again fails, and keeps no lock. Method: its page is exchanged,
// and there is no free page for a copy.
TEST_F(InstallInterleavingTest, a_write_to_a_page_that_is_gone_fails_without_memory) {
  load(0, 3'000);
  all_.compose();
  begin(1);
  ASSERT_TRUE(write(1, key_of(100), "changed").is_ok());
  all_.install();
  ASSERT_EQ(volatile_pages(), 0u);
  page::SessionPages& pages = all_.session(1).pages();
  std::vector<page::PageHeader*> taken;
  while (page::PageHeader* const page = pages.allocate()) taken.push_back(page);
  const Status status = commit(1);
  EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
  EXPECT_TRUE(all_.session(1).ctx().locks().held().is_empty());
  for (page::PageHeader* const page : taken) pages.release(page);
  check();
  put(key_of(100), "changed", 1);
  check();
}

// ---- moves between the installer's check and its next step

TEST_F(InstallInterleavingTest,
       a_root_that_is_made_volatile_behind_the_look_keeps_what_was_written) {
  load(0, 500);
  all_.glean();
  all_.compose_anew();
  {
    const AtSyncPoint writing("masstree:install_cold", [&] { put(key_of(7), "meanwhile", 1); });
    EXPECT_FALSE(all_.install().may_need_earlier);
    EXPECT_EQ(writing.runs(), 1u);
  }
  check();
  all_.check_leads();
  all_.remove_old_files();
  check();
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// Method: the page of a record that leads to a cold layer splits; the layer is in a new file.
TEST_F(InstallInterleavingTest,
       a_cold_layer_whose_record_moves_behind_the_look_is_found_where_it_is) {
  load(0, 20);
  for (unsigned i = 0; i < 10; ++i) put(key_of(10) + key_of(i), payload_of(i));
  all_.glean();
  put(key_of(5), "hot");
  all_.compose_anew();
  put(key_of(5), "hotter");
  {
    const AtSyncPoint splitting("masstree:install_cold", [&] {
      for (unsigned i = 100; i < 200; ++i) put(key_of(i), payload_of(i), 1);
    });
    EXPECT_FALSE(all_.install().may_need_earlier);
    EXPECT_EQ(splitting.runs(), 1u);
  }
  all_.check_leads();
  all_.remove_old_files();
  check();
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// The installer finds the twins of the root, an interior page that splits.
TEST_F(InstallInterleavingTest,
       an_interior_page_that_moves_behind_the_look_is_looked_for_at_its_twins) {
  load(0, 200);
  all_.compose();
  {
    const AtSyncPoint growing("masstree:install_looked", [&] {
      for (unsigned i = 200; i < 15'000; ++i) put(key_of(i), payload_of(i), 1);
    });
    all_.install();
    EXPECT_EQ(growing.runs(), 1u);
  }
  check();
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

// Goal: an installation that fails in twins which their parent has not adopted is completed by the
// next one. Method: rows of both halves of a page that splits are to get new ids. In the second
// form rows were erased, so that a page of the new snapshot begins in the second half: only that
// one fails.
class MasstreeTwinTest : public MasstreeInstallTest, public ::testing::WithParamInterface<bool> {};

TEST_P(MasstreeTwinTest, a_twin_that_cannot_be_read_for_is_made_up_for) {
  const unsigned gone = GetParam() ? 28 : 0;
  const std::string split_key = key_of(GetParam() ? 40 : 2);
  for (unsigned i = 0; i < 100; ++i) put(key_of(i), std::string(i % 4 == 0 ? 9'000 : 100, 'p'));
  all_.glean();
  for (unsigned i = 1; i < 100; i += 4) put(key_of(i), "hot");
  for (unsigned i = 1; i < gone; i += 4) erase(key_of(i));
  all_.compose_anew();
  for (unsigned i = gone + 1; i < 100; i += 4) put(key_of(i), "hotter");
  {
    const AtSyncPoint split("masstree:split_done", [&] {
      EXPECT_GT(MasstreeContents(&all_).moved_pages, 0u);
      EXPECT_GT(all_.install_with_errors(ErrorCode::kIoError), 1u);
    });
    for (unsigned i = 0; i < 60; ++i) put(split_key + "." + std::to_string(i), payload_of(i), 1);
    EXPECT_EQ(split.runs(), 1u);
  }
  all_.check_leads();
  check();
  glean_and_check();
  EXPECT_EQ(volatile_pages(), 0u);
}

INSTANTIATE_TEST_SUITE_P(OfTheSecondAlone, MasstreeTwinTest, ::testing::Bool());

// Goal: a key that was read as absent and was inserted since is noticed even if its page is being
// dropped. Method: a split purges the deleted record that was read. Another session commits the
// key, to a twin, together with another key, which the reader reads then. The reader commits when
// all records are marked for the first drop since it began, which is not announced yet.
TEST_F(InstallInterleavingTest, what_came_to_a_successor_is_not_absent_where_that_is_dropped) {
  load(0, 5'000);
  const std::string came = key_of(40);
  const std::string with_it = key_of(4'900);
  erase(came);
  begin(1);
  char bytes[256];
  occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
  ASSERT_EQ(get(all_.session(1).ctx(), all_.control(), came, &range).code(), ErrorCode::kNotFound);
  ASSERT_EQ(all_.session(1).ctx().sets().reads().size(), 1u);
  page::RecordHeader* const record = all_.session(1).ctx().sets().reads()[0].record;
  for (unsigned i = 0; i < 170 && !record->load_tid().is_moved(); ++i) {
    const char last[] = {static_cast<char>('3' + i % 3), static_cast<char>('A' + i / 3), 0};
    put(std::string("000000") + last, payload_of(i), 0);
  }
  ASSERT_TRUE(record->load_tid().is_moved());
  begin(2);
  ASSERT_TRUE(write(2, came, "there").is_ok());
  ASSERT_TRUE(write(2, with_it, "new").is_ok());
  ASSERT_TRUE(commit(2).is_ok());
  rows_[came] = "there";
  rows_[with_it] = "new";
  range = {bytes, sizeof(bytes), 0, 0};
  ASSERT_TRUE(get(all_.session(1).ctx(), all_.control(), with_it, &range).is_ok());
  ASSERT_EQ(std::string(bytes, range.payload_bytes), "new");
  all_.compose();
  put(key_of(4'901), "hot");
  Status status;
  {
    const AtSyncPoint at("masstree:drop_records_moved", [&] { status = commit(1); });
    all_.install();
    EXPECT_EQ(at.runs(), 1u);
  }
  EXPECT_EQ(status.code(), ErrorCode::kConflict) << "it has seen half of a transaction";
}

}  // namespace
}  // namespace foedus::storage::masstree::interleaving_test
