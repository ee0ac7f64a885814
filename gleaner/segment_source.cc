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

}  // namespace foedus::gleaner
