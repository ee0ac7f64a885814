#pragma once
// Merge: several sorted sources as one, storage by storage, by a tree of losers: one comparison for
// each level, most of them of two positions that stand in the tree.

#include <cstdint>
#include <vector>

#include "foedus/status.h"
#include "gleaner/reduce/sorted_source.h"

namespace foedus::gleaner {

class Merge {
 public:
  // The sources outlive the merge.
  explicit Merge(std::vector<SortedSource*> sources) : sources_(std::move(sources)) {}

  // Begins the storage with the lowest id that has records; 0: none has. REQUIRES: next() has
  // returned null since.
  page::StorageId begin_storage();
  // The next record of that storage, null at its end. Valid until the next call; the log record
  // that it points to, until the call after that.
  Result<const StreamRecord*> next();

 private:
  struct Player {
    std::uint64_t position;
    std::uint32_t source;  // in taking_part_
    bool has_ended;
  };
  Player player_of(std::uint32_t source) const;
  bool beats(const Player& a, const Player& b) const;
  Player build(std::size_t node);
  Status leave_record();

  const std::vector<SortedSource*> sources_;
  page::StorageId storage_{};
  std::vector<SortedSource*> taking_part_;  // those with records of storage_
  std::vector<Player> tree_;                // [0]: the winner, then who lost at each node
  bool is_at_record_ = false;  // the winner's head was returned
};

}  // namespace foedus::gleaner
