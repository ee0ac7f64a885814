// Checks pages of arrays against array_page.h: a page lies where index arithmetic says.
#include <algorithm>
#include <memory>
#include <string>

#include "foedus-core/storage/array/array_page.h"
#include "foedus/options.h"
#include "tools/foedus/verify/page_walk.h"

namespace foedus::cli {

namespace {

using page::PageBytes;
using page::SnapshotPageId;
using storage::array::ArrayBorderPage;
using storage::array::ArrayInteriorPage;
using storage::array::ArrayShape;

class ArrayWalk {
 public:
  explicit ArrayWalk(PageWalk* walk)
      : walk_(*walk),
        records_(walk->storage().records),
        shape_(storage::array::shape_of(walk->storage().payload_bytes)) {}

  void run() {
    const std::uint64_t pages = shape_.pages_of(records_);
    walk_.counts().levels = storage::array::levels_of(pages) + 1;
    visit(walk_.storage().root, SnapshotPageId(), storage::array::levels_of(pages), 0);
  }

 private:
  void visit(SnapshotPageId id, SnapshotPageId from, std::uint32_t level, std::uint64_t first);
  void interior(SnapshotPageId id, ArrayInteriorPage& page, std::uint32_t level,
                std::uint64_t first);
  void border(SnapshotPageId id, ArrayBorderPage& page, std::uint64_t first);
  void give(ArrayBorderPage& page, std::uint64_t first, std::uint64_t end);
  void lose(std::uint64_t first, std::uint32_t level);
  // Returns the number of records below a page.
  std::uint64_t span_of(std::uint32_t level) const {
    std::uint64_t span = shape_.records_per_page;
    for (std::uint32_t i = 0; i < level; ++i) span *= ArrayInteriorPage::kPointers;
    return span;
  }

  PageWalk& walk_;
  const std::uint64_t records_;
  const ArrayShape& shape_;
};

// `first` is the index of the page's first record.
void ArrayWalk::visit(SnapshotPageId id, SnapshotPageId from, std::uint32_t level,
                      std::uint64_t first) {
  const auto block = std::make_unique<PageBytes>();
  const auto kind = level == 0 ? page::PageKind::kArrayBorder : page::PageKind::kArrayInterior;
  if (!walk_.enter(id, from, kind, level, block.get())) return lose(first, level);
  if (block->header()->kind_word != first) {
    walk_.problem(id, "it says that it begins at index " +
                          std::to_string(block->header()->kind_word) + "; in its place is " +
                          std::to_string(first));
    return lose(first, level);
  }
  if (level == 0) {
    border(id, *block->as<ArrayBorderPage>(), first);
  } else {
    interior(id, *block->as<ArrayInteriorPage>(), level, first);
  }
}

void ArrayWalk::interior(SnapshotPageId id, ArrayInteriorPage& page, std::uint32_t level,
                         std::uint64_t first) {
  const std::uint64_t span = span_of(level - 1);  // records below one pointer
  for (std::uint32_t i = 0; i < ArrayInteriorPage::kPointers; ++i) {
    const page::DualPageIds ids = page.pointers[i].load();
    const std::uint64_t before = walk_.problems();
    walk_.expect(ids.volatile_page.is_null(), id, "a pointer to a volatile page");
    const std::uint64_t index = first + i * span;
    if (index < records_ && walk_.must_lose(before)) {
      lose(index, level - 1);
      continue;
    }
    if (ids.snapshot_page.is_null()) continue;  // A2: never written to
    if (!walk_.expect(index < records_, id, "a pointer behind the end of the array")) return;
    visit(ids.snapshot_page, id, level - 1, index);
  }
}

void ArrayWalk::border(SnapshotPageId id, ArrayBorderPage& page, std::uint64_t first) {
  const std::uint64_t end = std::min(records_ - first, std::uint64_t{shape_.records_per_page});
  const std::uint64_t before = walk_.problems();
  for (std::uint64_t i = 0; i < shape_.records_per_page; ++i) {
    const page::RecordHeader& record = *storage::array::record_at(&page, i, shape_);
    const page::Tid tid = record.load_tid();
    // order: relaxed, no other thread has the page.
    walk_.expect(record.lock.load_relaxed() == 0, id, "a record that is locked");
    if (tid == page::Tid()) continue;  // never written to
    if (!walk_.expect(i < end, id, "a record behind the end of the array")) break;
    walk_.check_tid(id, tid, first + i);
    walk_.counts().records += 1;
    walk_.counts().payload_bytes += walk_.storage().payload_bytes;
  }
  if (walk_.must_lose(before)) return lose(first, 0);
  give(page, first, end);
}

// A record that was never written to is full of zeroes, as those of pages that there are not.
void ArrayWalk::give(ArrayBorderPage& page, std::uint64_t first, std::uint64_t end) {
  if (!walk_.gives_rows()) return;
  const std::string zeroes(walk_.storage().payload_bytes, '\0');
  for (std::uint64_t i = 0; i < end; ++i) {
    page::RecordHeader* const record = storage::array::record_at(&page, i, shape_);
    const char* const payload =
        record->load_tid() == page::Tid() ? zeroes.data() : storage::array::payload_of(record);
    walk_.give({{}, first + i, {payload, zeroes.size()}});
  }
}

void ArrayWalk::lose(std::uint64_t first, std::uint32_t level) {
  const std::uint64_t end = std::min(records_, first + span_of(level));
  walk_.lose({"indexes " + std::to_string(first) + " to " + std::to_string(end - 1), first, end});
}

}  // namespace

void verify_array(PageWalk* walk) {
  const snapshot::ManifestStorage& storage = walk->storage();
  const bool is_possible = storage.records >= 1 && storage.records <= kMaxArrayRecords &&
                           storage.payload_bytes <= kMaxArrayPayloadBytes;
  if (!walk->expect(is_possible, SnapshotPageId(), "an array of impossible shape")) {
    return walk->lose({"all its records", 0, storage.records});
  }
  ArrayWalk(walk).run();
}

}  // namespace foedus::cli
