#include "gleaner/compose/masstree/share.h"

#include <cstring>
#include <memory>

#include "foedus-core/base/invariant.h"
#include "foedus-core/page/page_bytes.h"
#include "gleaner/compose/masstree/copy.h"

namespace foedus::gleaner {

using storage::masstree::BorderPage;
using storage::masstree::Slot;

namespace {

std::uint32_t used_bytes(unsigned keys, std::uint32_t heap_bytes) {
  return BorderPage::directory_bytes(keys) + heap_bytes;
}

std::uint32_t heap_bytes_of(const BorderPage* page) {
  return static_cast<std::uint32_t>(page::kPageBytes) - page->heap_begin;
}

unsigned keys_of(const BorderPage* page) { return page->header.load_version().keys(); }

// Returns how many keys stay in `before`. Keys of one slice stay together (M5).
unsigned keys_to_stay(BorderPage* before, const BorderPage* page) {
  const unsigned before_keys = keys_of(before);
  const unsigned page_keys = keys_of(page);
  std::uint32_t moved_bytes = 0;
  unsigned stay = before_keys;
  for (unsigned i = before_keys; i-- != 0;) {
    moved_bytes += before->slot(i).record_bytes();
    if (i == 0 || before->slice(i - 1) == before->slice(i)) continue;
    const unsigned moved = before_keys - i;
    const std::uint32_t left = used_bytes(i, heap_bytes_of(before) - moved_bytes);
    if (used_bytes(page_keys + moved, heap_bytes_of(page) + moved_bytes) > left) break;
    if (page_keys + moved > BorderPage::kKeysMax) break;
    stay = i;
  }
  return stay;
}

}  // namespace

bool share_keys(BorderPage* before, BorderPage* page) {
  if (used_bytes(keys_of(page), heap_bytes_of(page)) >= BorderPage::kBodyBytes / 2) return false;
  const unsigned stay = keys_to_stay(before, page);
  if (stay == keys_of(before)) return false;
  FOEDUS_INVARIANT(stay != 0, before->low);
  const auto joined = std::make_unique<page::PageBytes>();
  joined->initialize(page->header.storage_id, page->header.kind, page->header.level);
  BorderPage* const to = joined->as<BorderPage>();
  to->header.layer = page->header.layer;
  to->heap_begin = page::kPageBytes;
  copy_keys(before, stay, keys_of(before), to);
  copy_keys(page, 0, keys_of(page), to);
  keep_keys(before, stay);
  std::memcpy(static_cast<void*>(page), joined->bytes, sizeof(joined->bytes));
  return true;
}

}  // namespace foedus::gleaner
