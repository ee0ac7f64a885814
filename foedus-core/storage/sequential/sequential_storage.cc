#include "foedus-core/storage/sequential/sequential_storage.h"

#include <cstring>
#include <string>

#include "foedus-core/base/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/sequential/sequential_page.h"
#include "foedus/options.h"

namespace foedus::storage::sequential {

namespace {

template <typename Page>
Page* page_of(page::PagePool& pool, std::uint64_t id) {
  return reinterpret_cast<Page*>(pool.resolve(page::VolatilePageId(id)));
}

// A page that nobody else can reach, all zero but its identity. Null: out of pages.
page::PageHeader* make_page(page::PagePool* pool, page::SessionPages* pages,
                            occ::StorageControl* control, page::PageKind kind,
                            std::uint8_t level) {
  page::PageHeader* const page = pages->allocate();
  if (page == nullptr) return nullptr;
  std::memset(static_cast<void*>(page), 0, page::kPageBytes);
  page->initialize(pool->id_of(page), control->id(), kind, level);
  control->volatile_pages.fetch_add_relaxed(1);  // order: relaxed, statistics
  return page;
}

// The transaction itself adds one to what `page` counts. REQUIRES: the page's lock is held, or this
// session alone changes its version (S1).
void count_one(occ::TxnContext& ctx, page::PageHeader* page) {
  const page::PageVersion before = page->load_version();
  page->store_version(before.plus_key());
  ctx.page_set().own_change(page, before, before.plus_key());
}

// The heads page of a session, made if it is missing. Null: out of pages.
HeadsPage* heads_of(occ::TxnContext& ctx, occ::StorageControl* control, SequentialRootPage* root) {
  page::DualPagePointer& pointer = root->pointers[ctx.session() / HeadsPage::kChains];
  page::VolatilePageId id = pointer.load_volatile();
  if (id.is_null()) [[unlikely]] {
    const occ::LockGuard guard(&root->header.lock);
    id = pointer.load_volatile();
    if (id.is_null()) {
      page::PageHeader* const made = make_page(&ctx.pool(), &ctx.pages(), control,
                                               page::PageKind::kSequentialHeads, 0);
      if (made == nullptr) return nullptr;
      id = made->volatile_id();
      const bool installed = pointer.compare_exchange({}, {id, page::SnapshotPageId()});
      FOEDUS_INVARIANT(installed, control->id(), ctx.session());
      count_one(ctx, &root->header);
      // Who has seen that there is no heads page has seen that no session of this one has a chain.
      if (ctx.page_set().find(&root->header) != nullptr) {
        ctx.remember_page(made, page::PageVersion(), control);
      }
    }
  }
  return page_of<HeadsPage>(ctx.pool(), id.word());
}

SequentialPage* make_record_page(occ::TxnContext& ctx, occ::StorageControl* control) {
  page::PageHeader* const made =
      make_page(&ctx.pool(), &ctx.pages(), control, page::PageKind::kSequential, 0);
  if (made == nullptr) return nullptr;
  made->last_soc.store_relaxed(ctx.soc());  // order: relaxed, not reachable yet
  auto* const page = reinterpret_cast<SequentialPage*>(made);
  page->session = ctx.session();
  return page;
}

// The first page of this session's chain.
SequentialPage* start_chain(occ::TxnContext& ctx, occ::StorageControl* control, HeadsPage* heads,
                            Chain* chain) {
  SequentialPage* const page = make_record_page(ctx, control);
  if (page == nullptr) return nullptr;
  const page::VolatilePageId id = page->header.volatile_id();
  const occ::LockGuard guard(&heads->header.lock);  // other sessions count here, too
  // order: release, pairs with the cursor's acquire: the page is there. Before the head, so that
  // who sees a head sees a tail.
  chain->tail.store_release(id.word());
  const bool installed = chain->head.compare_exchange({}, {id, page::SnapshotPageId()});
  FOEDUS_INVARIANT(installed, control->id(), ctx.session());
  count_one(ctx, &heads->header);
  return page;
}

// The page behind the last one of this session's chain.
SequentialPage* link_page(occ::TxnContext& ctx, occ::StorageControl* control, Chain* chain,
                          SequentialPage* last) {
  SequentialPage* const page = make_record_page(ctx, control);
  if (page == nullptr) return nullptr;
  const page::PageVersion version = last->header.load_version();
  last->next_page.store_release(page->header.page_id);  // order: release, S1
  FOEDUS_SYNC_POINT("sequential:linked");
  last->header.store_version(version.with(page::PageVersion::kMoved));
  chain->tail.store_release(page->header.page_id);  // order: release, S1
  occ::PageEntry* const entry = ctx.page_set().find(&last->header);
  if (entry != nullptr && entry->page == &last->header && entry->observed == version.counts()) {
    ctx.page_set().repoint(entry, &page->header, page::PageVersion());
  }
  return page;
}

// The last page of this session's chain, with room for the payload. Null: out of pages.
SequentialPage* tail_with_room(occ::TxnContext& ctx, occ::StorageControl* control,
                               std::uint32_t payload_bytes) {
  const page::VolatilePageId root_id = control->root.load_volatile();
  if (root_id.is_null()) return nullptr;
  auto* const root = page_of<SequentialRootPage>(ctx.pool(), root_id.word());
  HeadsPage* const heads = heads_of(ctx, control, root);
  if (heads == nullptr) return nullptr;
  Chain* const chain = &heads->chains[ctx.session() % HeadsPage::kChains];
  // order: acquire; a session's number may have had another owner before (one at a time).
  const std::uint64_t tail_id = chain->tail.load_acquire();
  if (tail_id == 0) [[unlikely]] return start_chain(ctx, control, heads, chain);
  auto* const tail = page_of<SequentialPage>(ctx.pool(), tail_id);
  FOEDUS_INVARIANT(tail->session == ctx.session(), tail->session, ctx.session());
  if (!tail->has_room(payload_bytes)) [[unlikely]] return link_page(ctx, control, chain, tail);
  return tail;
}

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
  if (!payload.empty()) std::memcpy(record->payload(), payload.data(), payload.size());
  page->data_end += SequentialRecord::size_of(payload_bytes);
  FOEDUS_SYNC_POINT("sequential:before_count");
  count_one(ctx, &page->header);
  return record;
}

[[gnu::cold]] Status no_record(occ::TxnContext& ctx, occ::StorageControl* control) {
  if (!control->root.load_volatile().is_null()) return ctx.out_of_pages(control);
  return std::move(Status(ErrorCode::kNotFound).at_table(control->meta.name));
}

}  // namespace

Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  page::PageHeader* const root =
      make_page(pool, pages, control, page::PageKind::kSequentialHeads, 1);
  if (root == nullptr) {
    Status status = Status::error(ErrorCode::kOutOfMemory, "no free page within memory_bytes");
    return std::move(status.at_table(control->meta.name));
  }
  control->root.store({root->volatile_id(), page::SnapshotPageId()});
  return {};
}

void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  const page::DualPageIds ids = control->root.load();
  if (ids.volatile_page.is_null()) return;
  const bool taken = control->root.compare_exchange(ids, {});
  FOEDUS_INVARIANT(taken, control->id());
  const auto retire = [&](page::PageHeader* page) {
    pages->retire(page);
    control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});  // order: relaxed, statistics
  };
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
                                  " bytes; at most " + std::to_string(kMaxSequentialPayloadBytes));
    return std::move(status.at_table(control->meta.name));
  }
  SequentialRecord* const record = append_deleted(ctx, control, payload);
  if (record == nullptr) [[unlikely]] return no_record(ctx, control);
  return ctx.write(log::LogRecordType::kAppend, control, &record->header, 0, "", 0, payload,
                   occ::Premise::kNone);
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
  page::PageHeader* const page = page::PageHeader::of(entry.record);
  // order: relaxed, statistics; written only when it differs, so that the line stays shared.
  if (page->last_soc.load_relaxed() != ctx.soc()) page->last_soc.store_relaxed(ctx.soc());
}

bool page_still_holds(page::PagePool& pool, const occ::PageEntry& entry) {
  page::PageVersion expected = entry.observed;
  page::PageHeader* page = entry.page;
  for (;;) {
    const page::PageVersion now = page->load_version();
    if (now.counts() != expected || now.is_dropped()) return false;
    if (!now.is_moved()) return true;
    // order: acquire, pairs with link_page(). What came behind must be empty.
    page = pool.resolve(page::VolatilePageId(
        reinterpret_cast<SequentialPage*>(page)->next_page.load_acquire()));
    expected = page::PageVersion();
  }
}

Status replay(occ::TxnContext& ctx, occ::StorageControl* control, const log::LogRecord& record) {
  if (record.payload_bytes() > kMaxSequentialPayloadBytes) {
    Status status = Status::error(ErrorCode::kCorruption, "an append in the log over its limit");
    return std::move(status.at_table(control->meta.name));
  }
  SequentialRecord* const to = append_deleted(ctx, control, record.payload());
  if (to == nullptr) return no_record(ctx, control);
  // order: release, pairs with readers' acquire: the payload is there.
  to->header.tid.store_release(page::Tid(record.tid).without(page::Tid::kFlags).word());
  return {};
}

}  // namespace foedus::storage::sequential
