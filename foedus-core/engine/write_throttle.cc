#include "foedus-core/engine/writer_brake.h"

#include <algorithm>

#include "foedus-core/engine/engine.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kLookUs = 5'000;
constexpr std::uint64_t kWaitUsMax = 2'000;  // of one transaction, short of the log's bound
constexpr std::uint64_t kStop = ~std::uint64_t{0};
constexpr double kLogFree = 0.5;
constexpr double kPagesFactor = 8;  // of the pages at which a glean begins; as for bytes
constexpr double kMemoryFree = 0.8;

}  // namespace

double WriterBrake::log_pressure() const {
  const GleanOptions& options = engine_->options().glean;
  const std::uint64_t behind = engine_->gleaning()->log_behind();
  double share = 0;
  if (options.log_bytes_max != 0) {
    share = static_cast<double>(behind) / static_cast<double>(options.log_bytes_max);
  }
  if (options.pages != 0) {
    const std::uint64_t pages = engine_->gleaning()->expected_pages(behind);
    share = std::max(share, static_cast<double>(pages) /
                                (kPagesFactor * static_cast<double>(options.pages)));
  }
  return (share - kLogFree) / (1 - kLogFree);
}

double WriterBrake::memory_pressure() const {
  const double share = static_cast<double>(engine_->pool().pages_in_use() * page::kPageBytes) /
                       static_cast<double>(engine_->pool().bytes_max());
  return (share - kMemoryFree) / (1 - kMemoryFree);
}

std::uint64_t WriterBrake::step() {
  const double log = log_pressure();
  const double pressure = std::clamp(std::max(log, memory_pressure()), 0.0, 1.0);
  std::uint64_t wait_us = 0;
  if (!engine_->gleaning()->has_failed() && !engine_->log_has_failed()) {
    wait_us = static_cast<std::uint64_t>(pressure * pressure * kWaitUsMax);
    if (log >= 1) wait_us = kStop;
  }
  // order: relaxed, a hint. Stored when it changes only: all who write read it.
  if (wait_us != wait_us_.load_relaxed()) wait_us_.store_relaxed(wait_us);
  return kLookUs;
}

void WriterBrake::wait(std::uint64_t wait_us) {
  base::Runtime& runtime = engine_->runtime();
  const std::uint64_t begin_us = runtime.now_us();
  if (wait_us != kStop) {
    runtime.pause(wait_us);
  } else {
    // order: relaxed, a hint. One that close() left behind holds nobody up.
    while (wait_us_.load_relaxed() == kStop && engine_->check_open().is_ok()) {
      runtime.pause(kWaitUsMax);
    }
  }
  waited_us_.fetch_add_relaxed(runtime.now_us() - begin_us);  // order: relaxed, a statistic
}

}  // namespace foedus::engine
