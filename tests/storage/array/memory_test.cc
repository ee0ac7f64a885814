// ctest-program: own
// ctest-labels: memory
// Memory runs out within a change: no page is lost.
#include "foedus-core/storage/array/array_install.h"
#include "foedus-core/storage/array/array_storage.h"
#include "tests/faults/memory_faults.h"
#include "tests/storage/array/gleaned_array.h"
#include "tests/storage/gleaned.h"

namespace foedus::storage::array::memory_test {
namespace {

constexpr std::uint64_t kRecords = 60'000;  // two levels of interior pages

Status put_into(Gleaned* all, std::uint64_t value) {
  return write_at(all->session(0).ctx(), all->control(), 7, 0,
                  {reinterpret_cast<const char*>(&value), sizeof(value)});
}

// Goal: a copy of a cold page is freed if the transaction cannot remember the pointers that it has
// read; the rig counts pages at the end. Method: a transaction reads a record of a cold array, then
// writes it. Each interior page of its path has more pointers to remember than the pointer set has
// space for.
TEST(ArrayMemoryTest, a_copy_that_cannot_be_remembered_is_given_back) {
  Gleaned all(testing::array_meta(kRecords), compose_all, install);
  const auto put = [&](std::uint64_t value) { return put_into(&all, value); };
  all.session(0).begin();
  ASSERT_TRUE(put(1).is_ok());
  ASSERT_TRUE(all.session(0).commit().is_ok());
  all.glean();
  ASSERT_EQ(all.control()->volatile_pages.load_relaxed(), 0u);
  all.session(0).begin();
  std::uint64_t value = 0;
  occ::ReadRange range{reinterpret_cast<char*>(&value), sizeof(value), 0, 0};
  ASSERT_TRUE(get(all.session(0).ctx(), all.control(), 7, &range).is_ok());
  EXPECT_EQ(value, 1u);
  faults::arm(faults::Source::kHeap, 0, true);
  bool is_spent = false;
  try {
    const Status status = put(2);
    ADD_FAILURE() << status.message();
  } catch (const std::bad_alloc&) {
    is_spent = true;
  }
  faults::disarm();
  EXPECT_TRUE(is_spent);
  all.session(0).rollback();
  all.session(0).begin();
  EXPECT_TRUE(put(2).is_ok());
  EXPECT_TRUE(all.session(0).commit().is_ok());
}

// Goal: a write that gets no page changes nothing, and succeeds when there is one.
TEST(ArrayMemoryTest, a_write_without_a_page_for_its_copy_is_refused) {
  Gleaned all(testing::array_meta(kRecords), compose_all, install);
  const auto put = [&](std::uint64_t value) { return put_into(&all, value); };
  all.session(0).begin();
  ASSERT_TRUE(put(1).is_ok());
  ASSERT_TRUE(all.session(0).commit().is_ok());
  all.glean();
  page::SessionPages& pages = all.session(0).pages();
  std::vector<page::PageHeader*> taken;
  while (page::PageHeader* const page = pages.allocate()) taken.push_back(page);
  all.session(0).begin();
  EXPECT_EQ(put(2).code(), ErrorCode::kOutOfMemory);
  all.session(0).rollback();
  for (page::PageHeader* const page : taken) pages.release(page);
  all.session(0).begin();
  EXPECT_TRUE(put(2).is_ok());
  EXPECT_TRUE(all.session(0).commit().is_ok());
}

// Goal: the new page is freed if the snapshot page cannot be read, or is another one than expected,
// and there is no memory for the error.
TEST(ArrayMemoryTest, a_page_that_cannot_be_filled_is_given_back) {
  for (const bool is_forged : {false, true}) {
    unsigned spent = 0;
    for (unsigned calls = 0; calls < 4; ++calls) {
      Gleaned all(testing::array_meta(kRecords), compose_all, install);
      const auto put = [&](std::uint64_t value) {
        return write_at(all.session(0).ctx(), all.control(), 7, 0,
                        {reinterpret_cast<const char*>(&value), sizeof(value)});
      };
      all.session(0).begin();
      ASSERT_TRUE(put(1).is_ok());
      ASSERT_TRUE(all.session(0).commit().is_ok());
      all.glean();
      all.session(0).begin();
      if (is_forged) {
        all.pages().forge_read_after(0);
      } else {
        all.pages().fail_read_after(0);
      }
      faults::arm(faults::Source::kHeap, calls, true);
      try {
        EXPECT_FALSE(put(2).is_ok());
      } catch (const std::bad_alloc&) {
        ++spent;
      }
      faults::disarm();
      all.pages().read_well();
      all.session(0).rollback();
    }
    EXPECT_GT(spent, 0u) << is_forged;
  }
}

}  // namespace
}  // namespace foedus::storage::array::memory_test
