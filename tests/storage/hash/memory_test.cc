// ctest-program: own
// ctest-labels: memory
// Memory runs out within a change: no page is lost.
#include <cstring>

#include "foedus-core/storage/hash/cold.h"
#include "foedus-core/storage/hash/copy.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "tests/faults/memory_faults.h"
#include "tests/storage/hash/cold_fixture.h"

namespace foedus::storage::hash::memory_test {
namespace {

using HashMemoryTest = HashColdTest;

// Goal: the copy of a cold bin is freed if the transaction cannot remember its reads. Method: reads
// of a volatile row fill the read set up to where it grows; then a write to a cold row that was
// read asks for memory.
TEST_F(HashMemoryTest, a_copy_that_cannot_be_remembered_is_given_back) {
  load();
  all_.glean();
  ASSERT_EQ(volatile_pages(), 0u);
  put_alone(1, key_of(1), "volatile");
  begin(0);
  EXPECT_EQ(get(0, key_of(2)), payload_of(2));
  occ::TxnContext& ctx = all_.session(0).ctx();
  while (ctx.sets().reads().has_room()) EXPECT_EQ(get(0, key_of(1)), "volatile");
  const std::uint64_t before = volatile_pages();
  faults::arm(faults::Source::kHeap, 0, true);
  bool is_spent = false;
  try {
    const Status status = put(0, key_of(2), "changed");
    ADD_FAILURE() << status.message();
  } catch (const std::bad_alloc&) {
    is_spent = true;
  }
  faults::disarm();
  EXPECT_TRUE(is_spent);
  EXPECT_EQ(volatile_pages(), before);
  all_.session(0).rollback();
  put_alone(1, key_of(2), payload_of(2));
  put_alone(1, key_of(1), payload_of(1));
  check(1);
}

// Goal: copied pages of a bin are freed if there is no memory to read its next page. Method: all
// keys have one hash (wyhash's first factor is 0), so their bin is a chain of pages.
TEST_F(HashMemoryTest, the_first_pages_of_a_bin_that_is_not_read_to_its_end_are_given_back) {
  std::string stem(8, '\0');
  std::memcpy(stem.data(), &internal::kMix2, 8);
  const auto key = [&](unsigned i) { return stem + std::to_string(10'000'000 + i); };
  const std::uint64_t hash = hash_of(key(0));
  for (unsigned i = 0; i < 20; ++i) {
    ASSERT_EQ(hash_of(key(i)), hash);
    put_alone(0, key(i), std::string(1000, 'x'));
  }
  all_.glean();
  ASSERT_EQ(volatile_pages(), 0u);
  begin(0);
  occ::TxnContext& ctx = all_.session(0).ctx();
  const occ::ColdReads reads(&ctx.cold_pages());
  page::SnapshotPageId bin = all_.root();
  for (;;) {
    const page::PageHeader* const page = ctx.cold_pages().page(bin);
    ASSERT_NE(page, nullptr);
    if (page->kind != page::PageKind::kHashInterior) break;
    const auto* const interior = reinterpret_cast<const HashInteriorPage*>(page);
    bin = interior->pointers[interior->owner_of(interior->digit_of(hash))].load().snapshot_page;
  }
  for (int looks = 0; looks < 5; ++looks) {
    int left = looks;
    const auto read = [&](page::SnapshotPageId id) {
      if (left-- == 0) throw std::bad_alloc();
      return ctx.cold_pages().page(id);
    };
    page::SnapshotPageId wrong;
    EXPECT_THROW(copy_cold(source_of(ctx, all_.control()), bin, &wrong, read,
                           [](const page::PageHeader&) { return true; }),
                 std::bad_alloc);
    EXPECT_EQ(volatile_pages(), 0u) << looks;
  }
}

}  // namespace
}  // namespace foedus::storage::hash::memory_test
