#pragma once
// Makes and gives back the volatile pages of sequential storages.

#include <cstdint>
#include <cstring>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::storage::sequential {

template <typename Page>
Page* page_of(page::PagePool& pool, std::uint64_t id) {
  return reinterpret_cast<Page*>(pool.resolve(page::VolatilePageId(id)));
}

// Returns a page that no other thread can reach, all zero but its identity. Null: out of pages.
inline page::PageHeader* make_page(page::PagePool* pool, page::SessionPages* pages,
                                   occ::StorageControl* control, page::PageKind kind,
                                   std::uint8_t level) {
  page::PageHeader* const page = pages->allocate();
  if (page == nullptr) return nullptr;
  std::memset(static_cast<void*>(page), 0, page::kPageBytes);
  page->initialize(pool->id_of(page), control->id(), kind, level);
  control->volatile_pages.fetch_add_relaxed(1);  // order: relaxed, statistics
  return page;
}

// Gives back a page of make_page() that was never reachable.
inline void release_page(page::SessionPages* pages, occ::StorageControl* control,
                         page::PageHeader* page) {
  pages->release(page);
  control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});  // order: relaxed, statistics
}

// Gives back a page that was unlinked just now.
inline void retire_page(page::SessionPages* pages, occ::StorageControl* control,
                        page::PageHeader* page) {
  pages->retire(page);
  control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});  // order: relaxed, statistics
}

}  // namespace foedus::storage::sequential
