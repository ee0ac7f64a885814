#include "foedus-core/storage/masstree/stats.h"

#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

namespace {

void sample_below(const page::PagePool& pool, page::VolatilePageId id, PageSamples* samples) {
  if (id.is_null()) return;
  TreePage* const page = TreePage::of(pool.resolve(id));
  const page::PageVersion version = page->header.load_version();
  if (version.is_moved()) {
    // order: acquire, pairs with the stores before the page was marked (M4).
    sample_below(pool, page::VolatilePageId(page->foster_minor.load_acquire()), samples);
    sample_below(pool, page::VolatilePageId(page->foster_major.load_acquire()), samples);
    return;
  }
  if (page->is_border()) {
    // order: relaxed, statistics.
    if (samples->is_next_taken()) samples->add(page->low, page->header.last_soc.load_relaxed());
    return;
  }
  InteriorPage* const interior = InteriorPage::of(page);
  for (unsigned i = 0; i <= version.keys(); ++i) {
    sample_below(pool, interior->child(i).load_volatile(), samples);
  }
}

}  // namespace

void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
                  PageSamples* samples) {
  sample_below(pool, control.root.load_volatile(), samples);
  if (control.has_delta()) sample_below(pool, control.delta->root.load_volatile(), samples);
}

}  // namespace foedus::storage::masstree
