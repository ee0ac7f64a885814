#pragma once
// Makes the pages on the way from an index to its record (A2).

#include <cstdint>

#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::storage::array {

// Where pages come from, and the storage that they are for.
struct PageSource {
  page::PagePool* pool;
  page::SessionPages* pages;
  occ::StorageControl* control;
  std::uint32_t soc;
};

// Returns a page that no other thread can reach, its records or pointers zero. Null: out of pages.
page::PageHeader* make_page(const PageSource& source, std::uint32_t level,
                            std::uint64_t first_index);

// Gives back a page of make_page() that was never reachable.
void release_page(const PageSource& source, page::PageHeader* page);

// Retires a page and all below it.
void retire_below(const PageSource& source, page::PageHeader* page);

// Digits of a page number to the base of kPointers: the slots on the way from the root.
struct Path {
  std::uint32_t levels;
  std::uint32_t slots[kLevelsMax];  // by level; [0] is the pointer to the border page

  Path(std::uint64_t page_number, std::uint64_t page_count) : levels(levels_of(page_count)) {
    for (std::uint32_t i = 0; i < levels; ++i) {
      slots[i] = static_cast<std::uint32_t>(page_number % ArrayInteriorPage::kPointers);
      page_number /= ArrayInteriorPage::kPointers;
    }
  }
};

}  // namespace foedus::storage::array
