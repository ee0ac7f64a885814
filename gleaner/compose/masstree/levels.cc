#include "gleaner/compose/masstree/levels.h"

#include <memory>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::gleaner {

using page::SnapshotPageId;
using storage::masstree::InteriorPage;

namespace {

constexpr std::size_t kChildrenMax = InteriorPage::kSeparatorsMax + 1;

}  // namespace

Status MasstreeLevels::push(const Subtree& child) {
  FOEDUS_INVARIANT(!child.page.is_null(), child.range.begin, child.range.last);
  FOEDUS_INVARIANT(child.range.begin <= child.range.last, child.range.begin, child.range.last);
  if (waiting_.size() <= child.level) waiting_.resize(child.level + 1);
  for (std::uint32_t level = 0; level < child.level; ++level) {
    FOEDUS_CHECK(close(level, Rest::kHalf));
  }
  if (waiting_[child.level].size() == 2 * kChildrenMax) {
    FOEDUS_CHECK(close_first(child.level, kChildrenMax));
  }
  std::vector<Subtree>& waiting = waiting_[child.level];
  FOEDUS_INVARIANT(waiting.empty() || child.range.begin == waiting.back().range.last + 1,
                   child.range.begin, child.level);
  waiting.push_back(child);
  return {};
}

Status MasstreeLevels::cut() { return waiting_.empty() ? Status() : close(0, Rest::kWhatIsLeft); }

// Makes pages of all children at a level. If the last page would get less than half of a page, it
// shares with the one before. Otherwise inserts that come one at a time would leave an almost empty
// page after each full page that they split.
Status MasstreeLevels::close(std::uint32_t level, Rest rest) {
  while (!waiting_[level].empty()) {
    const std::size_t count = waiting_[level].size();
    const bool is_halved =
        rest == Rest::kHalf && count > kChildrenMax && count < kChildrenMax + kChildrenMax / 2;
    FOEDUS_CHECK(close_first(level, is_halved ? count / 2 : std::min(count, kChildrenMax)));
  }
  return {};
}

Status MasstreeLevels::close_first(std::uint32_t level, std::size_t children) {
  std::vector<Subtree>& waiting = waiting_[level];
  const auto end = waiting.begin() + static_cast<std::ptrdiff_t>(children);
  if (is_edge(std::span(waiting).first(children))) {
    edge_.insert(edge_.end(), waiting.begin(), end);
    edge_end_ = edge_.back().range.last + 1;
    waiting.erase(waiting.begin(), end);
    return {};
  }
  FOEDUS_TRY(const Subtree page, append(level + 1, std::span(waiting).first(children)));
  waiting.erase(waiting.begin(), end);
  // push() would close the levels below, but children that wait here come after this page.
  if (waiting_.size() <= page.level) waiting_.resize(page.level + 1);
  if (waiting_[page.level].size() == 2 * kChildrenMax) {
    FOEDUS_CHECK(close_first(page.level, kChildrenMax));
  }
  waiting_[page.level].push_back(page);
  return {};
}

Result<Subtree> MasstreeLevels::append(std::uint32_t level, std::span<const Subtree> children) {
  FOEDUS_INVARIANT(!children.empty() && children.size() <= kChildrenMax, children.size());
  const auto block = std::make_unique<page::PageBytes>();
  block->initialize(composition_.meta->id, page::PageKind::kMasstreeInterior,
                    static_cast<std::uint8_t>(level));
  InteriorPage* const page = block->as<InteriorPage>();
  page->header.layer = layer_;
  page->low = children.front().range.begin;
  page->last = children.back().range.last;
  for (unsigned i = 0; i < children.size(); ++i) {
    FOEDUS_INVARIANT(children[i].level + 1 == level, children[i].level, level);
    if (i != 0) page->set_separator(i - 1, children[i].range.begin);
    page->child(i).store({page::VolatilePageId(), children[i].page});
  }
  const page::PageVersion version(static_cast<std::uint32_t>(children.size()) - 1, 0);
  page->header.birth_version = version.word();
  page->header.store_version(version);
  FOEDUS_TRY(const SnapshotPageId id, composition_.append(&page->header));
  return Subtree{{page->low, page->last}, id, level};
}

bool MasstreeLevels::is_edge(std::span<const Subtree> children) const {
  const Subtree& first = children.front();
  const bool is_first = edge_end_ != 0 && first.range.begin == edge_end_;
  return is_first && (edge_.empty() || edge_.back().level < first.level);
}

// Returns the children of the first pages, whose levels ascend, and then the waiting children from
// the highest level down: those of a level come before all of lower levels.
std::vector<Subtree> MasstreeLevels::finish_row() {
  FOEDUS_INVARIANT(!is_empty());
  std::vector<Subtree> row = std::move(edge_);
  for (auto waiting = waiting_.rbegin(); waiting != waiting_.rend(); ++waiting) {
    row.insert(row.end(), waiting->begin(), waiting->end());
  }
  return row;
}

Result<Subtree> MasstreeLevels::finish_root() {
  FOEDUS_INVARIANT(!is_empty() && edge_.empty(), edge_.size());
  std::uint32_t level = 0;
  while (level + 1 != waiting_.size() || waiting_[level].size() > kChildrenMax) {
    FOEDUS_CHECK(close(level++, Rest::kWhatIsLeft));
  }
  const std::vector<Subtree>& row = waiting_[level];
  if (row.size() == 1) return row.front();
  return append(level + 1, row);
}

}  // namespace foedus::gleaner
