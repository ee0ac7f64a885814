#pragma once
// Merge: several sorted sources as one, storage by storage, by a tree of losers: one comparison for
// each level, most of them of two positions that stand in the tree. A source that wins again and
// again, as those do whose keys ascend with time, is compared with one position only. Sources
// without records of a storage take no part in it, and cost it nothing: they wait in a heap.

#include <cstdint>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus/status.h"
#include "gleaner/reduce/sorted_source.h"

namespace foedus::gleaner {

class Merge {
 public:
  // The sources outlive the merge.
  explicit Merge(std::vector<SortedSource*> sources);

  // Begins the storage with the lowest id that has records; 0: none has. REQUIRES: next() has
  // returned null since.
  page::StorageId begin_storage();
  // The next record of that storage; null at its end, and on a failure, as status() then says.
  // Valid, with the log record that it points to, until the call after the next. A log record that
  // is larger than a chunk of its run is there up to its key only, until fetch().
  const StreamRecord* next() {
    if (is_at_record_) {
      // The record that was returned last is left only now, so that it outlives the call.
      is_at_record_ = false;
      // order: relaxed both, a statistic that one thread counts.
      records_merged_.store_relaxed(records_merged_.load_relaxed() + 1);
      SortedSource* const source = winner_;
      if (!source->try_advance()) [[unlikely]] {
        status_ = source->advance();
        if (!status_.is_ok()) return nullptr;
      }
      const StreamRecord* const head = source->head();
      // All others are behind it: mostly there is none.
      if (head != nullptr && head->position < others_begin_ && head->log->storage_id == storage_) {
        is_at_record_ = true;
        return head;
      }
      replay();
    }
    if (tree_.empty() || tree_[0].has_ended() || !status_.is_ok()) return nullptr;
    winner_ = taking_part_[tree_[0].source];
    is_at_record_ = true;
    return winner_->head();
  }
  const Status& status() const { return status_; }
  // Makes the record that next() has returned whole, in its place. Of those that were not, one is
  // whole at a time: the last one that was fetched. REQUIRES: next() was not null.
  Status fetch() { return winner_->fetch(); }

  // Records that next() has left behind, so far; any thread.
  std::uint64_t records_merged() const {
    return records_merged_.load_relaxed();  // order: relaxed, a statistic
  }
  // How often the storages of two sources were compared, so far.
  std::uint64_t storages_compared() const { return storages_compared_; }

 private:
  // A source whose next record is of a storage that has not begun.
  struct Waiting {
    page::StorageId storage;
    std::uint32_t source;  // in sources_
  };
  // Two whole words, so that copies of a player that was just written do not wait for its parts.
  struct Player {
    std::uint64_t position;  // of one that has ended: the last one
    std::uint64_t source;    // in taking_part_; of one that has ended: kEnded and more

    bool has_ended() const { return source >= kEnded; }
  };
  static constexpr std::uint64_t kEnded = std::uint64_t{1} << 32;
  Player player_of(std::uint64_t source) const;
  bool beats(const Player& a, const Player& b) const;
  Player build(std::size_t node);
  void replay();
  void wait(std::uint32_t source);
  std::uint32_t end_wait();
  bool is_later(const Waiting& a, const Waiting& b);

  const std::vector<SortedSource*> sources_;
  std::vector<Waiting> waiting_;  // a heap; the first one is that of the lowest storage
  std::uint64_t storages_compared_ = 0;
  base::AtomicWord<std::uint64_t> records_merged_;
  page::StorageId storage_{};
  std::vector<std::uint32_t> places_;       // of taking_part_, in sources_
  std::vector<SortedSource*> taking_part_;  // those with records of storage_
  std::vector<Player> tree_;                // [0]: the winner, then who lost at each node
  // All others are at this position or above it. Known when a source won twice; 0: not known.
  std::uint64_t others_begin_ = 0;
  SortedSource* winner_ = nullptr;
  bool is_at_record_ = false;  // the winner's head was returned
  Status status_;
};

}  // namespace foedus::gleaner
