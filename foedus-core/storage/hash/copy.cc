#include "foedus-core/storage/hash/copy.h"

#include "foedus-core/base/invariant.h"

namespace foedus::storage::hash {

void give_birth(const PageSource& source, HashBinPage* bin) {
  bin->birth.store_relaxed(moves::birth_of_copy(*source.control).word());  // order: not reachable
}

void release_page(const PageSource& source, page::PageHeader* page) {
  if (page->kind == page::PageKind::kHashBin) {
    return release_bin(source, reinterpret_cast<HashBinPage*>(page));
  }
  source.pages->release(page);
  // order: relaxed, statistics.
  source.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
}

page::PageHeader* copy_page(const PageSource& source, const page::PageHeader* cold) {
  page::PageHeader* const page = source.pages->allocate();
  if (page == nullptr) return nullptr;
  copy_snapshot_page(cold, source.pool->id_of(page), source.soc, page);
  if (page->kind == page::PageKind::kHashInterior) {
    for (auto& pointer : reinterpret_cast<HashInteriorPage*>(page)->pointers) pointer.clear_hint();
  }
  source.control->volatile_pages.fetch_add_relaxed(1);  // order: relaxed, statistics
  return page;
}

HashBinPage* copy_bin_page(const PageSource& source, const page::PageHeader* cold,
                           const HashBinPage* head) {
  FOEDUS_INVARIANT(cold->kind == page::PageKind::kHashBin, cold->kind, cold->page_id);
  auto* const page = reinterpret_cast<HashBinPage*>(copy_page(source, cold));
  if (page != nullptr) page->head = head == nullptr ? page->header.page_id : head->header.page_id;
  return page;
}

}  // namespace foedus::storage::hash
