#pragma once
// ContentWalk: the contents of all pages below a root, without the places of pages. It is equal
// before and after a move of pages, and differs after any other change.

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/page/overflow_page.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"

namespace foedus::gleaner {

class ContentWalk {
 public:
  using Find = std::function<const page::PageHeader*(page::SnapshotPageId)>;
  struct Content {
    std::uint64_t pages = 0;
    std::uint32_t checksum = 0;
    bool operator==(const Content&) const = default;
  };

  explicit ContentWalk(Find find) : find_(std::move(find)) {}

  Content look(page::SnapshotPageId root) {
    content_ = {};
    walk(root);
    return content_;
  }

 private:
  using Id = page::SnapshotPageId;

  // Walks the page of the id in the word, and replaces the id by whether it is null.
  void walk_word(void* word) {
    std::uint64_t id;
    std::memcpy(&id, word, sizeof(id));
    walk(Id(id));
    id = id == 0 ? 0 : 1;
    std::memcpy(word, &id, sizeof(id));
  }
  void walk_pointer(page::DualPagePointer* pointer) {
    const Id id = pointer->load().snapshot_page;
    walk(id);
    pointer->store({page::VolatilePageId(), Id(id.is_null() ? 0 : 1)});
  }

  void walk(Id id) {
    if (id.is_null()) return;
    const page::PageHeader* const found = find_(id);
    const auto block = std::make_unique<page::PageBytes>();
    ++content_.pages;
    if (found == nullptr) {
      content_.checksum = 0;
      return;
    }
    std::memcpy(block->bytes, static_cast<const void*>(found), page::kPageBytes);
    look_at(block.get(), id);
    block->header()->page_id = 0;
    block->header()->crc32c = 0;
    content_.checksum = base::crc32c(block->bytes, page::kPageBytes, content_.checksum);
  }

  void look_at(page::PageBytes* block, Id id) {
    switch (block->header()->kind) {
      case page::PageKind::kArrayInterior:
        for (auto& pointer : block->as<storage::array::ArrayInteriorPage>()->pointers) {
          walk_pointer(&pointer);
        }
        return;
      case page::PageKind::kHashInterior:
        for (auto& pointer : block->as<storage::hash::HashInteriorPage>()->pointers) {
          walk_pointer(&pointer);
        }
        return;
      case page::PageKind::kHashBin:
        return look_at_bin(block->as<storage::hash::HashBinPage>(), id);
      case page::PageKind::kMasstreeInterior: {
        auto* const page = block->as<storage::masstree::InteriorPage>();
        const unsigned keys = page->header.load_version().keys();
        for (unsigned i = 0; i <= keys; ++i) walk_pointer(&page->child(i));
        return;
      }
      case page::PageKind::kMasstreeBorder: {
        auto* const page = block->as<storage::masstree::BorderPage>();
        for (unsigned i = 0; i < page->header.load_version().keys(); ++i) {
          const storage::masstree::Slot slot = page->slot(i);
          if (slot.is_layer()) walk_pointer(page->layer_pointer(slot));
          if (slot.is_snapshot_overflow()) walk_word(page->payload(slot));
        }
        return;
      }
      case page::PageKind::kSequentialHeads: {
        auto* const page = block->as<storage::sequential::SequentialRunsPage>();
        walk_word(&page->full_page);
        for (std::uint32_t i = 0; i < page->run_count; ++i) {
          auto& run = page->runs[i];
          for (std::uint32_t j = 1; j < run.page_count; ++j) walk(run.first_page.plus(j));
          walk_word(&run.first_page);
        }
        return;
      }
      case page::PageKind::kOverflow:
        return walk_word(&block->as<page::OverflowPage>()->next_page);
      default:
        return;
    }
  }
  void look_at_bin(storage::hash::HashBinPage* page, Id id) {
    for (std::uint32_t i = 0; i < page->load_count(); ++i) {
      const storage::hash::HashSlot slot = page->slot(i);
      if (slot.is_chain()) walk_word(storage::hash::payload_of(page->record(slot), slot));
    }
    // In a chain, the first page is the head of all pages.
    const bool is_head = page->head == id.word();
    if (is_head) head_ = page->head;
    page->head = is_head ? 1 : page->head == head_ ? 2 : 3;
    const Id next(page->next_page.load_relaxed());
    walk(next);
    page->next_page.store_relaxed(next.is_null() ? 0 : 1);
  }

  const Find find_;
  Content content_;
  std::uint64_t head_ = 0;
};

}  // namespace foedus::gleaner
