#include "foedus-core/engine/glean/snapshot_installer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/storage/base/installation.h"
#include "foedus-core/storage/dispatch.h"

namespace foedus::engine {

namespace {

// There is at most one installer for each kPageBytesPerInstaller of volatile pages. The free pages
// that an installer keeps for itself are a sixty-fourth of that.
constexpr std::uint64_t kPageBytesPerInstaller = 32u << 20;
constexpr std::uint64_t kUnusedPagesLookUs = 500;  // between two looks at retired pages
constexpr std::uint64_t kPagesWaitUs = 20'000;     // longest wait for free pages between two rounds
constexpr int kInstallRounds = 32;
constexpr int kSettleRounds = 4;
constexpr std::uint64_t kSettleUs = 1'000'000;  // between two calls of settle() by an idle gleaner

}  // namespace

SnapshotInstaller::SnapshotInstaller(const Parts& parts)
    : parts_(parts), pages_(parts.pool, parts.clock, 0) {
  pages_.fill_stock();  // the installation itself takes free pages
  const std::uint64_t most = parts.pool->bytes_max() / kPageBytesPerInstaller;
  const auto installers =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(parts.options->glean.installers, most));
  if (installers <= 1) return;
  threads_ = std::make_unique<InstallThreads>(
      InstallThreads::Parts{.runtime = parts.runtime,
                            .topology = parts.topology,
                            .numa_binding = parts.options->pages.numa_binding,
                            .clock = parts.clock,
                            .pool = parts.pool,
                            .first_slot = parts.install_sessions},
      installers, storage::InstallWorkers::Worker{&pages_, parts.session, 0});
}

void SnapshotInstaller::reclaim() {
  if (threads_ != nullptr) threads_->reclaim();
  reclaim_all(&pages_);
}

void SnapshotInstaller::set_installed(const snapshot::Manifest& manifest) {
  needed_from_.clear();
  for (const snapshot::ManifestStorage& storage : manifest.storages) {
    needed_from_[storage.id] = manifest.number;
  }
}

// Returns the number of dropped pages at which transactions may still look.
std::uint64_t SnapshotInstaller::retired_count() const {
  const std::uint64_t others = threads_ == nullptr ? 0 : threads_->retired_count();
  return pages_.retired_count() + others;
}

std::uint64_t SnapshotInstaller::take_cpu_us() {
  return threads_ == nullptr ? 0 : threads_->take_cpu_us();
}

std::uint64_t SnapshotInstaller::pages_above(std::uint32_t percent) const {
  const std::uint64_t target = parts_.pool->bytes_max() / page::kPageBytes / 100 * percent;
  const std::uint64_t waiting = retired_count();
  const std::uint64_t in_use = parts_.pool->pages_in_use();
  return in_use > target + waiting ? in_use - target - waiting : 0;
}

std::uint64_t SnapshotInstaller::pages_to_drop(Drop drop) const {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  if (drop == Drop::kNone) return 0;
  const bool drops_all = parts_.options->pages.volatile_percent == 0;
  return drop == Drop::kAll || drops_all ? kAll : pages_above(drop_goal_.percent());
}

// Chooses the goal of the next installation (E44).
void SnapshotInstaller::choose_drop_goal() {
  const std::uint32_t percent = parts_.options->pages.volatile_percent;
  const std::uint64_t waits = parts_.throttle->waits_for_memory();
  const bool have_waited = std::exchange(waits_for_memory_, waits) != waits;
  drop_goal_.next(percent, pages_above(percent) != 0, have_waited);
}

Status SnapshotInstaller::install(const snapshot::Manifest& manifest, Drop drop,
                                  GleanReport* report) {
  if (drop != Drop::kNone) choose_drop_goal();
  const InstallThreads::Running running(threads_.get());
  for (int round = 1;; ++round) {
    const std::uint64_t dropped_before = report->pages_dropped;
    report->pages_kept = 0;
    report->pages_spared = 0;
    const bool spares = drop == Drop::kAsNeeded && round == 1;
    FOEDUS_CHECK(install_once(manifest, spares ? Drop::kUnused : drop, report));
    const std::uint64_t pages_max = parts_.pool->bytes_max() / page::kPageBytes;
    const bool is_short = parts_.pool->pages_in_use() > pages_max / 8 * 7;
    const bool did_some = report->pages_dropped != dropped_before || report->pages_spared != 0;
    const bool goes_on = is_short && pages_to_drop(drop) != 0 && did_some && round < kInstallRounds;
    if (!goes_on) return {};
    wait_for_pages();
  }
}

// Waits until the pages dropped so far may be used again, but not for long.
void SnapshotInstaller::wait_for_pages() {
  epoch::EpochClock& clock = *parts_.clock;
  const Epoch stamp = clock.current();
  for (std::uint64_t waited_us = 0; waited_us < kPagesWaitUs; waited_us += kUnusedPagesLookUs) {
    if (clock.reclaimable() >= stamp) break;
    clock.request_advance(stamp);
    parts_.runtime->pause(kUnusedPagesLookUs);
  }
  reclaim();
}

Status SnapshotInstaller::install_once(const snapshot::Manifest& manifest, Drop drop,
                                       GleanReport* report) {
  std::uint64_t done = 0;
  for (const snapshot::ManifestStorage& storage : manifest.storages) {
    parts_.requests->tell({GleanStage::kInstall, done++, manifest.storages.size()});
    FOEDUS_CHECK(install_storage(storage, manifest, drop, threads_.get(), report));
    reclaim();
  }
  std::erase_if(needed_from_, [&](const auto& entry) {
    return std::none_of(manifest.storages.begin(), manifest.storages.end(),
                        [&](const auto& storage) { return storage.id == entry.first; });
  });
  return {};
}

Status SnapshotInstaller::install_storage(const snapshot::ManifestStorage& storage,
                                          const snapshot::Manifest& of, Drop drop,
                                          InstallThreads* threads, GleanReport* report) {
  const auto known = needed_from_.find(storage.id);
  const page::SnapshotNumber installed =
      known == needed_from_.end() ? page::SnapshotNumber{} : known->second;
  // A storage gets its entry before any of its pointers leads to its first snapshot: if the
  // installation fails half way, oldest_needed() counts that snapshot.
  needed_from_.try_emplace(storage.id, of.number);
  epoch::EpochClock& clock = *parts_.clock;
  std::vector<std::uint64_t> files;
  for (const snapshot::ManifestFile& file : of.files) {
    files.push_back(page::SnapshotPageId(file.snapshot, file.soc, 0).word());
  }
  const epoch::Pinned pinned(&clock, parts_.session);  // E17: before is_dropped() is asked
  Result<storage::InstallCounts> counts = storage::InstallCounts();
  occ::StorageControl* const control = parts_.catalog->find(storage.id);
  if (control != nullptr && !control->is_dropped()) {
    const std::uint64_t to_drop = pages_to_drop(drop);
    const storage::Installation installation{.pool = parts_.pool,
                                             .pages = &pages_,
                                             .cache = parts_.caches->pages(),
                                             .clock = &clock,
                                             .control = control,
                                             .covered = of.covered,
                                             .soc = 0,
                                             .session = parts_.session,
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
  parts_.deltas->watch(storage.id, *counts);
  return {};
}

Status SnapshotInstaller::settle(const snapshot::Manifest& manifest, page::SnapshotNumber before) {
  for (int round = 0; round < kSettleRounds; ++round) {
    bool is_settled = true;
    for (const snapshot::ManifestStorage& storage : manifest.storages) {
      const auto needed = needed_from_.find(storage.id);
      if (needed == needed_from_.end() || needed->second >= before) continue;
      is_settled = false;
      GleanReport again;  // not read: nothing is dropped
      FOEDUS_CHECK(install_storage(storage, manifest, Drop::kNone, nullptr, &again));
      reclaim();
    }
    if (is_settled) return {};
    parts_.runtime->pause(kUnusedPagesLookUs);
  }
  return {};
}

void SnapshotInstaller::settle_while_idle() {
  const std::uint64_t now_us = parts_.runtime->now_us();
  const page::SnapshotNumber newest = parts_.snapshots->newest();
  if (now_us - settled_us_ < kSettleUs || oldest_needed() >= newest) return;
  settled_us_ = now_us;
  const Status status = base::catching([&]() -> Status {
    const std::optional<snapshot::Manifest> known = parts_.newest->get();
    return known.has_value() ? settle(*known, known->number) : Status();
  });
  if (!status.is_ok()) parts_.operator_log->say_of_gleaner(LogLevel::kWarning, status);
}

page::SnapshotNumber SnapshotInstaller::oldest_needed() const {
  page::SnapshotNumber oldest = parts_.snapshots->newest();
  for (const auto& [storage, number] : needed_from_) oldest = std::min(oldest, number);
  return oldest;
}

}  // namespace foedus::engine
