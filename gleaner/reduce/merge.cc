#include "gleaner/reduce/merge.h"

#include <utility>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

page::StorageId Merge::begin_storage() {
  FOEDUS_INVARIANT(tree_.empty() || tree_[0].has_ended, storage_);
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
  return storage_;
}

Merge::Player Merge::player_of(std::uint32_t source) const {
  const StreamRecord* const head = taking_part_[source]->head();
  if (head == nullptr || head->log->storage_id != storage_) return {0, source, true};
  return {head->position, source, false};
}

bool Merge::beats(const Player& a, const Player& b) const {
  if (a.has_ended || b.has_ended) return b.has_ended;
  if (a.position != b.position) return a.position < b.position;
  return is_before(*taking_part_[a.source]->head(), *taking_part_[b.source]->head());
}

// The winner below `node`; the leaf of source i is node size + i.
Merge::Player Merge::build(std::size_t node) {
  const std::size_t size = taking_part_.size();
  if (node >= size) return player_of(static_cast<std::uint32_t>(node - size));
  Player a = build(2 * node);
  Player b = build(2 * node + 1);
  if (!beats(a, b)) std::swap(a, b);
  tree_[node] = b;
  return a;
}

// Leaves the record that was returned last: only now, so that it outlives this call.
Status Merge::leave_record() {
  is_at_record_ = false;
  const std::uint32_t source = tree_[0].source;
  FOEDUS_CHECK(taking_part_[source]->advance());
  Player player = player_of(source);
  if (!player.has_ended) {
    // The rest of the record, and where the one behind it begins.
    base::prefetch_lines(taking_part_[source]->head()->log, 256);
  }
  for (std::size_t node = (source + taking_part_.size()) / 2; node != 0; node /= 2) {
    if (beats(tree_[node], player)) std::swap(tree_[node], player);
  }
  tree_[0] = player;
  return {};
}

Result<const StreamRecord*> Merge::next() {
  if (is_at_record_) FOEDUS_CHECK(leave_record());
  if (tree_.empty() || tree_[0].has_ended) return nullptr;
  is_at_record_ = true;
  return taking_part_[tree_[0].source]->head();
}

}  // namespace foedus::gleaner
