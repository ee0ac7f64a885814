#include "foedus-core/storage/sequential/sequential_storage.h"

#include <cstring>
#include <string>
#include <utility>

#include "foedus-core/base/copy_bytes.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/moves/payload.h"
#include "foedus-core/storage/sequential/sequential_page.h"
#include "foedus-core/storage/sequential/sequential_pages.h"
#include "foedus-core/storage/sequential/sequential_tail.h"
#include "foedus/options.h"

namespace foedus::storage::sequential {

namespace {

// Appends a record that is deleted and of TID 0 (S3). Null: out of pages, or dropped.
SequentialRecord* append_deleted(occ::TxnContext& ctx, occ::StorageControl* control,
                                 std::string_view payload) {
  const auto payload_bytes = static_cast<std::uint32_t>(payload.size());
  SequentialPage* const page = tail_with_room(ctx, control, payload_bytes);
  if (page == nullptr) return nullptr;
  SequentialRecord* const record = page->record_at(page->data_end);
  record->header.lock.store_relaxed(0);  // order: relaxed twice, made visible by count_one()
  record->header.tid.store_relaxed(page::Tid::kDeleted);
  record->payload_bytes = payload_bytes;
  record->unused = 0;
  base::copy_bytes(reinterpret_cast<char*>(record->payload()), payload.data(), payload.size());
  page->data_end += SequentialRecord::size_of(payload_bytes);
  FOEDUS_SYNC_POINT("sequential:before_count");
  count_one(ctx, &page->header);
  return record;
}

[[gnu::cold]] Status no_record(occ::TxnContext& ctx, occ::StorageControl* control) {
  if (!control->is_dropped()) return ctx.out_of_pages(control);
  return std::move(Status(ErrorCode::kNotFound).at_storage(control->meta.name));
}

}  // namespace

Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  page::PageHeader* const root =
      make_page(pool, pages, control, page::PageKind::kSequentialHeads, 1);
  if (root == nullptr) {
    Status status = page::no_free_page();
    return std::move(status.at_storage(control->meta.name));
  }
  control->root.store({root->volatile_id(), page::SnapshotPageId()});
  return {};
}

void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  const page::DualPageIds ids = control->root.load();
  if (ids.volatile_page.is_null()) return;
  const bool taken = control->root.compare_exchange(ids, {});
  FOEDUS_INVARIANT(taken, control->id());
  const auto retire = [&](page::PageHeader* page) { retire_page(pages, control, page); };
  auto* const root = page_of<SequentialRootPage>(*pool, ids.volatile_page.word());
  for (page::DualPagePointer& pointer : root->pointers) {
    const page::VolatilePageId heads_id = pointer.load_volatile();
    if (heads_id.is_null()) continue;
    auto* const heads = page_of<HeadsPage>(*pool, heads_id.word());
    for (Chain& chain : heads->chains) {
      std::uint64_t id = chain.head.load_volatile().word();
      while (id != 0) {
        auto* const page = page_of<SequentialPage>(*pool, id);
        id = page->next_page.load_acquire();  // order: acquire, pairs with link_page()
        retire(&page->header);
      }
    }
    retire(&heads->header);
  }
  retire(&root->header);
}

Status append(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view payload) {
  if (payload.size() > kMaxSequentialPayloadBytes) [[unlikely]] {
    Status status = Status::error(
        ErrorCode::kTooLarge, "a payload of " + std::to_string(payload.size()) +
                                  " bytes; at most " + std::to_string(kMaxSequentialPayloadBytes) +
                                  "; see the limits in foedus/options.h");
    return std::move(status.at_storage(control->meta.name));
  }
  SequentialRecord* const record = append_deleted(ctx, control, payload);
  if (record == nullptr) [[unlikely]] return no_record(ctx, control);
  return ctx.write(log::LogRecordType::kAppend, control, &record->header, 0, "", 0, payload,
                   occ::Precondition::kNone);
}

bool track_moved(page::PagePool&, occ::StorageControl* control, page::RecordHeader* record,
                 page::RecordHeader**, std::uint32_t*) {
  FOEDUS_INVARIANT(false, control->id(), record);
}

Status relocate(occ::TxnContext&, occ::WriteEntry* entry) {
  FOEDUS_INVARIANT(false, entry->storage->id(), entry->record);
}

bool accepts(page::PagePool&, const occ::WriteEntry&) { return true; }

void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry) {
  // The payload has been there since the call (S3).
  FOEDUS_INVARIANT(entry.log->type == log::LogRecordType::kAppend, entry.log->type);
  moves::note_soc(page::PageHeader::of(entry.record), ctx.soc());
}

bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry) {
  page::PageVersion expected = entry.observed;
  page::PageHeader* page = entry.page;
  for (;;) {
    const page::PageVersion now = page->load_version();
    if (now.counts() != expected || now.is_dropped()) return false;
    if (!now.is_moved()) return true;
    // order: acquire, pairs with link_page(). The pages that follow must be empty.
    page = pool.resolve(page::VolatilePageId(
        reinterpret_cast<SequentialPage*>(page)->next_page.load_acquire()));
    expected = page::PageVersion();
  }
}

}  // namespace foedus::storage::sequential
