#include "gleaner/reduce/compacted_stream.h"

namespace foedus::gleaner {

// Makes the record of ahead_ whole. Returns false if that failed.
bool CompactedStream::fetch() {
  Status status = merge_->fetch();
  if (status.is_ok()) return true;
  status_ = std::move(status);
  return false;
}

const StreamRecord* CompactedStream::next() {
  if (!has_begun_) {
    has_begun_ = true;
    ahead_ = merge_->next();
  }
  const bool is_of_history = history_next_ != history_.record_count();
  const StreamRecord* const record =
      is_of_history ? &history_.record(history_next_++) : next_unsuperseded();
  // A record that was not folded is the only one of its key.
  is_last_of_key_ = history_next_ == history_.record_count();
  if (record == nullptr) {
    if (status_.is_ok() && !merge_->status().is_ok()) status_ = merge_->status();
    return nullptr;
  }
  ++returned_;
  return record;
}

// Returns the next record that is not superseded (G14), without a copy. Most keys have a single
// such record. If a key has more, its history is folded, and the first result is returned.
const StreamRecord* CompactedStream::next_unsuperseded() {
  do {
    if (ahead_ == nullptr || !fetch()) return nullptr;
    current_ = ahead_;
    ahead_ = merge_->next();
    if (ahead_ == nullptr || !have_same_key(*current_, *ahead_)) {
      return merge_->status().is_ok() ? current_ : nullptr;
    }
  } while (is_whole(ahead_->log->type));
  return fold();
}

const StreamRecord* CompactedStream::fold() {
  history_.clear();
  history_.add(*current_);
  do {
    if (!fetch()) return nullptr;  // it may lie where the previous one did, which was copied
    history_.add(*ahead_);
    ahead_ = merge_->next();
  } while (ahead_ != nullptr && history_.is_about_key_of(*ahead_));
  if (!merge_->status().is_ok()) return nullptr;
  history_.finish();
  history_next_ = 1;
  return &history_.record(0);
}

}  // namespace foedus::gleaner
