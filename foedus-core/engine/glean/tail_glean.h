#pragma once
// TailGlean: makes the snapshot of a tail that recovery has sorted (unapplied.h), and then ends the
// wait of the tail's rows: operations look for no waiting rows any more. No other snapshot is made
// before that of the tail (E40).
//
//   take() ──► snapshot durable ──► installed ──► rows ended (E41) ──► memory freed
//
// Used by the gleaner's task. Any thread may call has_tail().

#include <cstdint>
#include <memory>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/glean/glean_requests.h"
#include "foedus-core/engine/glean/snapshot_installer.h"
#include "foedus-core/engine/glean/snapshot_retention.h"
#include "foedus-core/engine/sessions/unapplied.h"
#include "foedus-core/engine/setup/open_state.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/engine/snapshots/newest_manifest.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/log.h"
#include "foedus/status.h"

namespace foedus::engine {

class TailGlean {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    const OpenState* state = nullptr;
    epoch::EpochClock* clock = nullptr;
    log::Log* log = nullptr;
    Snapshots* snapshots = nullptr;
    NewestManifest* newest = nullptr;
    SnapshotInstaller* installer = nullptr;
    SnapshotRetention* retention = nullptr;
    GleanRequests* requests = nullptr;
    UnappliedTail* unapplied = nullptr;
    const OperatorLog* operator_log = nullptr;
    std::uint32_t session = 0;  // the slot of the gleaner's task in the clock
  };
  explicit TailGlean(const Parts& parts) : parts_(parts) {}
  TailGlean(const TailGlean&) = delete;
  TailGlean& operator=(const TailGlean&) = delete;

  // Takes over the unapplied tail, whose snapshot will be the next one (E40). Called before
  // recovery is over.
  void take(std::unique_ptr<Unapplied> unapplied);
  // Makes the tail's snapshot, then ends the tail's rows, and in a later step frees its memory. If
  // the snapshot fails, answers requests up to `request` with the error. Returns false if no other
  // glean may begin now: the tail's snapshot is not made yet (E40), or the tail still holds memory
  // that gleans use.
  bool step(std::uint64_t request);

  // ---- any thread, after recovery --------------------------------------------------------------

  // Returns whether there is a tail whose snapshot is not yet made and installed.
  bool has_tail() const {
    // order: relaxed, take() comes before the end of recovery, for which the caller has waited.
    return has_tail_.load_relaxed() != 0;
  }

 private:
  Unapplied* rows() const { return parts_.unapplied->get(); }
  bool forget(std::uint64_t now_us);
  void has_failed(Status status, std::uint64_t request, std::uint64_t now_us);
  Status glean();
  Status end_rows();

  const Parts parts_;
  base::AtomicWord<std::uint32_t> has_tail_;

  bool is_gleaned_ = false;
  bool is_troubled_ = false;       // the last try to end the rows failed
  std::uint64_t next_us_ = 0;      // time of the next try; once rows have ended, limit of forget()
  page::SnapshotNumber number_{};  // number of the tail's snapshot, if is_gleaned_
};

}  // namespace foedus::engine
