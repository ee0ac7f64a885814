#pragma once
// CompactedStream: the stream that a composer gets, the merged records of one storage with each
// key's history folded.

#include "gleaner/handoff/compaction.h"
#include "gleaner/handoff/record_stream.h"
#include "gleaner/reduce/merge.h"

namespace foedus::gleaner {

class CompactedStream : public RecordStream {
 public:
  // `merge`: at the begin of a storage, with all records of each of its keys (G15).
  explicit CompactedStream(Merge* merge) : merge_(merge) {}

  const StreamRecord* next() override;
  // Returns the number of records that next() has returned.
  std::uint64_t returned() const { return returned_; }

 private:
  bool fetch();
  const StreamRecord* next_unsuperseded();
  const StreamRecord* fold();

  Merge* const merge_;
  bool has_begun_ = false;
  const StreamRecord* ahead_ = nullptr;    // the next, neither returned nor folded; not fetched
  const StreamRecord* current_ = nullptr;  // the record before it, returned without folding
  KeyHistory history_;
  std::size_t history_next_ = 0;
  std::uint64_t returned_ = 0;
};

}  // namespace foedus::gleaner
