// Records of one slice are all in one page (M5): what is done about those that want more room than
// it has, while others take room or give it back.
#include "tests/storage/masstree/masstree_fixture.h"

namespace foedus::testing {
namespace {

using MasstreeCrowded = MasstreeTest;

// Keys of which only the length differs: they share a slice.
std::string zeros(std::size_t bytes) { return std::string(bytes, '\0'); }
const std::string kLarge(1400, 'l');  // there is no room for a third one

// Goal: a record that grows into room which another one took meanwhile becomes a chain. Method: the
// insert of the other one between the look at the room and the page's lock.
TEST_F(MasstreeCrowded, room_that_another_takes_meanwhile_is_not_grown_into) {
  begin(0);
  put(0, zeros(1), "small");
  put(0, zeros(2), kLarge);
  put(0, zeros(9), "behind");
  expect_commit(0);
  begin(0);
  const AtSyncPoint other("masstree:room_searched", [&] {
    begin(1);
    put(1, zeros(3), kLarge);
    expect_commit(1);
  });
  put(0, zeros(1), kLarge);
  EXPECT_EQ(other.runs(), 1u);
  expect_commit(0);
  begin(0);
  for (const std::size_t bytes : {1, 2, 3}) EXPECT_EQ(get(0, zeros(bytes)), kLarge) << bytes;
  EXPECT_EQ(get(0, zeros(9)), "behind");
  expect_commit(0);
  EXPECT_EQ(verify().records, 4u);
}

}  // namespace
}  // namespace foedus::testing
