#pragma once
// MasstreeContents: all rows of a Master-Tree, read from volatile and snapshot pages alike, while
// no session changes it; and checks of every page on the way.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "tests/storage/gleaned.h"

namespace foedus::storage::masstree {

class MasstreeContents {
 public:
  explicit MasstreeContents(Gleaned* all) : all_(*all) {
    visit(all_.control()->root.load(), {0, ~std::uint64_t{0}, kAnyLevel, 0, ""});
    EXPECT_EQ(all_.control()->volatile_pages.load_relaxed(), volatile_pages());
  }

  std::uint64_t volatile_pages() const { return borders + interiors + overflow_pages; }

  std::map<std::string, std::string> rows;
  std::uint64_t borders = 0;  // volatile ones, as the next two
  std::uint64_t interiors = 0;
  std::uint64_t overflow_pages = 0;
  std::uint64_t moved_pages = 0;  // of the volatile ones
  std::uint64_t cold_pages = 0;
  std::uint64_t oldest_snapshot =
      ~std::uint64_t{0};  // that a cold pointer of a volatile page names

 private:
  static constexpr unsigned kAnyLevel = ~0u;
  struct Place {
    std::uint64_t low;
    std::uint64_t last;
    unsigned level;
    unsigned layer;
    std::string prefix;
  };

  void visit(const page::DualPageIds& ids, const Place& place, bool is_cold = false) {
    if (is_cold) {
      ASSERT_TRUE(ids.volatile_page.is_null());
    }
    if (!ids.volatile_page.is_null()) {
      return visit_page(TreePage::of(all_.all().pool().resolve(ids.volatile_page)), place, false);
    }
    ASSERT_FALSE(ids.snapshot_page.is_null()) << place.low << ' ' << place.layer;
    if (!is_cold) {
      oldest_snapshot =
          std::min(oldest_snapshot, static_cast<std::uint64_t>(ids.snapshot_page.snapshot()));
    }
    auto* const page = const_cast<page::PageHeader*>(all_.pages().at(ids.snapshot_page));
    ASSERT_NE(page, nullptr) << ids.snapshot_page.word();
    visit_page(TreePage::of(page), place, true);
  }

  void visit_page(TreePage* page, const Place& place, bool is_cold) {
    const page::PageVersion version = page->header.load_version();
    EXPECT_EQ(page->low, place.low);
    EXPECT_EQ(page->last, place.last);
    EXPECT_EQ(page->header.layer, place.layer);
    EXPECT_EQ(page->header.storage_id, all_.control()->id());
    EXPECT_FALSE(version.is_dropped());
    EXPECT_FALSE(version.is_retired());
    EXPECT_EQ(page->header.lock.load_relaxed(), 0u);
    if (place.level != kAnyLevel) {
      EXPECT_EQ(page->header.level, place.level);
    }
    if (is_cold) {
      ++cold_pages;
    } else {
      ++(page->is_border() ? borders : interiors);
      if (version.is_moved()) return visit_twins(page, place);
    }
    if (page->is_border()) return visit_border(BorderPage::of(page), place, is_cold);
    InteriorPage* const interior = InteriorPage::of(page);
    for (unsigned i = 0; i <= version.keys(); ++i) {
      const std::uint64_t low = i == 0 ? page->low : interior->separator(i - 1);
      const std::uint64_t last = i == version.keys() ? page->last : interior->separator(i) - 1;
      EXPECT_LE(low, last);
      EXPECT_EQ(interior->child_of(low, version.keys()), i);
      visit(interior->child(i).load(),
            {low, last, page->header.level - 1u, place.layer, place.prefix}, is_cold);
    }
  }

  void visit_twins(TreePage* page, const Place& place) {
    ++moved_pages;
    const page::VolatilePageId minor(page->foster_minor.load_relaxed());
    const page::VolatilePageId major(page->foster_major.load_relaxed());
    Place to = place;
    to.level = page->header.level;
    if (!major.is_null()) to.last = TreePage::of(all_.all().pool().resolve(major))->low - 1;
    visit({minor, {}}, to);
    if (major.is_null()) return;
    to.low = to.last + 1;
    to.last = place.last;
    visit({major, {}}, to);
  }

  void visit_border(BorderPage* page, const Place& place, bool is_cold) {
    const page::PageVersion version = page->header.load_version();
    const unsigned sorted = page->sorted_keys.load_relaxed();
    EXPECT_LE(page->birth().keys(), version.keys());
    unsigned layers = 0;
    for (unsigned i = 0; i < version.keys(); ++i) {
      const Slot slot = page->slot(i);
      const page::RecordHeader* const record = page->record(slot);
      const page::Tid tid = record->load_tid();
      EXPECT_TRUE(page->contains(page->slice(i)));
      EXPECT_EQ(record->lock.load_relaxed(), 0u);
      EXPECT_FALSE(tid.is_moved());
      EXPECT_EQ(tid.is_next_layer(), slot.is_layer());
      if (i > 0 && i < sorted) {
        EXPECT_TRUE(page->slice(i - 1) < page->slice(i) ||
                    (page->slice(i - 1) == page->slice(i) &&
                     page->slot(i - 1).key_class() < slot.key_class()));
      }
      char bytes[8];
      put_slice(page->slice(i), bytes);
      if (slot.is_layer()) {
        ++layers;
        visit(page->layer_pointer(slot)->load(),
              {0, ~std::uint64_t{0}, kAnyLevel, place.layer + 1,
               place.prefix + std::string(bytes, 8)},
              is_cold);
        continue;
      }
      if (tid.is_deleted()) continue;
      std::string key = place.prefix + std::string(bytes, std::min(8u, slot.key_bytes()));
      key.append(page->remainder(slot));
      EXPECT_TRUE(rows.emplace(std::move(key), payload_of(page, slot)).second);
    }
    EXPECT_EQ(layers, version.layers());
  }

  std::string payload_of(BorderPage* page, Slot slot) {
    if (!slot.is_overflow() && !slot.is_snapshot_overflow()) {
      return {page->payload(slot), slot.payload_bytes()};
    }
    std::uint64_t id;
    std::memcpy(&id, page->payload(slot), sizeof(id));
    std::string payload;
    while (id != 0) {
      const page::OverflowPage* part = nullptr;
      if (slot.is_overflow()) {
        ++overflow_pages;
        part = reinterpret_cast<const page::OverflowPage*>(
            all_.all().pool().resolve(page::VolatilePageId(id)));
      } else {
        part = all_.pages().as<page::OverflowPage>(page::SnapshotPageId(id));
      }
      payload.append(part->data, part->bytes_here);
      id = part->next_page;
    }
    return payload;
  }

  Gleaned& all_;
};

}  // namespace foedus::storage::masstree
