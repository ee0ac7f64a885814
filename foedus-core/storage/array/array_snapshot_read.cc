#include "foedus-core/storage/array/array_snapshot_read.h"

#include <cstring>
#include <string>

#include "foedus-core/storage/array/array_page_check.h"

namespace foedus::storage::array {

namespace {

alignas(page::kPageBytes) constinit char zeroes[page::kPageBytes] = {};

}  // namespace

const page::PageHeader* zero_page() { return reinterpret_cast<const page::PageHeader*>(zeroes); }

const page::PageHeader* find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                                         std::uint64_t number, const Path& path,
                                         page::SnapshotPageId id, std::uint32_t level) {
  const ArrayShape& shape = shape_of(control->meta.payload_bytes);
  for (;; --level) {
    if (id.is_null()) return zero_page();
    const page::PageHeader* const page = ctx.cold_page(id);
    if (page == nullptr) return nullptr;
    if (!is_page_of(*page, control->id(), level, first_index_of(number, level, shape))) {
      return ctx.not_that_page(id);
    }
    if (level == 0) return page;
    const auto* const interior = reinterpret_cast<const ArrayInteriorPage*>(page);
    id = interior->pointers[path.slots[level - 1]].load().snapshot_page;
  }
}

Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::uint64_t index, occ::ReadRange* range) {
  const storage_meta::StorageMeta& meta = control->meta;
  if (index >= meta.records) {
    Status status = Status::error(
        ErrorCode::kInvalidArgument,
        "index " + std::to_string(index) + " is not below " + std::to_string(meta.records));
    return std::move(status.at_table(meta.name));
  }
  const ArrayShape& shape = shape_of(meta.payload_bytes);
  const std::uint64_t number = shape.page_of(index);
  const Path path(number, shape.pages_of(meta.records));
  const occ::ColdReads reads(&ctx.cold_pages());
  const page::PageHeader* const page =
      find_in_snapshot(ctx, control, number, path, root, path.levels);
  if (page == nullptr) return ctx.no_page(control);
  const char* const record = reinterpret_cast<const ArrayBorderPage*>(page)->data +
                             (index - number * shape.records_per_page) * shape.record_bytes;
  range->payload_bytes = meta.payload_bytes;
  const std::uint32_t bytes = range->wanted_of(meta.payload_bytes);
  const char* const payload = record + sizeof(page::RecordHeader);
  if (bytes != 0) std::memcpy(range->out, payload + range->offset, bytes);
  return {};
}

}  // namespace foedus::storage::array
