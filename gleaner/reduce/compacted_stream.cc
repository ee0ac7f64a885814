#include "gleaner/reduce/compacted_stream.h"

namespace foedus::gleaner {

Status CompactedStream::look_ahead() {
  FOEDUS_TRY(ahead_, merge_->next());
  return {};
}

Result<const StreamRecord*> CompactedStream::next() {
  if (history_next_ != history_.record_count()) return &history_.record(history_next_++);
  if (!has_begun_) {
    has_begun_ = true;
    FOEDUS_CHECK(look_ahead());
  }
  if (ahead_ == nullptr) return nullptr;
  FOEDUS_CHECK(merge_->fetch());
  current_ = *ahead_;
  FOEDUS_CHECK(look_ahead());
  // Most keys have one record, which is passed on where it lies.
  if (ahead_ == nullptr || !have_same_key(current_, *ahead_)) return &current_;
  return fold();
}

Result<const StreamRecord*> CompactedStream::fold() {
  history_.clear();
  history_.add(current_);
  do {
    FOEDUS_CHECK(merge_->fetch());  // in the place of the one before, which was copied
    history_.add(*ahead_);
    FOEDUS_CHECK(look_ahead());
  } while (ahead_ != nullptr && history_.is_about_key_of(*ahead_));
  history_.finish();
  history_next_ = 1;
  return &history_.record(0);
}

}  // namespace foedus::gleaner
