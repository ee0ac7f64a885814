#include "gleaner/compose/masstree/composer.h"

#include <memory>

#include "foedus-core/base/invariant.h"
#include "gleaner/compose/masstree/input.h"
#include "gleaner/compose/masstree/layer.h"
#include "gleaner/compose/masstree/levels.h"
#include "gleaner/compose/masstree/merge.h"

namespace foedus::gleaner {

Result<std::vector<Subtree>> compose_masstree(const Composition& composition,
                                              const PositionRange& range, RecordStream* records,
                                              const std::vector<std::uint64_t>& fences) {
  FOEDUS_INVARIANT(composition.meta->kind == StorageKind::kMasstree, composition.meta->kind);
  FOEDUS_INVARIANT(range.begin <= range.last, range.begin, range.last);
  MasstreeInput input(composition, range, records);
  FOEDUS_CHECK(input.begin());
  const auto layer = std::make_unique<MasstreeLayer>(composition, 0, range, fences);
  FOEDUS_CHECK(MasstreeMerge(composition, &input).run(layer.get(), composition.previous_root));
  FOEDUS_INVARIANT(input.is_at_end(), composition.meta->name);
  return layer->finish_range();
}

Result<page::SnapshotPageId> join_masstree(const Composition& composition,
                                           const std::vector<Subtree>& subtrees) {
  FOEDUS_INVARIANT(!subtrees.empty(), composition.meta->name);
  FOEDUS_INVARIANT(subtrees.front().range.begin == 0, subtrees.front().range.begin);
  FOEDUS_INVARIANT(subtrees.back().range.last == ~std::uint64_t{0}, subtrees.back().range.last);
  MasstreeLevels levels(composition, 0);
  for (const Subtree& subtree : subtrees) FOEDUS_CHECK(levels.push(subtree));
  FOEDUS_TRY(const Subtree root, levels.finish_root());
  return root.page;
}

}  // namespace foedus::gleaner
