// Arrays: a page of the lowest level leads to no other page, so the walk reads it only if it is a
// victim.
#include <memory>

#include "foedus-core/storage/array/array_page.h"
#include "gleaner/reclaim/relocation.h"

namespace foedus::gleaner {

namespace {

using page::PageKind;
using page::SnapshotPageId;
using storage::array::ArrayInteriorPage;

// Returns true if the walk reads this page.
bool is_read(const Relocation& relocation, SnapshotPageId id, std::uint32_t level) {
  return relocation.is_wanted(id) && (level != 0 || relocation.is_victim(id));
}

// Announces the children that the walk reads (G72).
void announce_children(Relocation* relocation, const ArrayInteriorPage& page,
                       std::uint32_t level) {
  for (const page::DualPagePointer& pointer : page.pointers) {
    const SnapshotPageId child = pointer.load().snapshot_page;
    if (is_read(*relocation, child, level - 1)) relocation->announce(child);
  }
}

Result<SnapshotPageId> move(Relocation* relocation, SnapshotPageId id, std::uint32_t level) {
  if (!is_read(*relocation, id, level)) return id;
  const auto block = std::make_unique<page::PageBytes>();
  const PageKind kind = level == 0 ? PageKind::kArrayBorder : PageKind::kArrayInterior;
  FOEDUS_CHECK(relocation->read(id, kind, block.get()));
  if (block->header()->level != level) return relocation->corrupt(id, "of another level");
  bool is_changed = relocation->is_victim(id);
  if (level != 0) {
    auto* const page = block->as<ArrayInteriorPage>();
    announce_children(relocation, *page, level);
    for (page::DualPagePointer& pointer : page->pointers) {
      const SnapshotPageId child = pointer.load().snapshot_page;
      FOEDUS_TRY(const SnapshotPageId moved, move(relocation, child, level - 1));
      if (moved == child) continue;
      pointer.store({page::VolatilePageId(), moved});
      is_changed = true;
    }
  }
  if (!is_changed) return id;
  return relocation->write(*block);
}

}  // namespace

Result<SnapshotPageId> move_array(Relocation* relocation) {
  const snapshot::ManifestStorage& storage = relocation->storage();
  const auto& shape = storage::array::shape_of(storage.payload_bytes);
  const std::uint32_t levels = storage::array::levels_of(shape.pages_of(storage.records));
  return move(relocation, storage.root, levels);
}

}  // namespace foedus::gleaner
