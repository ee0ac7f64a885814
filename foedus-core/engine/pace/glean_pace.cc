#include "foedus-core/engine/pace/glean_pace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace foedus::engine {

namespace {

constexpr auto kInstall = static_cast<std::uint64_t>(GleanStage::kInstall);

// Least amounts of log bytes, pages and volatile pages from whose time a pace is learned.
constexpr std::array<double, 3> kAmountMin = {1u << 20, 256, 256};
// Once this share of a stage's expected time has passed, the rest of the stage is estimated from
// its progress alone.
constexpr double kPassedTold = 0.25;
// The course (glean_pace.h) of a stage that took less is not learned: it made too few reports of
// its progress.
constexpr double kCourseUsMin = 200'000;
// The rest of a running stage is estimated at this share of its time so far, or more.
constexpr double kLeast = 1.0 / 16;
constexpr double kSlownessMin = 0.5;
constexpr double kSlownessMax = 4;

std::array<double, 3> amounts_of(const GleanSize& size) {
  return {size.log_bytes, size.pages, size.volatile_pages};
}

}  // namespace

GleanPace::GleanPace() {
  for (auto& course : courses_) {
    for (std::size_t i = 0; i < kCoursePoints; ++i) {
      // order: relaxed, no other thread knows it yet.
      course[i].store_relaxed(static_cast<double>(i + 1) / kCoursePoints);
    }
  }
}

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
  done_us_.store_relaxed(0);
  points_passed_ = 0;
  stage_since_us_.store_relaxed(now_us);
  since_us_.store_relaxed(std::max<std::uint64_t>(now_us, 1));
}

void GleanPace::at(const GleanProgress& progress, std::uint64_t now_us) {
  const auto stage = static_cast<std::uint64_t>(progress.stage);
  // order: relaxed all, see left().
  if (stage != stage_.load_relaxed()) {
    learn_course(static_cast<double>(now_us - stage_since_us_.load_relaxed()));
    stage_.store_relaxed(stage);
    stage_since_us_.store_relaxed(now_us);
    done_.store_relaxed(0);
    done_us_.store_relaxed(0);
  }
  if (progress.total == 0) return;
  const double done = static_cast<double>(progress.done) / static_cast<double>(progress.total);
  pass(std::min(done, 1.0), static_cast<double>(now_us - stage_since_us_.load_relaxed()));
}

// Notes a report of progress: `done` is the share of the stage's progress, `elapsed_us` the time
// since the stage began. Each point of the stage's course (see glean_pace.h) between the last
// report and this one gets a time by linear interpolation.
void GleanPace::pass(double done, double elapsed_us) {
  // order: relaxed all, see left().
  const double done_before = done_.load_relaxed();
  const double us_before = done_us_.load_relaxed();
  if (done <= done_before) return;
  for (; points_passed_ < kCoursePoints; ++points_passed_) {
    const double point = static_cast<double>(points_passed_ + 1) / kCoursePoints;
    if (point > done) break;
    const double share = (point - done_before) / (done - done_before);
    passed_us_[points_passed_] = us_before + share * (elapsed_us - us_before);
  }
  done_us_.store_relaxed(elapsed_us);
  done_.store_relaxed(done);
}

// Updates the course of the stage that has just ended. Each of its points becomes the mean of its
// old value and the one measured now. Points beyond the last reported progress count as passed at
// the end of the stage.
void GleanPace::learn_course(double all_us) {
  if (all_us >= kCourseUsMin && points_passed_ >= kCoursePoints / 2) {
    std::fill(passed_us_.begin() + static_cast<std::ptrdiff_t>(points_passed_), passed_us_.end(),
              all_us);
    auto& course = courses_[stage_.load_relaxed()];  // order: relaxed, own word
    for (std::size_t i = 0; i < kCoursePoints; ++i) {
      // order: relaxed, an estimate.
      course[i].store_relaxed((course[i].load_relaxed() + passed_us_[i] / all_us) / 2);
    }
  }
  points_passed_ = 0;
}

// Returns the share of the stage's time that has passed when `done` of its progress is reported, by
// linear interpolation of its course.
double GleanPace::course_at(std::uint64_t stage, double done) const {
  const double at = done * kCoursePoints;
  const auto index = std::min(static_cast<std::size_t>(at), kCoursePoints - 1);
  const auto& course = courses_[stage];
  // order: relaxed both, an estimate.
  const double begin = index == 0 ? 0 : course[index - 1].load_relaxed();
  return begin + (at - static_cast<double>(index)) * (course[index].load_relaxed() - begin);
}

void GleanPace::end() { since_us_.store_relaxed(0); }  // order: relaxed, see left()

// Sets each pace to the mean of this glean's and the pace so far. Old gleans so count less and
// less: the pace depends on the machine's load.
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
    const double passed = course_at(stage, done_.load_relaxed());
    const double told_us = done_us_.load_relaxed();
    const double weight = told_us == 0 ? 0 : std::min(1.0, passed / kPassedTold);
    const double by_done = passed == 0 ? 0 : told_us / passed;
    const double all = (1 - weight) * expected + weight * by_done;
    // If the stage has already taken longer than `all`, it is expected to need as much time again
    // as it is late.
    left.us_to_room = std::abs(all - elapsed_stage);
    for (std::uint64_t later = stage + 1; later < kInstall; ++later) {
      left.us_to_room += expected_us_[later].load_relaxed();
    }
    left.us_to_room = std::max(left.us_to_room, kLeast * elapsed_stage);
    left.us = left.us_to_room + expected_us_[kInstall].load_relaxed();
  }
  double expected_all = 0;
  for (const auto& us : expected_us_) expected_all += us.load_relaxed();
  left.share = elapsed + left.us == 0 ? 1 : left.us / (elapsed + left.us);
  left.slowness =
      std::clamp((elapsed + left.us) / std::max(expected_all, 1.0), kSlownessMin, kSlownessMax);
  return left;
}

}  // namespace foedus::engine
