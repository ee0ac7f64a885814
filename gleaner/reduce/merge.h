#pragma once
// Merge: several sorted sources as one, storage by storage, by a tree of losers. It takes one
// comparison for each level, mostly of two positions that are in the tree. A source that wins
// repeatedly, as those do whose keys ascend with time, is compared with one position only. Sources
// without records of a storage wait in a heap, and cost it nothing.

#include <cstdint>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus/status.h"
#include "gleaner/reduce/sorted_source.h"

namespace foedus::gleaner {

class Merge {
 public:
  // REQUIRES: the sources outlive the merge.
  explicit Merge(std::vector<SortedSource*> sources);

  // Begins the storage with the lowest id that has records, and returns the id; 0: none has
  // records. REQUIRES: next() has returned null since the last call.
  page::StorageId begin_storage();
  // Returns the next record of that storage; null at its end and after a failure, which status()
  // tells. It stays valid, with the log record that it points to, during one more call of next().
  // A log record larger than a chunk of its run has only its first bytes, up to its key, until
  // fetch().
  const StreamRecord* next() {
    if (is_at_record_) {
      // The source leaves the record of the last call only now, so that it outlives that call.
      is_at_record_ = false;
      // order: relaxed both, a statistic that one thread counts.
      records_merged_.store_relaxed(records_merged_.load_relaxed() + 1);
      SortedSource* const source = winner_;
      if (!source->try_advance()) [[unlikely]] {
        status_ = source->advance();
        if (!status_.is_ok()) return nullptr;
      }
      const StreamRecord* const head = source->head();
      // In most cases no other source has a record before this one.
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
  // Completes the record that next() has returned, in its place. Only one large record is complete
  // at a time: the last one that was fetched. REQUIRES: next() did not return null.
  Status fetch() { return winner_->fetch(); }

  // Returns how many records next() has passed so far. Any thread.
  std::uint64_t records_merged() const {
    return records_merged_.load_relaxed();  // order: relaxed, a statistic
  }
  // Returns how often the storages of two sources were compared so far.
  std::uint64_t storages_compared() const { return storages_compared_; }

 private:
  // A source whose next record is of a storage that has not begun.
  struct Waiting {
    page::StorageId storage;
    std::uint32_t source;  // in sources_
  };
  // Both are whole words, so that a copy of a player just written does not stall on its parts.
  struct Player {
    std::uint64_t position;  // of an ended source: the largest one
    std::uint64_t source;    // in taking_part_; of an ended source: kEnded and more

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
  std::vector<Waiting> waiting_;  // a heap; the first has the lowest storage
  std::uint64_t storages_compared_ = 0;
  base::AtomicWord<std::uint64_t> records_merged_;
  page::StorageId storage_{};
  std::vector<std::uint32_t> places_;       // of taking_part_ in sources_
  std::vector<SortedSource*> taking_part_;  // those with records of storage_
  std::vector<Player> tree_;                // [0]: the winner; then the loser at each node
  // No other source has a lower position than this. Known once a source won twice; 0: unknown.
  std::uint64_t others_begin_ = 0;
  SortedSource* winner_ = nullptr;
  bool is_at_record_ = false;  // the winner's head was returned
  Status status_;
};

}  // namespace foedus::gleaner
