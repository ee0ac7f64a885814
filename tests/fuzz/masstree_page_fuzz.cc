// Pages of Master-Trees: every key is found, every slice leads to one child.
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "tests/fuzz/page_fuzz.h"

namespace foedus::fuzz {
namespace {

using storage::masstree::BorderPage;
using storage::masstree::InteriorPage;
using storage::masstree::Slot;

void read(BorderPage* page) {
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = page->slot(i);
    const unsigned found =
        storage::masstree::find_slot(page, 0, keys, page->slice(i), slot.key_class());
    if (found != i) __builtin_trap();
    look_at(page->remainder(slot).data(), page->remainder(slot).size());
    if (slot.is_layer()) {
      if (page->layer_pointer(slot)->load().snapshot_page.is_null()) __builtin_trap();
    } else {
      look_at(page->payload(slot), slot.is_chain() ? 8 : slot.payload_bytes());
    }
  }
}

void read(InteriorPage* page) {
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i <= keys; ++i) {
    for (const std::uint64_t slice : {page->low_of(i), page->last_of(i, keys)}) {
      if (page->child_of(slice, keys) != i) __builtin_trap();
    }
    if (page->child(i).load().snapshot_page.is_null()) __builtin_trap();
  }
}

}  // namespace
}  // namespace foedus::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  using page::PageKind;
  const fuzz::Input input(data, size);
  const auto page = std::make_unique<fuzz::PageBytes>();
  if (!fuzz::take_page(input, PageKind::kMasstreeInterior, PageKind::kMasstreeBorder,
                       page.get())) {
    return 0;
  }
  if (page->header()->kind == PageKind::kMasstreeInterior) {
    fuzz::read(page->as<fuzz::InteriorPage>());
  } else {
    fuzz::read(page->as<fuzz::BorderPage>());
  }
  return 0;
}
