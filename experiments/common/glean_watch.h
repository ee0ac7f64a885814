#pragma once
// GleanWatch: what the gleaner does during a measured run, and the state that a run begins in.

#include <gflags/gflags_declare.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "experiments/common/json_line.h"
#include "foedus/foedus.h"

DECLARE_bool(drop_volatile);
DECLARE_double(warm_seconds);

namespace experiments {

// Samples the statistics of the database from its construction to stop().
class GleanWatch {
 public:
  explicit GleanWatch(foedus::Database& db);
  ~GleanWatch();
  GleanWatch(const GleanWatch&) = delete;
  GleanWatch& operator=(const GleanWatch&) = delete;

  void stop();
  // Adds its members to the line. `sessions`: those that ran meanwhile. REQUIRES: stop().
  void add_members(JsonObject& line, std::uint32_t sessions) const;

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  foedus::Database& db_;
  const Clock::time_point start_;
  const foedus::Stats before_;
  foedus::Stats after_;  // from stop() on
  double seconds_ = 0;   // the same

  std::mutex mutex_;  // guards what follows until the thread is joined
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  std::uint64_t behind_max_ = 0;
  std::uint64_t volatile_max_ = 0;
  std::uint64_t samples_ = 0;

  std::thread thread_;  // last, so that all else outlives it
};

// --drop-volatile: makes a snapshot, so that a run begins over its pages, and says what it did.
foedus::Status drop_volatile_by_flags(foedus::Database& db, JsonObject& line);

}  // namespace experiments
