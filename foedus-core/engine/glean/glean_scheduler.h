#pragma once
// GleanScheduler: the gleaner's task. It first completes the recovery that open() began
// (recovery.h). Then it decides when the next snapshot is due, has it made and installed, and
// truncates the log (paper §7).
//
//   due ──► order: durable epoch, then the log's segments ──► make_snapshot() ──► manifest durable
//                                                                                     │
//   files removed ◄── volatile pages dropped ◄── pointers installed ◄── log truncated ◄┘

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/glean/delta_phases.h"
#include "foedus-core/engine/glean/glean_orders.h"
#include "foedus-core/engine/glean/glean_requests.h"
#include "foedus-core/engine/glean/recovery.h"
#include "foedus-core/engine/glean/snapshot_installer.h"
#include "foedus-core/engine/glean/snapshot_retention.h"
#include "foedus-core/engine/glean/storage_loads.h"
#include "foedus-core/engine/glean/tail_glean.h"
#include "foedus-core/engine/pace/glean_forecast.h"
#include "foedus-core/engine/setup/open_state.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/engine/snapshots/newest_manifest.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/durability.h"
#include "foedus-core/log/log.h"
#include "foedus-core/page/page_pool.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

class GleanScheduler final : public base::Task {
 public:
  struct Parts {
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    const OpenState* state = nullptr;
    epoch::EpochClock* clock = nullptr;
    page::PagePool* pool = nullptr;
    log::Log* log = nullptr;
    internal::DurabilityWaits* durability = nullptr;
    Snapshots* snapshots = nullptr;
    NewestManifest* newest = nullptr;
    GleanRequests* requests = nullptr;
    StorageLoads* loads = nullptr;
    GleanForecast* forecast = nullptr;
    GleanOrders* orders = nullptr;
    DeltaPhases* deltas = nullptr;
    SnapshotInstaller* installer = nullptr;
    SnapshotRetention* retention = nullptr;
    const UnappliedTail* unapplied = nullptr;
    TailGlean* tail = nullptr;
    Recovery* recovery = nullptr;
    const OperatorLog* operator_log = nullptr;
  };
  explicit GleanScheduler(const Parts& parts) : parts_(parts), last_us_(parts.runtime->now_us()) {}
  GleanScheduler(const GleanScheduler&) = delete;
  GleanScheduler& operator=(const GleanScheduler&) = delete;

  // ---- any thread ----------------------------------------------------------------------------

  // Has the gleaner's task make a snapshot that covers all commits so far, install it, and drop all
  // volatile pages without newer changes. Returns the error of a glean that failed; such a glean
  // changes no data.
  Result<GleanReport> glean(const GleanProgressSink& progress);
  // Makes a last snapshot, which covers all commits, if that is expected to take `most_us` at most.
  // The log makes all commits durable anyway, so only the operator is told of a failure.
  // REQUIRES: recovery was successful; all transactions are over, and none begins any more.
  void make_last(std::uint64_t most_us);
  // Makes the task check whether a glean is due.
  void nudge() { parts_.runtime->notify(this); }

  const char* name() const override { return "foedus-gleaner"; }
  std::uint64_t step() override;
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override;

 private:
  void recover();
  void remove_unread();
  bool is_due(Drop* drop) const;
  bool has_more_durable() const;
  std::uint32_t begin_percent(std::uint64_t log_bytes) const;
  std::uint64_t step_idle();
  Status run(Drop drop);
  Status run_last();
  Result<snapshot::Manifest> make(const GleanProgressSink& progress, GleanReport* report);
  std::uint64_t last_until_us() const {
    return last_until_us_
        .load_relaxed();  // order: relaxed, stored before the mutex of GleanRequests::add()
  }

  const Parts parts_;

  // Used by step().
  bool has_recovered_ = false;      // recovery succeeded; reclaim_recovered() has to follow
  std::uint64_t last_us_;           // when the last glean began; at first, time of open()
  std::uint64_t step_request_ = 0;  // the step answers the requests up to this one

  // Time at which the glean of make_last() is given up; 0: there is none. Own synchronization.
  base::AtomicWord<std::uint64_t> last_until_us_;
};

}  // namespace foedus::engine
