#pragma once
// WriteThrottle: back-pressure. Writing transactions are slowed to the pace of the gleaner when log
// or volatile pages grow faster than it makes room. That begins early and evenly, so that they need
// not stop.
//
//   step() ──► limit, bytes of log a second ──► granted grows by limit x time
//   a commit ──► claimed grows by its bytes ──► the writer waits until granted has reached that
//
//   word      written by       read by          meaning
//   limit     step()           writers          0: writers do not wait
//   granted   step()           step(), writers  bytes that writers may have written
//   claimed   writers, added   step()           bytes that they have written, in pieces
//
//   E18 A writer waits after its commit, where it has no lock, no pin and no claimed session: the
//       gleaner cannot be waiting for it. It does not wait for a gleaner or a log that has failed,
//       nor once close() has begun. Nor does it wait for a glean that nothing begins: one is due
//       before the limit can be kStopped.
//
// While the limit is 0, a writing transaction pays one load of a line that is rarely written.

#include <cstdint>
#include <string>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/pace/glean_forecast.h"
#include "foedus-core/engine/setup/open_state.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/engine/snapshots/newest_manifest.h"
#include "foedus-core/log/log.h"
#include "foedus-core/page/page_pool.h"
#include "foedus/options.h"

namespace foedus::engine {

// Pressure of the log that waits for the gleaner.
struct LogPressure {
  double backlog_share = 0;  // what the gleaner has not done yet, of a bound of bytes or pages
  double free_share = 0;     // up to which writers are not limited
  double bytes_per_s = 0;    // that the gleaner takes
  double bytes_left = 0;     // of log on the device, up to the bound at which writers stop
  double glean_s = 0;        // until the running glean makes room; 0: none does
};
// Returns the bytes of log a second that writers may write. Infinite up to the free share of
// backlog, then less with each byte of it. It is the pace of the gleaner at kBacklogBalance above
// it, and half of that at twice as much and beyond. No more than lasts until the glean ends. No
// less than 1 MB, but 0 where nothing is left.
double write_limit_of(const LogPressure& pressure);

// Pressure of volatile pages, of which a glean makes some free.
struct MemoryPressure {
  double share_in_use = 0;
  double share_in_use_free = 0;  // up to which writers are not limited
  double pages = 0;              // that there can be
  double pages_per_byte = 0;     // that writers take, a byte of log
  double release_us = 0;         // until a glean is expected to have ended
};
// Returns the bytes of log a second that writers may write: the free pages, but for a reserve, last
// until the glean ends.
double write_limit_of(const MemoryPressure& pressure);

class WriteThrottle final : public base::Task {
 public:
  static constexpr std::uint64_t kUnlimited = 0;
  static constexpr std::uint64_t kStopped = 1;
  // Least number of bytes that a session claims at a time for its commits.
  static constexpr std::uint64_t kClaimBytesMin = 16u << 10;

  struct Parts {
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    const OpenState* state = nullptr;
    const log::Log* log = nullptr;
    const page::PagePool* pool = nullptr;
    const NewestManifest* newest = nullptr;
    const GleanForecast* forecast = nullptr;
    const OperatorLog* operator_log = nullptr;
  };
  explicit WriteThrottle(const Parts& parts) : parts_(parts) {}

  // Any thread.
  bool is_on() const {
    return limit_.load_relaxed() != kUnlimited;  // order: relaxed, a hint
  }
  // Waits as E18 says for `bytes` that the caller has written. Any thread.
  [[gnu::cold]] void wait(std::uint64_t bytes);
  // Returns the microseconds that all writers together have waited.
  std::uint64_t waited_us() const { return waited_us_.load_relaxed(); }  // order: a statistic
  // Returns how often writers were seen to wait because volatile pages ran short.
  std::uint64_t waits_for_memory() const {
    return waits_for_memory_.load_relaxed();  // order: a hint
  }
  // Returns the limit, in bytes of log a second; kUnlimited, kStopped.
  std::uint64_t limit() const { return limit_.load_relaxed(); }  // order: a statistic

  const char* name() const override { return "foedus-throttle"; }
  std::uint64_t step() override;

 private:
  // The resource that runs short, for the operator.
  enum class Shortage : std::uint8_t { kLogBytes, kLogPages, kMemory };

  double limit_of_log(Shortage* shortage) const;
  double limit_of_memory();
  void learn_pages_per_byte(std::uint64_t in_use);
  void grant(std::uint64_t limit, std::uint64_t elapsed_us);
  void report(bool do_wait, std::uint64_t limit, Shortage shortage, std::uint64_t now_us);
  std::string describe(std::uint64_t limit, Shortage shortage) const;

  const Parts parts_;

  // Used by step().
  std::uint64_t stepped_us_ = 0;
  std::uint64_t pages_in_use_ = 0;          // at the last step
  std::uint64_t pages_taken_ = 0;           // since pages_per_byte_ was learned
  std::uint64_t log_bytes_learned_ = 0;     // what the log had written then
  double pages_per_byte_ = 0;               // volatile pages that writers took, a byte of log
  std::uint64_t wait_seen_us_ = 0;          // when writers were last seen to wait
  std::uint64_t reported_us_ = 0;           // when the operator was last told that they do
  std::uint64_t unreported_waited_us_ = 0;  // waited_us() before the first of these lines
  bool is_reported_ = false;  // the operator knows that they wait, not that it is over

  // Own synchronization.
  alignas(64) base::AtomicWord<std::uint64_t> limit_;
  alignas(64) base::AtomicWord<std::uint64_t> granted_;
  alignas(64) base::AtomicWord<std::uint64_t> claimed_;
  base::AtomicWord<std::uint64_t> waited_us_;
  base::AtomicWord<std::uint64_t> waits_for_memory_;
};

}  // namespace foedus::engine
