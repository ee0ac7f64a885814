// ctest-labels: concurrency
#include "foedus-core/storage/base/install.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

namespace foedus::storage::install_test {
namespace {

using occ::LockWaiter;

const page::DualPageIds kBefore{page::VolatilePageId(), page::SnapshotPageId(7)};
const page::DualPageIds kAfter{page::VolatilePageId(9), page::SnapshotPageId(7)};

class ChangePointerTest : public ::testing::Test {
 protected:
  ChangePointerTest() {
    page_.initialize(page::VolatilePageId(1), page::StorageId{1}, page::PageKind::kHashInterior, 1);
    pointer_.store(kBefore);
  }

  alignas(page::kPageBytes) page::PageHeader page_;
  page::DualPagePointer pointer_;
};

TEST_F(ChangePointerTest, a_pointer_in_a_page_that_has_gone_stays_as_it_was) {
  EXPECT_TRUE(change_pointer(&pointer_, &page_, kBefore, kAfter));
  EXPECT_EQ(pointer_.load(), kAfter);
  for (const std::uint64_t flag : {page::PageVersion::kMoved, page::PageVersion::kDropped}) {
    pointer_.store(kBefore);
    page_.store_version(page::PageVersion().with(flag));
    EXPECT_FALSE(change_pointer(&pointer_, &page_, kBefore, kAfter));
    EXPECT_EQ(pointer_.load(), kBefore);
  }
  EXPECT_TRUE(change_pointer(&pointer_, nullptr, kBefore, kAfter));
}

// Method: the other thread has to wait for the page's lock; without that it would have changed the
// pointer. The page moves before the lock is released.
TEST_F(ChangePointerTest, a_pointer_changes_under_the_lock_of_its_page) {
  LockWaiter holder;
  lock(&page_.lock, &holder);
  const std::uint64_t alone = page_.lock.load_relaxed();
  bool changed = true;
  std::thread other([&] { changed = change_pointer(&pointer_, &page_, kBefore, kAfter); });
  while (page_.lock.load_acquire() == alone && pointer_.load() == kBefore) {
    std::this_thread::yield();
  }
  EXPECT_EQ(pointer_.load(), kBefore);
  page_.store_version(page_.load_version().with(page::PageVersion::kMoved));
  unlock(&page_.lock, &holder);
  other.join();
  EXPECT_FALSE(changed);
  EXPECT_EQ(pointer_.load(), kBefore);
}

// The results are whether the installer is done with the record, and whether the record has the new
// id.
TEST(NameChainTest, a_record_gets_its_name_or_is_reported_unless_it_has_no_use_for_one) {
  const page::SnapshotPageId chain(page::SnapshotNumber{2}, 0, 5);
  const page::Tid tid(Epoch(3), 1);
  const auto name = [](page::Tid of, page::SnapshotPageId to, bool is_named, bool is_locked) {
    page::RecordHeader record{};
    record.tid.store_relaxed(of.word());
    alignas(8) std::uint64_t body = 1;
    LockWaiter waiter;
    if (is_locked) lock(&record.lock, &waiter);
    const bool is_done =
        rename_chain(&record, reinterpret_cast<char*>(&body), to, [=] { return is_named; });
    if (is_locked) unlock(&record.lock, &waiter);
    EXPECT_EQ(record.lock.load_relaxed(), 0u);
    return std::pair(is_done, body == to.word());
  };
  EXPECT_EQ(name(tid, chain, true, false), std::pair(true, true));
  EXPECT_EQ(name(tid, chain, true, true), std::pair(false, false));
  EXPECT_EQ(name(tid, chain, false, false), std::pair(true, false));
  EXPECT_EQ(name(tid.with(page::Tid::kDeleted), chain, true, false), std::pair(true, false));
  EXPECT_EQ(name(tid.with(page::Tid::kMoved), chain, true, false), std::pair(false, false));
  EXPECT_EQ(name(tid, page::SnapshotPageId(), true, false), std::pair(false, false));
}

}  // namespace
}  // namespace foedus::storage::install_test
