#pragma once
// MasstreeWalk: reads a tree of a snapshot, in memory, and checks the promises of layout and
// composer for every page.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "tests/gleaner/compose/memory_pages.h"

namespace foedus::gleaner {

class MasstreeWalk {
 public:
  using BorderPage = storage::masstree::BorderPage;
  using InteriorPage = storage::masstree::InteriorPage;
  using Slot = storage::masstree::Slot;
  using TreePage = storage::masstree::TreePage;
  struct BorderSeen {
    page::SnapshotPageId id;
    std::uint64_t low;
    std::uint64_t last;
    unsigned keys;
    std::uint32_t free_bytes;
  };

  explicit MasstreeWalk(const MemoryPages& pages) : pages_(pages) {}

  void walk(page::SnapshotPageId root) {
    const TreePage* const page = at(root);
    ASSERT_NE(page, nullptr);
    visit(root, 0, ~std::uint64_t{0}, page->header.level, 0, "");
  }

  // Searches as storage/masstree/search/find.cc does, and reads only pages of the path.
  std::optional<std::string> find(page::SnapshotPageId root, std::string_view key) const {
    std::string_view rest = key;
    page::SnapshotPageId id = root;
    for (;;) {
      const std::uint64_t slice = storage::masstree::slice_of(rest);
      auto* page = const_cast<TreePage*>(at(id));
      EXPECT_TRUE(page->contains(slice));
      while (!page->is_border()) {
        auto* const interior = InteriorPage::of(page);
        const unsigned child = interior->child_of(slice, interior->header.load_version().keys());
        page = const_cast<TreePage*>(at(interior->child(child).load().snapshot_page));
        EXPECT_TRUE(page->contains(slice));
      }
      auto* const border = BorderPage::of(page);
      const unsigned keys = border->header.load_version().keys();
      unsigned i = 0;
      const unsigned key_class = storage::masstree::class_of(rest.size());
      while (i < keys && !(border->slice(i) == slice && border->slot(i).key_class() == key_class)) {
        ++i;
      }
      if (i == keys) return std::nullopt;
      const Slot slot = border->slot(i);
      if (!slot.is_layer()) {
        if (rest.size() > 8 && border->remainder(slot) != rest.substr(8)) return std::nullopt;
        return payload_of(border, slot);
      }
      id = border->layer_pointer(slot)->load().snapshot_page;
      rest.remove_prefix(8);
    }
  }

  std::map<std::string, std::string> found;
  std::vector<BorderSeen> borders;  // of the first layer
  std::set<std::uint64_t> level_1_lows;
  std::uint64_t border_pages = 0;
  std::uint64_t interior_pages = 0;
  std::uint64_t empty_pages = 0;
  std::uint64_t overflow_pages = 0;
  std::uint64_t crowded = 0;  // small payloads that are chains
  unsigned layers_max = 0;
  unsigned levels_max = 0;

 private:
  const TreePage* at(page::SnapshotPageId id) const { return pages_.as<TreePage>(id); }

  void visit(page::SnapshotPageId id, std::uint64_t low, std::uint64_t last, unsigned level,
             unsigned layer, const std::string& prefix) {
    auto* const page = const_cast<TreePage*>(at(id));
    ASSERT_NE(page, nullptr) << id.word();
    const page::PageHeader& header = page->header;
    EXPECT_EQ(header.page_id, id.word());
    EXPECT_EQ(header.storage_id, page::StorageId{1});
    EXPECT_EQ(header.level, level);
    EXPECT_EQ(header.layer, layer);
    EXPECT_EQ(page->low, low);
    EXPECT_EQ(page->last, last);
    EXPECT_EQ(page->foster_minor.load_relaxed(), 0u);
    EXPECT_EQ(page->foster_major.load_relaxed(), 0u);
    EXPECT_EQ(header.birth_version, header.load_version().word());
    EXPECT_EQ(header.kind_word, 0u);
    EXPECT_EQ(header.purged_tid, 0u);
    EXPECT_EQ(header.flags, 0u);
    layers_max = std::max(layers_max, layer);
    levels_max = std::max(levels_max, level);
    if (level == 0) {
      visit_border(id, BorderPage::of(page), prefix);
    } else {
      visit_interior(InteriorPage::of(page), prefix);
    }
  }

  void visit_interior(InteriorPage* page, const std::string& prefix) {
    ++interior_pages;
    EXPECT_EQ(page->header.kind, page::PageKind::kMasstreeInterior);
    if (page->header.level == 1 && page->header.layer == 0) level_1_lows.insert(page->low);
    const unsigned keys = page->header.load_version().keys();
    ASSERT_LE(keys, InteriorPage::kSeparatorsMax);
    std::uint64_t low = page->low;
    for (unsigned i = 0; i <= keys; ++i) {
      const std::uint64_t last = i == keys ? page->last : page->separator(i) - 1;
      if (i < keys) {
        ASSERT_GT(page->separator(i), low);
        ASSERT_LE(page->separator(i), page->last);
        EXPECT_EQ(page->child_of(page->separator(i), keys), i + 1);
        EXPECT_EQ(page->child_of(last, keys), i);
      }
      const page::DualPageIds ids = page->child(i).load();
      EXPECT_TRUE(ids.volatile_page.is_null());
      visit(ids.snapshot_page, low, last, page->header.level - 1u, page->header.layer, prefix);
      low = last + 1;
    }
  }

  void visit_border(page::SnapshotPageId id, BorderPage* page, const std::string& prefix) {
    ++border_pages;
    EXPECT_EQ(page->header.kind, page::PageKind::kMasstreeBorder);
    const unsigned keys = page->header.load_version().keys();
    ASSERT_LE(keys, BorderPage::kKeysMax);
    EXPECT_EQ(page->sorted_keys.load_relaxed(), keys);
    if (keys == 0) ++empty_pages;
    unsigned layers = 0;
    std::uint32_t heap_begin = page::kPageBytes;
    for (unsigned i = 0; i < keys; ++i) {
      const Slot slot = page->slot(i);
      heap_begin -= slot.record_bytes();
      EXPECT_EQ(slot.offset(), heap_begin);
      EXPECT_TRUE(page->contains(page->slice(i)));
      if (i > 0) {
        EXPECT_TRUE(page->slice(i - 1) < page->slice(i) ||
                    (page->slice(i - 1) == page->slice(i) &&
                     page->slot(i - 1).key_class() < slot.key_class()));
      }
      layers += slot.is_layer() ? 1 : 0;
      visit_slot(page, i, prefix);
    }
    EXPECT_EQ(page->heap_begin, heap_begin);
    EXPECT_EQ(page->header.load_version().layers(), layers);
    const std::uint32_t used = BorderPage::kBodyBegin + BorderPage::directory_bytes(keys);
    ASSERT_LE(used, heap_begin);
    for (std::uint32_t i = used; i < heap_begin; ++i) ASSERT_EQ(*page->at(i), 0);
    if (page->header.layer == 0) {
      borders.push_back({id, page->low, page->last, keys, heap_begin - used});
    }
  }

  void visit_slot(BorderPage* page, unsigned index, const std::string& prefix) {
    const Slot slot = page->slot(index);
    const page::RecordHeader* const record = page->record(slot);
    EXPECT_EQ(record->lock.load_relaxed(), 0u);
    const page::Tid tid = record->load_tid();
    EXPECT_EQ(tid.is_next_layer(), slot.is_layer());
    EXPECT_EQ(tid.without(page::Tid::kNextLayer).word() & page::Tid::kFlags, 0u);
    EXPECT_NE(tid.version(), 0u);
    char bytes[8];
    storage::masstree::put_slice(page->slice(index), bytes);
    if (slot.is_layer()) {
      EXPECT_EQ(slot.key_bytes(), Slot::kLayerKeyBytes);
      EXPECT_EQ(slot.layer_ordinal(), 0u);
      const page::DualPageIds ids = page->layer_pointer(slot)->load();
      EXPECT_TRUE(ids.volatile_page.is_null());
      const TreePage* const root = at(ids.snapshot_page);
      ASSERT_NE(root, nullptr);
      visit(ids.snapshot_page, 0, ~std::uint64_t{0}, root->header.level, page->header.layer + 1u,
            prefix + std::string(bytes, 8));
      return;
    }
    std::string key = prefix + std::string(bytes, std::min<std::size_t>(8, slot.key_bytes()));
    key.append(page->remainder(slot));
    std::string payload = payload_of(page, slot);
    if (slot.is_snapshot_overflow()) {
      EXPECT_EQ(slot.capacity(), storage::masstree::kCapacityMin);
      overflow_pages += page::OverflowPage::pages_of(payload.size());
      crowded += page::is_overflow(payload.size()) ? 0 : 1;
    } else {
      EXPECT_EQ(slot.capacity(), storage::masstree::capacity_for(payload.size()));
      EXPECT_FALSE(page::is_overflow(payload.size()));
    }
    EXPECT_TRUE(found.emplace(std::move(key), std::move(payload)).second);
  }

  std::string payload_of(BorderPage* page, Slot slot) const {
    if (!slot.is_snapshot_overflow()) return {page->payload(slot), slot.payload_bytes()};
    std::uint64_t id;
    std::memcpy(&id, page->payload(slot), sizeof(id));
    std::string payload;
    std::uint32_t payload_bytes = 0;
    while (id != 0) {
      const auto* const part = pages_.as<page::OverflowPage>(page::SnapshotPageId(id));
      if (part == nullptr || part->header.kind != page::PageKind::kOverflow) {
        ADD_FAILURE() << "a chain that ends early";
        return payload;
      }
      payload.append(part->data, part->bytes_here);
      payload_bytes = part->payload_bytes;
      id = part->next_page;
    }
    EXPECT_EQ(payload.size(), payload_bytes);
    return payload;
  }

  const MemoryPages& pages_;
};

}  // namespace foedus::gleaner
