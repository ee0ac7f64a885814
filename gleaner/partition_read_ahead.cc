#include "gleaner/partition_read_ahead.h"

#include <algorithm>
#include <tuple>

#include "gleaner/compose/read_ahead.h"

namespace foedus::gleaner {

namespace {

// A window leads to enough pages to keep a device busy while the pages below them are looked up.
constexpr std::size_t kWindowRecords = 1024;

}  // namespace

PartitionReadAhead::PartitionReadAhead(PartitionComposer* composer, const Reducer& reducer)
    : composer_(composer), memory_(reducer.in_memory().memory()) {
  for (const SortedGroup& group : reducer.in_memory().groups()) {
    cursors_.push_back({group.storage, group.items});
  }
  std::make_heap(cursors_.begin(), cursors_.end(), is_later);
  window_.reserve(kWindowRecords);
}

bool PartitionReadAhead::is_later(const Cursor& a, const Cursor& b) {
  return std::tuple(a.storage, a.position()) > std::tuple(b.storage, b.position());
}

std::uint64_t PartitionReadAhead::step() {
  if (cursors_.empty() || composer_->is_done()) return kUntilNotified;
  std::pop_heap(cursors_.begin(), cursors_.end(), is_later);
  Cursor& next = cursors_.back();
  window_.clear();
  const std::size_t count = std::min(next.left.size(), kWindowRecords);
  for (const SortItem& item : next.left.first(count)) {
    window_.push_back(item.entry(memory_)->record());
  }
  next.left = next.left.subspan(count);
  read_ahead(composer_->composition_of(next.storage), window_);
  if (next.left.empty()) {
    cursors_.pop_back();
  } else {
    std::push_heap(cursors_.begin(), cursors_.end(), is_later);
  }
  return 0;
}

}  // namespace foedus::gleaner
