#include "foedus-core/engine/glean_pace.h"

#include <algorithm>
#include <numeric>

namespace foedus::engine {

namespace {

constexpr auto kInstall = static_cast<std::uint64_t>(GleanStage::kInstall);

// What less of it takes says little: bytes of log, pages, volatile pages.
constexpr std::array<double, 3> kAmountMin = {1u << 20, 256, 256};
// From so much of a stage on, what it took so far is all that counts.
constexpr double kDoneTold = 0.25;
// A stage whose end is not known is taken to need this share of its time so far, or more.
constexpr double kLeast = 1.0 / 16;
constexpr double kSlownessMin = 0.5;
constexpr double kSlownessMax = 4;

std::array<double, 3> amounts_of(const GleanSize& size) {
  return {size.log_bytes, size.pages, size.volatile_pages};
}

}  // namespace

GleanPace::Times GleanPace::times_of(const GleanSize& size) const {
  Times times = amounts_of(size);
  // order: relaxed, an estimate.
  for (std::size_t i = 0; i < kStages; ++i) times[i] *= us_of_one_[i].load_relaxed();
  return times;
}

void GleanPace::begin(const GleanSize& size, std::uint64_t now_us) {
  const Times times = times_of(size);
  // order: relaxed all, see left().
  for (std::size_t i = 0; i < kStages; ++i) expected_us_[i].store_relaxed(times[i]);
  stage_.store_relaxed(0);
  done_.store_relaxed(0);
  stage_since_us_.store_relaxed(now_us);
  since_us_.store_relaxed(std::max<std::uint64_t>(now_us, 1));
}

void GleanPace::at(const GleanProgress& progress, std::uint64_t now_us) {
  const auto stage = static_cast<std::uint64_t>(progress.stage);
  // order: relaxed all, see left().
  if (stage != stage_.load_relaxed()) {
    stage_.store_relaxed(stage);
    stage_since_us_.store_relaxed(now_us);
  }
  const double done = progress.total == 0 ? 0
                                          : static_cast<double>(progress.done) /
                                                static_cast<double>(progress.total);
  done_.store_relaxed(std::min(done, 1.0));
}

void GleanPace::end() { since_us_.store_relaxed(0); }  // order: relaxed, see left()

// The mean of the last one and of those before: the pace depends on how busy the machine is.
void GleanPace::learn(const GleanSize& size, const GleanReport& report) {
  const Times amounts = amounts_of(size);
  const std::array<std::uint64_t, kStages> took = {report.map_reduce_us, report.compose_us,
                                                   report.install_us + report.reclaim_us};
  for (std::size_t i = 0; i < kStages; ++i) {
    if (amounts[i] < kAmountMin[i] || took[i] == 0) continue;
    const double last = static_cast<double>(took[i]) / amounts[i];
    // order: relaxed, an estimate.
    us_of_one_[i].store_relaxed((us_of_one_[i].load_relaxed() + last) / 2);
  }
}

double GleanPace::us_of(const GleanSize& size, std::uint64_t now_us) const {
  const Times times = times_of(size);
  return std::accumulate(times.begin(), times.end(), 0.0) * left(now_us).slowness;
}

GleanPace::Left GleanPace::left(std::uint64_t now_us) const {
  // order: relaxed all, estimates that a throttle takes anew every few milliseconds.
  const std::uint64_t since_us = since_us_.load_relaxed();
  if (since_us == 0) return {};
  const std::uint64_t stage = stage_.load_relaxed();
  const auto us_from = [now_us](std::uint64_t begin_us) {
    return static_cast<double>(now_us - std::min(begin_us, now_us));
  };
  const double elapsed = us_from(since_us);
  const double elapsed_stage = us_from(stage_since_us_.load_relaxed());
  const double expected = expected_us_[stage].load_relaxed();
  Left left;
  if (stage == kInstall) {
    left.us = std::max(expected - elapsed_stage, kLeast * elapsed_stage);
  } else {
    const double done = done_.load_relaxed();
    const double weight = std::min(1.0, done / kDoneTold);
    const double by_done = done == 0 ? 0 : elapsed_stage / done;
    const double all = std::max((1 - weight) * expected + weight * by_done, elapsed_stage);
    left.us_to_room = (1 - done) * all;
    for (std::uint64_t later = stage + 1; later < kInstall; ++later) {
      left.us_to_room += expected_us_[later].load_relaxed();
    }
    left.us_to_room = std::max(left.us_to_room, kLeast * elapsed_stage);
    left.us = left.us_to_room + expected_us_[kInstall].load_relaxed();
  }
  double expected_all = 0;
  for (const auto& us : expected_us_) expected_all += us.load_relaxed();
  left.share = elapsed + left.us == 0 ? 1 : left.us / (elapsed + left.us);
  left.slowness = std::clamp((elapsed + left.us) / std::max(expected_all, 1.0), kSlownessMin,
                             kSlownessMax);
  return left;
}

}  // namespace foedus::engine
