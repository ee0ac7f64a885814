#pragma once
// GleanRequests: the calls that wait for a glean, what they are told, and what gleans have done.
//
//   add() ──► newest() ──► glean begins ──► count() ──► answer() ──► wait() returns
//                              └── tell(): progress ──► the request's sink
//
// Requests are numbered. A glean answers all that were there when it began.

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

  // Adds a request, and returns its number. `progress` stays valid until wait() returns.
  std::uint64_t add(const GleanProgressSink& progress);
  // Waits for the answer: the report of the last glean, or why it failed. kClosed: it was not made.
  Result<GleanReport> wait(std::uint64_t request);
  // Ends all requests, and waits for snapshots: pending and future ones are answered with kClosed.
  // Called after the gleaner's task was stopped.
  void end();
  // Returns whether the calling thread is in a progress sink.
  bool is_in_sink() const;
  void add_stats(Stats* stats) const;

  // ---- the gleaner's task ----------------------------------------------------------------------

  // Returns the number of the last request.
  std::uint64_t newest() const;
  // Returns whether a request has no answer.
  bool is_waiting() const;
  // Tells all requests up to that one, and calls that wait for a snapshot, how a glean ended.
  void answer(std::uint64_t request, Status status) noexcept;
  // Tells the progress of a glean to the request that asked for it.
  void tell(const GleanProgress& progress) const;
  // Counts a glean that was successful.
  void count(const GleanReport& report);

 private:
  const Parts parts_;
  base::WaitPoint finished_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::uint64_t requested_ = 0;  // number of the last request
  std::uint64_t answered_ = 0;   // requests up to this one are answered
  std::uint64_t fulfilled_ = 0;  // gleans were made for requests up to this one
  bool has_ended_ = false;       // later requests are not answered
  Status answer_;
  GleanReport report_;                           // of the last glean
  const GleanProgressSink* progress_ = nullptr;  // of a request that is not answered
  std::uint64_t progress_request_ = 0;           // its number
  std::uint64_t gleans_ = 0;
  std::uint64_t pages_dropped_ = 0;
  std::uint64_t pages_spared_ = 0;
  std::uint64_t pages_written_ = 0;
  std::uint64_t gleaned_records_ = 0;
  std::uint64_t cpu_us_ = 0;
};

}  // namespace foedus::engine
