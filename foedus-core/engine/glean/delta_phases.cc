#include "foedus-core/engine/glean/delta_phases.h"

#include "foedus-core/storage/masstree/operations/delta.h"

namespace foedus::engine {

namespace {

// Time without rows after which a delta ends. This time is long, because a delta should outlast a
// pause between two loads: a storage gets a new delta only after a thousand puts to rows of
// snapshot pages, each of which may make a page volatile.
constexpr std::uint64_t kEmptyUs = 10'000'000;

}  // namespace

// Notes the current epoch for a flag of the storage. Called after the flag was set or cleared:
// transactions that begin in a later epoch see the change.
void DeltaPhases::announce(page::StorageId storage, bool ends) {
  base::fence_seq_cst();  // order: the flag is changed before the epoch is read
  announced_.push_back({storage, parts_.clock->current(), ends});
}

void DeltaPhases::watch(page::StorageId storage, const storage::InstallCounts& counts) {
  if (counts.has_new_delta) announce(storage, false);
  if (counts.is_delta_empty) {
    empty_.try_emplace(storage, parts_.runtime->now_us());
  } else {
    empty_.erase(storage);
  }
}

void DeltaPhases::step() {
  if (announced_.empty() && empty_.empty()) return;
  const epoch::Pinned pinned(parts_.clock, parts_.session);  // E17: before is_dropped() is asked
  const auto find = [this](page::StorageId id) -> occ::StorageControl* {
    occ::StorageControl* const control = parts_.catalog->find(id);
    return control == nullptr || control->is_dropped() ? nullptr : control;
  };
  const std::uint64_t now_us = parts_.runtime->now_us();
  std::erase_if(empty_, [&](const auto& empty) {
    if (now_us - empty.second < kEmptyUs) return false;
    occ::StorageControl* const control = find(empty.first);
    if (control != nullptr && control->delta_takes_puts()) {
      control->clear_delta_takes_puts();
      announce(empty.first, true);
    }
    return true;
  });
  std::erase_if(announced_, [&](const Announced& one) {
    if (parts_.clock->reclaimable() < one.since) return false;
    occ::StorageControl* const control = find(one.storage);
    if (control == nullptr) return true;
    if (one.ends) {
      end(control);
    } else {
      control->set_delta_takes_puts();
    }
    return true;
  });
}

// Ends the delta (M53). If it has gained rows meanwhile, lets it take puts again instead: all
// operations still look into it. REQUIRES: the caller is pinned.
void DeltaPhases::end(occ::StorageControl* control) {
  if (storage::masstree::delta::is_empty(*parts_.pool, *control)) {
    control->clear_has_delta();
  } else {
    control->set_delta_takes_puts();
  }
}

}  // namespace foedus::engine
