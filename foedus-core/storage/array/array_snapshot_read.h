#pragma once
// Reads the pages of a snapshot, from its root or from where volatile pages end. Nothing is
// remembered, because nothing there changes (A6).

#include <cstddef>
#include <cstdint>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_lines.h"
#include "foedus-core/storage/array/array_pages.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::storage::array {

// Returns a page that stands for every page that was never made: its records are full of zeros.
const page::PageHeader* zero_page();

// Searches for border page `number`, at the end of `path`, from page `id`, which is at `level` of
// that path. A null id stands for records full of zeros. `wanted`: the caller looks at this part
// only, so the rest need not be loaded. Null: TxnContext::no_page() says why.
const page::PageHeader* find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                                         std::uint64_t number, const Path& path,
                                         page::SnapshotPageId id, std::uint32_t level,
                                         page::PagePart wanted);

// Returns where record `place` lies in a border page.
inline page::PagePart part_of_record(std::uint64_t place, const ArrayShape& shape) {
  page::PagePart part{.offset = static_cast<std::uint32_t>(offsetof(ArrayBorderPage, data) +
                                                           place * shape.record_bytes),
                      .bytes = shape.record_bytes};
  part.lines = page::lines_of(part);
  return part;
}

// Copies the part of the payload that `range` asks for, as it is in the snapshot in which the array
// has `root`. kInvalidArgument: the index is out of range. kIoError, kCorruption, kOutOfMemory: a
// page cannot be read.
Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::uint64_t index, occ::ReadRange* range);

// Begins the reads that get_in_snapshot() will wait for, up to the first page that is not cached.
// REQUIRES: index < records.
void prefetch_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root, std::uint64_t index);

}  // namespace foedus::storage::array
