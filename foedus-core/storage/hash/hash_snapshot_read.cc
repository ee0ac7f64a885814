#include "foedus-core/storage/hash/hash_snapshot_read.h"

#include <cstring>

#include "foedus-core/occ/overflow.h"
#include "foedus-core/storage/hash/hash_function.h"
#include "foedus-core/storage/hash/hash_page_check.h"

namespace foedus::storage::hash {

namespace {

HashBinPage* bin_of(const page::PageHeader* page) {
  return reinterpret_cast<HashBinPage*>(const_cast<page::PageHeader*>(page));
}

}  // namespace

bool find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                      page::SnapshotPageId id, unsigned bits, std::uint64_t hash,
                      HashBinPage** bin) {
  *bin = nullptr;
  page::DualPagePointer* pointer = nullptr;
  while (!id.is_null()) {
    const page::PageHeader* const page =
        pointer == nullptr ? ctx.cold_page(id) : ctx.cold_child(pointer);
    if (page == nullptr) return false;
    if (is_bin_of(*page, control->id(), bits, hash)) {
      *bin = bin_of(page);
      return true;
    }
    if (!is_interior_of(*page, control->id(), bits)) return ctx.not_that_page(id) != nullptr;
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
  Lookup found;
  bool saw_moved = false;
  const BinIdentity identity(*bin);
  for (HashBinPage* part = bin; !search_page(part, hash, key, &found, &saw_moved);) {
    // order: relaxed, it never changes.
    const page::SnapshotPageId next(part->next_page.load_relaxed());
    *is_found = false;
    if (next.is_null()) return true;
    const page::PageHeader* const page = ctx.cold_page(next);
    if (page == nullptr) return false;
    if (!is_part_of(*page, identity)) return ctx.not_that_page(next) != nullptr;
    part = bin_of(page);
  }
  *is_found = true;
  const HashSlot slot = found.slot();
  const char* const body = payload_of(found.record, slot);
  if (slot.is_chain()) {
    return occ::read_cold_overflow(ctx, identity.storage, occ::load_overflow_id(body), range);
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
  ctx.forget_page_failure();
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
