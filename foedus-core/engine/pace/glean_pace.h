#pragma once
// GleanPace: how long a glean takes, stage by stage, as earlier gleans tell. It also tells how long
// the running one still takes, by what it has done. It knows figures only, and nothing of the
// engine.
//
//   stage     takes as long as it has      of which it is known how many are done
//   map       bytes of log                 bytes
//   compose   pages to write               records, of all that were mapped
//   install   volatile pages to look at    none until its end
//
// A stage is expected to take as long as the same amount took before. The more of it is done, the
// more its own time so far counts: the work may be of another kind, or the machine busier. The pace
// within a stage is uneven. Some work follows when all that is counted is done: mapped records are
// sorted, composed pages are synced. So a stage has a course, learned from earlier gleans: the
// share of its time that has passed at each share of its work.

#include <array>
#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus/database.h"

namespace foedus::engine {

// What a glean has to do.
struct GleanSize {
  double log_bytes = 0;
  double pages = 0;           // that it writes
  double volatile_pages = 0;  // that there are
};

class GleanPace {
 public:
  // What is left of the running glean, times in microseconds; zeros if none runs.
  struct Left {
    double us = 0;          // until it ends
    double us_to_room = 0;  // until its log is covered, and goes
    double share = 0;       // of its work
    double slowness = 1;    // how much longer it takes than was expected when it began
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

  // Returns the microseconds that such a glean is expected to take.
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

  // Microseconds for a byte of log, a page that is written, a volatile page: guesses before the
  // first glean.
  std::array<base::AtomicWord<double>, kStages> us_of_one_{base::AtomicWord<double>{1.0 / 64},
                                                           base::AtomicWord<double>{20.0},
                                                           base::AtomicWord<double>{10.0}};

  // courses_[stage][i]: the share of the stage's time after which (i + 1)/16 of its work is done.
  std::array<std::array<base::AtomicWord<double>, kCoursePoints>, kStages> courses_;

  // State of the running stage; used by the task that gleans.
  std::array<double, kCoursePoints> passed_us_{};  // since its begin, at each point of the course
  std::size_t points_passed_ = 0;

  // State of the running glean. Each word is stored alone: a reader between two stores is off once.
  base::AtomicWord<std::uint64_t> since_us_;  // 0: none runs
  base::AtomicWord<std::uint64_t> stage_;
  base::AtomicWord<std::uint64_t> stage_since_us_;
  base::AtomicWord<double> done_;     // share of the stage
  base::AtomicWord<double> done_us_;  // since its begin, when that was told
  std::array<base::AtomicWord<double>, kStages> expected_us_;
};

}  // namespace foedus::engine
