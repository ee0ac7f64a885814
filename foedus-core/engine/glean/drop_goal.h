#pragma once
// DropGoal: the percentage of their memory down to which a glean drops volatile pages.
//
//   E44 A glean begins when volatile pages take more than PageOptions::volatile_percent of their
//       memory. If gleans dropped only the pages above that limit, writers would soon reach the
//       limit again: gleans would be small, and each has fixed costs. So while writers have to wait
//       for room, each glean drops more than the last one, down to a third of volatile_percent.
//       While writers do not wait, each glean drops less than the last one: pages in memory spare
//       reads. If gleans are cheap (GleanScheduler::begin_percent()), the next one begins halfway
//       between the goal and volatile_percent: the gleaner does not rest while writers wait.

#include <algorithm>
#include <cstdint>

namespace foedus::engine {

class DropGoal {
 public:
  // Sets the goal of a glean that is about to drop pages. `percent`: volatile_percent. `is_above`:
  // volatile pages take more than this percentage of their memory. `have_waited`: writers have
  // waited for free pages since the last glean.
  void next(std::uint32_t percent, bool is_above, bool have_waited) {
    const std::uint32_t room_max = percent - percent / kPartThatStays;
    room_ = have_waited ? room_ + kMoreRoom : room_ - std::min(room_, kLessRoom);
    room_ = std::min(room_, room_max);
    percent_ = is_above ? percent - room_ : percent;
  }
  std::uint32_t percent() const { return percent_; }
  // Returns the percentage above which the next glean begins if gleans are cheap (E44).
  std::uint32_t begin_percent(std::uint32_t percent) const { return percent - room_ / 2; }

 private:
  static constexpr std::uint32_t kPartThatStays = 3;
  static constexpr std::uint32_t kMoreRoom = 10;
  static constexpr std::uint32_t kLessRoom = 1;

  std::uint32_t room_ = 0;  // by how much a goal is below volatile_percent
  std::uint32_t percent_ = 0;
};

}  // namespace foedus::engine
