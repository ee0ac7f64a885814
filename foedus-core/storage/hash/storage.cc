// Creates, drops and verifies a hash storage.

#include "foedus-core/storage/hash/storage.h"

#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/trie.h"

namespace foedus::storage::hash {

namespace {

// Calls visit(slot, record) for all records of one page.
template <typename Visit>
void for_each_record(HashBinPage* page, Visit&& visit) {
  const std::uint32_t count = page->load_count();
  for (std::uint32_t place = 0; place < count; ++place) {
    const HashSlot slot = page->slot(place);
    visit(slot, page->record(slot));
  }
}

void verify_record(page::PagePool& pool, HashBinPage* bin, HashBinPage* page, HashSlot slot,
                   page::RecordHeader* record, Statistics* statistics) {
  const page::Tid tid = record->load_tid();
  const std::string_view key(key_of(record), slot.key_bytes());
  const std::uint64_t hash = hash_of(key);
  FOEDUS_INVARIANT(!tid.is_being_written(), key);
  FOEDUS_INVARIANT(record->lock.load_relaxed() == 0, key);  // order: relaxed, no session changes it
  FOEDUS_INVARIANT(bin->covers(hash), hash, bin->prefix);
  FOEDUS_INVARIANT(slot.offset() + record_bytes_of(slot.key_bytes(), slot.room()) <= page->data_end,
                   slot.offset(), page->data_end);
  if (tid.is_moved()) {
    ++statistics->moved_records;
    return;
  }
  KeyPosition found;
  FOEDUS_INVARIANT(search_bin(pool, bin, hash, key, &found) == Search::kFound, key);
  FOEDUS_INVARIANT(found.record == record, key);  // no second live record of this key
  if (tid.is_deleted()) {
    ++statistics->deleted_records;
    FOEDUS_INVARIANT(slot.length() != kOverflowLength, key);
    return;
  }
  ++statistics->records;
  if (slot.length() == kOverflowLength) {
    occ::ReadRange range;
    read_overflow(pool, load_overflow_id(payload_of(record, slot)), &range);
    statistics->overflow_pages += page::OverflowPage::pages_of(range.payload_bytes);
  } else {
    FOEDUS_INVARIANT(slot.body_bytes() <= slot.room(), slot.length(), slot.room());
  }
}

void verify_bin(page::PagePool& pool, HashBinPage* bin, Statistics* statistics) {
  const page::PageVersion version = bin->header.load_version();
  FOEDUS_INVARIANT(!version.is_moved(), bin->header.page_id);
  FOEDUS_INVARIANT(bin->head == bin->header.page_id, bin->head);
  FOEDUS_INVARIANT(bin->header.birth_version <= version.word(), bin->header.birth_version);
  const std::uint64_t before = statistics->records + statistics->deleted_records;
  ++statistics->bins;
  for (HashBinPage* page = bin; page != nullptr; page = next_of(pool, page)) {
    ++statistics->bin_pages;
    FOEDUS_INVARIANT(page->head == bin->head, page->head, bin->head);
    for_each_record(page, [&](HashSlot slot, page::RecordHeader* record) {
      verify_record(pool, bin, page, slot, record, statistics);
    });
  }
  const std::uint64_t keys = statistics->records + statistics->deleted_records - before;
  FOEDUS_INVARIANT((keys & 0xffff) == version.keys(), keys, version.keys());
}

void verify_interior(page::PagePool& pool, HashInteriorPage* page, Statistics* statistics) {
  ++statistics->interior_pages;
  for (std::uint32_t digit = 0; digit < HashInteriorPage::kPointers; ++digit) {
    const std::uint32_t owner = page->owner_of(digit);
    FOEDUS_INVARIANT(owner <= digit, owner, digit);
    FOEDUS_INVARIANT(page->owner_of(owner) == owner, owner, digit);
    const page::VolatilePageId id = page->pointers[digit].load_volatile();
    const bool is_unused = id.is_null() || id == page->header.volatile_id();
    FOEDUS_INVARIANT(is_unused == (owner != digit) || id.is_null(), owner, digit);
    if (owner != digit || id.is_null()) continue;
    page::PageHeader* const child = pool.resolve(id);
    FOEDUS_INVARIANT(child->page_id == id.word(), child->page_id);
    if (child->kind == page::PageKind::kHashInterior) {
      FOEDUS_INVARIANT(child->flags == page->header.flags + kDigitBits, child->flags);
      continue;
    }
    auto* const bin = reinterpret_cast<HashBinPage*>(child);
    const unsigned bits = bin->prefix_bits() - page->header.flags;
    const std::uint32_t span = HashInteriorPage::kPointers >> bits;
    FOEDUS_INVARIANT(page->digit_of(bin->prefix) == digit, digit);
    FOEDUS_INVARIANT(page->owner_of(digit + span - 1) == digit, digit, span);
  }
}

}  // namespace

Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  const FirstLevels first = first_levels_of(control);
  const PageSource source{pool, pages, control, 0};
  HashInteriorPage* const root =
      make_interior(source, first.levels, 0, first.levels > 1 ? kDigitBits : first.lowest_bits);
  if (root == nullptr) {
    Status status = page::no_free_page();
    return std::move(status.at_storage(control->meta.name));
  }
  control->root.store({root->header.volatile_id(), page::SnapshotPageId()});
  return {};
}

void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  const page::DualPageIds ids = control->root.load();
  if (ids.volatile_page.is_null()) return;
  const bool taken = control->root.compare_exchange(ids, {});
  FOEDUS_INVARIANT(taken, control->id());
  const PageSource source{pool, pages, control, 0};
  visit_pages(*pool, pool->resolve(ids.volatile_page), [&](page::PageHeader* page) {
    auto* const bin = reinterpret_cast<HashBinPage*>(page);
    if (page->kind == page::PageKind::kHashInterior) {
      pages->retire(page);
      // order: relaxed, statistics.
      control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
      return;
    }
    for (HashBinPage* part = bin; part != nullptr; part = next_of(*pool, part)) {
      for_each_record(part, [&](HashSlot slot, page::RecordHeader* record) {
        const page::Tid tid = record->load_tid();
        if (tid.is_moved() || slot.length() != kOverflowLength) return;
        const std::uint64_t chain = load_overflow_id(payload_of(record, slot));
        retire_overflow(*pool, *pages, control, chain);
      });
    }
    retire_bin(source, bin);
  });
}

Statistics verify_trie(page::PagePool& pool, occ::StorageControl* control) {
  Statistics statistics;
  const page::VolatilePageId root = control->root.load_volatile();
  if (root.is_null()) return statistics;
  visit_pages(pool, pool.resolve(root), [&](page::PageHeader* page) {
    if (page->kind == page::PageKind::kHashInterior) {
      verify_interior(pool, reinterpret_cast<HashInteriorPage*>(page), &statistics);
    } else {
      verify_bin(pool, reinterpret_cast<HashBinPage*>(page), &statistics);
    }
  });
  return statistics;
}

}  // namespace foedus::storage::hash
