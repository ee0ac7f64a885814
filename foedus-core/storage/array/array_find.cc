#include "foedus-core/storage/array/array_find.h"

#include <cstddef>
#include <new>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/array/array_page_check.h"
#include "foedus-core/storage/array/array_pages.h"
#include "foedus-core/storage/array/array_snapshot_read.h"
#include "foedus-core/storage/base/install.h"

namespace foedus::storage::array {

namespace {

class ColdSearch {
 public:
  ColdSearch(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
             occ::ReadRange* range)
      : ctx_(ctx),
        reads_(&ctx.cold_pages()),
        range_(range),
        control_(control),
        shape_(shape_of(control->meta.payload_bytes)),
        number_(shape_.page_of(index)),
        place_(index - number_ * shape_.records_per_page),
        path_(number_, shape_.pages_of(control->meta.records)) {}

  Place run(Intent intent) {
    page::DualPagePointer* pointer = &control_->root;
    page::PageHeader* holder = nullptr;
    for (std::uint32_t level = path_.levels;;) {
      const page::DualPageIds ids = pointer->load();
      page::PageHeader* page = nullptr;
      if (!ids.volatile_page.is_null()) {
        page = ctx_.pool().resolve(ids.volatile_page);
      } else if (control_->is_dropped()) {
        return {};
      } else if (intent == Intent::kRead && !ids.snapshot_page.is_null()) {
        FOEDUS_SYNC_POINT("array:cold_read");
        ctx_.sets().remember_pointer(pointer, holder, ids, control_);
        const page::PageHeader* const cold =
            find_in_snapshot(ctx_, control_, number_, path_, ids.snapshot_page, level, wanted());
        if (cold == nullptr) return {};
        return read_cold(const_cast<page::PageHeader*>(cold));
      } else {
        const Made made = materialize(pointer, holder, ids, level, &page);
        if (made == Made::kFailed) return {};
        if (made == Made::kAgain) return run(intent);
      }
      if (level == 0) return {record_in(page), false};
      holder = page;
      pointer = &reinterpret_cast<ArrayInteriorPage*>(page)->pointers[path_.slots[--level]];
    }
  }

 private:
  enum class Made : std::uint8_t { kDone, kAgain, kFailed };

  page::PagePart wanted() const { return part_of_record(place_, shape_); }

  Place read_cold(page::PageHeader* page) {
    if (range_ != nullptr) copy_wanted(record_in(page), control_->meta.payload_bytes, range_);
    return {nullptr, true};
  }

  // Makes the page below `pointer` volatile (A7). kAgain: another session did, or `holder` was
  // dropped.
  Made materialize(page::DualPagePointer* pointer, page::PageHeader* holder,
                   const page::DualPageIds& ids, std::uint32_t level, page::PageHeader** page) {
    const std::uint64_t first = first_index_of(number_, level, shape_);
    const PageSource source{&ctx_.pool(), &ctx_.pages(), control_, ctx_.soc()};
    page::PageHeader* const made = make_page(source, level, first);
    if (made == nullptr) return Made::kFailed;
    const std::size_t reads = ctx_.sets().reads().size();
    const std::size_t pointers = ctx_.sets().pointers().size();
    const auto give_back = [&] {
      ctx_.sets().forget_since(reads, pointers);
      release_page(source, made);
    };
    bool is_filled = false;
    try {
      is_filled = ids.snapshot_page.is_null() || copy(ids.snapshot_page, level, first, made);
      if (is_filled && ctx_.sets().pointers().has(pointer, ids)) take_over(made);
    } catch (const std::bad_alloc&) {
      give_back();
      throw;
    }
    if (!is_filled) {
      give_back();
      return Made::kFailed;
    }
    FOEDUS_SYNC_POINT("array:before_install");
    const page::DualPageIds after{made->volatile_id(), ids.snapshot_page};
    if (!change_pointer(pointer, holder, ids, after)) {
      give_back();
      return Made::kAgain;
    }
    ctx_.sets().pointers().replace(pointer, ids, after);
    *page = made;
    return Made::kDone;
  }

  // Fills `made` with the page of the snapshot. False: no_page() says why.
  bool copy(page::SnapshotPageId from, std::uint32_t level, std::uint64_t first,
            page::PageHeader* made) {
    const page::PageHeader* const cold = ctx_.cold_pages().page(from);
    if (cold == nullptr) return false;
    if (!may_be_volatile(*cold, level, first)) {
      ctx_.cold_pages().refuse(from);
      return false;
    }
    copy_snapshot_page(cold, made->volatile_id(), ctx_.soc(), made);
    if (level != 0) clear_hints(made);
    return true;
  }

  static void clear_hints(page::PageHeader* page) {
    for (auto& pointer : reinterpret_cast<ArrayInteriorPage*>(page)->pointers) pointer.clear_hint();
  }

  bool may_be_volatile(const page::PageHeader& cold, std::uint32_t level,
                       std::uint64_t first) const {
    if (!is_page_of(cold, control_->id(), level, first)) return false;
    // A record of a snapshot may be newer than this transaction, so the bound is the current epoch.
    // The epochs that a snapshot covers are over.
    return level != 0 || has_quiet_records(reinterpret_cast<const ArrayBorderPage&>(cold), shape_,
                                           ctx_.clock().current());
  }

  // Adds all pointers or all records of the page to the access sets (A7). REQUIRES: no other thread
  // can reach the page, so it is as the transaction read it.
  void take_over(page::PageHeader* page) {
    if (page->level != 0) {
      auto* const interior = reinterpret_cast<ArrayInteriorPage*>(page);
      for (page::DualPagePointer& pointer : interior->pointers) {
        ctx_.sets().remember_pointer(&pointer, page, pointer.load(), control_);
      }
      return;
    }
    auto* const border = reinterpret_cast<ArrayBorderPage*>(page);
    for (std::uint32_t i = 0; i < shape_.records_per_page; ++i) {
      page::RecordHeader* const record = record_at(border, i, shape_);
      ctx_.sets().remember_read(record, record->load_tid(), control_);
    }
  }

  page::RecordHeader* record_in(page::PageHeader* page) const {
    return record_at(reinterpret_cast<ArrayBorderPage*>(page), place_, shape_);
  }

  occ::TxnContext& ctx_;
  const occ::ColdReads reads_;
  occ::ReadRange* const range_;  // null: nothing is copied
  occ::StorageControl* const control_;
  const ArrayShape& shape_;
  const std::uint64_t number_;  // of the border page
  const std::uint64_t place_;   // of the record in it
  const Path path_;
};

}  // namespace

Place locate_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index,
                  Intent intent, occ::ReadRange* range) {
  return ColdSearch(ctx, control, index, range).run(intent);
}

void prefetch_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t index) {
  const occ::ColdReads reads(&ctx.cold_pages());
  const ArrayShape& shape = shape_of(control->meta.payload_bytes);
  const std::uint64_t number = shape.page_of(index);
  const Path path(number, shape.pages_of(control->meta.records));
  page::DualPagePointer* pointer = &control->root;
  page::PageHeader* holder = nullptr;
  std::uint32_t level = path.levels;
  if (control->is_dropped()) return;
  page::DualPageIds ids = pointer->load();
  while (!ids.volatile_page.is_null()) {
    if (level == 0) return;  // a session made it volatile
    holder = ctx.pool().resolve(ids.volatile_page);
    pointer = &reinterpret_cast<ArrayInteriorPage*>(holder)->pointers[path.slots[--level]];
    ids = pointer->load();
  }
  page::SnapshotPageId id = ids.snapshot_page;
  for (; level != 0 && !id.is_null(); --level) {
    const page::PageHeader* const page = ctx.cold_pages().cached(id);
    if (page == nullptr) {
      ctx.cold_pages().will_read(id);
      return;
    }
    if (!is_page_of(*page, control->id(), level, first_index_of(number, level, shape))) return;
    const auto* const interior = reinterpret_cast<const ArrayInteriorPage*>(page);
    id = interior->pointers[path.slots[level - 1]].load().snapshot_page;
  }
  if (id.is_null()) return;
  const std::uint64_t place = index - number * shape.records_per_page;
  const page::PagePart wanted = part_of_record(place, shape);
  const bool is_cached = ctx.cold_pages().prefetch(id, wanted);
  if (!is_cached) ctx.cold_pages().will_read(id, wanted);
  ctx.hints().prefetched(control, index) = {.txn = ctx.turn(),
                                            .storage = control,
                                            .number = index,
                                            .page = holder,
                                            .parent = pointer,
                                            .cold_top = ids.snapshot_page,
                                            .cold_page = id};
}

// Reads by the pointer and the page id that a prefetch of this transaction has left. The page of
// the pointer is not reclaimed before the transaction ends. While the pointer has the same ids it
// leads to the same record, because snapshot pages do not change. Verification notices a drop or an
// installation since, as for every pointer that was followed (A6). The transaction has not written
// to the record, or the page would be volatile.
Place read_prefetched_cold(occ::TxnContext& ctx, occ::StorageControl* control,
                           const occ::PrefetchedLookup& prefetched, occ::ReadRange* range) {
  auto* const pointer = static_cast<page::DualPagePointer*>(prefetched.parent);
  const page::DualPageIds ids{page::VolatilePageId(), prefetched.cold_top};
  const bool has_gone = prefetched.page != nullptr && prefetched.page->load_version().is_gone();
  if (has_gone || pointer->load() != ids || control->is_dropped()) return {};
  const occ::ColdReads reads(&ctx.cold_pages());
  const page::PageHeader* const page = ctx.cold_pages().cached_rows(prefetched.cold_page);
  if (page == nullptr) return {};
  const ArrayShape& shape = shape_of(control->meta.payload_bytes);
  const std::uint64_t first = shape.page_of(prefetched.number) * shape.records_per_page;
  if (!is_page_of(*page, control->id(), 0, first)) return {};  // locate_cold() reports it
  ctx.sets().remember_pointer(pointer, prefetched.page, ids, control);
  const std::uint64_t place = prefetched.number - first;
  auto* const border = reinterpret_cast<ArrayBorderPage*>(const_cast<page::PageHeader*>(page));
  if (range != nullptr) {
    copy_wanted(record_at(border, place, shape), control->meta.payload_bytes, range);
  }
  return {nullptr, true};
}

namespace {

// Returns the record of the write where it is now. Null: the next call of no_record() says why.
page::RecordHeader* look_for(occ::TxnContext& ctx, const occ::WriteEntry& entry) {
  return locate_cold(ctx, entry.storage, entry.log->index(), Intent::kWrite, nullptr).record;
}

}  // namespace

// Changes own writes to where their records are now (A9). A search may find the marked record at
// its old place, because the page still has its pointer: the installer may be without a processor,
// and this does not wait for it. Then the write stays there. No search of the transaction can have
// missed that write. Since the write was added, the pointer has led to this page and to no other,
// because a page is not used again while a transaction may have its address. So a search for this
// index found this record, with the write, or what a prefetch left of an older page, which is
// marked too (A8). The write does not count as settled, so a later search looks at it again.
Relocated relocate_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch dropped) {
  Relocated result = Relocated::kNone;
  bool is_left = false;
  occ::WriteSet& set = ctx.sets().writes();
  const auto settled = ctx.located_writes().begin(control->id(), dropped);
  for (std::uint32_t i = settled.count; i < set.size(); ++i) {
    page::RecordHeader* const from = set[i].record;
    if (set[i].storage != control || !from->load_tid().is_moved()) continue;
    page::RecordHeader* const to = look_for(ctx, set[i]);
    if (to == nullptr) return Relocated::kFailed;
    if (to == from) {
      is_left = true;
      continue;
    }
    set.move(from, to, 0);
    result = Relocated::kSome;
  }
  if (result == Relocated::kNone && !is_left) ctx.located_writes().end(settled);
  return result;
}

Status no_record(occ::TxnContext& ctx, occ::StorageControl* control) {
  if (!control->is_dropped()) return ctx.no_page(control);
  ctx.cold_pages().forget_failure();
  return std::move(Status(ErrorCode::kNotFound).at_storage(control->meta.name));
}

Status find_again(occ::TxnContext& ctx, occ::WriteEntry* entry) {
  page::RecordHeader* const to = look_for(ctx, *entry);
  if (to == nullptr) return no_record(ctx, entry->storage);
  ctx.sets().writes().move(entry->record, to, 0);
  return {};
}

}  // namespace foedus::storage::array
