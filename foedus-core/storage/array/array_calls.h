#pragma once
// Fast paths of arrays, compiled into their callers. They serve records on volatile pages that are
// not marked moved. In all other cases they return null or false, and the calls of array_storage.h
// do the work.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::storage::array {

inline page::VolatilePageId volatile_child(const page::PagePool& pool, page::VolatilePageId id,
                                           std::uint64_t slot) {
  return reinterpret_cast<ArrayInteriorPage*>(pool.resolve(id))->pointers[slot].load_volatile();
}

// Does find_volatile() for an array of more than two levels above its records.
[[gnu::noinline]] page::RecordHeader* find_volatile_deep(page::PagePool& pool,
                                                         const occ::StorageControl* control,
                                                         std::uint64_t index);

// Returns the record of `index`. Null: a page on the way is not volatile. `shape`: the storage's.
// REQUIRES: index < records.
[[gnu::always_inline]] inline page::RecordHeader* find_volatile(page::PagePool& pool,
                                                                const occ::StorageControl* control,
                                                                const ArrayShape& shape,
                                                                std::uint64_t index) {
  constexpr std::uint64_t kPointers = ArrayInteriorPage::kPointers;
  const std::uint64_t records = control->meta.records;
  const std::uint64_t number = shape.page_of(index);
  page::VolatilePageId id = control->root.load_volatile();
  if (records > shape.records_of_two_levels) [[unlikely]] {
    return find_volatile_deep(pool, control, index);
  }
  if (records > shape.records_of_level) {
    if (id.is_null()) [[unlikely]] return nullptr;
    id = volatile_child(pool, id, number / kPointers);
    if (id.is_null()) [[unlikely]] return nullptr;
    id = volatile_child(pool, id, number % kPointers);
  } else if (records > shape.records_per_page) {
    if (id.is_null()) [[unlikely]] return nullptr;
    id = volatile_child(pool, id, number);
  }
  if (id.is_null()) [[unlikely]] return nullptr;
  return record_at(reinterpret_cast<ArrayBorderPage*>(pool.resolve(id)),
                   index - number * shape.records_per_page, shape);
}
[[gnu::always_inline]] inline page::RecordHeader* find_volatile(page::PagePool& pool,
                                                                const occ::StorageControl* control,
                                                                std::uint64_t index) {
  return find_volatile(pool, control, shape_of(control->meta.payload_bytes), index);
}

// Returns whether own writes may have stayed in a page that was dropped (A9).
inline bool may_hide_own(const occ::TxnContext& ctx, const occ::StorageControl* control) {
  // order: relaxed, after the acquire of the pointer that led here.
  return Epoch(control->drop_epoch.load_relaxed()) >= ctx.begin_epoch();
}

// Does what get() does for a record of find_volatile(), and throws nothing. False: the caller has
// to call get(). Then nothing is remembered, but `out` may hold bytes of a torn read.
// `may_have_written`: false if the transaction has no writes. REQUIRES: the part is in range.
[[gnu::always_inline]] inline bool try_get(occ::TxnContext& ctx, occ::StorageControl* control,
                                           page::RecordHeader* record, std::uint32_t offset,
                                           std::span<std::byte> out,
                                           bool may_have_written = true) {
  if (record == nullptr || may_hide_own(ctx, control)) [[unlikely]] return false;
  if (may_have_written && ctx.sets().writes().contains(record)) [[unlikely]]
    return false;
  const page::Tid tid = record->load_tid();
  if ((tid.word() & page::Tid::kFlags) != 0) [[unlikely]] return false;
  const bool is_whole = occ::copy_unchanged(*record, tid, [&]() __attribute__((always_inline)) {
    if (!out.empty()) base::racy_read(out.data(), payload_of(record) + offset, out.size());
  });
  if (!is_whole) [[unlikely]] return false;
  if (!ctx.sets().try_remember_read(record, tid, control)) [[unlikely]]
    return false;
  ctx.uses().note(record);
  return true;
}

// Returns the record for a write, if it is volatile and not marked moved, and own writes need no
// relocation (A9). Null: the caller has to call write_at(). REQUIRES: index < records.
[[gnu::always_inline]] inline page::RecordHeader* find_to_write(occ::TxnContext& ctx,
                                                                const occ::StorageControl* control,
                                                                std::uint64_t index) {
  page::RecordHeader* const record = find_volatile(ctx.pool(), control, index);
  if (record == nullptr || may_hide_own(ctx, control)) [[unlikely]] return nullptr;
  base::prefetch_line(page::PageHeader::of(record));  // for apply(), at commit
  return record->load_tid().is_moved() ? nullptr : record;  // A9
}

// Adds a write of payload bytes [offset, offset + part.size()), which are in range, to a record of
// find_to_write(). Throws nothing.
[[gnu::always_inline]] inline Status add_write(occ::TxnContext& ctx, occ::StorageControl* control,
                                               page::RecordHeader* record, std::uint64_t index,
                                               std::uint32_t offset, std::string_view part) {
  const bool whole = part.size() == control->meta.payload_bytes;  // A4
  const std::string_view key(reinterpret_cast<const char*>(&index), sizeof(index));
  return ctx.write(whole ? log::LogRecordType::kPut : log::LogRecordType::kWriteAt, control, record,
                   0, key, offset, part, occ::Precondition::kNone);
}

// Starts to load those lines of a record that a read of a part of its payload needs.
inline void prefetch_part(page::RecordHeader* record, std::uint32_t offset, std::size_t bytes) {
  base::prefetch_line(record);
  if (bytes == 0) return;
  const char* const begin = payload_of(record) + offset;
  base::prefetch_lines(begin, bytes);
  base::prefetch_line(begin + bytes - 1);  // for a part that crosses into one line more
}

// Starts to load the record's lines. False: a page on the way is not volatile, and the caller has
// to call prefetch(). REQUIRES: index < records.
[[gnu::always_inline]] inline bool try_prefetch(page::PagePool& pool,
                                                const occ::StorageControl* control,
                                                std::uint64_t index) {
  const page::RecordHeader* const record = find_volatile(pool, control, index);
  if (record == nullptr) [[unlikely]] return false;
  const char* const bytes = reinterpret_cast<const char*>(record);
  const std::uint32_t record_bytes = shape_of(control->meta.payload_bytes).record_bytes;
  base::prefetch_lines(bytes, record_bytes);
  base::prefetch_line(bytes + record_bytes - 1);  // for a record that crosses into one line more
  return true;
}

}  // namespace foedus::storage::array
