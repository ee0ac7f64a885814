#include "foedus-core/storage/hash/trie.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/storage/hash/storage.h"

namespace foedus::storage::hash {

namespace {

// Returns the page that `hash` leads to from the root; null: a pointer on the way has no volatile
// half.
page::PageHeader* descend(page::PagePool& pool, const occ::StorageControl* control,
                          std::uint64_t hash) {
  page::VolatilePageId id = control->root.load_volatile();
  while (!id.is_null()) [[likely]] {
      page::PageHeader* const page = pool.resolve(id);
      if (page->kind != page::PageKind::kHashInterior) return page;
      auto* const interior = reinterpret_cast<HashInteriorPage*>(page);
      id = interior->pointers[interior->owner_of(interior->digit_of(hash))].load_volatile();
    }
  return nullptr;
}

}  // namespace

FirstLevels first_levels_of(const occ::StorageControl* control) {
  const std::uint32_t bits =
      std::clamp<std::uint32_t>(control->meta.fan_out_bits, 1, kFanOutBitsMax);
  return {(bits - 1) / kDigitBits + 1, (bits - 1) % kDigitBits + 1};
}

HashInteriorPage* make_interior(const PageSource& source, std::uint32_t level, unsigned bits_above,
                                unsigned bits) {
  FOEDUS_INVARIANT(bits >= 1 && bits <= kDigitBits, bits);
  FOEDUS_INVARIANT(bits_above + kDigitBits <= kPrefixBitsMax, bits_above);
  auto* const page = reinterpret_cast<HashInteriorPage*>(source.pages->allocate());
  if (page == nullptr) return nullptr;
  std::memset(static_cast<void*>(page), 0, sizeof(*page));
  page->header.initialize(source.pool->id_of(&page->header), source.control->id(),
                          page::PageKind::kHashInterior, static_cast<std::uint8_t>(level));
  page->header.flags = static_cast<std::uint8_t>(bits_above);
  page->header.last_soc.store_relaxed(source.soc);  // order: relaxed, not reachable yet
  const std::uint32_t span = HashInteriorPage::kPointers >> bits;
  for (std::uint32_t begin = 0; begin < HashInteriorPage::kPointers; begin += span) {
    page->set_owners(begin, span);
  }
  source.control->volatile_pages.fetch_add_relaxed(1);  // order: relaxed, statistics
  return page;
}

HashBinPage* peek_bin(page::PagePool& pool, const occ::StorageControl* control,
                      std::uint64_t hash) {
  base::SpinWait spin;
  for (unsigned i = 0; i < occ::kReadTries; ++i, spin.once()) {
    page::PageHeader* const page = descend(pool, control, hash);
    if (page == nullptr) [[unlikely]]
      return nullptr;
    auto* bin = reinterpret_cast<HashBinPage*>(page);
    base::prefetch_lines(bin, HashBinPage::kDataOffset);
    // The pointer was changed after the look at the owners (H2). By now the owners are right.
    if (!bin->covers(hash)) [[unlikely]]
      continue;
    page::PageVersion version = bin->header.load_version();
    while (version.is_moved()) {
      bin = successor_of(pool, bin, hash);
      version = bin->header.load_version();
    }
    if (!version.is_dropped()) [[likely]]
      return bin;
  }
  return nullptr;  // the gleaner has marked the bin dropped, and has no processor to finish
}

bool needs_interior(const HashBinPage* bin) { return bin->prefix_bits() % kDigitBits == 0; }

namespace {

// The place of the pointer to a bin.
struct WayIn {
  HashInteriorPage* parent = nullptr;
  std::uint32_t place = 0;
  page::DualPagePointer* above = nullptr;  // leads to the parent; null: it is the root

  page::DualPagePointer* pointer() const { return &parent->pointers[place]; }
};

// Returns the way to `bin`, which is stable while the lock of `bin` is held (H2).
WayIn way_in(const PageSource& source, const HashBinPage* bin) {
  WayIn way;
  page::PageHeader* page = source.pool->resolve(source.control->root.load_volatile());
  while (page != &bin->header) {
    FOEDUS_INVARIANT(page->kind == page::PageKind::kHashInterior, page->kind, bin->prefix);
    if (way.parent != nullptr) way.above = way.pointer();
    way.parent = reinterpret_cast<HashInteriorPage*>(page);
    way.place = way.parent->owner_of(way.parent->digit_of(bin->prefix));
    page = source.pool->resolve(way.pointer()->load_volatile());
  }
  return way;
}

// Changes the volatile half, and clears the snapshot half unless keeps_snapshot. Tries again only
// if a glean installs its page at the same time.
void set_pointer(page::DualPagePointer* pointer, page::VolatilePageId from, page::VolatilePageId to,
                 bool keeps_snapshot) {
  for (;;) {
    const page::DualPageIds seen = pointer->load();
    FOEDUS_INVARIANT(seen.volatile_page == from, seen.volatile_page.word(), from.word());
    const auto snapshot = keeps_snapshot ? seen.snapshot_page : page::SnapshotPageId();
    if (pointer->compare_exchange(seen, {to, snapshot})) return;
  }
}

// Returns the number of digits of a bin.
std::uint32_t span_of(const HashInteriorPage* parent, const HashBinPage* bin) {
  return HashInteriorPage::kPointers >> (bin->prefix_bits() - parent->header.flags);
}

}  // namespace

void replace_bin(const PageSource& source, HashBinPage* bin, const Successors& successors) {
  const WayIn way = way_in(source, bin);
  HashInteriorPage* const parent = way.parent;
  const std::uint32_t place = way.place;
  page::VolatilePageId next = successors.first->header.volatile_id();
  if (successors.interior != nullptr) {
    constexpr std::uint32_t kHalf = HashInteriorPage::kPointers / 2;
    HashInteriorPage* const interior = successors.interior;
    interior->pointers[0].store({next, page::SnapshotPageId()});
    interior->pointers[kHalf].store({successors.second->header.volatile_id(), {}});
    next = interior->header.volatile_id();
  } else if (successors.second != nullptr) {
    const std::uint32_t span = span_of(parent, successors.second);
    page::DualPagePointer& pointer = parent->pointers[place + span];
    const page::VolatilePageId unused = pointer.load_volatile();  // null, or H6
    FOEDUS_INVARIANT(unused.is_null() || unused == parent->header.volatile_id(), place, span);
    set_pointer(&pointer, unused, successors.second->header.volatile_id(), false);
    parent->set_owners(place + span, span);
  }
  FOEDUS_SYNC_POINT("hash:before_swap");
  // The snapshot page stays only if what the pointer leads to has all keys of the bin (P3).
  const bool same_range = successors.second == nullptr || successors.interior != nullptr;
  set_pointer(way.pointer(), bin->header.volatile_id(), next, same_range);
}

HashBinPage* buddy_of(const PageSource& source, HashBinPage* bin) {
  const WayIn way = way_in(source, bin);
  const unsigned bits = bin->prefix_bits();
  const bool has_all = bits - way.parent->header.flags == 1;  // of that page, with the buddy
  if (has_all && way.above == nullptr) return nullptr;
  const std::uint64_t prefix = bin->prefix ^ (std::uint64_t{1} << (kHashBits - bits));
  const std::uint32_t digit = way.parent->digit_of(prefix);
  const page::VolatilePageId id = way.parent->pointers[way.parent->owner_of(digit)].load_volatile();
  if (id.is_null()) return nullptr;
  page::PageHeader* const page = source.pool->resolve(id);
  auto* const buddy = reinterpret_cast<HashBinPage*>(page);
  if (page->kind != page::PageKind::kHashBin || page->load_version().is_gone()) return nullptr;
  return buddy->prefix == prefix && buddy->prefix_bits() == bits ? buddy : nullptr;
}

void merge_bins(const PageSource& source, HashBinPage* bin, HashBinPage* merged) {
  const WayIn way = way_in(source, bin);
  const page::VolatilePageId own = way.parent->header.volatile_id();
  if (merged->prefix_bits() == way.parent->header.flags) {
    set_pointer(way.above, own, merged->header.volatile_id(), false);
    FOEDUS_SYNC_POINT("hash:merge_risen");
    source.pages->retire(&way.parent->header);
    source.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});  // order: statistics
    return;
  }
  const std::uint32_t span = span_of(way.parent, merged);
  const std::uint32_t first = way.place & ~(span - 1);
  page::DualPagePointer* const pointers = way.parent->pointers;
  set_pointer(&pointers[first], pointers[first].load_volatile(), merged->header.volatile_id(),
              false);
  FOEDUS_SYNC_POINT("hash:merge_pointed");
  way.parent->set_owners(first, span);
  FOEDUS_SYNC_POINT("hash:merge_owned");
  const std::uint32_t second = first + span / 2;
  set_pointer(&pointers[second], pointers[second].load_volatile(), own, false);
}

}  // namespace foedus::storage::hash
