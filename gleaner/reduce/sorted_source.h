#pragma once
// SortedSource: records in the order of storage and G2, one of several that are merged.

#include <memory>

#include "foedus/status.h"
#include "gleaner/handoff/bucket.h"

namespace foedus::gleaner {

class SortedSource {
 public:
  virtual ~SortedSource() = default;

  // The record at hand; null at the end.
  const StreamRecord* head() const { return has_head_ ? &head_ : nullptr; }
  // Goes to the next record. The one at hand stays valid until the advance() after this.
  virtual Status advance() = 0;

 protected:
  // The next entry of [*at, end), or none.
  void take_entry(const char** at, const char* end) {
    has_head_ = *at != end;
    if (!has_head_) return;
    const RecordEntry* const entry = RecordEntry::at(*at);
    head_ = entry->record();
    *at += entry->bytes();
  }

  StreamRecord head_{};
  bool has_head_ = false;
};

// Of a block in memory, which stays as it is.
class BlockSource : public SortedSource {
 public:
  explicit BlockSource(const BlockHeader* block)
      : at_(block->entries_begin()), end_(block->entries_end()) {
    take_entry(&at_, end_);
  }
  Status advance() override {
    take_entry(&at_, end_);
    return {};
  }

 private:
  const char* at_;
  const char* const end_;
};

}  // namespace foedus::gleaner
