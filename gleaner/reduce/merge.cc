#include "gleaner/reduce/merge.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

Merge::Merge(std::vector<SortedSource*> sources) : sources_(std::move(sources)) {
  for (std::uint32_t i = 0; i < sources_.size(); ++i) wait(i);
}

// Orders the heap by storage, then by source.
bool Merge::is_later(const Waiting& a, const Waiting& b) {
  ++storages_compared_;
  return a.storage != b.storage ? a.storage > b.storage : a.source > b.source;
}

void Merge::wait(std::uint32_t source) {
  const StreamRecord* const head = sources_[source]->head();
  if (head == nullptr) return;
  waiting_.push_back({head->log->storage_id, source});
  std::push_heap(waiting_.begin(), waiting_.end(),
                 [this](const Waiting& a, const Waiting& b) { return is_later(a, b); });
}

std::uint32_t Merge::end_wait() {
  std::pop_heap(waiting_.begin(), waiting_.end(),
                [this](const Waiting& a, const Waiting& b) { return is_later(a, b); });
  const std::uint32_t source = waiting_.back().source;
  waiting_.pop_back();
  return source;
}

page::StorageId Merge::begin_storage() {
  FOEDUS_INVARIANT(tree_.empty() || tree_[0].has_ended(), storage_);
  for (const std::uint32_t source : places_) wait(source);
  places_.clear();
  taking_part_.clear();
  tree_.clear();
  if (waiting_.empty()) return page::StorageId{0};
  storage_ = waiting_.front().storage;
  while (!waiting_.empty() && waiting_.front().storage == storage_) {
    places_.push_back(end_wait());
    taking_part_.push_back(sources_[places_.back()]);
  }
  tree_.resize(taking_part_.size());
  tree_[0] = build(1);
  others_begin_ = 0;
  return storage_;
}

Merge::Player Merge::player_of(std::uint64_t source) const {
  const StreamRecord* const head = taking_part_[source]->head();
  if (head == nullptr || head->log->storage_id != storage_) {
    return {~std::uint64_t{0}, kEnded | source};
  }
  return {head->position, source};
}

bool Merge::beats(const Player& a, const Player& b) const {
  if (a.position != b.position) return a.position < b.position;
  if (a.has_ended() || b.has_ended()) return b.has_ended();
  return is_before(*taking_part_[a.source]->head(), *taking_part_[b.source]->head());
}

// Returns the winner below `node`. The leaf of source i is node size + i.
Merge::Player Merge::build(std::size_t node) {
  const std::size_t size = taking_part_.size();
  if (node >= size) return player_of(node - size);
  Player a = build(2 * node);
  Player b = build(2 * node + 1);
  if (!beats(a, b)) std::swap(a, b);
  tree_[node] = b;
  return a;
}

// Plays the winner's matches again, because it has a new head.
void Merge::replay() {
  const std::uint64_t source = tree_[0].source;
  Player player = player_of(source);
  others_begin_ = ~std::uint64_t{0};
  for (std::size_t node = (source + taking_part_.size()) / 2; node != 0; node /= 2) {
    Player& loser = tree_[node];
    if (beats(loser, player)) std::swap(loser, player);
    others_begin_ = std::min(others_begin_, loser.position);
  }
  // This path holds the losers to this source only. If another source wins now, the losers to that
  // one are unknown.
  if (player.source != source) others_begin_ = 0;
  tree_[0] = player;
}

}  // namespace foedus::gleaner
