// Gleaning: when operations begin to look into a storage's delta, and when they end (M47, M53).
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/gleaning.h"
#include "foedus-core/storage/masstree/operations/delta.h"

namespace foedus::engine {

namespace {

// Time that a delta stays without rows before it ends. A storage without a delta makes a thousand
// pages volatile until its delta begins again. That is more than a pause between two loads should
// cost.
constexpr std::uint64_t kEmptyUs = 10'000'000;

}  // namespace

// Notes the epoch since which a flag is set or cleared. Called after the change.
void Gleaning::announce_delta(page::StorageId storage, bool ends) {
  base::fence_seq_cst();  // order: the flag before the clock: later transactions see it
  announced_deltas_.push_back({storage, engine_->clock().current(), ends});
}

void Gleaning::watch_delta(page::StorageId storage, const storage::InstallCounts& counts) {
  if (counts.has_new_delta) announce_delta(storage, false);
  if (counts.is_delta_empty) {
    empty_deltas_.try_emplace(storage, engine_->runtime().now_us());
  } else {
    empty_deltas_.erase(storage);
  }
}

void Gleaning::step_deltas() {
  if (announced_deltas_.empty() && empty_deltas_.empty()) return;
  const epoch::Pinned pinned(&engine_->clock(), session_);  // E17
  const auto find = [this](page::StorageId id) -> occ::StorageControl* {
    occ::StorageControl* const control = engine_->catalog().find(id);
    return control == nullptr || control->is_dropped() ? nullptr : control;
  };
  const std::uint64_t now_us = engine_->runtime().now_us();
  std::erase_if(empty_deltas_, [&](const auto& empty) {
    if (now_us - empty.second < kEmptyUs) return false;
    occ::StorageControl* const control = find(empty.first);
    if (control != nullptr && control->delta_takes_puts()) {
      control->clear_delta_takes_puts();
      announce_delta(empty.first, true);
    }
    return true;
  });
  std::erase_if(announced_deltas_, [&](const AnnouncedDelta& one) {
    if (engine_->clock().reclaimable() < one.since) return false;
    occ::StorageControl* const control = find(one.storage);
    if (control == nullptr) return true;
    if (one.ends) {
      end_delta(control);
    } else {
      control->set_delta_takes_puts();
    }
    return true;
  });
}

// Ends the delta (M53), unless it has gained rows: then puts may go there again, since all
// operations still look there. REQUIRES: the caller is pinned.
void Gleaning::end_delta(occ::StorageControl* control) {
  if (storage::masstree::delta::is_empty(engine_->pool(), *control)) {
    control->clear_has_delta();
  } else {
    control->set_delta_takes_puts();
  }
}

}  // namespace foedus::engine
