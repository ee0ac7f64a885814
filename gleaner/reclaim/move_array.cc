// Arrays: a page of the lowest level leads to nothing, so those that are no victims are not read.
#include <memory>

#include "foedus-core/storage/array/array_page.h"
#include "gleaner/reclaim/relocation.h"

namespace foedus::gleaner {

namespace {

using page::PageKind;
using page::SnapshotPageId;
using storage::array::ArrayInteriorPage;

Result<SnapshotPageId> move(Relocation* relocation, SnapshotPageId id, std::uint32_t level) {
  const bool is_victim = relocation->is_victim(id);
  if (!relocation->is_wanted(id) || (level == 0 && !is_victim)) return id;
  const auto block = std::make_unique<page::PageBytes>();
  const PageKind kind = level == 0 ? PageKind::kArrayBorder : PageKind::kArrayInterior;
  FOEDUS_CHECK(relocation->read(id, kind, block.get()));
  if (block->header()->level != level) return relocation->corrupt(id, "of another level");
  bool is_changed = is_victim;
  if (level != 0) {
    for (page::DualPagePointer& pointer : block->as<ArrayInteriorPage>()->pointers) {
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
