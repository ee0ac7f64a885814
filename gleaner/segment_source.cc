#include "gleaner/segment_source.h"

#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

Result<bool> SegmentSource::next(SourceRecord* record) {
  for (;;) {
    if (records_ == nullptr) {
      if (part_ == parts_.size()) return false;
      FOEDUS_TRY(records_, parts_[part_].open());
      place_ = 0;
    }
    FOEDUS_TRY(record->log, records_->next(&record->session));
    if (record->log != nullptr) break;
    records_.reset();
    ++part_;
  }
  FOEDUS_INVARIANT(place_ >> kPlaceBits == 0, place_);
  record->sequence = (static_cast<std::uint64_t>(parts_[part_].number) << kPlaceBits) | place_++;
  return true;
}

}  // namespace foedus::gleaner
