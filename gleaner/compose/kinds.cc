#include "gleaner/compose/kinds.h"

#include "foedus-core/base/invariant.h"
#include "gleaner/compose/array/composer.h"
#include "gleaner/compose/hash/composer.h"
#include "gleaner/compose/masstree/composer.h"
#include "gleaner/compose/sequential/composer.h"

namespace foedus::gleaner {

std::uint64_t align_boundary(const storage_meta::StorageMeta& meta, std::uint64_t boundary) {
  // No position comes after the largest, so it needs no alignment. A hash storage's boundary has to
  // be the begin of a bin of its root all the same.
  if (boundary == ~std::uint64_t{0} && meta.kind != StorageKind::kHash) return boundary;
  switch (meta.kind) {
    case StorageKind::kArray:
      return align_array_boundary(meta, boundary);
    case StorageKind::kHash:
      return align_hash_boundary(meta, boundary);
    case StorageKind::kMasstree:
    case StorageKind::kSequential:
      return boundary;
  }
  FOEDUS_INVARIANT(false, meta.kind);
}

Result<std::vector<Subtree>> compose(const Composition& composition, const PositionRange& range,
                                     RecordStream* records) {
  switch (composition.meta->kind) {
    case StorageKind::kArray:
      return compose_array(composition, range, records);
    case StorageKind::kHash:
      return compose_hash(composition, range, records);
    case StorageKind::kMasstree:
      return compose_masstree(composition, range, records);
    case StorageKind::kSequential:
      return compose_sequential(composition, range, records);
  }
  FOEDUS_INVARIANT(false, composition.meta->kind);
}

Result<page::SnapshotPageId> join(const Composition& composition,
                                  const std::vector<Subtree>& subtrees) {
  switch (composition.meta->kind) {
    case StorageKind::kArray:
      return join_array(composition, subtrees);
    case StorageKind::kHash:
      return join_hash(composition, subtrees);
    case StorageKind::kMasstree:
      return join_masstree(composition, subtrees);
    case StorageKind::kSequential:
      return join_sequential(composition, subtrees);
  }
  FOEDUS_INVARIANT(false, composition.meta->kind);
}

}  // namespace foedus::gleaner
