// ctest-program: own
// ctest-labels: memory
// Memory runs out within a change: the page stays unchanged.
#include "tests/faults/memory_faults.h"
#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::memory_test {
namespace {

using MasstreeMemoryTest = MasstreeTest;

// Goal: an insert that cannot update its own transaction's scan leaves the page unchanged: other
// sessions insert there and find their rows. Method: the scanned page, which is full, moves to
// twins, and both are remembered before the insert; the second one needs memory.
TEST_F(MasstreeMemoryTest, an_insert_that_cannot_follow_its_scan_leaves_the_page_as_it_was) {
  fill(0, 0, 640, 10);
  begin(2);
  EXPECT_EQ(scan(2, "", "").size(), 64u);
  fill(1, 640, 670, 10);
  faults::arm(faults::Source::kHeap, 0, true);
  bool is_spent = false;
  try {
    const Status status = write(2, WriteMode::kInsert, key_of(999), "x");
    ADD_FAILURE() << status.message();
  } catch (const std::bad_alloc&) {
    is_spent = true;
  }
  faults::disarm();
  EXPECT_TRUE(is_spent);
  rig_.session(2).rollback();
  fill(1, 645, 646, 1);
  begin(0);
  for (unsigned i = 0; i < 670; i += 10) EXPECT_EQ(get(0, key_of(i)), "x") << i;
  EXPECT_EQ(get(0, key_of(645)), "x");
  EXPECT_EQ(scan(0, "", "").size(), 68u);
  expect_commit(0);
  EXPECT_EQ(verify().records, 68u);
}

// Goal: the pages of a large payload are freed if its write is refused and there is no memory for
// the error. Method: its log record does not fit into the transaction's part of the ring.
TEST(MasstreeMemoryOfLogTest, a_chain_whose_write_is_refused_is_given_back) {
  Rig rig(StorageKind::kMasstree, 1, 64u << 20, 64u << 10);
  occ::TxnContext& ctx = rig.session(0).begin();
  const std::string payload(20'000, 'x');
  const auto put = [&] {
    return masstree::write_whole(ctx, rig.control(), WriteMode::kPut, "key", payload);
  };
  ASSERT_TRUE(put().is_ok());
  const std::uint64_t before = rig.control()->volatile_pages.load_relaxed();
  EXPECT_EQ(put().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(rig.control()->volatile_pages.load_relaxed(), before);
  faults::arm(faults::Source::kHeap, 0, true);
  ErrorCode code = ErrorCode::kOk;
  try {
    code = put().code();
  } catch (const std::bad_alloc&) {
    code = ErrorCode::kOutOfMemory;
  }
  faults::disarm();
  EXPECT_EQ(code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(rig.control()->volatile_pages.load_relaxed(), before);
  EXPECT_TRUE(rig.session(0).commit().is_ok());
}

// Goal: an erasure that joins pages with rows of its transaction allocates the memory for the moves
// before it takes a lock or a page. Method: six such rows, and enough rows elsewhere that the index
// of the write set has space for the new places of some of the six, not of all.
TEST_F(MasstreeMemoryTest, an_erasure_that_has_no_memory_for_moves_leaves_the_pages) {
  constexpr unsigned kKeys = 2 * 27;  // of two full pages
  constexpr unsigned kOthers = 247;
  const std::string payload(100, 'x');
  fill(0, 0, kKeys + kOthers, 1, payload);
  const auto is_left = [](unsigned i) { return i % 9 == 8; };
  for (unsigned i = 0; i < kKeys; ++i) {
    if (is_left(i)) continue;
    begin(1);
    erase(1, key_of(i));
    expect_commit(1);
  }
  const auto pages = [this] { return rig_.control()->volatile_pages.load_relaxed(); };
  const std::uint64_t before = pages();
  begin(0);
  for (unsigned i = 0; i < kKeys + kOthers; ++i) {
    if (i >= kKeys || is_left(i)) put(0, key_of(i), payload);
  }
  bool is_spent = false;
  faults::arm(faults::Source::kHeap, 0, true);
  try {
    erase(0, key_of(26));
  } catch (const std::bad_alloc&) {
    is_spent = true;
  }
  faults::disarm();
  EXPECT_TRUE(is_spent);
  EXPECT_EQ(pages(), before);
  rig_.session(0).rollback();
  ASSERT_EQ(verify().records, kOthers + 6);
  begin(1);
  for (unsigned i = 8; i < kKeys; i += 9) put(1, key_of(i), "new");
  expect_commit(1);
}

}  // namespace
}  // namespace foedus::testing::memory_test
