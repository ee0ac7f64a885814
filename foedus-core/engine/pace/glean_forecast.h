#pragma once
// GleanForecast: how much log waits for a snapshot, and how long gleans of it should take. The
// write throttle knows by it what writers may write meanwhile (E18).
//
//   word               written by      meaning, in bytes that the log had written
//   log_covered_       Running         when the newest snapshot was begun
//   running_from_, to_ Running         begin and end of the running glean's log
//
// The gleaner's task writes all, and each word is stored alone: a reader between two stores gets an
// estimate that is off once.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/pace/glean_pace.h"
#include "foedus-core/engine/snapshots/newest_manifest.h"
#include "foedus-core/log/log.h"
#include "foedus-core/page/page_pool.h"
#include "foedus/database.h"

namespace foedus::engine {

class GleanForecast {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    const log::Log* log = nullptr;
    const page::PagePool* pool = nullptr;
    const NewestManifest* newest = nullptr;
  };
  explicit GleanForecast(const Parts& parts) : parts_(parts) {}
  GleanForecast(const GleanForecast&) = delete;
  GleanForecast& operator=(const GleanForecast&) = delete;

  // ---- any thread ----------------------------------------------------------------------------

  // Returns the bytes of log that no snapshot covers, without those that were found at open.
  std::uint64_t log_behind() const;
  // Returns the part of log_behind() that is still to be done. The running glean's log counts by
  // the share of its work that is left.
  std::uint64_t backlog() const;
  // Returns the microseconds that a glean of `log_bytes` should take, installation included.
  double us_of(std::uint64_t log_bytes) const;
  // Returns the bytes of log a second that such a glean should take.
  double bytes_per_s(std::uint64_t log_bytes) const;
  // Returns the microseconds until volatile pages that change now can be dropped: until the running
  // glean and the next one should have ended.
  double us_to_room() const;
  // Returns the microseconds until log can be cut: until the running glean should have its
  // snapshot. 0: none runs, or its snapshot is made.
  double us_to_log_room() const;
  // Returns the number of pages that a glean of `log_bytes` should write.
  std::uint64_t expected_pages(std::uint64_t log_bytes) const;

  // ---- the gleaner's task ----------------------------------------------------------------------

  // A running glean. It takes all log that was written before it began and is in no snapshot yet.
  class Running {
   public:
    // Called before the durable epoch is read: so the estimate exceeds the truth only by log that
    // is not durable yet.
    explicit Running(GleanForecast* forecast);
    ~Running() { forecast_->pace_.end(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    // Learns how far the glean has come.
    void at(const GleanProgress& progress);
    // Learns that its snapshot is durable. `is_news`: it covers more than the one before.
    void has_snapshot(const GleanReport& report, bool is_news);
    // Learns how long the successful glean took. Called last.
    void has_ended(const GleanReport& report);

   private:
    GleanForecast* const forecast_;
    const std::uint64_t log_bytes_;    // that the log had written
    const std::uint64_t log_covered_;  // of these
    GleanSize size_;
    bool is_news_ = false;
  };
  // Returns an upper bound of the pages that a glean of `log_bytes` writes.
  std::uint64_t most_pages(std::uint64_t log_bytes) const;

 private:
  GleanSize size_of(std::uint64_t log_bytes) const;
  std::uint64_t left_of_running() const;
  void learn_pages(const GleanReport& report, std::uint64_t log_bytes);

  const Parts parts_;

  // Used by the gleaner's task.
  // Pages that the gleaner wrote for the newest snapshot, and its records for a byte of log.
  std::uint64_t pages_last_ = 0;
  double records_per_byte_ = 1.0 / 32;

  // Own synchronization.
  GleanPace pace_;
  base::AtomicWord<std::uint64_t> log_covered_;
  base::AtomicWord<std::uint64_t> running_from_;
  base::AtomicWord<std::uint64_t> running_to_;
  // Pages of the last snapshot for a byte of its log. The first value: a page for each small
  // update.
  base::AtomicWord<double> pages_per_byte_{1.0 / 200};
};

}  // namespace foedus::engine
