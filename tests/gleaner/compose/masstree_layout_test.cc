// The code of volatile pages can use copies of snapshot pages.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "tests/gleaner/compose/masstree_table.h"

namespace foedus::gleaner::masstree_layout_test {
namespace {

using storage::masstree::BorderPage;
using storage::masstree::Slot;

// Checks that every key which could share a slice with one of the page can be added, and that each
// record is found.
void expect_usable(BorderPage* page) {
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = page->slot(i);
    EXPECT_EQ(find_slot(page, 0, keys, page->slice(i), slot.key_class()), i);
    const std::size_t key_bytes = slot.is_layer() ? 9 : slot.key_bytes();
    const std::uint32_t room =
        storage::masstree::crowded_capacity(page, keys, page->slice(i), key_bytes, i);
    EXPECT_GE(room, slot.capacity());
    // A present key may be erased, and then the longest one be inserted.
    const unsigned longer =
        find_slot(page, 0, keys, page->slice(i), storage::masstree::kRemainderClass);
    if (longer != BorderPage::kNone && page->slot(longer).is_layer()) continue;
    EXPECT_GE(storage::masstree::crowded_capacity(page, keys, page->slice(i), kMaxKeyBytes, longer),
              storage::masstree::kCapacityMin);
  }
}

TEST(MasstreeLayoutTest, a_copy_of_a_page_takes_every_key_of_its_slices) {
  MasstreeTable table;
  for (std::size_t payload_bytes : {0u, 16u, 100u, 700u, 1100u, 1400u}) {
    for (std::size_t zeroes = 0; zeroes < 8; ++zeroes) {
      std::string key = std::to_string(payload_bytes).append(zeroes, '\0');
      if (zeroes % 3 != 0) table.put(key, payload_of(payload_bytes, zeroes));
      key.resize(8, '\0');
      if (zeroes == 5) table.put(key + payload_of(1016, 1), payload_of(payload_bytes, zeroes));
    }
  }
  for (std::size_t zeroes : {0u, 1u, 2u, 4u}) {
    const std::size_t payload_bytes = zeroes == 4 ? 0 : 1400;
    table.put(std::string("beside").append(zeroes, '\0'), payload_of(payload_bytes, zeroes));
  }
  for (std::uint64_t i = 0; i < 500; ++i) {
    table.put(key_of(i << 32), payload_of(i * 37 % 1401, i));
    table.put("layered!" + key_of(i << 24) + "x", payload_of(i * 31 % 1401, i));
  }
  table.glean_and_check();
  for (const auto& border : table.seen->borders) {
    page::PageBytes block;
    std::memcpy(block.bytes, static_cast<const void*>(table.pages.at(border.id)), sizeof(block));
    expect_usable(block.as<BorderPage>());
  }
  EXPECT_GT(table.seen->crowded, 0u);
}

}  // namespace
}  // namespace foedus::gleaner::masstree_layout_test
