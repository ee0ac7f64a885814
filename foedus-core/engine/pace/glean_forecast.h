#pragma once
// GleanForecast: how much log waits for a snapshot, and how long gleans of it should take. The
// write throttle computes from it how fast writers may write meanwhile (E18).
//
//   word           meaning: number of bytes that the log had written
//   log_covered_   when the glean of the newest snapshot began
//   running_from_  before the first byte that the running glean takes
//   running_to_    when the running glean began
//
// Class Running, in the gleaner's task, stores these words one by one: a reader between two stores
// gets one estimate that is wrong.

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

  // Returns the bytes of log that no snapshot covers. Log that was found at open does not count.
  std::uint64_t log_behind() const;
  // Returns the bytes of log_behind() that are still to be processed. The running glean's log
  // counts in the proportion in which the glean's work is not done yet.
  std::uint64_t backlog() const;
  // Returns the microseconds that a glean of `log_bytes` should take, installation included.
  double us_of(std::uint64_t log_bytes) const;
  // Returns the bytes of log a second that a glean of `log_bytes` should process.
  double bytes_per_s(std::uint64_t log_bytes) const;
  // Returns the microseconds until volatile pages that change now can be dropped. That is when the
  // running glean and the next one should have ended.
  double us_to_room() const;
  // Returns the microseconds until log can be truncated. That is when the running glean should have
  // made its snapshot. 0: no glean runs, or its snapshot is made.
  double us_to_log_room() const;
  // Returns the number of pages that a glean of `log_bytes` should write.
  std::uint64_t expected_pages(std::uint64_t log_bytes) const;

  // ---- the gleaner's task ----------------------------------------------------------------------

  // A running glean. It takes all log that was written before it began and is in no snapshot yet.
  class Running {
   public:
    // Estimates the glean's log as all bytes written so far. REQUIRES: GleanOrders::next() has not
    // yet chosen the epoch that the glean covers. So the glean leaves out only those of the
    // estimated bytes that are not durable when next() chooses.
    explicit Running(GleanForecast* forecast);
    ~Running() {
      forecast_->stage_.store_relaxed(0);  // order: relaxed, a statistic
      forecast_->pace_.end();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    // Learns how far the glean has come.
    void at(const GleanProgress& progress);
    // Learns that the glean's snapshot is durable. `is_news`: it covers more epochs than the one
    // before; false if there was nothing to glean.
    void has_snapshot(const GleanReport& report, bool is_news);
    // Learns how long the glean took. Called last, and only for a successful glean.
    void has_ended(const GleanReport& report);

   private:
    GleanForecast* const forecast_;
    const std::uint64_t log_bytes_;    // bytes of log written when the glean began
    const std::uint64_t log_covered_;  // bytes of log that earlier snapshots cover
    GleanSize size_;
    bool is_news_ = false;
  };
  // Returns Stats::glean_stage. Any thread.
  std::uint64_t stage() const { return stage_.load_relaxed(); }  // order: relaxed, a statistic
  // Returns a high estimate of the pages that a glean of `log_bytes` writes.
  std::uint64_t most_pages(std::uint64_t log_bytes) const;

 private:
  GleanSize size_of(std::uint64_t log_bytes) const;
  std::uint64_t left_of_running() const;
  void learn_pages(const GleanReport& report, std::uint64_t log_bytes);

  const Parts parts_;

  // Used by the gleaner's task.
  // Pages that the last glean of at least kPaceBytesMin wrote, and its records per byte of log.
  std::uint64_t pages_last_ = 0;
  double records_per_byte_ = 1.0 / 32;

  // Own synchronization.
  GleanPace pace_;
  base::AtomicWord<std::uint64_t> stage_;
  base::AtomicWord<std::uint64_t> log_covered_;
  base::AtomicWord<std::uint64_t> running_from_;
  base::AtomicWord<std::uint64_t> running_to_;
  // Pages that the last glean of at least kPaceBytesMin wrote per byte of log. The first value is
  // for small updates, each of a different page.
  base::AtomicWord<double> pages_per_byte_{1.0 / 200};
};

}  // namespace foedus::engine
