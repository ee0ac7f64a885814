#pragma once
// MasstreeInput: the log records of a range, a key at a time: all records of one key become what
// the key is afterwards.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "foedus-core/log/log_record.h"
#include "foedus/options.h"
#include "foedus/status.h"
#include "gleaner/compose/composition.h"
#include "gleaner/compose/masstree_record.h"

namespace foedus::gleaner {

class MasstreeInput {
 public:
  MasstreeInput(const Composition& composition, const PositionRange& range, RecordStream* records)
      : composition_(composition), range_(range), records_(records) {}

  // To the first key. To be called once, before anything else.
  Status begin() { return advance(); }

  bool is_at_end() const { return next_ == nullptr; }
  // Of the next records. REQUIRES: !is_at_end().
  std::string_view key() const { return next_->log->key(); }

  // Whether the next key begins with `prefix`, goes on behind it, unless that is empty, and its
  // next slice is not above `last`: whether it is of a page with that last slice, as all keys
  // before that page were taken.
  bool is_within(std::string_view prefix, std::uint64_t last) const;

  // Takes all records of key(), and with them what the snapshot before has of it, null: nothing.
  // kCorruption: they contradict it (G8), or are not in order.
  Status fold(const MasstreeRecord* old);

  // What fold() has come to, until it is called again.
  std::string_view folded_key() const { return {key_.data(), key_bytes_}; }
  bool is_present() const { return is_present_; }
  // Of the newest log record; the payload if is_present().
  MasstreeRecord folded() const { return {tid_, payload_, {}}; }

  // Whether key() has one record, a put: fold() would make a copy of it, and nothing else.
  // REQUIRES: !is_at_end().
  bool is_single_put() const {
    return next_->log->type == log::LogRecordType::kPut && records_->is_last_of_key();
  }
  // REQUIRES: is_single_put(). Until the next key is asked for.
  MasstreeRecord single_put() const {
    return {page::Tid(next_->log->tid), next_->log->payload(), {}};
  }
  // As fold() does.
  Status check_newer_than(const MasstreeRecord& old) const;
  // Instead of fold(). REQUIRES: is_single_put().
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

  std::array<char, kMaxKeyBytes> key_;  // the first key_bytes_, and what pads them to whole words
  std::size_t key_bytes_ = 0;
  std::uint64_t position_ = 0;  // of that key
  bool is_present_ = false;
  bool is_loaded_ = false;  // the payload is here, not just in the snapshot before
  page::Tid tid_;
  std::string payload_;
};

}  // namespace foedus::gleaner
