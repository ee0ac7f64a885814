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

  PageWalk& walk_;
  const std::uint64_t records_;
  const ArrayShape& shape_;
};

// `first` is the index of the page's first record.
void ArrayWalk::visit(SnapshotPageId id, SnapshotPageId from, std::uint32_t level,
                      std::uint64_t first) {
  const auto block = std::make_unique<PageBytes>();
  const auto kind = level == 0 ? page::PageKind::kArrayBorder : page::PageKind::kArrayInterior;
  if (!walk_.enter(id, from, kind, level, block.get())) return;
  if (block->header()->kind_word != first) {
    walk_.problem(id, "it says that it begins at index " +
                          std::to_string(block->header()->kind_word) + "; in its place is " +
                          std::to_string(first));
    return;
  }
  if (level == 0) {
    border(id, *block->as<ArrayBorderPage>(), first);
  } else {
    interior(id, *block->as<ArrayInteriorPage>(), level, first);
  }
}

void ArrayWalk::interior(SnapshotPageId id, ArrayInteriorPage& page, std::uint32_t level,
                         std::uint64_t first) {
  std::uint64_t span = shape_.records_per_page;  // records below one pointer
  for (std::uint32_t i = 1; i < level; ++i) span *= ArrayInteriorPage::kPointers;
  for (std::uint32_t i = 0; i < ArrayInteriorPage::kPointers; ++i) {
    const page::DualPageIds ids = page.pointers[i].load();
    walk_.expect(ids.volatile_page.is_null(), id, "a pointer to a volatile page");
    if (ids.snapshot_page.is_null()) continue;  // A2: never written to
    const std::uint64_t index = first + i * span;
    if (!walk_.expect(index < records_, id, "a pointer behind the end of the array")) return;
    visit(ids.snapshot_page, id, level - 1, index);
  }
}

void ArrayWalk::border(SnapshotPageId id, ArrayBorderPage& page, std::uint64_t first) {
  const std::uint64_t end = std::min(records_ - first, std::uint64_t{shape_.records_per_page});
  for (std::uint64_t i = 0; i < shape_.records_per_page; ++i) {
    const page::RecordHeader& record = *storage::array::record_at(&page, i, shape_);
    const page::Tid tid = record.load_tid();
    // order: relaxed, no other thread has the page.
    walk_.expect(record.lock.load_relaxed() == 0, id, "a record that is locked");
    if (tid == page::Tid()) continue;  // never written to
    if (!walk_.expect(i < end, id, "a record behind the end of the array")) return;
    walk_.check_tid(id, tid, first + i);
    walk_.counts().records += 1;
    walk_.counts().payload_bytes += walk_.storage().payload_bytes;
  }
}

}  // namespace

void verify_array(PageWalk* walk) {
  const snapshot::ManifestStorage& storage = walk->storage();
  const bool is_possible = storage.records >= 1 && storage.records <= kMaxArrayRecords &&
                           storage.payload_bytes <= kMaxArrayPayloadBytes;
  if (!walk->expect(is_possible, SnapshotPageId(), "an array of impossible shape")) return;
  ArrayWalk(walk).run();
}

}  // namespace foedus::cli
