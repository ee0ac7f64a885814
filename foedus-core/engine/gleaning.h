#pragma once
// Gleaning: when an open database makes its next snapshot, and what follows (paper §7). It is a
// task that orders snapshots from the gleaner, installs them, and removes the log that they cover.
// Before the first it ends the recovery that open() began (recovery.h).
//
//   due ──► order: durable epoch, then the log's segments ──► make_snapshot() ──► manifest durable
//                                                                                     │
//        log cut, files removed ◄── volatile pages dropped ◄── pointers installed ◄───┘
//
//   E15 `covered` is read from the durable epoch before the segments are listed. So all records up
//       to it are on the device, in segments that the list has (log.h).
//   E16 The log is cut only up to what a durable manifest covers. For each storage it is known
//       since which snapshot nothing volatile leads to an earlier one (O16). Manifests before the
//       oldest of these, and files that only they list, are removed. That waits for transactions
//       that began before, and spares manifests that are read or kept.
//   E37 The files of snapshots take at most three pages for each live one and 4 MiB. What a glean
//       or a move writes counts. Where it would be more, snapshots before the newest are kept no
//       longer. What a transaction reads stays: it is waited for, but not for long.
//   E50 Names of files are removed at once. A task frees their blocks (file_closer.h) while the
//       next glean sorts. That is done before a glean or a move writes its first page, so E37
//       holds.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/task.h"
#include "foedus-core/device/file_closer.h"
#include "foedus-core/engine/glean_forecast.h"
#include "foedus-core/engine/glean_requests.h"
#include "foedus-core/engine/newest_manifest.h"
#include "foedus-core/engine/session.h"
#include "foedus-core/engine/snapshot_caches.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/engine/snapshot_installer.h"
#include "foedus-core/numa/soc_memory.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

class Engine;
class Unapplied;

class Gleaning final : public base::Task {
 public:
  // `session`: a slot of the engine's clock that no other thread uses. The slots from
  // `install_sessions` on are for all installers but one.
  Gleaning(Engine* engine, std::uint32_t session, std::uint32_t install_sessions);
  ~Gleaning() override;

  // Makes the caches, and what installs snapshots. Called after the clock is made.
  Status make_parts();

  // ---- recovery, which runs before the first glean -------------------------------------------

  // Returns the common part of all orders. It has at least `tasks_min` mappers and reducers if they
  // fit into the gleaner's memory and `bytes_beside`.
  GleanOrder base_order(std::uint32_t tasks_min = 1, std::uint64_t bytes_beside = 0);
  // Makes the manifest the newest one, durable and readable; without `is_newest`, the newest so
  // far.
  void take_recovered(const snapshot::Manifest& manifest, bool is_newest = true);
  // Removes manifests and files that nothing needs (E16, E53). A later call finds those that could
  // not be removed. REQUIRES: no volatile page leads to pages that only earlier snapshots have, and
  // no transaction is open that may have seen one that did.
  Status remove_superseded();
  // Takes over the unapplied tail, whose snapshot will be the next one (E40).
  void take_unapplied(std::unique_ptr<Unapplied> unapplied);
  // Makes room after a glean that failed for want of it (E27). Makes the newest manifest durable
  // and known here. Earlier snapshots are kept no longer, and are removed.
  Status give_up_older();

  // ---- any thread ----------------------------------------------------------------------------

  // Makes a snapshot that covers all commits so far, installs it and drops all volatile pages that
  // did not change since. On an error, the gleaner's, the database is what it was.
  Result<GleanReport> glean(const GleanProgressSink& progress);

  // Makes a last snapshot, of all commits, if it is expected to take no longer than `most_us`. All
  // commits will be durable with or without it, so failures are told to the log sink only.
  // REQUIRES: all transactions are over, and none begins any more.
  void make_last(std::uint64_t most_us);
  // Ends all requests: pending and future glean() calls return kClosed. Called after the task was
  // stopped.
  void end();
  // Makes the task check whether a glean is due.
  void nudge();

  // Null: no row of the log's tail waits.
  GleanRequests& requests() { return *requests_; }
  Unapplied* unapplied() { return unapplied_.get(); }
  SnapshotCaches& caches() { return *caches_; }
  const GleanForecast& forecast() const { return *forecast_; }
  WriteThrottle* throttle() { return throttle_.get(); }
  NewestManifest& newest() { return *newest_; }
  void add_stats(Stats* stats) const;

  const char* name() const override { return "foedus-gleaner"; }
  std::uint64_t step() override;
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override;

 private:
  // Tells all waiting requesters how a glean ended.
  void answer(std::uint64_t request, Status status) noexcept;
  bool is_due(Drop* drop);
  bool has_more_durable() const;
  void make_tier_room();
  Status run(Drop drop);
  bool step_unapplied();
  bool forget_unapplied(std::uint64_t now_us);
  void tail_has_failed(Status status, std::uint64_t now_us);
  Status glean_unapplied();
  Status end_unapplied();
  Status run_last();
  Result<snapshot::Manifest> make(const GleanProgressSink& progress, GleanReport* report);
  std::uint64_t last_until_us() const {
    return last_until_us_
        .load_relaxed();  // order: relaxed, the request for the last glean orders it
  }
  Result<std::uint64_t> pages_of_files() const;
  Status make_disk_room(std::uint64_t pages);
  std::uint32_t begin_percent(std::uint64_t log_bytes) const;
  Status reclaim_files(snapshot::Manifest manifest, GleanReport* report);
  Status move_pages(snapshot::Manifest* manifest, GleanReport* report);
  void reclaim_recovered();
  void stamp_removal();
  Status wait_and_remove();
  Status remove_if_unread();
  Status name_damaged(page::SnapshotNumber number);
  void sample_pages(GleanOrder* order);

  // Constant after open().
  Engine* const engine_;
  const std::uint32_t session_;
  const std::uint32_t install_sessions_;
  std::unique_ptr<device::FileCloser> closer_;
  std::unique_ptr<GleanRequests> requests_;
  std::unique_ptr<SnapshotCaches> caches_;
  std::unique_ptr<NewestManifest> newest_;
  std::unique_ptr<GleanForecast> forecast_;
  std::unique_ptr<WriteThrottle> throttle_;
  std::unique_ptr<DeltaPhases> deltas_;
  std::unique_ptr<SnapshotInstaller> installer_;
  // Made by recovery; null once no transaction can ask for it any more.
  std::unique_ptr<Unapplied> unapplied_;

  // Used by recovery and step().
  bool has_recovered_ = false;  // and its leftover work is still to be done
  bool is_tail_gleaned_ = false;
  bool tail_is_troubled_ = false;   // its end failed the last time
  std::uint64_t tail_next_us_ = 0;  // time of the next try; after its end: until when gleans wait
  page::SnapshotNumber unapplied_number_{};  // number of the tail's snapshot, once that is gleaned
  // Kept from one glean to the next: taking it anew, a page at a time, is a third of a mapper's
  // time. Given back once no glean was due for a while.
  std::vector<numa::SocMemory> glean_memory_;
  std::uint64_t last_us_ = 0;       // when the last glean began
  std::uint64_t step_request_ = 0;  // the last request when the step began
  // Files wait for transactions that began up to this epoch; none: no files wait.
  Epoch removal_stamp_;
  std::uint64_t stamped_installation_ = 0;  // the last one before the stamp
  // Old manifests that were found damaged and reported to the operator.
  std::set<page::SnapshotNumber> damaged_;

  // Own synchronization.
  base::AtomicWord<std::uint32_t> has_tail_;  // 1: a log's tail is in no snapshot (E40)
  // Time when make_last() gives up its glean; 0: not called.
  base::AtomicWord<std::uint64_t> last_until_us_;
};

}  // namespace foedus::engine
