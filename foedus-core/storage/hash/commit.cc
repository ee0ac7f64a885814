// The calls of the commit protocol: track_moved, accepts, apply, page_still_holds.

#include <algorithm>
#include <cstring>

#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/find.h"
#include "foedus-core/storage/hash/insert.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/storage.h"
#include "foedus-core/storage/moves/payload.h"

namespace foedus::storage::hash {

namespace {

using log::LogRecordType;
using page::RecordHeader;

void set_length(HashBinPage* page, std::uint32_t place, std::uint32_t length) {
  // order: release: in the sanitizer's build the length is part of what the TID guards.
  page->slot_word(place).store_release(page->slot(place).with_length(length).word());
}

void put(occ::TxnContext& ctx, const occ::WriteEntry& entry, HashBinPage* page) {
  const HashSlot slot = page->slot(entry.place);
  char* const body = payload_of(entry.record, slot);
  const bool had_chain = slot.length() == kOverflowLength;  // a chain of a snapshot stays (O13)
  const std::uint64_t chain = had_chain ? load_overflow_id(body) : 0;
  if (entry.overflow != 0) {
    base::racy_write(body, &entry.overflow, sizeof(entry.overflow));
    set_length(page, entry.place, kOverflowLength);
  } else {
    const std::uint32_t bytes = entry.log->payload_bytes();
    FOEDUS_INVARIANT(bytes <= slot.room(), bytes, slot.room());
    set_length(page, entry.place, bytes);
    base::racy_write(body, entry.log->payload_data(), bytes);
  }
  if (had_chain) retire_overflow(ctx, entry.storage, chain);
}

void write_part(const occ::WriteEntry& entry, HashBinPage* page) {
  const HashSlot slot = page->slot(entry.place);
  const log::LogRecord& log = *entry.log;
  const std::uint64_t end = std::uint64_t{log.payload_offset} + log.payload_bytes();
  FOEDUS_INVARIANT(!slot.is_chain(), entry.record);
  FOEDUS_INVARIANT(end <= slot.length(), end, slot.length());
  moves::change_part(payload_of(entry.record, slot), log);
}

void erase_payload(occ::TxnContext& ctx, const occ::WriteEntry& entry, HashBinPage* page) {
  const HashSlot slot = page->slot(entry.place);
  if (!slot.is_chain()) return;
  const bool is_volatile = slot.length() == kOverflowLength;
  const std::uint64_t chain = load_overflow_id(payload_of(entry.record, slot));
  set_length(page, entry.place, 0);
  if (is_volatile) retire_overflow(ctx, entry.storage, chain);
}

bool part_fits(const occ::WriteEntry& entry, HashSlot slot) {
  const std::uint64_t end = std::uint64_t{entry.log->payload_offset} + entry.log->payload_bytes();
  return !slot.is_chain() && end <= slot.length();
}

}  // namespace

bool track_moved(page::PagePool& pool, occ::StorageControl* control, RecordHeader* record,
                 RecordHeader** to, std::uint32_t* place) {
  // A bin is marked dropped before its records are marked moved, so the drop is seen here. With a
  // null *to a read of the record conflicts, and a write searches for the key again.
  const bool is_dropped = page_of(record)->header.load_version().is_dropped();
  *to = is_dropped ? nullptr : record;
  if (is_dropped) return false;
  const std::string_view key = key_at(record);
  KeyPosition found;
  if (!look_up_live(pool, control, key, hash_of(key), &found)) {
    if (found.bin == nullptr) *to = nullptr;  // Q4
    return false;
  }
  *to = found.record;
  *place = found.place;
  return true;
}

bool accepts(page::PagePool&, const occ::WriteEntry& entry) {
  const HashSlot slot = page_of(entry.record)->slot(entry.place);
  switch (entry.log->type) {
    case LogRecordType::kPut:
      return entry.overflow != 0 || entry.log->payload_bytes() <= slot.room();
    case LogRecordType::kErase:
      return true;
    default:
      return part_fits(entry, slot);
  }
}

void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry) {
  HashBinPage* const page = page_of(entry.record);
  switch (entry.log->type) {
    case LogRecordType::kPut:
      put(ctx, entry, page);
      break;
    case LogRecordType::kErase:
      erase_payload(ctx, entry, page);
      break;
    case LogRecordType::kWriteAt:
    case LogRecordType::kIncrement:
      write_part(entry, page);
      break;
    default:
      FOEDUS_INVARIANT(false, entry.log->type);
  }
  moves::note_soc(&page->header, ctx.soc());
}

bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry) {
  auto* const bin = reinterpret_cast<HashBinPage*>(entry.page);
  const page::PageVersion now = bin->header.load_version();
  if (now.counts() != entry.observed || now.is_dropped()) return false;
  if (!now.is_moved()) return true;
  for (const auto& successor : bin->successors) {
    // order: relaxed, stored before the moved flag.
    const std::uint64_t id = successor.load_relaxed();
    if (id == 0) continue;
    page::PageHeader* const page = &bin_of(pool, id)->header;
    const page::PageVersion birth(page->birth_version);
    if (!page_still_holds(pool, {page, birth, entry.storage})) return false;
  }
  return true;
}

occ::PointerState look_again(const occ::PointerEntry& entry) {
  const auto* const holder = reinterpret_cast<const HashInteriorPage*>(entry.holder);
  const auto owner = static_cast<std::uint32_t>(entry.pointer - holder->pointers);
  // While the pointer is null, its digits stay (H10), so a look at it on either side suffices.
  const occ::PointerState before = occ::look_in_place(entry);
  if (before != occ::PointerState::kSame) return before;
  for (std::uint32_t digit = owner; digit < owner + entry.place; ++digit) {
    if (holder->owner_of(digit) != owner) return occ::PointerState::kInstalled;
  }
  return occ::look_in_place(entry);
}

}  // namespace foedus::storage::hash
