#include "foedus-core/storage/array/array_pages.h"

#include <cstring>

namespace foedus::storage::array {

page::PageHeader* make_page(const PageSource& source, std::uint32_t level,
                            std::uint64_t first_index) {
  page::PageHeader* const page = source.pages->allocate();
  if (page == nullptr) return nullptr;
  std::memset(static_cast<void*>(page), 0, page::kPageBytes);
  page->initialize(source.pool->id_of(page), source.control->id(),
                   level == 0 ? page::PageKind::kArrayBorder : page::PageKind::kArrayInterior,
                   static_cast<std::uint8_t>(level));
  page->kind_word = first_index;
  page->last_soc.store_relaxed(source.soc);  // order: relaxed, not reachable yet
  source.control->volatile_pages.fetch_add_relaxed(1);  // order: relaxed, statistics
  return page;
}

void release_page(const PageSource& source, page::PageHeader* page) {
  source.pages->release(page);
  // order: relaxed, statistics.
  source.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
}

void retire_below(const PageSource& source, page::PageHeader* page) {
  if (page->level != 0) {
    auto* const interior = reinterpret_cast<ArrayInteriorPage*>(page);
    for (page::DualPagePointer& pointer : interior->pointers) {
      const page::VolatilePageId child = pointer.load_volatile();
      if (!child.is_null()) retire_below(source, source.pool->resolve(child));
    }
  }
  source.pages->retire(page);
  // order: relaxed, statistics.
  source.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
}

}  // namespace foedus::storage::array
