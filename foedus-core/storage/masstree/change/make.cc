// Makes pages and lays out records that other sessions cannot reach yet.
#include "foedus-core/storage/masstree/change/make.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

void count_page(occ::StorageControl* control, std::int64_t pages) {
  // order: relaxed, statistics.
  control->volatile_pages.fetch_add_relaxed(static_cast<std::uint64_t>(pages));
}

TreePage* make_page(page::PagePool& pool, page::SessionPages& pages, occ::StorageControl* control,
                    page::PageKind kind, std::uint8_t layer, std::uint8_t level) {
  page::PageHeader* const header = pages.allocate();
  if (header == nullptr) return nullptr;
  header->initialize(pool.id_of(header), control->id(), kind, level);
  header->layer = layer;
  TreePage* const page = TreePage::of(header);
  // order: relaxed, no other session can reach the page yet.
  page->foster_minor.store_relaxed(0);
  page->foster_major.store_relaxed(0);
  set_range(page, 0, ~std::uint64_t{0});
  count_page(control, 1);
  return page;
}

}  // namespace

BorderPage* make_border(page::PagePool& pool, page::SessionPages& pages,
                        occ::StorageControl* control, std::uint8_t layer) {
  TreePage* const made = make_page(pool, pages, control, page::PageKind::kMasstreeBorder, layer, 0);
  if (made == nullptr) return nullptr;
  BorderPage* const page = BorderPage::of(made);
  page->sorted_keys.store_relaxed(0);  // order: relaxed, no other session can reach it
  page->heap_begin = page::kPageBytes;
  std::fill(std::begin(page->zero), std::end(page->zero), 0);
  return page;
}

InteriorPage* make_interior(page::PagePool& pool, page::SessionPages& pages,
                            occ::StorageControl* control, std::uint8_t layer, std::uint8_t level) {
  TreePage* const made =
      make_page(pool, pages, control, page::PageKind::kMasstreeInterior, layer, level);
  if (made == nullptr) return nullptr;
  return InteriorPage::of(made);
}

void set_range(TreePage* page, std::uint64_t low, std::uint64_t last) {
  FOEDUS_INVARIANT(low <= last, low, last);
  page->low = low;
  page->last = last;
}

void discard(page::SessionPages& pages, occ::StorageControl* control, TreePage* page) {
  if (page == nullptr) return;
  count_page(control, -1);
  pages.release(&page->header);
}

void retire(occ::TxnContext& ctx, occ::StorageControl* control, TreePage* page) {
  const page::PageVersion version = page->header.load_version();
  FOEDUS_INVARIANT(version.is_moved() && !version.is_retired(), version.word());
  page->header.store_version(version.with(page::PageVersion::kRetired));
  count_page(control, -1);
  ctx.pages().retire(&page->header);
}

Slot lay_record(BorderPage* page, unsigned keys, const NewRecord& record) {
  const std::uint32_t bytes = footprint(record.remainder.size(), record.capacity);
  FOEDUS_INVARIANT(page->has_room(keys, bytes), keys, bytes);
  const Slot slot(page->heap_begin - bytes, record.key_bytes, record.capacity,
                  record.payload_field);
  FOEDUS_INVARIANT(record.remainder.size() == slot.remainder_bytes(), slot.word());
  page::RecordHeader* const header = page->record(slot);
  // order: relaxed, all of it is published with the count (M2).
  header->lock.store_relaxed(0);
  header->tid.store_relaxed(record.tid.word());
  if (!record.remainder.empty()) {
    std::memcpy(page->at(slot.offset()) + sizeof(page::RecordHeader), record.remainder.data(),
                record.remainder.size());
  }
  page->group(keys).slices[keys % BorderPage::Group::kKeys] = record.slice;
  page->slot_word(keys).store_relaxed(slot.word());
  page->heap_begin = slot.offset();

  // order: relaxed, written under the lock only; readers take it as a lower bound.
  if (page->sorted_keys.load_relaxed() == keys) {
    const bool ascends = keys == 0 || page->slice(keys - 1) < record.slice ||
                         (page->slice(keys - 1) == record.slice &&
                          page->slot(keys - 1).key_class() < slot.key_class());
    if (ascends) page->sorted_keys.store_relaxed(keys + 1);
  }
  return slot;
}

void prefetch_next_record(BorderPage* page, unsigned keys) {
  base::prefetch_line_to_write(page->at(page->heap_begin) - 64);
  base::prefetch_line_to_write(page->at(page->heap_begin) - 128);
  if (keys % BorderPage::Group::kKeys == 0 && keys < BorderPage::kKeysMax) {
    BorderPage::Group& group = page->group(keys);
    base::prefetch_line_to_write(group.slices);
    base::prefetch_line_to_write(group.slots);
  }
}

void copy_payload(BorderPage* from, Slot from_slot, BorderPage* to, Slot to_slot) {
  if (from_slot.is_layer()) {
    to->layer_pointer(to_slot)->store(from->layer_pointer(from_slot)->load());
    return;
  }
  // A payload that is a chain of pages is copied as the id of its first page. The chain may lie in
  // a snapshot (O13).
  const std::uint32_t bytes =
      from_slot.is_chain() ? sizeof(std::uint64_t) : from_slot.payload_bytes();
  FOEDUS_INVARIANT(bytes <= to_slot.capacity(), bytes, to_slot.capacity());
  std::memcpy(to->payload(to_slot), from->payload(from_slot), bytes);
}

std::uint32_t crowded_capacity(BorderPage* page, unsigned keys, std::uint64_t slice,
                               std::size_t key_bytes, unsigned own) {
  const unsigned zero_bytes = static_cast<unsigned>(std::countr_zero(slice)) / 8;
  const unsigned own_class = class_of(key_bytes);
  // A set bit is a length class of which a key may come yet.
  unsigned classes = 1u << kRemainderClass;
  for (unsigned c = 8 - zero_bytes; c <= 8; ++c) classes |= 1u << c;
  classes &= ~(1u << own_class);

  std::uint32_t taken = BorderPage::directory_bytes(kRemainderClass + 1) +
                        footprint(own_class == kRemainderClass ? key_bytes - 8 : 0, 0);
  const auto take = [&](unsigned i) {
    if (i == own) return;
    const Slot slot = page->slot(i);
    classes &= ~(1u << slot.key_class());
    const bool may_give_way = slot.key_class() == kRemainderClass && !slot.is_layer();
    taken += may_give_way ? std::max(slot.record_bytes(), kLongestBytes) : slot.record_bytes();
  };
  // order: relaxed, a lower bound (find_slot()).
  const unsigned sorted = std::min(keys, page->sorted_keys.load_relaxed());
  for (unsigned i = lower_bound(page, 0, sorted, slice); i < sorted; ++i) {
    if (page->slice(i) != slice) break;
    take(i);
  }
  for (unsigned i = sorted; i < keys; ++i) {
    if (page->slice(i) == slice) take(i);
  }
  const unsigned short_classes = classes & ~(1u << kRemainderClass);
  taken += static_cast<unsigned>(std::popcount(short_classes)) * footprint(0, kCapacityMin);
  if (classes != short_classes) taken += kLongestBytes;
  FOEDUS_INVARIANT(taken + kCapacityMin <= BorderPage::kBodyBytes, taken, slice);
  return (BorderPage::kBodyBytes - taken) & ~15u;
}

Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  BorderPage* const page = make_border(*pool, *pages, control, 0);
  if (page == nullptr) {
    Status status = page::no_free_page();
    return std::move(status.at_storage(control->meta.name));
  }
  control->root.store({page->header.volatile_id(), page::SnapshotPageId()});
  return {};
}

}  // namespace foedus::storage::masstree
