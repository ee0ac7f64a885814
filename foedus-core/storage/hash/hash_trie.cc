#include "foedus-core/storage/hash/hash_trie.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/sync_point.h"
#include "foedus-core/storage/hash/hash_storage.h"

namespace foedus::storage::hash {

namespace {

constexpr std::uint64_t kNoHash = 0;

std::uint64_t prefix_of(std::uint64_t hash, unsigned bits) {
  return bits == 0 ? kNoHash : hash & (~std::uint64_t{0} << (kHashBits - bits));
}

// The page behind a null pointer of `parent`, made here or by another session at the same time.
page::PageHeader* touch_first(const PageSource& source, HashInteriorPage* parent,
                              page::DualPagePointer* pointer, std::uint64_t hash) {
  const FirstLevels first = first_levels_of(source.control);
  const unsigned bits_above = parent->header.flags;
  page::PageHeader* page = nullptr;
  if (parent->header.level > 1) {
    const std::uint32_t level = parent->header.level - 1u;
    HashInteriorPage* const made = make_interior(source, level, bits_above + kDigitBits,
                                                 level > 1 ? kDigitBits : first.lowest_bits);
    if (made != nullptr) page = &made->header;
  } else {
    const unsigned bits = bits_above + first.lowest_bits;
    HashBinPage* const made = make_bin_page(source, prefix_of(hash, bits), bits, nullptr);
    if (made != nullptr) page = &made->header;
  }
  if (page == nullptr) return nullptr;
  FOEDUS_SYNC_POINT("hash:before_install");
  if (pointer->compare_exchange({}, {page->volatile_id(), page::SnapshotPageId()})) return page;

  source.pages->release(page);
  // order: relaxed, statistics.
  source.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
  const page::VolatilePageId winner = pointer->load_volatile();
  FOEDUS_INVARIANT(!winner.is_null(), parent->header.page_id);
  return source.pool->resolve(winner);
}

// From the root to the page that `hash` leads to. missing(parent, pointer): the page behind a null
// pointer, or null.
template <typename Missing>
page::PageHeader* descend(page::PagePool& pool, const occ::StorageControl* control,
                          std::uint64_t hash, Missing&& missing) {
  const page::VolatilePageId root = control->root.load_volatile();
  if (root.is_null()) [[unlikely]] return nullptr;
  page::PageHeader* page = pool.resolve(root);
  while (page->kind == page::PageKind::kHashInterior) {
    auto* const interior = reinterpret_cast<HashInteriorPage*>(page);
    auto& pointer = interior->pointers[interior->owner_of(interior->digit_of(hash))];
    const page::VolatilePageId id = pointer.load_volatile();
    page = id.is_null() ? missing(interior, &pointer) : pool.resolve(id);
    if (page == nullptr) [[unlikely]] return nullptr;
  }
  return page;
}

template <typename Missing>
HashBinPage* descend_to_bin(page::PagePool& pool, const occ::StorageControl* control,
                            std::uint64_t hash, Missing&& missing) {
  for (base::SpinWait spin;; spin.once()) {
    page::PageHeader* const page = descend(pool, control, hash, missing);
    if (page == nullptr) [[unlikely]] return nullptr;
    auto* bin = reinterpret_cast<HashBinPage*>(page);
    base::prefetch_lines(bin, HashBinPage::kDataOffset);
    // A pointer that was changed behind our look at the owners (H2): they say better now.
    if (!bin->covers(hash)) [[unlikely]] continue;
    while (bin->header.load_version().is_moved()) bin = successor_of(pool, bin, hash);
    return bin;
  }
}

}  // namespace

FirstLevels first_levels_of(const occ::StorageControl* control) {
  const std::uint32_t bits = std::clamp<std::uint32_t>(control->meta.fan_out_bits, 1,
                                                       kFanOutBitsMax);
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

HashBinPage* find_bin(const PageSource& source, std::uint64_t hash) {
  return descend_to_bin(*source.pool, source.control, hash,
                        [&](HashInteriorPage* parent, page::DualPagePointer* pointer) {
                          return touch_first(source, parent, pointer, hash);
                        });
}

HashBinPage* peek_bin(page::PagePool& pool, const occ::StorageControl* control,
                      std::uint64_t hash) {
  return descend_to_bin(pool, control, hash,
                        [](HashInteriorPage*, page::DualPagePointer*) -> page::PageHeader* {
                          return nullptr;
                        });
}

bool needs_interior(const HashBinPage* bin) { return bin->prefix_bits() % kDigitBits == 0; }

void replace_bin(const PageSource& source, HashBinPage* bin, const Successors& successors) {
  // The way to the bin is stable while its lock is held (H2).
  const std::uint64_t prefix = bin->prefix;
  page::PageHeader* page = source.pool->resolve(source.control->root.load_volatile());
  page::DualPagePointer* pointer = nullptr;
  HashInteriorPage* parent = nullptr;
  std::uint32_t place = 0;
  while (page != &bin->header) {
    FOEDUS_INVARIANT(page->kind == page::PageKind::kHashInterior, page->kind, prefix);
    parent = reinterpret_cast<HashInteriorPage*>(page);
    place = parent->owner_of(parent->digit_of(prefix));
    pointer = &parent->pointers[place];
    page = source.pool->resolve(pointer->load_volatile());
  }

  page::VolatilePageId next = successors.first->header.volatile_id();
  if (successors.interior != nullptr) {
    constexpr std::uint32_t kHalf = HashInteriorPage::kPointers / 2;
    HashInteriorPage* const interior = successors.interior;
    interior->pointers[0].store({next, page::SnapshotPageId()});
    interior->pointers[kHalf].store({successors.second->header.volatile_id(), {}});
    next = interior->header.volatile_id();
  } else if (successors.second != nullptr) {
    const unsigned bits = successors.second->prefix_bits() - parent->header.flags;
    const std::uint32_t span = HashInteriorPage::kPointers >> bits;
    const bool was_null = parent->pointers[place + span].compare_exchange(
        {}, {successors.second->header.volatile_id(), page::SnapshotPageId()});
    FOEDUS_INVARIANT(was_null, place, span);
    parent->set_owners(place + span, span);
  }
  FOEDUS_SYNC_POINT("hash:before_swap");
  // Fails only if a glean installs its page at the same time. A snapshot page is the past of
  // successors of the same range only (P3).
  const bool same_range = successors.second == nullptr || successors.interior != nullptr;
  for (;;) {
    const page::DualPageIds seen = pointer->load();
    FOEDUS_INVARIANT(seen.volatile_page == bin->header.volatile_id(), prefix, place);
    const auto snapshot = same_range ? seen.snapshot_page : page::SnapshotPageId();
    if (pointer->compare_exchange(seen, {next, snapshot})) return;
  }
}

}  // namespace foedus::storage::hash
