// IndexEntries: the entries of a row, collected without memory of the heap as a rule.
#include <algorithm>
#include <cstring>
#include <new>
#include <tuple>

#include "foedus/table_storages.h"

namespace foedus::internal {

void IndexEntries::add(std::size_t index, std::string_view columns) noexcept {
  const Place place{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(bytes_),
                    static_cast<std::uint32_t>(columns.size())};
  if (places_.empty() && count_ < kEntriesHere && columns.size() <= kBytesHere - bytes_) {
    places_here_[count_] = place;
    if (!columns.empty()) std::memcpy(bytes_here_ + bytes_, columns.data(), columns.size());
  } else {
    try {
      add_to_heap(place, columns);
    } catch (const std::bad_alloc&) {
      is_out_of_memory_ = true;
      return;
    }
  }
  ++count_;
  bytes_ += columns.size();
}

// Adds an entry; the first one takes those that lie in this object along.
void IndexEntries::add_to_heap(const Place& place, std::string_view columns) {
  if (places_.empty()) {
    text_.assign(bytes_here_, bytes_);
    places_.assign(places_here_, places_here_ + count_);
  }
  text_.append(columns);
  places_.push_back(place);
}

Status IndexEntries::finish() noexcept {
  if (is_out_of_memory_) return ErrorCode::kOutOfMemory;
  Entry* entries = entries_here_;
  if (!places_.empty()) {
    try {
      entries_.resize(count_);
    } catch (const std::bad_alloc&) {
      return ErrorCode::kOutOfMemory;
    }
    entries = entries_.data();
  }
  const Place* const places = places_.empty() ? places_here_ : places_.data();
  const char* const text = places_.empty() ? bytes_here_ : text_.data();
  for (std::size_t at = 0; at < count_; ++at) {
    entries[at] = {places[at].index, {text + places[at].begin, places[at].bytes}};
  }
  const auto sorts_before = [](const Entry& a, const Entry& b) {
    return std::tie(a.index, a.columns) < std::tie(b.index, b.columns);
  };
  const auto are_equal = [](const Entry& a, const Entry& b) {
    return a.index == b.index && a.columns == b.columns;
  };
  std::sort(entries, entries + count_, sorts_before);
  Entry* const end = std::unique(entries, entries + count_, are_equal);
  all_ = {entries, end};
  return {};
}

}  // namespace foedus::internal
