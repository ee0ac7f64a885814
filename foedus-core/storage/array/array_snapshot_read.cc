#include "foedus-core/storage/array/array_snapshot_read.h"

#include <cstddef>
#include <cstring>
#include <string>

#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/array/array_page_check.h"

namespace foedus::storage::array {

namespace {

alignas(page::kPageBytes) constinit char zeroes[page::kPageBytes] = {};

page::PagePart part_of_pointer(std::uint32_t slot) {
  page::PagePart part{.offset = static_cast<std::uint32_t>(offsetof(ArrayInteriorPage, pointers) +
                                                           slot * sizeof(page::DualPagePointer)),
                      .bytes = sizeof(page::DualPagePointer)};
  part.lines = page::lines_of(part);
  return part;
}

}  // namespace

const page::PageHeader* zero_page() { return reinterpret_cast<const page::PageHeader*>(zeroes); }

const page::PageHeader* find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                                         std::uint64_t number, const Path& path,
                                         page::SnapshotPageId id, std::uint32_t level,
                                         page::PagePart wanted) {
  const ArrayShape& shape = shape_of(control->meta.payload_bytes);
  const bool is_all_in_part = wanted.lines != 0 && ctx.cold_pages().reads_interior_in_part();
  page::DualPagePointer* pointer = nullptr;
  for (;; --level) {
    if (id.is_null()) return zero_page();
    const page::PagePart part = level == 0       ? wanted
                                : is_all_in_part ? part_of_pointer(path.slots[level - 1])
                                                 : page::PagePart{};
    const page::PageHeader* const page = pointer == nullptr ? ctx.cold_pages().page(id, part)
                                                            : ctx.cold_pages().child(pointer, part);
    if (page == nullptr) return nullptr;
    if (!is_page_of(*page, control->id(), level, first_index_of(number, level, shape))) {
      return ctx.cold_pages().refuse(id);
    }
    if (level == 0) return page;
    auto* const interior =
        reinterpret_cast<ArrayInteriorPage*>(const_cast<page::PageHeader*>(page));
    pointer = &interior->pointers[path.slots[level - 1]];
    id = pointer->load().snapshot_page;
  }
}

void prefetch_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root, std::uint64_t index) {
  const ArrayShape& shape = shape_of(control->meta.payload_bytes);
  const std::uint64_t number = shape.page_of(index);
  const Path path(number, shape.pages_of(control->meta.records));
  const occ::ColdPrefetch prefetch(&ctx.cold_pages());
  const page::PagePart part = part_of_record(index - number * shape.records_per_page, shape);
  static_cast<void>(find_in_snapshot(ctx, control, number, path, root, path.levels, part));
  ctx.cold_pages().forget_failure();
}

Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::uint64_t index, occ::ReadRange* range) {
  const storage_meta::StorageMeta& meta = control->meta;
  if (index >= meta.records) {
    Status status = Status::error(
        ErrorCode::kInvalidArgument,
        "index " + std::to_string(index) + " is not below " + std::to_string(meta.records));
    return std::move(status.at_storage(meta.name));
  }
  const ArrayShape& shape = shape_of(meta.payload_bytes);
  const std::uint64_t number = shape.page_of(index);
  const Path path(number, shape.pages_of(meta.records));
  const occ::ColdReads reads(&ctx.cold_pages());
  const page::PagePart part = part_of_record(index - number * shape.records_per_page, shape);
  const page::PageHeader* const page =
      find_in_snapshot(ctx, control, number, path, root, path.levels, part);
  if (page == nullptr) return ctx.no_page(control);
  const char* const record = reinterpret_cast<const char*>(page) + part.offset;
  range->payload_bytes = meta.payload_bytes;
  const std::uint32_t bytes = range->wanted_of(meta.payload_bytes);
  const char* const payload = record + sizeof(page::RecordHeader);
  if (bytes != 0) std::memcpy(range->out, payload + range->offset, bytes);
  return {};
}

}  // namespace foedus::storage::array
