// Walks a tree that no session changes, and checks the rules of layout/page.h.
#include <vector>

#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/storage.h"

namespace foedus::storage::masstree {

namespace {

class Checker {
 public:
  Checker(page::PagePool& pool, occ::StorageControl* control) : pool_(pool), control_(control) {}

  Statistics run() {
    push(control_->root.load(), {{}, 0, ~std::uint64_t{0}, kAnyLevel, 0});
    while (!stack_.empty()) {
      const Visit visit = stack_.back();
      stack_.pop_back();
      check_page(visit);
    }
    const std::uint64_t pages =
        statistics_.border_pages + statistics_.interior_pages + statistics_.overflow_pages;
    FOEDUS_INVARIANT(control_->volatile_pages.load_relaxed() == pages,
                     control_->volatile_pages.load_relaxed(), pages);
    return statistics_;
  }

 private:
  static constexpr unsigned kAnyLevel = ~0u;
  // A page to look at, and what must be true of it.
  struct Visit {
    page::VolatilePageId id;
    std::uint64_t low;
    std::uint64_t last;
    unsigned level;
    unsigned layer;
  };

  void push(const page::DualPageIds& ids, Visit visit) {
    FOEDUS_INVARIANT(!ids.is_null(), visit.low, visit.last);
    visit.id = ids.volatile_page;
    if (visit.id.is_null()) {
      ++statistics_.cold_pointers;
    } else {
      stack_.push_back(visit);
    }
  }
  void push_twin(page::VolatilePageId id, const TreePage* moved, std::uint64_t low,
                 std::uint64_t last) {
    push({id, {}}, {{}, low, last, moved->header.level, moved->header.layer});
  }

  void check_page(const Visit& visit) {
    TreePage* const page = TreePage::of(pool_.resolve(visit.id));
    const page::PageHeader& header = page->header;
    const page::PageVersion version = header.load_version();
    FOEDUS_INVARIANT(header.page_id == visit.id.word(), header.page_id, visit.id.word());
    FOEDUS_INVARIANT(header.storage_id == control_->id(), header.storage_id);
    FOEDUS_INVARIANT(header.layer == visit.layer, header.layer, visit.layer);
    FOEDUS_INVARIANT(visit.level == kAnyLevel || header.level == visit.level, header.level,
                     visit.level);
    FOEDUS_INVARIANT(page->low == visit.low && page->last == visit.last, page->low, page->last,
                     visit.low, visit.last);
    FOEDUS_INVARIANT(header.lock.load_relaxed() == 0, header.page_id);
    FOEDUS_INVARIANT(!version.is_retired() && !version.is_dropped(), version.word());
    if (page->is_border()) {
      ++statistics_.border_pages;
      check_border(BorderPage::of(page), version);
    } else {
      ++statistics_.interior_pages;
      if (!version.is_moved()) check_interior(InteriorPage::of(page), version);
    }
    if (version.is_moved()) check_twins(page);
  }

  void check_twins(TreePage* page) {
    ++statistics_.foster_twins;
    const page::VolatilePageId minor(page->foster_minor.load_acquire());
    const page::VolatilePageId major(page->foster_major.load_acquire());
    std::uint64_t minor_last = page->last;
    if (!major.is_null()) {
      const TreePage* const twin = TreePage::of(pool_.resolve(major));
      FOEDUS_INVARIANT(page->low < twin->low && twin->low <= page->last, twin->low);
      minor_last = twin->low - 1;
      push_twin(major, page, twin->low, page->last);
    }
    push_twin(minor, page, page->low, minor_last);
  }

  void check_interior(InteriorPage* page, page::PageVersion version) {
    FOEDUS_INVARIANT(page->header.kind == page::PageKind::kMasstreeInterior, page->header.kind);
    std::uint64_t low = page->low;
    for (unsigned i = 0; i <= version.keys(); ++i) {
      std::uint64_t last = page->last;
      if (i < version.keys()) {
        const std::uint64_t separator = page->separator(i);
        FOEDUS_INVARIANT(separator > low && separator <= page->last, separator, low);
        FOEDUS_INVARIANT(page->child_of(separator, version.keys()) == i + 1, separator, i);
        last = separator - 1;
      }
      push(page->child(i).load(), {{}, low, last, page->header.level - 1u, page->header.layer});
      low = last + 1;
    }
  }

  void check_border(BorderPage* page, page::PageVersion version) {
    FOEDUS_INVARIANT(page->header.kind == page::PageKind::kMasstreeBorder, page->header.kind);
    const unsigned keys = version.keys();
    const unsigned sorted = page->sorted_keys.load_relaxed();
    FOEDUS_INVARIANT(keys <= BorderPage::kKeysMax && sorted <= keys, keys, sorted);
    FOEDUS_INVARIANT(page->birth().keys() <= keys, page->birth().keys(), keys);
    FOEDUS_INVARIANT(BorderPage::kBodyBegin + BorderPage::directory_bytes(keys) <= page->heap_begin,
                     page->heap_begin, keys);
    std::uint32_t heap_begin = page::kPageBytes;
    unsigned layers = 0;
    for (unsigned i = 0; i < keys; ++i) {
      const Slot slot = page->slot(i);
      heap_begin -= slot.record_bytes();
      FOEDUS_INVARIANT(slot.offset() == heap_begin, slot.offset(), heap_begin);
      FOEDUS_INVARIANT(page->contains(page->slice(i)), page->slice(i), page->low, page->last);
      FOEDUS_INVARIANT(find_slot(page, 0, keys, page->slice(i), slot.key_class()) == i, i);
      if (i > 0 && i < sorted) {
        FOEDUS_INVARIANT(page->slice(i - 1) < page->slice(i) ||
                             (page->slice(i - 1) == page->slice(i) &&
                              page->slot(i - 1).key_class() < slot.key_class()),
                         i);
      }
      if (slot.is_layer()) ++layers;
      check_record(page, version, slot);
    }
    FOEDUS_INVARIANT(page->heap_begin == heap_begin, page->heap_begin, heap_begin);
    FOEDUS_INVARIANT(layers == version.layers(), layers, version.layers());
  }

  void check_record(BorderPage* page, page::PageVersion version, Slot slot) {
    const page::RecordHeader* const record = page->record(slot);
    const page::Tid tid = record->load_tid();
    FOEDUS_INVARIANT(record->lock.load_relaxed() == 0 && !tid.is_being_written(), tid.word());
    FOEDUS_INVARIANT(tid.is_moved() == version.is_moved(), tid.word(), version.word());
    FOEDUS_INVARIANT(tid.is_next_layer() == slot.is_layer(), tid.word(), slot.word());
    FOEDUS_INVARIANT(slot.is_layer() || slot.is_chain() || slot.payload_bytes() <= slot.capacity(),
                     slot.word());
    if (version.is_moved()) return;  // the twins have it
    if (!tid.is_deleted() || slot.is_layer()) {
      statistics_.live_bytes += slot.record_bytes() + sizeof(BorderPage::Group) / 8;
    }
    if (slot.is_layer()) {
      FOEDUS_INVARIANT(slot.key_class() == kRemainderClass, slot.word());
      ++statistics_.layers;
      push(page->layer_pointer(slot)->load(),
           {{}, 0, ~std::uint64_t{0}, kAnyLevel, page->header.layer + 1u});
      return;
    }
    if (tid.is_deleted()) {
      ++statistics_.deleted_records;
      return;
    }
    ++statistics_.records;
    statistics_.key_bytes += 8u * page->header.layer + slot.key_bytes();
    occ::ReadRange range;
    if (!slot.is_chain()) range.payload_bytes = slot.payload_bytes();
    if (slot.is_overflow()) {
      read_overflow(pool_, load_overflow_id(page->payload(slot)), &range);
      statistics_.overflow_pages += page::OverflowPage::pages_of(range.payload_bytes);
    }
    statistics_.payload_bytes += range.payload_bytes;
  }

  page::PagePool& pool_;
  occ::StorageControl* const control_;
  Statistics statistics_;
  std::vector<Visit> stack_;
};

}  // namespace

Statistics verify_tree(page::PagePool& pool, occ::StorageControl* control) {
  return Checker(pool, control).run();
}

}  // namespace foedus::storage::masstree
