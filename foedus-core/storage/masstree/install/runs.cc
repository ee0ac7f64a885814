#include "foedus-core/storage/masstree/install/runs.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

namespace {

// A run ends with the first page of the snapshot after this much (M37). A lock is held for some 20
// ns for each record of the run.
constexpr std::uint64_t kRunPages = 16;
constexpr std::uint64_t kRunRecords = 256;
// A run is not begun if it would have more than this: children under one page of the snapshot are
// merged first. But up to kRunChildrenMin children may always go, whatever is in their layers.
constexpr std::uint64_t kRunPagesMax = 64;
constexpr std::uint64_t kRunRecordsMax = 2048;
constexpr std::size_t kRunChildrenMin = 3;

bool is_too_much(const VolatileContents& sum, std::size_t children) {
  const bool is_large = sum.pages > kRunPagesMax || sum.records > kRunRecordsMax;
  return is_large && children > kRunChildrenMin;
}

bool is_usable(const Child& child) { return child.is_cold() || child.contents.is_quiet; }
bool is_mergeable(const Child& child) { return child.is_divisible && child.contents.is_quiet; }

// Returns the index of the page of the level that has the slice.
std::size_t page_of(std::span<const ColdPage> level_pages, std::uint64_t slice) {
  const auto behind = std::upper_bound(
      level_pages.begin(), level_pages.end(), slice,
      [](std::uint64_t wanted, const ColdPage& page) { return wanted < page.low; });
  return static_cast<std::size_t>(behind - level_pages.begin()) - 1;
}

// Looks for a run among usable neighbours [begin, end).
class Search {
 public:
  Search(std::span<const Child> children, std::span<const ColdPage> level_pages, std::size_t end)
      : children_(children), level_pages_(level_pages), end_(end) {}

  // Finds a run that begins at child `begin` or soon after it. False: there is none, and next() is
  // the child from which to search on.
  bool from(std::size_t begin, Run* run);
  std::size_t next() const { return next_; }

 private:
  bool choose_begin(std::size_t begin);
  bool choose_end();
  bool is_useful(const Exchange& exchange) const;
  bool give_up(std::size_t next) {
    next_ = next;
    return false;
  }

  const std::span<const Child> children_;
  const std::span<const ColdPage> level_pages_;
  const std::size_t end_;
  std::size_t next_ = 0;
  std::size_t first_ = 0;      // child of the run
  std::size_t cold_ = 0;       // first child that has slices of the pages that come
  std::size_t last_ = 0;       // child of the run
  std::size_t row_begin_ = 0;  // pages of the level that come
  std::size_t row_end_ = 0;
  SliceRange left_;
  SliceRange right_;
};

// Chooses the first child of the run, so that the pages that come begin with a whole page of the
// level.
bool Search::choose_begin(std::size_t begin) {
  const std::uint64_t low = children_[begin].low;
  const std::size_t at = page_of(level_pages_, low);
  const ColdPage& page = level_pages_[at];
  first_ = cold_ = begin;
  row_begin_ = at;
  if (page.low == low) return true;
  row_begin_ = at + 1;
  while (cold_ < end_ && children_[cold_].last < page.last) ++cold_;
  if (cold_ == end_) return give_up(end_);
  for (std::size_t i = begin; i <= cold_; ++i) {
    if (!is_mergeable(children_[i])) first_ = i + 1;
  }
  const bool is_common = children_[cold_].last == page.last;
  if (is_common && first_ + 1 > cold_) first_ = cold_ + 1;  // nothing to merge
  if (is_common) ++cold_;
  if (cold_ == end_) return give_up(end_);
  if (first_ > cold_) return give_up(first_);
  if (first_ != cold_ || !is_common) left_ = {children_[first_].low, page.last};
  return true;
}

// Chooses the last child of the run, so that the pages that come end with a whole page of the
// level.
bool Search::choose_end() {
  VolatileContents sum;
  for (std::size_t i = first_; i < cold_; ++i) sum.add(children_[i].contents);
  row_end_ = row_begin_;
  std::size_t at = cold_;
  for (; at < end_; ++at) {
    sum.add(children_[at].contents);
    if (is_too_much(sum, at + 1 - first_)) break;
    while (row_end_ < level_pages_.size() && level_pages_[row_end_].last <= children_[at].last)
      ++row_end_;
    const bool is_enough = sum.pages >= kRunPages || sum.records >= kRunRecords;
    if (is_enough && row_end_ != row_begin_) break;
  }
  for (; row_end_ != row_begin_; --row_end_) {
    const std::uint64_t last = level_pages_[row_end_ - 1].last;
    last_ = cold_;
    while (children_[last_].last < last) ++last_;
    right_ = {};
    if (children_[last_].last == last) return true;
    right_ = {last + 1, children_[last_].last};
    if (is_mergeable(children_[last_])) return true;
  }
  return give_up(std::max(at, first_ + 1));
}

bool Search::is_useful(const Exchange& exchange) const {
  std::size_t pages = 0;
  for (const Child& child : exchange.out) pages += child.is_cold() ? 0 : 1;
  const std::size_t remainders = (left_.is_empty() ? 0u : 1u) + (right_.is_empty() ? 0u : 1u);
  if (pages > remainders) return true;
  if (remainders != 0) return false;
  return !std::equal(
      exchange.out.begin(), exchange.out.end(), exchange.in.begin(), exchange.in.end(),
      [](const Child& child, const ColdPage& page) { return child.ids.snapshot_page == page.id; });
}

bool Search::from(std::size_t begin, Run* run) {
  left_ = right_ = {};
  if (!choose_begin(begin) || !choose_end()) return false;
  run->first = first_;
  run->exchange = {children_.subspan(first_, last_ + 1 - first_),
                   level_pages_.subspan(row_begin_, row_end_ - row_begin_), left_, right_};
  return is_useful(run->exchange) || give_up(last_ + 1);
}

}  // namespace

bool next_exchange(std::span<const Child> children, std::span<const ColdPage> level_pages,
                   std::size_t at, Run* run) {
  if (level_pages.empty()) return false;
  while (at < children.size()) {
    if (!is_usable(children[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < children.size() && is_usable(children[end])) ++end;
    Search search(children, level_pages, end);
    if (search.from(at, run)) return true;
    FOEDUS_INVARIANT(search.next() > at, search.next(), at);
    at = search.next();
  }
  return false;
}

bool next_merge(std::span<const Child> children, std::span<const ColdPage> level_pages,
                std::size_t at, Run* run) {
  if (level_pages.empty()) return false;
  for (; at < children.size(); ++at) {
    const ColdPage& page = level_pages[page_of(level_pages, children[at].low)];
    VolatileContents sum;
    std::size_t end = at;
    for (; end < children.size() && children[end].last <= page.last; ++end) {
      sum.add(children[end].contents);
      if (!is_mergeable(children[end]) || is_too_much(sum, end + 1 - at)) break;
    }
    if (end < at + 2) continue;
    run->first = at;
    run->exchange = {
        children.subspan(at, end - at), {}, {children[at].low, children[end - 1].last}, {}};
    return true;
  }
  return false;
}

}  // namespace foedus::storage::masstree
