// Gleaning: installing a snapshot everywhere, and dropping the volatile pages that it replaces.
#include <algorithm>
#include <utility>
#include <vector>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/gleaning.h"
#include "foedus-core/storage/base/installation.h"
#include "foedus-core/storage/dispatch.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kUnusedPagesLookUs = 500;  // between two looks at retired pages
constexpr std::uint64_t kPagesWaitUs = 20'000;  // for the same, between two rounds
constexpr int kInstallRounds = 32;
constexpr int kSettleRounds = 4;
constexpr std::uint64_t kLentWaitUs = 100'000;  // for pages that the cache has borrowed
constexpr std::uint64_t kLentLookUs = 200;
constexpr std::uint64_t kSettleUs = 1'000'000;  // between two looks of an idle gleaner
// Longest waits for dropped pages: the first where an older transaction keeps them, the second
// where only threads without a processor do.
constexpr std::uint64_t kRoomWaitUs = 200'000;
constexpr std::uint64_t kRoomWaitMaxUs = 5'000'000;
constexpr std::uint64_t kRoomLookUs = 500;
constexpr std::uint64_t kRoomPart = 16;  // one part of all pages, free, is room

}  // namespace

// Calls in all pages that the cache has borrowed, which takes an epoch or two (K14). A large
// transaction then finds more than its last try did. Returns whether any came.
bool Gleaning::call_in_lent() {
  page::PagePool& pool = engine_->pool();
  const std::uint64_t begin_us = engine_->runtime().now_us();
  bool is_room = false;
  while (pool.pages_lent() != 0 && engine_->runtime().now_us() - begin_us < kLentWaitUs) {
    if (pool.call_in(0, page::PagePool::kBatchPages) != 0) {
      is_room = true;
    } else {
      engine_->runtime().pause(kLentLookUs);
    }
  }
  return is_room;
}

bool Gleaning::make_room() {
  if (call_in_lent()) return true;
  const page::PagePool& pool = engine_->pool();
  const std::uint64_t before = pool.pages_in_use();
  if (!glean({}).is_ok()) return false;
  // A glean that ended before this one began may have made the room already.
  const auto is_room = [&] {
    const std::uint64_t pages_max = pool.bytes_max() / page::kPageBytes;
    return pool.pages_in_use() < std::max(before, pages_max - pages_max / kRoomPart);
  };
  const std::uint64_t begin_us = engine_->runtime().now_us();
  while (!is_room()) {
    const std::uint64_t waited_us = engine_->runtime().now_us() - begin_us;
    if (waited_us >= kRoomWaitMaxUs) return false;
    if (waited_us >= kRoomWaitUs && is_kept_waiting(waited_us)) return false;
    engine_->clock().hurry(engine_->clock().current());
    nudge();
    engine_->runtime().pause(kRoomLookUs);
  }
  return true;
}

// Returns whether a transaction that may look at dropped pages has been open for longer than
// `waited_us`. A call of transact() that waits for room is at work, but has none open.
bool Gleaning::is_kept_waiting(std::uint64_t waited_us) const {
  const std::uint64_t now_us = engine_->runtime().now_us();
  bool is_kept = false;
  engine_->sessions().for_each([&](EngineSession& session) {
    const SessionSlot& slot = session.slot();
    // order: relaxed twice: what has begun or ended meanwhile is seen at the next look.
    if (!occ::TxnTurn::is_open(slot.turn.load_relaxed())) return;
    is_kept |= slot.since_us.load_relaxed() + waited_us < now_us;
  });
  return is_kept;
}

// Returns the number of dropped pages that wait for their epochs.
std::uint64_t Gleaning::retired_count() const {
  const std::uint64_t others = install_threads_ == nullptr ? 0 : install_threads_->retired_count();
  return pages_->retired_count() + others;
}

std::uint64_t Gleaning::take_install_cpu_us() {
  return install_threads_ == nullptr ? 0 : install_threads_->take_cpu_us();
}

// Returns the number of pages in use above `percent` of all that there can be.
std::uint64_t Gleaning::pages_above(std::uint32_t percent) const {
  const std::uint64_t target = engine_->pool().bytes_max() / page::kPageBytes / 100 * percent;
  const std::uint64_t waiting = retired_count();
  const std::uint64_t in_use = engine_->pool().pages_in_use();
  return in_use > target + waiting ? in_use - target - waiting : 0;
}

std::uint64_t Gleaning::pages_to_drop(Drop drop) const {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  if (drop == Drop::kNone) return 0;
  const bool drops_all = engine_->options().glean.volatile_percent == 0;
  return drop == Drop::kAll || drops_all ? kAll : pages_above(drop_goal_.percent());
}

// Chooses the goal of the next installation (E44).
void Gleaning::choose_drop_goal() {
  const std::uint32_t percent = engine_->options().glean.volatile_percent;
  const WriteThrottle* const throttle = engine_->throttle();
  const std::uint64_t waits = throttle == nullptr ? 0 : throttle->waits_for_memory();
  const bool have_waited = std::exchange(waits_for_memory_, waits) != waits;
  drop_goal_.next(percent, pages_above(percent) != 0, have_waited);
}

// Spares used pages where memory asks for room (CLOCK's second chance). If the target is not met
// without them, the next glean begins at once, and drops those that were not used again until then.
// An exchange of pages takes free pages. Where there are next to none, a round frees what the next
// one needs, and used pages are dropped as well.
Status Gleaning::install(const snapshot::Manifest& manifest, Drop drop, GleanReport* report) {
  removal_stamp_ = {};  // an older stamp says nothing of what is superseded now
  if (drop != Drop::kNone) choose_drop_goal();
  const InstallThreads::Running running(install_threads_.get());
  for (int round = 1;; ++round) {
    const std::uint64_t dropped_before = report->pages_dropped;
    report->pages_kept = 0;
    report->pages_spared = 0;
    const bool spares = drop == Drop::kAsNeeded && round == 1;
    FOEDUS_CHECK(install_once(manifest, spares ? Drop::kUnused : drop, report));
    const std::uint64_t pages_max = engine_->pool().bytes_max() / page::kPageBytes;
    const bool is_short = engine_->pool().pages_in_use() > pages_max / 8 * 7;
    const bool did_some = report->pages_dropped != dropped_before || report->pages_spared != 0;
    const bool goes_on =
        is_short && pages_to_drop(drop) != 0 && did_some && round < kInstallRounds;
    if (!goes_on) return {};
    wait_for_pages();
  }
}

// Waits until the pages dropped so far may be used again, but not for long.
void Gleaning::wait_for_pages() {
  epoch::EpochClock& clock = engine_->clock();
  const Epoch stamp = clock.current();
  for (std::uint64_t waited_us = 0; waited_us < kPagesWaitUs; waited_us += kUnusedPagesLookUs) {
    if (clock.reclaimable() >= stamp) break;
    clock.hurry(stamp);
    engine_->runtime().pause(kUnusedPagesLookUs);
  }
  reclaim();
}

Status Gleaning::install_once(const snapshot::Manifest& manifest, Drop drop, GleanReport* report) {
  std::uint64_t done = 0;
  for (const snapshot::ManifestStorage& storage : manifest.storages) {
    requests_->tell({GleanStage::kInstall, done++, manifest.storages.size()});
    FOEDUS_CHECK(install_storage(storage, manifest, drop, install_threads_.get(), report));
    reclaim();
  }
  std::erase_if(needed_from_, [&](const auto& entry) {
    return std::none_of(manifest.storages.begin(), manifest.storages.end(),
                        [&](const auto& storage) { return storage.id == entry.first; });
  });
  return {};
}

Status Gleaning::install_storage(const snapshot::ManifestStorage& storage,
                                 const snapshot::Manifest& of, Drop drop,
                                 InstallThreads* threads, GleanReport* report) {
  const auto known = needed_from_.find(storage.id);
  const page::SnapshotNumber installed =
      known == needed_from_.end() ? page::SnapshotNumber{} : known->second;
  // If it is the first snapshot, the entry has to be there before pointers lead to it.
  needed_from_.try_emplace(storage.id, of.number);
  epoch::EpochClock& clock = engine_->clock();
  std::vector<std::uint64_t> files;
  for (const snapshot::ManifestFile& file : of.files) {
    files.push_back(page::SnapshotPageId(file.snapshot, file.soc, 0).word());
  }
  const epoch::Pinned pinned(&clock, session_);  // E17
  Result<storage::InstallCounts> counts = storage::InstallCounts();
  occ::StorageControl* const control = engine_->catalog().find(storage.id);
  if (control != nullptr && !control->is_dropped()) {
    const std::uint64_t to_drop = pages_to_drop(drop);
    const storage::Installation installation{.pool = &engine_->pool(),
                                             .pages = pages_.get(),
                                             .cache = caches_->pages(),
                                             .clock = &clock,
                                             .control = control,
                                             .covered = of.covered,
                                             .soc = 0,
                                             .session = session_,
                                             .pages_to_drop = to_drop,
                                             .spares_used = drop == Drop::kUnused && to_drop != 0,
                                             .files = files,
                                             .installed = installed,
                                             .workers = threads};
    counts = storage::install(installation, storage.root);
  }
  if (!counts.is_ok()) return std::move(Status(counts.status()).at_storage(storage.name));
  report->pages_dropped += counts->pages_dropped;
  report->pages_kept += counts->pages_kept;
  report->pages_spared += counts->pages_spared;
  if (!counts->may_need_earlier) needed_from_[storage.id] = of.number;
  watch_delta(storage.id, *counts);
  return {};
}

// Looks again at storages in which something led to snapshots older than `before` (O16), since a
// session was there. The session is hardly at the same place again.
Status Gleaning::settle(const snapshot::Manifest& manifest, page::SnapshotNumber before) {
  for (int round = 0; round < kSettleRounds; ++round) {
    bool is_settled = true;
    for (const snapshot::ManifestStorage& storage : manifest.storages) {
      const auto needed = needed_from_.find(storage.id);
      if (needed == needed_from_.end() || needed->second >= before) continue;
      is_settled = false;
      GleanReport again;  // nothing is dropped
      FOEDUS_CHECK(install_storage(storage, manifest, Drop::kNone, nullptr, &again));
      reclaim();
    }
    if (is_settled) return {};
    engine_->runtime().pause(kUnusedPagesLookUs);
  }
  return {};
}

// Does what the next glean would, since there is none while nothing is written. A lack of memory is
// reported, but fails no request for a glean: the next look may go well.
void Gleaning::settle_while_idle() {
  const std::uint64_t now_us = engine_->runtime().now_us();
  const page::SnapshotNumber newest = engine_->snapshots().newest();
  if (now_us - settled_us_ < kSettleUs || oldest_needed() >= newest) return;
  settled_us_ = now_us;
  const Status status = base::catching([&]() -> Status {
    const std::optional<snapshot::Manifest> known = newest_->get();
    return known.has_value() ? settle(*known, known->number) : Status();
  });
  if (status.is_ok()) return stamp_removal();
  engine_->operator_log().say_of_gleaner(LogLevel::kWarning, status);
}

page::SnapshotNumber Gleaning::oldest_needed() const {
  page::SnapshotNumber oldest = engine_->snapshots().newest();
  for (const auto& [storage, number] : needed_from_) oldest = std::min(oldest, number);
  return oldest;
}

}  // namespace foedus::engine
