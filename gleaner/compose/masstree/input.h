#pragma once
// MasstreeInput reads the log records of a range key by key, and folds all records of a key into
// its new state.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "foedus-core/log/ring/record.h"
#include "foedus/options.h"
#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"
#include "gleaner/compose/masstree/record.h"

namespace foedus::gleaner {

class MasstreeInput {
 public:
  MasstreeInput(const Composition& composition, const PositionRange& range, RecordStream* records)
      : composition_(composition), range_(range), records_(records) {}

  // Moves to the first key. REQUIRES: called once, before anything else.
  Status begin() { return advance(); }

  bool is_at_end() const { return next_ == nullptr; }
  // Returns the key of the next records. REQUIRES: !is_at_end().
  std::string_view key() const { return next_->log->key(); }

  // Returns true if the next key is longer than `prefix`, begins with it, and its slice after the
  // prefix is at most `last`. An empty prefix fits any key. If all keys before a page were taken,
  // and `last` is the page's last slice, the key is of that page.
  bool is_within(std::string_view prefix, std::uint64_t last) const;

  // Folds all log records of key() into `old`, the record in the previous snapshot; null: there is
  // none. kCorruption: the log records contradict the old record (G8), or are not in order.
  Status fold(const MasstreeRecord* old);

  // Return the result of fold(), valid until it is called again.
  std::string_view folded_key() const { return {key_.data(), key_bytes_}; }
  bool is_present() const { return is_present_; }
  // Returns the newest log record's TID, and the payload if is_present().
  MasstreeRecord folded() const { return {tid_, payload_, {}}; }

  // Returns true if key() has one record, a put, of which fold() would only make a copy. REQUIRES:
  // !is_at_end().
  bool is_single_put() const {
    return next_->log->type == log::LogRecordType::kPut && records_->is_last_of_key();
  }
  // Returns the only record of key(), valid until the next key is asked for. REQUIRES:
  // is_single_put().
  MasstreeRecord single_put() const {
    return {page::Tid(next_->log->tid), next_->log->payload(), {}};
  }
  // Checks that the next record is newer than `old`, as fold() does.
  Status check_newer_than(const MasstreeRecord& old) const;
  // Moves to the next key without fold(). REQUIRES: is_single_put().
  Status pass_single_put() {
    leave(*next_);
    return advance();
  }

 private:
  Status advance();
  Status check_order() const;
  // Remembers the record for check_order().
  void leave(const StreamRecord& record);
  Status apply(const log::LogRecord& record, const MasstreeRecord* old);
  Status apply_part(const log::LogRecord& record, const MasstreeRecord* old);
  Status corrupt(const char* what) const {
    return masstree_corruption(composition_, folded_key(), what);
  }

  const Composition& composition_;
  const PositionRange range_;
  RecordStream* const records_;
  const StreamRecord* next_ = nullptr;

  std::array<char, kMaxKeyBytes> key_;  // key_bytes_, then padding to a whole word
  std::size_t key_bytes_ = 0;
  std::uint64_t position_ = 0;  // of that key
  bool is_present_ = false;
  bool is_loaded_ = false;  // the payload is here, not only in the snapshot
  page::Tid tid_;
  std::string payload_;
};

}  // namespace foedus::gleaner
