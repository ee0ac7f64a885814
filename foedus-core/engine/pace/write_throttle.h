#pragma once
// WriteThrottle: back-pressure. Slows writing transactions to the pace of the gleaner when log or
// volatile pages grow faster than the gleaner makes room. It begins early, and slows them
// gradually, so that they need not stop.
//
//   step() ──► limit, bytes of log a second ──► granted grows by limit x time
//   a commit ──► claimed grows by its bytes ──► the writer waits until granted has reached that
//
//   word      written by       read by          meaning
//   limit     step()           writers          bytes of log a second; kUnlimited, kStopped
//   granted   step()           step(), writers  sum of the bytes of log that writers may write
//   claimed   writers          step()           sum of the bytes that writers claim in wait()
//
//   E18 A writer waits after its commit, when it has no lock, no pin and no claimed session. So the
//       gleaner cannot wait for that writer. A writer does not wait if the gleaner or the log has
//       failed, or once close() has begun. A glean is due whenever writers are stopped: the limit
//       is kStopped only at log_bytes_max, and a glean is due at a quarter of that.
//
// Without a limit, a writing transaction only loads a cache line that is rarely written.

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
  double backlog_share = 0;  // log that is not processed, as a share of log_bytes_max
  double free_share = 0;     // backlog_share up to which writers are not limited
  double bytes_per_s = 0;    // pace of the gleaner, in bytes of log
  double bytes_left = 0;     // bytes that can be written before log_bytes_max stops writers
  double glean_s = 0;        // seconds until the running glean lets log be truncated; 0: none will
};
// Returns the bytes of log a second that writers may write. The limit is infinite up to free_share,
// and falls as backlog_share grows beyond. At kBacklogBalance above free_share the limit is the
// pace of the gleaner; at twice kBacklogBalance and beyond, half of that pace. The limit is low
// enough for bytes_left to last until the running glean makes room, but at least 1 MB a second. It
// is 0 if bytes_left is 0 or less.
double write_limit_of(const LogPressure& pressure);

// Pressure of volatile pages, which only a glean makes free.
struct MemoryPressure {
  double share_in_use = 0;
  double share_in_use_free = 0;  // share in use up to which writers are not limited
  double pages = 0;              // largest number of volatile pages
  double pages_per_byte = 0;     // pages that writers take for a byte of log
  double release_us = 0;         // microseconds until a glean is expected to make pages free
};
// Returns the bytes of log a second that writers may write so that the free pages, except for a
// reserve, last until a glean makes other pages free. Infinite up to share_in_use_free.
double write_limit_of(const MemoryPressure& pressure);

class WriteThrottle final : public base::Task {
 public:
  static constexpr std::uint64_t kUnlimited = 0;
  static constexpr std::uint64_t kStopped = 1;
  // A session claims bytes for its commits together, once they are at least this many.
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
  // Claims `bytes`, which the caller has written, and waits until they are granted. The wait ends
  // early if no limit holds any more, or close() has begun (E18). Any thread.
  [[gnu::cold]] void wait(std::uint64_t bytes);
  // Returns the microseconds that all writers together have waited.
  std::uint64_t waited_us() const { return waited_us_.load_relaxed(); }  // order: a statistic
  // Returns in how many steps writers were waiting while volatile pages were the shortage.
  std::uint64_t waits_for_memory() const {
    return waits_for_memory_.load_relaxed();  // order: a hint
  }
  // Returns the limit, in bytes of log a second; kUnlimited, kStopped.
  std::uint64_t limit() const { return limit_.load_relaxed(); }  // order: a statistic

  const char* name() const override { return "foedus-throttle"; }
  std::uint64_t step() override;

 private:
  // The resource that limits writers, for messages to the operator.
  enum class Shortage : std::uint8_t { kLog, kMemory };

  double limit_of_log() const;
  double limit_of_memory();
  void learn_pages_per_byte(std::uint64_t in_use);
  void grant(std::uint64_t limit, std::uint64_t elapsed_us);
  void report(bool do_wait, std::uint64_t limit, Shortage shortage, std::uint64_t now_us);
  std::string describe(std::uint64_t limit, Shortage shortage) const;

  const Parts parts_;

  // Used by step().
  std::uint64_t stepped_us_ = 0;
  std::uint64_t pages_in_use_ = 0;          // at the last step
  std::uint64_t pages_taken_ = 0;           // pages taken since pages_per_byte_ was learned
  std::uint64_t log_bytes_learned_ = 0;     // log written when pages_per_byte_ was learned
  double pages_per_byte_ = 0;               // volatile pages that writers take for a byte of log
  std::uint64_t wait_seen_us_ = 0;          // when step() last saw writers wait
  std::uint64_t reported_us_ = 0;           // when the operator was last told that writers wait
  std::uint64_t unreported_waited_us_ = 0;  // waited_us() when the operator was first told so
  bool is_reported_ = false;  // the operator was told that writers wait, not yet that it is over

  // Own synchronization.
  alignas(64) base::AtomicWord<std::uint64_t> limit_;
  alignas(64) base::AtomicWord<std::uint64_t> granted_;
  alignas(64) base::AtomicWord<std::uint64_t> claimed_;
  base::AtomicWord<std::uint64_t> waited_us_;
  base::AtomicWord<std::uint64_t> waits_for_memory_;
};

}  // namespace foedus::engine
