#pragma once
// GleanPace: estimates how long a glean takes, stage by stage, from the times of earlier gleans. It
// also estimates how long the running one still takes, from its progress. It works on figures
// alone, and uses nothing of the engine.
//
//   stage     its time is proportional to   its progress is reported in
//   map       bytes of log                  bytes
//   compose   pages to write                records, of all that were mapped
//   install   volatile pages to look at     nothing, until its end
//
// A stage is expected to take as long as the same amount of work took before. The more of the stage
// is done, the more the time that it has taken so far counts instead: the work may be of another
// kind than before, or the machine busier. Within a stage, time does not grow evenly with progress.
// Some work follows after the last progress: mapped records are sorted, composed pages are synced.
// So each stage has a course, learned from earlier gleans: the share of its time that has passed at
// each share of its progress.

#include <array>
#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus/database.h"

namespace foedus::engine {

// The amounts of work of a glean, on which its time depends.
struct GleanSize {
  double log_bytes = 0;
  double pages = 0;           // to write
  double volatile_pages = 0;  // to look at
};

class GleanPace {
 public:
  // What is left of the running glean. The default values mean that no glean runs.
  struct Left {
    double us = 0;          // until it ends
    double us_to_room = 0;  // until its snapshot is durable, and the log is truncated
    double share = 0;       // `us` as a share of the glean's whole time
    double slowness = 1;    // the glean's time as a multiple of what was expected when it began
  };

  GleanPace();

  // ---- the task that gleans ------------------------------------------------------------------

  void begin(const GleanSize& size, std::uint64_t now_us);
  void at(const GleanProgress& progress, std::uint64_t now_us);
  void end();
  // Learns from a successful glean how long it took. `size`: what it had to do. Called before
  // end().
  void learn(const GleanSize& size, const GleanReport& report);

  // ---- any thread ----------------------------------------------------------------------------

  // Returns the microseconds that a glean of this size is expected to take. If the running glean is
  // slower or faster than expected, the result is longer or shorter by about the same factor.
  double us_of(const GleanSize& size, std::uint64_t now_us) const;
  bool is_running() const { return since_us_.load_relaxed() != 0; }  // order: a hint
  Left left(std::uint64_t now_us) const;

 private:
  static constexpr std::size_t kStages = 3;
  static constexpr std::size_t kCoursePoints = 16;
  using Times = std::array<double, kStages>;

  Times times_of(const GleanSize& size) const;
  double course_at(std::uint64_t stage, double done) const;
  void pass(double done, double elapsed_us);
  void learn_course(double all_us);

  // Microseconds that each stage takes for a byte of log, for a page to write, for a volatile page.
  // The first values are guesses.
  std::array<base::AtomicWord<double>, kStages> us_of_one_{base::AtomicWord<double>{1.0 / 64},
                                                           base::AtomicWord<double>{20.0},
                                                           base::AtomicWord<double>{10.0}};

  // courses_[stage][i]: the share of the stage's time after which (i + 1)/16 of its progress is
  // reported.
  std::array<std::array<base::AtomicWord<double>, kCoursePoints>, kStages> courses_;

  // State of the running stage; used by the task that gleans.
  std::array<double, kCoursePoints> passed_us_{};  // its time at each point of the course
  std::size_t points_passed_ = 0;

  // State of the running glean. The words are stored one by one: a reader between two stores gets
  // one wrong estimate.
  base::AtomicWord<std::uint64_t> since_us_;  // when the glean began; 0: none runs
  base::AtomicWord<std::uint64_t> stage_;
  base::AtomicWord<std::uint64_t> stage_since_us_;
  base::AtomicWord<double> done_;     // last reported progress of the stage, as a share
  base::AtomicWord<double> done_us_;  // time from the stage's begin to that report
  std::array<base::AtomicWord<double>, kStages> expected_us_;
};

}  // namespace foedus::engine
