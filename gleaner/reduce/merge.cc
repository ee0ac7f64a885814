#include "gleaner/reduce/merge.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

page::StorageId Merge::begin_storage() {
  FOEDUS_INVARIANT(tree_.empty() || tree_[0].has_ended(), storage_);
  bool found = false;
  for (const SortedSource* const source : sources_) {
    if (source->head() == nullptr) continue;
    const page::StorageId id = source->head()->log->storage_id;
    if (!found || id < storage_) storage_ = id;
    found = true;
  }
  taking_part_.clear();
  tree_.clear();
  if (!found) return page::StorageId{0};
  for (SortedSource* const source : sources_) {
    if (source->head() == nullptr || source->head()->log->storage_id != storage_) continue;
    taking_part_.push_back(source);
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

// The winner below `node`; the leaf of source i is node size + i.
Merge::Player Merge::build(std::size_t node) {
  const std::size_t size = taking_part_.size();
  if (node >= size) return player_of(node - size);
  Player a = build(2 * node);
  Player b = build(2 * node + 1);
  if (!beats(a, b)) std::swap(a, b);
  tree_[node] = b;
  return a;
}

// The winner has another head.
void Merge::replay() {
  const std::uint64_t source = tree_[0].source;
  Player player = player_of(source);
  if (player.position < others_begin_) {
    tree_[0].position = player.position;
    return;
  }
  others_begin_ = ~std::uint64_t{0};
  for (std::size_t node = (source + taking_part_.size()) / 2; node != 0; node /= 2) {
    Player& loser = tree_[node];
    if (beats(loser, player)) std::swap(loser, player);
    others_begin_ = std::min(others_begin_, loser.position);
  }
  // Who lost against it lies on its own way up: what another winner met is not known.
  if (player.source != source) others_begin_ = 0;
  tree_[0] = player;
}

Result<const StreamRecord*> Merge::next() {
  if (is_at_record_) {
    // The record that was returned last is left only now, so that it outlives the call.
    is_at_record_ = false;
    SortedSource* const source = taking_part_[tree_[0].source];
    if (!source->try_advance()) FOEDUS_CHECK(source->advance());
    replay();
  }
  if (tree_.empty() || tree_[0].has_ended()) return nullptr;
  is_at_record_ = true;
  return taking_part_[tree_[0].source]->head();
}

}  // namespace foedus::gleaner
