#pragma once
// DropGoal: down to which percentage of their memory a glean drops volatile pages.
//
//   E44 A glean begins above GleanOptions::volatile_percent. Were no more dropped than what is
//       above that, writers could take until the next one ends only what is left; and the less
//       that is, the smaller are gleans, and the less do they make of what each costs. So writers
//       who had to wait for room get more of it from glean to glean, down to a third of
//       volatile_percent; and less again when they do not, for pages in memory spare reads. The
//       next glean then begins halfway between, lest the gleaner rest while writers wait.

#include <algorithm>
#include <cstdint>

namespace foedus::engine {

class DropGoal {
 public:
  // A glean is about to drop pages. `percent`: volatile_percent. `is_above`: volatile pages take
  // more of their memory. `have_waited`: writers waited for room since the last glean.
  void next(std::uint32_t percent, bool is_above, bool have_waited) {
    const std::uint32_t room_max = percent - percent / kPartThatStays;
    room_ = have_waited ? room_ + kMoreRoom : room_ - std::min(room_, kLessRoom);
    room_ = std::min(room_, room_max);
    percent_ = is_above ? percent - room_ : percent;
  }
  std::uint32_t percent() const { return percent_; }
  // Above which percentage the next glean begins.
  std::uint32_t begin_percent(std::uint32_t percent) const { return percent - room_ / 2; }

 private:
  static constexpr std::uint32_t kPartThatStays = 3;
  static constexpr std::uint32_t kMoreRoom = 10;
  static constexpr std::uint32_t kLessRoom = 1;

  std::uint32_t room_ = 0;  // below volatile_percent
  std::uint32_t percent_ = 0;
};

}  // namespace foedus::engine
