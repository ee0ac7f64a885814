// Changing payloads.
#include "foedus-core/storage/masstree/operations/apply.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/moves/payload.h"

namespace foedus::storage::masstree {

namespace {

using log::LogRecordType;

BorderPage* page_of(const occ::WriteEntry& entry, Slot* slot) {
  BorderPage* const page = BorderPage::of_record(entry.record);
  *slot = page->slot(entry.place);
  FOEDUS_INVARIANT(page->record(*slot) == entry.record, entry.record, entry.place);
  return page;
}

// Stores the payload field (M6). The record is marked being-written, except in forget_chain(),
// where no reader can commit (M52).
void set_payload_field(BorderPage* page, unsigned index, Slot slot, std::uint32_t field) {
  // order: release, pairs with slot(): a reader that sees the new field sees the mark in its second
  // look at the TID.
  page->slot_word(index).store_release(slot.with_payload(field).word());
}

// Stores the whole payload in the page, where the old one lay or the id of its chain.
void put_in_page(const occ::WriteEntry& entry, BorderPage* page, Slot slot) {
  const std::string_view payload = entry.log->payload();
  if (!payload.empty()) {
    base::racy_write(page->payload(slot), payload.data(), payload.size());
  }
  if (slot.payload_field() != payload.size()) {
    set_payload_field(page, entry.place, slot, static_cast<std::uint32_t>(payload.size()));
  }
}

void apply_put(const occ::WriteEntry& entry, BorderPage* page, Slot slot) {
  if (entry.overflow == 0) return put_in_page(entry, page, slot);
  base::racy_write(page->payload(slot), &entry.overflow, sizeof(entry.overflow));
  set_payload_field(page, entry.place, slot, Slot::kOverflow);
}

}  // namespace

void purge_payload(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                   unsigned index) {
  const Slot slot = page->slot(index);
  if (!slot.is_overflow()) return;
  const std::uint64_t chain = load_overflow_id(page->payload(slot));
  page::RecordHeader* const record = page->record(slot);
  const page::Tid tid = record->load_tid();
  record->tid.store_relaxed(tid.with(page::Tid::kBeingWritten).word());
  base::fence_writer();  // order: as in a commit, the flag comes before what follows
  set_payload_field(page, index, slot, 0);
  retire_overflow(ctx, control, chain);
}

bool forget_chain(BorderPage* page, unsigned index) {
  page::RecordHeader* const record = page->record(page->slot(index));
  occ::LockWaiter waiter;
  if (!occ::try_lock(&record->lock, &waiter)) return false;
  const Slot slot = page->slot(index);
  const page::Tid tid = record->load_tid();
  const bool is_here = !tid.is_moved();
  if (is_here && slot.is_snapshot_overflow()) set_payload_field(page, index, slot, 0);
  occ::unlock(&record->lock, &waiter);
  return is_here;
}

bool accepts(page::PagePool&, const occ::WriteEntry& entry) {
  Slot slot;
  page_of(entry, &slot);
  const log::LogRecord& record = *entry.log;
  if (record.type == LogRecordType::kPut) {
    return entry.overflow != 0 || record.payload_bytes() <= slot.capacity();
  }
  if (record.type == LogRecordType::kErase) return true;
  return !slot.is_chain() &&
         std::uint64_t{record.payload_offset} + record.payload_bytes() <= slot.payload_bytes();
}

namespace {

// Applies any write, to any record.
[[gnu::noinline]] void apply_any(occ::TxnContext& ctx, const occ::WriteEntry& entry,
                                 BorderPage* page, Slot slot) {
  FOEDUS_INVARIANT(!slot.is_layer(), slot.word());
  const LogRecordType type = entry.log->type;
  const bool whole = type == LogRecordType::kPut || type == LogRecordType::kErase;
  std::uint64_t replaced = 0;
  if (whole && slot.is_overflow()) replaced = load_overflow_id(page->payload(slot));
  switch (type) {
    case LogRecordType::kPut:
      apply_put(entry, page, slot);
      break;
    case LogRecordType::kErase:
      set_payload_field(page, entry.place, slot, 0);
      break;
    case LogRecordType::kWriteAt:
    case LogRecordType::kIncrement:
      moves::change_part(page->payload(slot), *entry.log);
      break;
    default:
      FOEDUS_INVARIANT(false, type);
  }
  if (replaced != 0) retire_overflow(ctx, entry.storage, replaced);
}

}  // namespace

void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry) {
  Slot slot;
  BorderPage* const page = page_of(entry, &slot);
  moves::note_soc(&page->header, ctx.soc());
  // Plain: neither a chain nor a layer, before and after.
  const bool is_plain = slot.payload_field() < Slot::kLayer && entry.overflow == 0;
  const LogRecordType type = entry.log->type;
  if (is_plain && type == LogRecordType::kPut) return put_in_page(entry, page, slot);
  if (is_plain && type == LogRecordType::kWriteAt) {
    return moves::change_part(page->payload(slot), *entry.log);
  }
  apply_any(ctx, entry, page, slot);
}

}  // namespace foedus::storage::masstree
