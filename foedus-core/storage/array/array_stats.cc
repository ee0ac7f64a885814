#include "foedus-core/storage/array/array_stats.h"

#include "foedus-core/storage/array/array_page.h"

namespace foedus::storage::array {

namespace {

void sample_below(const page::PagePool& pool, const page::DualPagePointer& pointer,
                  PageSamples* samples) {
  const page::VolatilePageId id = pointer.load_volatile();
  if (id.is_null()) return;
  const page::PageHeader* const page = pool.resolve(id);
  if (page->level == 0) {
    // order: relaxed, statistics.
    if (samples->is_next_taken()) samples->add(page->kind_word, page->last_soc.load_relaxed());
    return;
  }
  for (const page::DualPagePointer& child :
       reinterpret_cast<const ArrayInteriorPage*>(page)->pointers) {
    sample_below(pool, child, samples);
  }
}

}  // namespace

void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
                  PageSamples* samples) {
  sample_below(pool, control.root, samples);
}

}  // namespace foedus::storage::array
