#include "foedus-core/storage/array/array_page_check.h"

namespace foedus::storage::array {

namespace {

page::BrokenRule broken_identity(const page::PageHeader& header) {
  // order: relaxed, a page is checked by its only reader.
  if (header.version.load_relaxed() != 0) return "it counts keys, an array has none";
  if (header.flags != 0 || header.layer != 0) return "it has flags or a layer";
  if (header.kind_word >= kMaxArrayRecords) return "it begins behind every array";
  return nullptr;
}

}  // namespace

page::BrokenRule broken_rule(const ArrayBorderPage& page) {
  if (page.header.level != 0) return "records above the lowest level";
  return broken_identity(page.header);
}

page::BrokenRule broken_rule(const ArrayInteriorPage& page) {
  if (page.header.level == 0 || page.header.level > kLevelsMax) return "a level of no array";
  for (const page::DualPagePointer& pointer : page.pointers) {
    if (!page::may_hold(page.header, pointer)) return "a pointer that leads nowhere";
  }
  return broken_identity(page.header);
}

bool has_quiet_records(const ArrayBorderPage& page, const ArrayShape& shape, Epoch newest) {
  for (std::uint32_t i = 0; i < shape.records_per_page; ++i) {
    const auto& record =
        *reinterpret_cast<const page::RecordHeader*>(page.data + i * shape.record_bytes);
    // order: relaxed, no other thread has the page, or it never changes.
    const bool is_untouched = record.lock.load_relaxed() == 0 && record.load_tid() == page::Tid();
    if (!is_untouched && !page::is_quiet(record, 0, newest)) return false;
  }
  return true;
}

}  // namespace foedus::storage::array
