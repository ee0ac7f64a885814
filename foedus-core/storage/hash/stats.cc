#include "foedus-core/storage/hash/stats.h"

#include "foedus-core/storage/hash/layout/page.h"

namespace foedus::storage::hash {

namespace {

void sample_below(const page::PagePool& pool, page::VolatilePageId id, PageSamples* samples) {
  const page::PageHeader* const page = pool.resolve(id);
  if (page->kind == page::PageKind::kHashBin) {
    if (!samples->is_next_taken()) return;
    // order: relaxed, statistics.
    const std::uint32_t soc = page->last_soc.load_relaxed();
    samples->add(reinterpret_cast<const HashBinPage*>(page)->prefix, soc);
    return;
  }
  const auto* const interior = reinterpret_cast<const HashInteriorPage*>(page);
  for (std::uint32_t digit = 0; digit < HashInteriorPage::kPointers; ++digit) {
    if (interior->owner_of(digit) != digit) continue;
    const page::VolatilePageId child = interior->pointers[digit].load_volatile();
    // H6: a pointer that is not used leads to its own page.
    if (!child.is_null() && child != id) sample_below(pool, child, samples);
  }
}

}  // namespace

void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
                  PageSamples* samples) {
  const page::VolatilePageId id = control.root.load_volatile();
  if (!id.is_null()) sample_below(pool, id, samples);
}

}  // namespace foedus::storage::hash
