// Checks of snapshot pages of hash storages: for each rule a page that breaks it alone; and the
// page that a pointer is for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "foedus-core/storage/hash/layout/page_check.h"
#include "tests/storage/sound_pages.h"

namespace foedus::storage::hash::page_check_test {
namespace {

using page::PageKind;
using page::SnapshotNumber;
using page::SnapshotPageId;
using page::Tid;
using Bin = HashBinPage;
using Interior = HashInteriorPage;

// `change` returns whether it could change the page.
void bin_says(const char* rule, bool (*change)(Bin& page)) {
  expect_said<Bin>(PageKind::kHashBin, rule, change);
}
void interior_says(const char* rule, bool (*change)(Interior& page)) {
  expect_said<Interior>(PageKind::kHashInterior, rule, change);
}

void set_slot(Bin* page, std::uint32_t place, HashSlot slot) {
  page->slot_word(place).store_relaxed(slot.word());
}
// Leaves the page only its first record, and returns its slot.
HashSlot keep_first(Bin* page) {
  page->record_count.store_relaxed(1);
  count(&page->header, page->head == page->header.page_id ? 1 : 0);
  return page->slot(0);
}
bool set_first(Bin* page, HashSlot slot) {
  set_slot(page, 0, slot);
  page->data_end = slot.offset() + record_bytes_of(slot.key_bytes(), slot.room());
  return true;
}
page::RecordHeader& first_record(Bin& page) { return *page.record(page.slot(0)); }

TEST(HashPageCheckTest, an_interior_page_is_one) {
  constexpr const char* kHolds = "it says that it holds records";
  interior_says(kHolds, [](Interior& page) { return (page.header.level = 0) == 0; });
  interior_says(kHolds, [](Interior& page) { return (page.header.layer = 1) == 1; });
  interior_says("it counts keys, and has none", [](Interior& page) {
    count(&page.header, 1);
    return true;
  });
  constexpr const char* kBits = "it spreads by bits that there are not";
  interior_says(kBits, [](Interior& page) { return ++page.header.flags != 0; });
  interior_says(kBits, [](Interior& page) { return (page.header.flags = kPrefixBitsMax) != 0; });
}

TEST(HashPageCheckTest, digits_of_a_bin_are_its_prefix_and_have_one_pointer) {
  constexpr const char* kOwners = "its owners are no prefixes of bins";
  interior_says(kOwners, [](Interior& page) {
    page.set_owners(0, 3);
    page.set_owners(3, 1);
    return true;
  });
  interior_says(kOwners, [](Interior& page) {
    page.set_owners(0, 1);
    page.set_owners(1, 2);
    page.set_owners(3, 1);
    return true;
  });
  interior_says(kOwners, [](Interior& page) {
    for (std::uint32_t i = 1; i < Interior::kPointers; ++i) page.pointers[i].store({});
    page.set_owners(0, Interior::kPointers);
    return true;
  });
  // The null half has a hint of the page cache (P18), which no file may have.
  interior_says("a pointer that another one owns", [](Interior& page) {
    for (std::uint32_t i = 0; i < Interior::kPointers; ++i) {
      if (page.owner_of(i) == i) continue;
      page.pointers[i].set_hint(1);
      return true;
    }
    return false;
  });
  interior_says("a pointer that another one owns", [](Interior& page) {
    for (std::uint32_t i = 0; i < Interior::kPointers; i += 2) {
      if (page.owner_of(i + 1) != i + 1 || page.pointers[i + 1].load().is_null()) continue;
      page.set_owners(i, 2);
      return true;
    }
    return false;
  });
  interior_says("a pointer that leads nowhere", [](Interior& page) {
    const std::uint32_t digit = page.owner_of(Interior::kPointers - 1);
    page.pointers[digit].store({{}, id_of(page.header)});
    return true;
  });
}

TEST(HashPageCheckTest, a_page_of_a_bin_is_one) {
  bin_says("records above the lowest level", [](Bin& page) { return ++page.header.level != 0; });
  bin_says("records above the lowest level", [](Bin& page) { return ++page.header.layer != 0; });
  constexpr const char* kLength = "a prefix of an impossible length";
  bin_says(kLength, [](Bin& page) { return (page.header.flags = 0) == 0; });
  bin_says(kLength, [](Bin& page) { return (page.header.flags = kPrefixBitsMax + 1) != 0; });
  bin_says("a prefix that is longer than it says", [](Bin& page) { return ++page.prefix != 0; });
  constexpr const char* kSuccessors = "it has successors";
  bin_says(kSuccessors, [](Bin& page) {
    page.successors[0].store_relaxed(1);
    return true;
  });
  bin_says(kSuccessors, [](Bin& page) {
    page.successors[1].store_relaxed(1);
    return true;
  });
}

TEST(HashPageCheckTest, a_bin_begins_before_and_goes_on_behind_its_page) {
  constexpr const char* kBegins = "its bin begins elsewhere";
  bin_says(kBegins, [](Bin& page) {
    const SnapshotPageId own = id_of(page.header);
    const auto older = static_cast<std::uint32_t>(own.snapshot()) - 1;
    page.head = SnapshotPageId(SnapshotNumber(older), own.soc(), own.page()).word();
    return true;
  });
  bin_says(kBegins, [](Bin& page) {
    const SnapshotPageId own = id_of(page.header);
    page.head = SnapshotPageId(own.snapshot(), own.soc() + 1, own.page()).word();
    return true;
  });
  bin_says(kBegins, [](Bin& page) {
    const SnapshotPageId own = id_of(page.header);
    page.head = SnapshotPageId(own.snapshot(), own.soc(), 0).word();
    return true;
  });
  bin_says(kBegins, [](Bin& page) { return (page.head = id_of(page.header, 1).word()) != 0; });
  constexpr const char* kGoesOn = "its bin goes on elsewhere";
  bin_says(kGoesOn, [](Bin& page) {
    page.next_page.store_relaxed(id_of(page.header, 2).word());
    return true;
  });
  bin_says(kGoesOn, [](Bin& page) {
    page.next_page.store_relaxed(id_of(page.header).word());
    return true;
  });
  // A bin of several pages may count more than its first page has.
  bin_says(nullptr, [](Bin& page) {
    page.next_page.store_relaxed(id_of(page.header, 1).word());
    count(&page.header, page.load_count() + 1);
    return true;
  });
}

TEST(HashPageCheckTest, the_head_of_a_bin_counts_its_records) {
  constexpr const char* kNumber = "an impossible number of records";
  bin_says(kNumber, [](Bin& page) {
    page.record_count.store_relaxed(0);
    return true;
  });
  bin_says(kNumber, [](Bin& page) {
    page.record_count.store_relaxed(Bin::kRecordsMax + 1);
    return true;
  });
  constexpr const char* kCounts = "it counts other records than it has";
  bin_says(kCounts, [](Bin& page) {
    count(&page.header, page.load_count() + 1);
    return true;
  });
  bin_says(kCounts, [](Bin& page) {
    count(&page.header, page.load_count(), 1);
    return true;
  });
  bin_says(kCounts, [](Bin& page) {  // begins on the page before
    page.head = SnapshotPageId(page.header.page_id - 1).word();
    return true;
  });
}

TEST(HashPageCheckTest, records_lie_one_behind_the_other) {
  constexpr const char* kPlace = "a record of an impossible place or length";
  bin_says(kPlace, [](Bin& page) {
    const HashSlot slot = page.slot(0);
    set_slot(&page, 0, {slot.offset() + 8, slot.key_bytes(), slot.room(), slot.length()});
    return true;
  });
  bin_says(kPlace, [](Bin& page) {
    const HashSlot slot = page.slot(0);
    set_slot(&page, 0, {slot.offset(), kMaxKeyBytes + 1, slot.room(), slot.length()});
    return true;
  });
  bin_says(kPlace, [](Bin& page) {
    const HashSlot slot = keep_first(&page);
    return set_first(&page, {slot.offset(), slot.key_bytes(), slot.room() + 4, slot.length()});
  });
  bin_says(kPlace, [](Bin& page) {
    const HashSlot slot = keep_first(&page);
    return set_first(&page, {slot.offset(), slot.key_bytes(), 0, 0});
  });
  for (const std::uint32_t length : {0u, 0xffffu}) {  // 0: one more than fits
    expect_said<Bin>(PageKind::kHashBin, kPlace, [&](Bin& page) {
      const HashSlot slot = page.slot(0);
      set_slot(&page, 0, slot.with_length(length == 0 ? slot.room() + 1 : length));
    });
  }
  // The length fits into the capacity, but is long enough for a chain.
  bin_says(kPlace, [](Bin& page) {
    const HashSlot slot = keep_first(&page);
    constexpr std::uint32_t kRoom = page::kInlinePayloadBytesMax + 8;
    return set_first(&page, {slot.offset(), slot.key_bytes(), kRoom, kRoom});
  });
  bin_says("a record that ends behind its room", [](Bin& page) {
    const HashSlot slot = page.slot(0);
    set_slot(&page, 0, {slot.offset(), slot.key_bytes(), page::kPageBytes, slot.length()});
    return true;
  });
  bin_says("its records do not end where it says",
           [](Bin& page) { return (page.data_end += 8) != 0; });
}

TEST(HashPageCheckTest, a_record_is_there_and_of_its_bin) {
  constexpr const char* kLocked = "a record with an impossible lock or TID";
  bin_says(kLocked, [](Bin& page) {
    first_record(page).lock.store_relaxed(1);
    return true;
  });
  bin_says(kLocked, [](Bin& page) {
    auto& tid = first_record(page).tid;
    tid.store_relaxed(tid.load_relaxed() | Tid::kMoved);
    return true;
  });
  bin_says(kLocked, [](Bin& page) {
    const Epoch later(SoundPages::get().newest().number() + 1);
    first_record(page).tid.store_relaxed(Tid(later, 1).word());
    return true;
  });
  bin_says("a record of another bin", [](Bin& page) {
    page.prefix ^= std::uint64_t{1} << (kHashBits - page.prefix_bits());
    return true;
  });
  bin_says("a record with a wrong tag", [](Bin& page) {
    page.tags[0].store_relaxed(page.tags[0].load_relaxed() ^ 1);
    return true;
  });
  bin_says("a payload that is nowhere", [](Bin& page) {
    for (std::uint32_t i = 0; i < page.load_count(); ++i) {
      const HashSlot slot = page.slot(i);
      if (!slot.is_chain()) continue;
      std::memcpy(payload_of(page.record(slot), slot), &page.header.page_id, sizeof(std::uint64_t));
      return true;
    }
    return false;
  });
}

TEST(HashPageCheckTest, records_are_in_the_order_of_their_hashes) {
  bin_says("records that are not in order", [](Bin& page) {
    const auto tag_of = [&](std::uint32_t place) -> std::uint16_t& {
      return reinterpret_cast<std::uint16_t*>(page.tags)[place];
    };
    for (std::uint32_t i = 0; i + 1 < page.load_count(); ++i) {
      const HashSlot one = page.slot(i);
      const HashSlot other = page.slot(i + 1);
      if (one.key_bytes() != other.key_bytes() || one.room() != other.room()) continue;
      char* const at = reinterpret_cast<char*>(page.record(one));
      const std::uint32_t bytes = record_bytes_of(one.key_bytes(), one.room());
      std::swap_ranges(at, at + bytes, reinterpret_cast<char*>(page.record(other)));
      std::swap(tag_of(i), tag_of(i + 1));
      set_slot(&page, i, one.with_length(other.length()));
      set_slot(&page, i + 1, other.with_length(one.length()));
      return true;
    }
    return false;
  });
}

// A page must have the expected kind and identity; each other value is refused.
TEST(HashPageCheckTest, a_pointer_is_for_one_page) {
  const auto copy_of = [](PageKind kind) {
    auto copy = std::make_unique<PageBytes>();
    for (const auto& page : SoundPages::get().all()) {
      if (page->header()->kind == kind) *copy = *page;
    }
    return copy;
  };
  const auto one = copy_of(PageKind::kHashBin);
  auto& bin = *one->as<Bin>();
  const page::StorageId storage = bin.header.storage_id;
  const page::StorageId other{static_cast<std::uint32_t>(storage) + 1};
  const unsigned bits = bin.prefix_bits();
  EXPECT_TRUE(is_bin_of(bin.header, storage, bits, bin.prefix));
  EXPECT_FALSE(is_bin_of(bin.header, other, bits, bin.prefix));
  EXPECT_FALSE(is_bin_of(bin.header, storage, bits + 1, bin.prefix));
  EXPECT_FALSE(is_bin_of(bin.header, storage, bits, ~bin.prefix));
  const BinIdentity identity(bin);
  EXPECT_TRUE(is_part_of(bin.header, identity));
  --bin.head;
  EXPECT_FALSE(is_bin_of(bin.header, storage, bits, bin.prefix));
  EXPECT_FALSE(is_part_of(bin.header, identity));
  ++bin.head;
  bin.header.kind = PageKind::kHashInterior;
  EXPECT_FALSE(is_bin_of(bin.header, storage, bits, bin.prefix));
  EXPECT_FALSE(is_part_of(bin.header, identity));

  const auto spread = copy_of(PageKind::kHashInterior);
  page::PageHeader& interior = *spread->header();
  EXPECT_TRUE(is_interior_of(interior, storage, interior.flags));
  EXPECT_FALSE(is_interior_of(interior, other, interior.flags));
  EXPECT_FALSE(is_interior_of(interior, storage, interior.flags + kDigitBits));
  interior.kind = PageKind::kHashBin;
  EXPECT_FALSE(is_interior_of(interior, storage, interior.flags));
}

}  // namespace
}  // namespace foedus::storage::hash::page_check_test
