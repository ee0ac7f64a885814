#pragma once
// PartitionReadAhead goes through the records of one partition before its composer does, and
// announces the old pages that the composer will read (G67). It is a task of its own, so that
// composing goes on meanwhile.
//
//   G68 It reads the records in the reducer's memory, which does not change once the reducer is
//       done. Spilled runs are left out. If a storage has several groups, they take turns by
//       windows, the group with the lowest position first, which is about the order of the
//       composer.

#include <cstdint>
#include <span>
#include <vector>

#include "foedus-core/base/task.h"
#include "gleaner/handoff/block.h"
#include "gleaner/handoff/record_stream.h"
#include "gleaner/partition_composer.h"

namespace foedus::gleaner {

class PartitionReadAhead final : public base::Task {
 public:
  // REQUIRES: both outlive this task, and the reducer is done.
  PartitionReadAhead(PartitionComposer* composer, const Reducer& reducer);

  const char* name() const override { return "foedus-ahead"; }
  bool is_background() const override { return true; }
  // Reads ahead for one window of records.
  std::uint64_t step() override;
  // Ends the task: announcements are hints, and the composer does not need them.
  std::uint64_t step_failed(const std::bad_alloc&) noexcept override { return kUntilNotified; }

 private:
  struct Cursor {
    page::StorageId storage{};
    std::span<const SortItem> left;

    std::uint64_t position() const { return left.front().position; }
  };
  static bool is_later(const Cursor& a, const Cursor& b);

  PartitionComposer* const composer_;
  const char* const memory_;
  std::vector<Cursor> cursors_;  // with records left; a heap, the earliest first
  std::vector<StreamRecord> window_;
};

}  // namespace foedus::gleaner
