#include "gleaner/compose/masstree_levels.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/masstree/masstree_page.h"

namespace foedus::gleaner {

using page::SnapshotPageId;
using storage::masstree::InteriorPage;

namespace {

constexpr unsigned kChildrenMax = InteriorPage::kSeparatorsMax + 1;

}  // namespace

void MasstreeLevels::restart() {
  for (Open& open : open_) open.children = 0;
  children_ = 0;
}

MasstreeLevels::Open& MasstreeLevels::open_of(std::uint32_t level) {
  FOEDUS_INVARIANT(level != 0, level);
  while (open_.size() < level) open_.push_back({std::make_unique<PageBlock>(), 0, {}});
  return open_[level - 1];
}

Status MasstreeLevels::push(const Subtree& child) {
  FOEDUS_INVARIANT(!child.page.is_null(), child.range.begin, child.range.last);
  FOEDUS_INVARIANT(child.range.begin <= child.range.last, child.range.begin, child.range.last);
  for (std::uint32_t level = 1; level <= child.level; ++level) FOEDUS_CHECK(close(level));
  const std::uint32_t above = child.level + 1;
  if (open_of(above).children == kChildrenMax) FOEDUS_CHECK(close(above));

  Open& open = open_of(above);
  InteriorPage* const page = open.block->as<InteriorPage>();
  if (open.children == 0) {
    open.block->initialize(composition_.meta->id, page::PageKind::kMasstreeInterior,
                           static_cast<std::uint8_t>(above));
    open.range.begin = child.range.begin;
  } else {
    FOEDUS_INVARIANT(child.range.begin == open.range.last + 1, child.range.begin, open.range.last);
    page->set_separator(open.children - 1, child.range.begin);
  }
  page->child(open.children).store({page::VolatilePageId(), child.page});
  open.range.last = child.range.last;
  ++open.children;
  ++children_;
  return {};
}

Status MasstreeLevels::close(std::uint32_t level) {
  Open& open = open_of(level);
  if (open.children == 0) return {};
  InteriorPage* const page = open.block->as<InteriorPage>();
  page->header.layer = layer_;
  page->low = open.range.begin;
  page->last = open.range.last;
  const page::PageVersion version(open.children - 1, 0);
  page->header.birth_version = version.word();
  page->header.store_version(version);
  FOEDUS_TRY(const SnapshotPageId id, composition_.writer->append(&page->header));
  open.children = 0;
  return push({open.range, id, level});
}

Status MasstreeLevels::cut() { return open_.empty() ? Status() : close(1); }

Result<std::uint32_t> MasstreeLevels::close_up() {
  FOEDUS_INVARIANT(!is_empty());
  for (std::uint32_t level = 1;; ++level) {
    bool is_top = true;
    for (std::size_t i = level; i < open_.size(); ++i) is_top &= open_[i].children == 0;
    if (is_top && open_[level - 1].children != 0) return level;
    FOEDUS_CHECK(close(level));
  }
}

Result<std::vector<Subtree>> MasstreeLevels::finish_row() {
  FOEDUS_TRY(const std::uint32_t level, close_up());
  Open& open = open_of(level);
  InteriorPage* const page = open.block->as<InteriorPage>();
  std::vector<Subtree> row;
  std::uint64_t begin = open.range.begin;
  for (unsigned i = 0; i < open.children; ++i) {
    const std::uint64_t last =
        i + 1 == open.children ? open.range.last : page->separator(i) - 1;
    row.push_back({{begin, last}, page->child(i).load().snapshot_page, level - 1});
    begin = last + 1;
  }
  return row;
}

Result<Subtree> MasstreeLevels::finish_root() {
  FOEDUS_TRY(const std::vector<Subtree> row, finish_row());
  if (row.size() == 1) return row.front();
  const std::uint32_t level = row.front().level + 1;
  FOEDUS_CHECK(close(level));  // now the only child of a page above, which nobody needs
  Open& above = open_of(level + 1);
  const SnapshotPageId root = above.block->as<InteriorPage>()->child(0).load().snapshot_page;
  return Subtree{above.range, root, level};
}

}  // namespace foedus::gleaner
