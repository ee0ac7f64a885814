#include "gleaner/compose/partition_read_ahead.h"

#include <algorithm>
#include <tuple>

#include "gleaner/compose/read_ahead.h"

namespace foedus::gleaner {

namespace {

// A window leads to enough pages to keep a device busy while the pages below them are looked up.
constexpr std::size_t kWindowRecords = 1024;

}  // namespace

PartitionReadAhead::PartitionReadAhead(PartitionComposer* composer, const PartitionRecords& records)
    : composer_(composer), left_(records.in_memory().begin(), records.in_memory().end()) {
  std::make_heap(left_.begin(), left_.end(), is_later);
  window_.reserve(kWindowRecords);
}

bool PartitionReadAhead::is_later(const SortedGroup& a, const SortedGroup& b) {
  return std::tuple(a.storage, position_of(a)) > std::tuple(b.storage, position_of(b));
}

std::uint64_t PartitionReadAhead::step() {
  if (left_.empty() || composer_->is_done()) return kUntilNotified;
  std::pop_heap(left_.begin(), left_.end(), is_later);
  SortedGroup& next = left_.back();
  window_.clear();
  const std::size_t count = std::min(next.items.size(), kWindowRecords);
  for (std::size_t i = 0; i < count; ++i) window_.push_back(next.entry(i).record());
  next.items = next.items.subspan(count);
  read_ahead(composer_->composition_of(next.storage), window_);
  if (next.items.empty()) {
    left_.pop_back();
  } else {
    std::push_heap(left_.begin(), left_.end(), is_later);
  }
  return 0;
}

}  // namespace foedus::gleaner
