#pragma once
// PartitionReadAhead goes through the records of one partition before its composer does, and
// announces the old pages that the composer will read (G67). It is a task of its own, so that
// composing goes on meanwhile.
//
//   G68 It reads the records in the reducer's memory, which does not change meanwhile. Spilled runs
//       are left out. If a storage has several groups, the next window is taken from the group
//       whose next record has the lowest position, which is about the order of the composer.

#include <cstdint>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "gleaner/compose/partition_composer.h"
#include "gleaner/handoff/partition_records.h"

namespace foedus::gleaner {

class PartitionReadAhead final : public base::Task {
 public:
  // `records`: those of the composer. REQUIRES: both outlive this task.
  PartitionReadAhead(PartitionComposer* composer, const PartitionRecords& records);

  const char* name() const override { return "foedus-ahead"; }
  bool is_background() const override { return true; }
  // Reads ahead for one window of records.
  std::uint64_t step() override;
  // Ends the task: announcements are hints, and the composer does not need them.
  std::uint64_t step_failed(const std::bad_alloc&) noexcept override { return kUntilNotified; }

 private:
  static std::uint64_t position_of(const SortedGroup& left) { return left.items.front().position; }
  static bool is_later(const SortedGroup& a, const SortedGroup& b);

  PartitionComposer* const composer_;
  std::vector<SortedGroup> left_;  // the records left of each group; a heap, the earliest first
  std::vector<StreamRecord> window_;
};

}  // namespace foedus::gleaner
