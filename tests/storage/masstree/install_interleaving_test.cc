// Installations of a Master-Tree with something between their steps.

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace foedus::storage::masstree
