// Installations of a Master-Tree with something between their steps.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foedus-core/base/sync_point.h"
#include "tests/storage/masstree/masstree_fixture.h"
#include "tests/storage/masstree/masstree_install_fixture.h"

namespace foedus::storage::masstree {
namespace {

using testing::AtSyncPoint;

// Goal: pages that split behind the installer's look keep what was added to them. Method: inserts
// all over the tree, after the children of each interior page were looked at.
TEST_F(MasstreeInstallTest, WhatSplitsBehindTheLookStays) {
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

// Goal: an update between the look and the locks keeps its page.
TEST_F(MasstreeInstallTest, WhatChangesBehindTheLookStays) {
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

// A transaction of which a record is in a page that became part of another one commits.
TEST_F(MasstreeInstallTest, AMergeOfPagesAbortsNobody) {
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
  const std::uint64_t before = volatile_pages();
  all_.install();
  EXPECT_LT(volatile_pages(), before / 2);
  check();
  rows_[key_of(10'500)] = "changed";
  const Status status = commit(1);
  EXPECT_TRUE(status.is_ok()) << status.message();
  check();
}

// Goal: whatever step an installation is at, who reads sees every row or conflicts. Method: reads
// of all parts of the tree at each step, in transactions of their own, and one that was begun
// before.
TEST_F(MasstreeInstallTest, WhoReadsBetweenTheStepsSeesEveryRowOrConflicts) {
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

// Goal: what a transaction wrote before its page was exchanged is there afterwards, and what it has
// read there conflicts at most. Method: transactions that are open while nearly all goes.
TEST_F(MasstreeInstallTest, WritesToPagesThatGoAreMadeAgain) {
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

}  // namespace
}  // namespace foedus::storage::masstree
