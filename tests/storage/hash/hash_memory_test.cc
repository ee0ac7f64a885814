// ctest-labels: memory
// Memory that is spent in the midst of a change: no page is lost.
#include "tests/faults/memory_faults.h"
#include "tests/storage/hash/hash_cold_fixture.h"

namespace foedus::storage::hash {
namespace {

using HashMemoryTest = HashColdTest;

// Goal: a bin that is made volatile by who has read it cold, and cannot remember all that it has
// read, does not keep its page. Method: the read set is filled up to where it grows, by looks at a
// row that is volatile; then a write to a cold row that was read asks for memory.
TEST_F(HashMemoryTest, ACopyThatCannotBeRememberedIsGivenBack) {
  load();
  all_.glean();
  ASSERT_EQ(volatile_pages(), 0u);
  put_alone(1, key_of(1), "volatile");
  begin(0);
  EXPECT_EQ(get(0, key_of(2)), payload_of(2));
  occ::TxnContext& ctx = all_.session(0).ctx();
  while (ctx.reads().size() < ctx.reads().capacity()) EXPECT_EQ(get(0, key_of(1)), "volatile");
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

}  // namespace
}  // namespace foedus::storage::hash
