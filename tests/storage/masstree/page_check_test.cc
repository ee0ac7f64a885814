// Checks of snapshot pages of Master-Trees: for each rule a page that breaks it alone; and the page
// that a pointer is for.
#include <gtest/gtest.h>

#include <cstring>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "tests/storage/sound_pages.h"

namespace foedus::storage::masstree::page_check_test {
namespace {

using page::PageKind;
using page::Tid;

constexpr const char* kLocked = "a record with an impossible lock or TID";
constexpr const char* kPlace = "a record of an impossible place or length";
constexpr const char* kRoom = "a payload that is not of its room";
constexpr const char* kNextLayer = "a next layer that cannot be";
constexpr const char* kLayerLocked = "a next layer with an impossible lock or TID";
constexpr const char* kNoLayer = "a next layer that is nowhere";

template <typename Change>
void border_says(const char* rule, Change&& change) {
  expect_said<BorderPage>(PageKind::kMasstreeBorder, rule, change);
}
template <typename Change>
void interior_says(const char* rule, Change&& change) {
  expect_said<InteriorPage>(PageKind::kMasstreeInterior, rule, change);
}
template <typename Change>
void both_say(const char* rule, Change&& change) {
  border_says(rule, [&](BorderPage& page) { change(page); });
  interior_says(rule, [&](InteriorPage& page) { change(page); });
}
// Changes the first record that can be changed: change(page, index) returns whether it could.
template <typename Change>
void record_says(const char* rule, Change&& change) {
  border_says(rule, [&](BorderPage& page) {
    const unsigned keys = page.header.load_version().keys();
    for (unsigned i = 0; i < keys; ++i) {
      if (change(page, i)) return true;
    }
    return false;
  });
}
// Changes the first next layer that can be changed.
template <typename Change>
void layer_says(const char* rule, Change&& change) {
  record_says(rule, [&](BorderPage& page, unsigned i) {
    return page.slot(i).is_layer() && change(page, i);
  });
}
void set_slot(BorderPage* page, unsigned index, Slot slot) {
  page->slot_word(index).store_relaxed(slot.word());
}

TEST(MasstreePageCheckTest, a_page_is_of_a_tree) {
  border_says("records above the lowest level", [](BorderPage& page) { page.header.level = 1; });
  interior_says("a level of no tree", [](InteriorPage& page) { page.header.level = 0; });
  interior_says("a level of no tree",
                [](InteriorPage& page) { page.header.level = kLevelMax + 1; });
  both_say("it is of a layer that no key has",
           [](TreePage& page) { page.header.layer = kLayersMax; });
  both_say("it has flags", [](TreePage& page) { page.header.flags = 1; });
  both_say("its range of slices is none", [](TreePage& page) {
    page.low = 1;
    page.last = 0;
  });
  both_say("it has foster twins", [](TreePage& page) { page.foster_minor.store_relaxed(1); });
  both_say("it has foster twins", [](TreePage& page) { page.foster_major.store_relaxed(1); });
}

TEST(MasstreePageCheckTest, a_border_page_counts_what_it_has) {
  border_says("more keys than a page can have",
              [](BorderPage& page) { count(&page.header, BorderPage::kKeysMax + 1); });
  border_says("it says that not all keys are sorted", [](BorderPage& page) {
    page.sorted_keys.store_relaxed(page.sorted_keys.load_relaxed() - 1);
  });
  border_says("it counts other layers than it has", [](BorderPage& page) {
    const page::PageVersion version = page.header.load_version();
    count(&page.header, version.keys(), version.layers() + 1);
  });
}

TEST(MasstreePageCheckTest, records_lie_one_behind_the_other) {
  record_says(kPlace, [](BorderPage& page, unsigned i) {
    const Slot slot = page.slot(i);
    set_slot(&page, i,
             {slot.offset() - 16, slot.key_bytes(), slot.capacity(), slot.payload_field()});
    return true;
  });
  record_says(kPlace, [](BorderPage& page, unsigned i) {
    const Slot slot = page.slot(i);
    set_slot(&page, i,
             {slot.offset() - 8, slot.key_bytes(), slot.capacity() + 8, slot.payload_field()});
    return true;
  });
  border_says("its records do not begin where it says",
              [](BorderPage& page) { page.heap_begin -= 16; });
}

// Goal: the last record must begin after the directory. Method: records are so long that the last
// one begins in the unused part of the directory.
TEST(MasstreePageCheckTest, records_do_not_reach_into_the_directory) {
  border_says(kPlace, [](BorderPage& page) {
    constexpr unsigned kKeys = 49;  // one in the last group
    const Tid tid(SoundPages::get().newest(), 1);
    page.low = 0;
    page.last = ~std::uint64_t{0};
    count(&page.header, kKeys);
    page.sorted_keys.store_relaxed(kKeys);
    std::memset(page.body, 0, sizeof(page.body));
    std::uint32_t begin = page::kPageBytes;
    for (unsigned i = 0; i < kKeys; ++i) {
      const std::uint32_t capacity = i + 1 < kKeys ? 48 : 32;
      begin -= footprint(0, capacity);
      page.group(i).slices[i % BorderPage::Group::kKeys] = i + 1;
      set_slot(&page, i, {begin, 8, capacity, capacity});
      page.record(i)->tid.store_relaxed(tid.word());
    }
    page.heap_begin = begin;
    ASSERT_LT(begin, BorderPage::kBodyBegin + BorderPage::directory_bytes(kKeys));
  });
}

TEST(MasstreePageCheckTest, keys_are_in_order_and_in_the_range_of_the_page) {
  border_says("a key outside of its range", [](BorderPage& page) { page.low = page.slice(0) + 1; });
  border_says("a key outside of its range", [](BorderPage& page) {
    const unsigned keys = page.header.load_version().keys();
    page.last = page.slice(keys - 1) - 1;
    return page.slice(keys - 2) < page.last && page.low < page.last;
  });
  record_says("a key that is longer than it says", [](BorderPage& page, unsigned i) {
    if (page.slot(i).key_class() >= 8) return false;
    ++page.group(i).slices[i % BorderPage::Group::kKeys];
    return true;
  });
  const auto second_becomes = [](auto&& slice_for) {
    record_says("keys that are not in order", [&](BorderPage& page, unsigned i) {
      if (i == 0) return false;
      const bool are_of_one_class = page.slot(i).key_class() == page.slot(i - 1).key_class();
      if (!are_of_one_class || page.slot(i).key_class() < 8) return false;
      const std::uint64_t slice = slice_for(page.slice(i - 1));
      page.group(i).slices[i % BorderPage::Group::kKeys] = slice;
      return page.contains(slice);
    });
  };
  // The later key is longer, but its slice is lower.
  record_says("keys that are not in order", [](BorderPage& page, unsigned i) {
    if (i == 0 || page.slot(i).key_class() < 8 || page.slot(i - 1).key_class() >= 8) return false;
    const std::uint64_t slice = page.slice(i - 1) - 1;
    page.group(i).slices[i % BorderPage::Group::kKeys] = slice;
    return page.contains(slice);
  });
  second_becomes([](std::uint64_t before) { return before; });
  second_becomes([](std::uint64_t before) { return before - 1; });
}

TEST(MasstreePageCheckTest, a_record_is_there_and_of_a_key_that_can_be) {
  const auto tid_becomes = [](auto&& tid_for) {
    record_says(kLocked, [&](BorderPage& page, unsigned i) {
      if (page.slot(i).is_layer()) return false;
      auto& tid = page.record(i)->tid;
      tid.store_relaxed(tid_for(tid.load_relaxed()));
      return true;
    });
  };
  tid_becomes([](std::uint64_t tid) { return tid | Tid::kDeleted; });
  tid_becomes([](std::uint64_t tid) { return tid | Tid::kNextLayer; });
  tid_becomes([](std::uint64_t) { return Tid(Epoch(), 1).word(); });
  tid_becomes(
      [](std::uint64_t) { return Tid(Epoch(SoundPages::get().newest().number() + 1), 1).word(); });
  record_says(kLocked, [](BorderPage& page, unsigned i) {
    page.record(i)->lock.store_relaxed(1);
    return !page.slot(i).is_layer();
  });
  record_says("a key that is longer than a key can be", [](BorderPage& page, unsigned i) {
    page.header.layer = kLayersMax - 1;
    return i == 0 && page.slot(i).key_bytes() > 8 && !page.slot(i).is_layer();
  });
  record_says("a next layer that keeps a key", [](BorderPage& page, unsigned i) {
    if (page.slot(i).is_layer()) return false;
    set_slot(&page, i, page.slot(i).with_payload(Slot::kLayer));
    return true;
  });
}

TEST(MasstreePageCheckTest, a_payload_is_of_its_room) {
  record_says(kRoom, [](BorderPage& page, unsigned i) {
    const Slot slot = page.slot(i);
    if (slot.is_layer() || slot.is_chain()) return false;
    set_slot(&page, i, slot.with_payload(slot.capacity() + 1));
    return true;
  });
  record_says(kRoom, [](BorderPage& page, unsigned i) {
    const Slot slot = page.slot(i);
    if (slot.is_layer() || slot.capacity() == kCapacityMin) return false;
    set_slot(&page, i, slot.with_payload(slot.capacity() - 16));
    return true;
  });
  // The length fits into the capacity, is long enough for a chain, and overlaps the records after
  // it.
  record_says(kRoom, [](BorderPage& page, unsigned i) {
    const Slot slot = page.slot(i);
    constexpr std::uint32_t kLong = capacity_for(page::kInlinePayloadBytesMax + 1);
    if (i != 0 || slot.is_layer()) return false;
    const std::uint32_t begin = page::kPageBytes - footprint(slot.remainder_bytes(), kLong);
    std::memmove(page.at(begin), page.record(slot), sizeof(page::RecordHeader));
    set_slot(&page, i, {begin, slot.key_bytes(), kLong, kLong});
    return true;
  });
  record_says(kRoom, [](BorderPage& page, unsigned i) {
    const Slot slot = page.slot(i);
    if (!slot.is_snapshot_overflow()) return false;
    const std::uint32_t begin = slot.offset() - 16;
    std::memmove(page.at(begin), page.record(slot), sizeof(page::RecordHeader));
    set_slot(&page, i, {begin, slot.key_bytes(), slot.capacity() + 16, slot.payload_field()});
    return true;
  });
  record_says("a payload that is nowhere", [](BorderPage& page, unsigned i) {
    const Slot slot = page.slot(i);
    if (!slot.is_snapshot_overflow()) return false;
    std::memcpy(page.payload(slot), &page.header.page_id, sizeof(page.header.page_id));
    return true;
  });
}

TEST(MasstreePageCheckTest, a_next_layer_is_one) {
  layer_says(kNextLayer, [](BorderPage& page, unsigned i) {
    set_slot(&page, i, page.slot(i).with_payload(Slot::kLayer + 1));
    return true;
  });
  layer_says(kNextLayer, [](BorderPage& page, unsigned i) {
    const Slot slot = page.slot(i);
    set_slot(&page, i,
             {slot.offset() - 16, slot.key_bytes(), slot.capacity() + 16, slot.payload_field()});
    std::memmove(page.at(slot.offset() - 16), page.at(slot.offset()), slot.record_bytes());
    return true;
  });
  layer_says(kNextLayer, [](BorderPage& page, unsigned i) {
    page.header.layer = kLayersMax - 1;  // the last possible layer
    for (unsigned before = 0; before < i; ++before) {
      if (page.slot(before).key_bytes() > 8 && !page.slot(before).is_layer()) return false;
    }
    return true;
  });
  layer_says(kLayerLocked, [](BorderPage& page, unsigned i) {
    auto& tid = page.record(i)->tid;
    tid.store_relaxed(tid.load_relaxed() & ~Tid::kNextLayer);
    return true;
  });
  layer_says(kLayerLocked, [](BorderPage& page, unsigned i) {
    page.record(i)->lock.store_relaxed(1);
    return true;
  });
  layer_says(kNoLayer, [](BorderPage& page, unsigned i) {
    page.layer_pointer(page.slot(i))->store({{}, id_of(page.header)});
    return true;
  });
  layer_says(kNoLayer, [](BorderPage& page, unsigned i) {
    page::DualPagePointer* const pointer = page.layer_pointer(page.slot(i));
    pointer->store({page::VolatilePageId(0, 1), pointer->load().snapshot_page});
    return true;
  });
}

TEST(MasstreePageCheckTest, an_interior_page_leads_on_and_its_separators_ascend) {
  constexpr const char* kChildren = "too many children";
  interior_says(kChildren,
                [](InteriorPage& page) { count(&page.header, InteriorPage::kSeparatorsMax + 1); });
  interior_says(kChildren, [](InteriorPage& page) {
    count(&page.header, page.header.load_version().keys(), 1);
  });
  constexpr const char* kNowhere = "a pointer that leads nowhere";
  interior_says(kNowhere, [](InteriorPage& page) {
    page.child(page.header.load_version().keys()).store({{}, id_of(page.header)});
  });
  interior_says(kNowhere, [](InteriorPage& page) { page.child(0).store({}); });
  interior_says(kNowhere, [](InteriorPage& page) {
    page.child(0).store({page::VolatilePageId(0, 1), page.child(0).load().snapshot_page});
  });
  constexpr const char* kOrder = "separators that are not in order";
  interior_says(kOrder, [](InteriorPage& page) { page.set_separator(0, page.low); });
  interior_says(kOrder, [](InteriorPage& page) {
    page.last = page.separator(page.header.load_version().keys() - 1) - 1;
  });
  interior_says("a pivot that is no separator", [](InteriorPage& page) {
    page.pivots[0].store_relaxed(page.pivots[0].load_relaxed() + 1);
    return page.header.load_version().keys() >= InteriorPage::kGroupSize;
  });
}

TEST(MasstreePageCheckTest, a_pointer_is_for_one_page) {
  auto copy = std::make_unique<PageBytes>();
  for (const auto& page : SoundPages::get().all()) {
    if (page->header()->kind == PageKind::kMasstreeBorder) *copy = *page;
  }
  auto& page = *copy->as<BorderPage>();
  const ColdPlace place{Identity(page.header), page.low, page.last};
  const auto is_other = [&](auto&& change) {
    const auto other = std::make_unique<PageBytes>(*copy);
    change(*other->as<BorderPage>());
    return !place.is_of(*other->header());
  };
  EXPECT_FALSE(is_other([](BorderPage&) {}));
  EXPECT_TRUE(is_other([](BorderPage& other) { ++other.low; }));
  EXPECT_TRUE(is_other([](BorderPage& other) { --other.last; }));
  EXPECT_TRUE(is_other([](BorderPage& other) { ++other.header.layer; }));
  EXPECT_TRUE(is_other([](BorderPage& other) { ++other.header.level; }));
  EXPECT_TRUE(is_other([](BorderPage& other) { ++other.header.flags; }));
  EXPECT_TRUE(is_other([](BorderPage& other) { other.header.storage_id = page::StorageId{99}; }));
  EXPECT_TRUE(is_other([](BorderPage& other) { other.header.kind = PageKind::kMasstreeInterior; }));
  const ColdRoot root{page.header.storage_id, page.header.layer};
  page.low = 0;
  page.last = ~std::uint64_t{0};
  EXPECT_TRUE(root.is_of(page.header));
  page.low = 1;
  EXPECT_FALSE(root.is_of(page.header));
  page.low = 0;
  --page.last;
  EXPECT_FALSE(root.is_of(page.header));
}

}  // namespace
}  // namespace foedus::storage::masstree::page_check_test
