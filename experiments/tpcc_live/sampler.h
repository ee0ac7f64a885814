#pragma once
// Sampler: a line with the statistics four times a second, and one for each stage of a glean as it
// begins. A stage that is shorter than the time between two looks may be left out.

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "experiments/common/options.h"
#include "experiments/tpcc_live/live_lines.h"
#include "foedus/foedus.h"

namespace experiments::tpcc {

inline foedus::Histogram difference(const foedus::Histogram& after,
                                    const foedus::Histogram& before) {
  foedus::Histogram result;
  result.count = after.count - before.count;
  result.sum = after.sum - before.sum;
  for (std::size_t i = 0; i < foedus::Histogram::kBuckets; ++i) {
    result.buckets[i] = after.buckets[i] - before.buckets[i];
  }
  return result;
}

struct DirectoryBytes {
  std::uint64_t log = 0;
  std::uint64_t snapshots = 0;
};

// Returns the sizes of the files of a database by their names. A file that goes meanwhile counts 0.
inline DirectoryBytes directory_bytes(const std::string& dir) {
  DirectoryBytes bytes;
  std::error_code ignored;
  for (std::filesystem::recursive_directory_iterator at(dir, ignored), end; at != end;
       at.increment(ignored)) {
    struct stat file {};
    if (::stat(at->path().c_str(), &file) != 0 || !S_ISREG(file.st_mode)) continue;
    const std::string name = at->path().filename().string();
    const auto size = static_cast<std::uint64_t>(file.st_blocks) * 512;
    if (name.find("log") != std::string::npos) bytes.log += size;
    if (name.find("snapshot") != std::string::npos) bytes.snapshots += size;
  }
  return bytes;
}

class Sampler {
 public:
  Sampler(foedus::Database& db, const LiveLines& lines)
      : db_(db), lines_(lines), samples_([this] { sample(); }), stages_([this] { watch(); }) {}
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  ~Sampler() {
    {
      const std::lock_guard guard(mutex_);
      is_stopping_ = true;
    }
    stopping_.notify_all();
    samples_.join();
    stages_.join();
  }

 private:
  // Returns false if the sampler ends.
  bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return !stopping_.wait_for(lock, time, [this] { return is_stopping_; });
  }

  void sample() {
    constexpr auto kInterval = std::chrono::milliseconds(250);
    foedus::Stats before = db_.stats();
    std::uint64_t start = steady_ns();
    while (wait(kInterval)) {
      const foedus::Stats after = db_.stats();
      const std::uint64_t now = steady_ns();
      const DirectoryBytes files = directory_bytes(FLAGS_dir);
      JsonObject line;
      line.add("txn_per_s", static_cast<double>(after.commits - before.commits) * 1e9 /
                                static_cast<double>(now - start));
      const foedus::Histogram times = difference(after.transaction_ns, before.transaction_ns);
      line.add("p99_us", static_cast<double>(times.quantile(0.99)) * 1e-3);
      line.add("commits", after.commits);
      line.add("dram_bytes",
               after.volatile_page_bytes + after.cache_bytes + after.log_buffer_bytes);
      line.add("log_bytes", files.log);
      line.add("snapshot_bytes", files.snapshots);
      line.add("gleans", after.gleans);
      line.add("snapshot", after.snapshot);
      lines_.event("sample", line);
      before = after;
      start = now;
    }
  }

  void watch() {
    constexpr auto kGlance = std::chrono::milliseconds(20);
    constexpr std::array<std::string_view, 4> kNames = {"", "map", "compose", "install"};
    std::uint64_t stage = 0;
    while (wait(kGlance)) {
      const std::uint64_t now = db_.stats().glean_stage;
      if (now == stage || now >= kNames.size()) continue;
      stage = now;
      lines_.event("stage", JsonObject().add("stage", kNames[stage]));
    }
  }

  foedus::Database& db_;
  const LiveLines& lines_;
  std::mutex mutex_;  // guards is_stopping_
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  std::thread samples_;
  std::thread stages_;
};

}  // namespace experiments::tpcc
