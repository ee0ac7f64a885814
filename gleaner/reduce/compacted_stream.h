#pragma once
// CompactedStream: what a composer gets: a merge of one storage, with each key's history folded.

#include "gleaner/handoff/compaction.h"
#include "gleaner/handoff/record_stream.h"
#include "gleaner/reduce/merge.h"

namespace foedus::gleaner {

class CompactedStream : public RecordStream {
 public:
  // `merge`: at the begin of a storage, of whose every key it has all there is (G15).
  explicit CompactedStream(Merge* merge) : merge_(merge) {}

  const StreamRecord* next() override;
  // How many records next() has returned.
  std::uint64_t returned() const { return returned_; }

 private:
  bool fetch();
  const StreamRecord* next_unsuperseded();
  const StreamRecord* fold();

  Merge* const merge_;
  bool has_begun_ = false;
  const StreamRecord* ahead_ = nullptr;  // behind those that were returned or folded; not fetched
  const StreamRecord* current_ = nullptr;  // the one before; returned as it is
  KeyHistory history_;
  std::size_t history_next_ = 0;
  std::uint64_t returned_ = 0;
};

}  // namespace foedus::gleaner
