// Hash storages: what others do at named places of cold reads, first touches and drops. One thread.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <string>

#include "foedus-core/storage/hash/hash_function.h"
#include "tests/storage/hash/hash_cold_fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash {
namespace {

using testing::AtSyncPoint;

using HashColdRaceTest = HashColdTest;

// Goal: a key that was read as absent and has come since is not lost sight of where its bin is
// being dropped. Method: the deleted record that was read is left behind by a spread; another
// session commits the key, to a successor, together with one that is read then; the reader commits
// when all is marked for the first drop since it began, which is not announced yet. Drops begin
// with the lowest hashes.
TEST_F(HashColdRaceTest, WhatCameToASuccessorIsNotAbsentWhereThatIsDropped) {
  load(200);
  std::string came = key_of(0);
  std::string with_it = key_of(0);
  for (unsigned i = 1; i < 200; ++i) {
    if (hash_of(key_of(i)) < hash_of(came)) came = key_of(i);
    if (hash_of(key_of(i)) > hash_of(with_it)) with_it = key_of(i);
  }
  erase_alone(0, came);
  begin(1);
  ASSERT_EQ(get(1, came), std::nullopt);
  ASSERT_EQ(all_.session(1).ctx().reads().size(), 1u);
  page::RecordHeader* const record = all_.session(1).ctx().reads()[0].record;
  for (unsigned i = 0; i < 4'000 && !record->load_tid().is_moved(); ++i) {
    const std::string key = "new" + std::to_string(i);
    if (hash_of(key) >> 62 == 0) put_alone(0, key, payload_of(i));
  }
  ASSERT_TRUE(record->load_tid().is_moved());
  begin(2);
  ASSERT_TRUE(put(2, came, "there").is_ok());
  ASSERT_TRUE(put(2, with_it, "new").is_ok());
  ASSERT_TRUE(commit(2).is_ok());
  ASSERT_EQ(get(1, with_it), "new");
  all_.compose();
  Status status;
  {
    const AtSyncPoint at("hash:drop_marked", [&] { status = commit(1); });
    all_.install();
    EXPECT_EQ(at.runs(), 1u);
  }
  EXPECT_EQ(status.code(), ErrorCode::kConflict) << "it has seen half of a transaction";
}

}  // namespace
}  // namespace foedus::storage::hash
