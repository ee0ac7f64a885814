#include "foedus-core/storage/masstree/scan/merged_cursor.h"

namespace foedus::storage::masstree {

void MergedCursor::open(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view low,
                        std::string_view high, bool reverse) {
  row_ = &main_;
  is_merging_ = control->has_delta();
  if (!is_merging_) [[likely]]
    return main_.open(ctx, control, low, high, reverse);
  if (delta_ == nullptr) delta_ = std::make_unique<Cursor>();
  ctx_ = &ctx;
  control_ = control;
  reverse_ = reverse;
  low_ = low;
  high_ = high;
  open_both(low_, high_);
}

void MergedCursor::open_both(std::string_view low, std::string_view high) {
  main_.open(*ctx_, control_, low, high, reverse_);
  delta_->open(*ctx_, control_->delta.get(), low, high, reverse_);
  is_started_ = false;
}

void MergedCursor::close() {
  main_.close();
  if (delta_ != nullptr) delta_->close();
}

// Opens both cursors again after the current row (M14), because the row that the other cursor has
// found ahead may not show what the transaction has written since. False: in reverse, the current
// key is empty, and no row comes before it.
bool MergedCursor::reopen() {
  const std::string key(row_->key());
  main_.close();
  delta_->close();
  if (reverse_ && key.empty()) {
    row_ = &main_;  // closed: at its end
    return false;
  }
  (reverse_ ? high_ : low_) = key;
  if (!reverse_) low_.push_back('\0');
  open_both(low_, high_);
  return true;
}

Status MergedCursor::step(std::uint64_t limit) {
  if (!is_started_) {
    FOEDUS_CHECK(main_.next(limit));
    is_started_ = true;
    return delta_->next(limit);
  }
  if (row_ == &main_ || is_same_key_) FOEDUS_CHECK(main_.next(limit));
  return row_ == delta_.get() ? delta_->next(limit) : Status();
}

// After an error of either cursor the scan is over: the rows of the other one alone are not those
// of the range.
Status MergedCursor::next_merged(std::uint64_t limit) {
  Status status = merge(limit);
  if (!status.is_ok()) [[unlikely]] {
    close();
    row_ = &main_;
    is_merging_ = false;
  }
  return status;
}

Status MergedCursor::merge(std::uint64_t limit) {
  if (is_started_ && row_->at_end()) return {};
  if (is_started_ && writes_ != ctx_->sets().writes().state() && !reopen()) return {};
  writes_ = ctx_->sets().writes().state();
  FOEDUS_CHECK(step(limit));
  is_same_key_ = false;
  if (main_.at_end() || delta_->at_end()) {
    row_ = main_.at_end() ? delta_.get() : &main_;
    return {};
  }
  const int order = delta_->key().compare(main_.key());
  is_same_key_ = order == 0;
  row_ = is_same_key_ || (order < 0) != reverse_ ? delta_.get() : &main_;
  return {};
}

}  // namespace foedus::storage::masstree
