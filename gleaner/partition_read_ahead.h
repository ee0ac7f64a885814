#pragma once
// PartitionReadAhead: goes through one partition's records ahead of its composer and reads ahead
// what that will read (G67). A task of its own, so that composing goes on meanwhile.
//
//   G68 It reads what lies in the reducer's memory, which nobody changes once that is done; runs
//       that were spilled are left out. Several groups of one storage are gone through side by
//       side, a window of each in turn, the lowest position first: about the order of the composer.

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
  // Both outlive it. REQUIRES: the reducer is done.
  PartitionReadAhead(PartitionComposer* composer, const Reducer& reducer);

  const char* name() const override { return "foedus-ahead"; }
  bool is_background() const override { return true; }
  // One window.
  std::uint64_t step() override;
  // What it announces is a hint.
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
  std::vector<Cursor> cursors_;  // that are not at their ends; a heap, the earliest one first
  std::vector<StreamRecord> window_;
};

}  // namespace foedus::gleaner
