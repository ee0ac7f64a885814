#include "gleaner/compose/masstree/old_page.h"

#include <cstring>
#include <string>

#include "foedus-core/storage/masstree/layout/page_check.h"

namespace foedus::gleaner {

using page::SnapshotPageId;
using storage::masstree::BorderPage;
using storage::masstree::InteriorPage;
using storage::masstree::Slot;
using storage::masstree::TreePage;

namespace {

bool is_page_good(const Composition& composition, const Subtree& expected, std::uint8_t layer,
                  page::PageBytes* block) {
  TreePage* const page = TreePage::of(block->header());
  const page::PageHeader& header = page->header;
  const std::uint32_t level = expected.level == kAnyLevel ? header.level : expected.level;
  if (!storage::masstree::is_page_of(header, composition.meta->id, layer, level)) return false;
  if (page->low != expected.range.begin || page->last != expected.range.last) return false;
  // The reader has checked the epochs already.
  const page::BrokenRule broken =
      header.level == 0 ? storage::masstree::broken_rule(*BorderPage::of(page), Epoch(Epoch::kMax))
                        : storage::masstree::broken_rule(*InteriorPage::of(page));
  return broken == nullptr;
}

}  // namespace

MasstreeRecord old_record(BorderPage* page, Slot slot) {
  MasstreeRecord record;
  record.tid = page->record(slot)->load_tid();
  if (slot.is_snapshot_overflow()) {
    std::uint64_t id;
    std::memcpy(&id, page->payload(slot), sizeof(id));
    record.chain = SnapshotPageId(id);
  } else {
    record.payload = {page->payload(slot), slot.payload_bytes()};
  }
  return record;
}

Subtree child_of(InteriorPage* page, unsigned index) {
  const unsigned keys = page->header.load_version().keys();
  const std::uint64_t begin = index == 0 ? page->low : page->separator(index - 1);
  const std::uint64_t last = index == keys ? page->last : page->separator(index) - 1;
  return {{begin, last}, page->child(index).load().snapshot_page, page->header.level - 1u};
}

Status read_old_page(const Composition& composition, const Subtree& page, std::uint8_t layer,
                     page::PageBytes* to) {
  FOEDUS_CHECK(composition.previous->read(page.page, to->header()));
  if (is_page_good(composition, page, layer, to)) return {};
  return masstree_corruption(composition, {},
                             "snapshot page " + std::to_string(page.page.word()) +
                                 " is not the page that its pointer is for");
}

}  // namespace foedus::gleaner
