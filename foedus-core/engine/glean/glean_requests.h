#pragma once
// GleanRequests: the calls that wait for a glean, their progress and answers, and counts of gleans.
//
//   add() ──► newest() ──► glean begins ──► count() ──► answer() ──► wait() returns
//                              └── tell(): progress ──► the request's sink
//
// Requests are numbered. A glean answers all requests that were added before it began.

#include <cstdint>
#include <mutex>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/engine/snapshots/newest_manifest.h"
#include "foedus-core/engine/snapshots/snapshots.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

class GleanRequests {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    Snapshots* snapshots = nullptr;
    NewestManifest* newest = nullptr;
    const OperatorLog* operator_log = nullptr;
  };
  explicit GleanRequests(const Parts& parts) : parts_(parts) {}
  GleanRequests(const GleanRequests&) = delete;
  GleanRequests& operator=(const GleanRequests&) = delete;

  // ---- any thread ----------------------------------------------------------------------------

  // Adds a request, and returns its number. `progress` must stay valid until wait() returns.
  std::uint64_t add(const GleanProgressSink& progress);
  // Waits for the answer. Returns the report of the last successful glean, or the error of the
  // glean that failed. kClosed: the database was closed before a glean answered.
  Result<GleanReport> wait(std::uint64_t request);
  // Answers kClosed to all requests, and to all calls that wait for a snapshot, now and later.
  // Called after the gleaner's task was stopped.
  void end();
  // Returns whether the calling thread is in a call of a progress sink.
  bool is_in_sink() const;
  void add_stats(Stats* stats) const;

  // ---- the gleaner's task ----------------------------------------------------------------------

  // Returns the number of the last request.
  std::uint64_t newest() const;
  // Returns whether a request has no answer.
  bool is_waiting() const;
  // Tells all requests up to `request` how a glean ended. Tells an error also to all calls that
  // wait for a snapshot.
  void answer(std::uint64_t request, Status status) noexcept;
  // Tells the progress of a glean to the last request that has a sink for it and no answer yet.
  void tell(const GleanProgress& progress) const;
  // Adds a successful glean to the counts, and keeps its report for wait().
  void count(const GleanReport& report);

 private:
  const Parts parts_;
  base::WaitPoint finished_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::uint64_t requested_ = 0;  // number of the last request
  std::uint64_t answered_ = 0;   // requests up to this one are answered
  std::uint64_t fulfilled_ = 0;  // requests up to this one got a successful glean
  bool has_ended_ = false;       // end() was called: no glean answers any more
  Status answer_;                // how the last glean ended
  GleanReport report_;                           // report of the last successful glean
  const GleanProgressSink* progress_ = nullptr;  // sink of a request that is not answered
  std::uint64_t progress_request_ = 0;           // number of the request of progress_
  std::uint64_t gleans_ = 0;
  std::uint64_t pages_dropped_ = 0;
  std::uint64_t pages_spared_ = 0;
  std::uint64_t pages_written_ = 0;
  std::uint64_t gleaned_records_ = 0;
  std::uint64_t cpu_us_ = 0;
};

}  // namespace foedus::engine
