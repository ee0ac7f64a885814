#include "foedus-core/storage/hash/snapshot_read.h"

#include <cstddef>
#include <cstring>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/page/page_lines.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/layout/page_check.h"
#include "foedus-core/storage/hash/layout/tags.h"

namespace foedus::storage::hash {

namespace {

// A search looks first at the words of a bin page and the tags of 32 records.
constexpr page::PagePart kSearched{.lines = 0b111};
static_assert(offsetof(HashBinPage, tags) + 32 * HashBinPage::kTagBits / 8 == 3 * page::kLineBytes);

HashBinPage* bin_of(const page::PageHeader* page) {
  return reinterpret_cast<HashBinPage*>(const_cast<page::PageHeader*>(page));
}

// Returns the part of the page that holds a record's slot.
page::PagePart part_of_slot(std::uint32_t place) {
  constexpr std::uint32_t kBytes = sizeof(HashSlot);
  constexpr std::uint32_t kEnd = page::kPageBytes;
  return {.offset = kEnd - (place + 1) * kBytes, .bytes = kBytes};
}

// Returns the part of the page that holds a record's key, and its payload up to the end of what
// `range` wants.
page::PagePart part_of_record(HashSlot slot, const occ::ReadRange& range) {
  const std::uint32_t key = slot.offset() + static_cast<std::uint32_t>(sizeof(page::RecordHeader));
  const std::uint32_t wanted = slot.is_chain() ? 0 : range.wanted_of(slot.length());
  const std::uint32_t payload = slot.is_chain() ? page::kPayloadRoomBytesMin
                                : wanted == 0   ? 0
                                                : range.offset + wanted;
  return {.offset = key, .bytes = ((slot.key_bytes() + 7) & ~7u) + payload};
}

// In an interior page, kSearched is its header and all owners.
static_assert(offsetof(HashInteriorPage, pointers) == 3 * page::kLineBytes);

// Returns the pointer for the hash in an interior page that is there in part, and loads its bytes.
// *bits: first the bits after which the page spreads, then the bits of the page below. The bytes of
// the page may be wrong (O20), but bits only grow, so a search that follows such pointers ends.
// Null: TxnContext::no_page() says why.
[[gnu::noinline]] page::DualPagePointer* pointer_in_part(occ::TxnContext& ctx,
                                                         const occ::StorageControl* control,
                                                         const page::PageHeader* page,
                                                         std::uint64_t hash, unsigned* bits) {
  auto* const interior = reinterpret_cast<HashInteriorPage*>(const_cast<page::PageHeader*>(page));
  const auto refuse = [&] { return ctx.cold_pages().refuse(page::SnapshotPageId(page->page_id)); };
  if (!is_interior_of(*page, control->id(), *bits) || *bits > kHashBits - kDigitBits) {
    return refuse();
  }
  const std::uint32_t owner = interior->owner_of(interior->digit_of(hash));
  if (owner >= kDigits || interior->owner_of(owner) != owner) return refuse();
  const unsigned below = bits_below(*interior, owner);
  if (below <= *bits) return refuse();
  *bits = below;
  page::DualPagePointer* const pointer = &interior->pointers[owner];
  const auto offset = static_cast<std::uint32_t>(offsetof(HashInteriorPage, pointers) +
                                                 owner * sizeof(page::DualPagePointer));
  return ctx.cold_pages().load(page, {.offset = offset, .bytes = sizeof(*pointer)}) ? pointer
                                                                                    : nullptr;
}

enum class Searched : std::uint8_t { kFound, kMissing, kFailed };

// Searches a page of a bin, of which it loads the bytes that it looks at. kFailed:
// TxnContext::no_page() says why.
Searched search_cold_page(occ::TxnContext& ctx, HashBinPage* page, std::uint64_t hash,
                          std::string_view key, const occ::ReadRange& range, KeyPosition* found) {
  const std::uint32_t count = page->load_count();
  if (count > HashBinPage::kRecordsMax) {
    ctx.cold_pages().refuse(page::SnapshotPageId(page->header.page_id));
    return Searched::kFailed;
  }
  const page::PagePart tags{.offset = offsetof(HashBinPage, tags),
                            .bytes = count * HashBinPage::kTagBits / 8};
  if (!ctx.cold_pages().load(page, tags)) return Searched::kFailed;
  Searched searched = Searched::kMissing;
  visit_tags(page, hash, count, [&](std::uint32_t place) {
    searched = Searched::kFailed;
    if (!ctx.cold_pages().load(page, part_of_slot(place))) return true;
    const HashSlot slot = page->slot(place);
    if (slot.key_bytes() == key.size()) {
      if (!ctx.cold_pages().load(page, part_of_record(slot, range))) return true;
      page::RecordHeader* const record = page->record(slot);
      if (std::string_view(key_of(record), slot.key_bytes()) == key) {
        found->page = page;
        found->record = record;
        found->place = place;
        searched = Searched::kFound;
        return true;
      }
    }
    searched = Searched::kMissing;
    return false;
  });
  return searched;
}

}  // namespace

bool find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                      page::SnapshotPageId id, unsigned bits, std::uint64_t hash,
                      HashBinPage** bin) {
  *bin = nullptr;
  page::DualPagePointer* pointer = nullptr;
  while (!id.is_null()) {
    const page::PageHeader* page = pointer == nullptr ? ctx.cold_pages().page(id, kSearched)
                                                      : ctx.cold_pages().child(pointer, kSearched);
    if (page == nullptr) return false;
    if (is_bin_of(*page, control->id(), bits, hash)) {
      *bin = bin_of(page);
      return true;
    }
    if (ctx.cold_pages().is_in_part(page)) {
      if (ctx.cold_pages().reads_interior_in_part()) {
        pointer = pointer_in_part(ctx, control, page, hash, &bits);
        if (pointer == nullptr) return false;
        id = pointer->load().snapshot_page;
        continue;
      }
      page = ctx.cold_pages().page(id);
      if (page == nullptr) return false;
    }
    if (!is_interior_of(*page, control->id(), bits)) return ctx.cold_pages().refuse(id) != nullptr;
    auto* const interior = reinterpret_cast<HashInteriorPage*>(const_cast<page::PageHeader*>(page));
    const std::uint32_t owner = interior->owner_of(interior->digit_of(hash));
    bits = bits_below(*interior, owner);
    pointer = &interior->pointers[owner];
    id = pointer->load().snapshot_page;
  }
  return true;
}

bool read_cold(occ::TxnContext& ctx, HashBinPage* bin, std::uint64_t hash, std::string_view key,
               occ::ReadRange* range, bool* is_found) {
  KeyPosition found;
  *is_found = false;
  const BinIdentity identity(*bin);
  // No page of a bin is empty, so a bin has no more pages than keys. The ids in a page that is
  // there in part may be wrong (O20) and lead in a circle: this bound ends such a search.
  unsigned pages_left = bin->header.load_version().keys();
  for (HashBinPage* part = bin;;) {
    const Searched searched = search_cold_page(ctx, part, hash, key, *range, &found);
    if (searched == Searched::kFailed) return false;
    if (searched == Searched::kFound) break;
    // order: relaxed, it never changes.
    const page::SnapshotPageId next(part->next_page.load_relaxed());
    if (next.is_null()) return true;
    if (pages_left-- == 0) return ctx.cold_pages().refuse(next) != nullptr;
    const page::PageHeader* const page = ctx.cold_pages().page(next, kSearched);
    if (page == nullptr) return false;
    if (!is_part_of(*page, identity)) return ctx.cold_pages().refuse(next) != nullptr;
    part = bin_of(page);
  }
  *is_found = true;
  const HashSlot slot = found.slot();
  const char* const body = payload_of(found.record, slot);
  if (slot.is_chain()) {
    return read_cold_overflow(ctx, identity.storage, load_overflow_id(body), range);
  }
  range->payload_bytes = slot.length();
  const std::uint32_t wanted = range->wanted_of(slot.length());
  if (wanted != 0) std::memcpy(range->out, body + range->offset, wanted);
  return true;
}

void prefetch_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root, std::string_view key) {
  const occ::ColdPrefetch prefetch(&ctx.cold_pages());
  HashBinPage* bin = nullptr;
  static_cast<void>(find_in_snapshot(ctx, control, root, 0, hash_of(key), &bin));
  ctx.cold_pages().forget_failure();
}

Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::string_view key, occ::ReadRange* range) {
  const occ::ColdReads reads(&ctx.cold_pages());
  const std::uint64_t hash = hash_of(key);
  HashBinPage* bin = nullptr;
  if (!find_in_snapshot(ctx, control, root, 0, hash, &bin)) return ctx.no_page(control);
  if (bin == nullptr) return ErrorCode::kNotFound;
  bool is_found = false;
  if (!read_cold(ctx, bin, hash, key, range, &is_found)) return ctx.no_page(control);
  return is_found ? Status() : Status(ErrorCode::kNotFound);
}

}  // namespace foedus::storage::hash
