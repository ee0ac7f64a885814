#include "gleaner/segment_source.h"

#include <utility>

#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

bool SegmentSource::next(SourceRecord* record) {
  while (records_ == nullptr || (record->log = records_->try_next(&record->session)) == nullptr) {
    Result<bool> is_there = go_on(record);
    if (!is_there.is_ok()) {
      status_ = std::move(is_there).status();
      return false;
    }
    if (*is_there) break;
    if (records_ == nullptr) return false;
  }
  record->sequence = next_sequence_++;
  return true;
}

// Leaves the fast path. Returns true if it found the next record by the slow one. False: the open
// segment may have a record for try_next(), or no segment is left.
Result<bool> SegmentSource::go_on(SourceRecord* record) {
  if (records_ != nullptr) {
    FOEDUS_TRY(record->log, records_->next(&record->session));
    if (record->log != nullptr) return true;
    FOEDUS_INVARIANT(next_sequence_ >> kPlaceBits == parts_[part_].number, next_sequence_);
    ++part_;
    records_.reset();
  }
  if (part_ == parts_.size()) return false;
  FOEDUS_TRY(records_, parts_[part_].open());
  next_sequence_ = static_cast<std::uint64_t>(parts_[part_].number) << kPlaceBits;
  return false;
}

std::vector<std::unique_ptr<SegmentSource>> distribute_segments(const engine::GleanOrder& order) {
  const std::uint32_t mappers = order.mappers == 0 ? order.topology->socs() : order.mappers;
  std::vector<std::vector<SegmentPart>> parts(mappers);
  for (std::size_t i = 0; i < order.segments.size(); ++i) {
    parts[i % mappers].push_back({static_cast<std::uint32_t>(i), order.segments[i]});
  }
  std::vector<std::unique_ptr<SegmentSource>> sources;
  for (auto& some : parts) sources.push_back(std::make_unique<SegmentSource>(std::move(some)));
  return sources;
}

}  // namespace foedus::gleaner
