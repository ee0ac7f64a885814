#pragma once
// Zipf: random ranks 0 .. count-1 where rank r has a probability in proportion to 1 / (r +
// 1)^theta, by the method of Gray et al., "Quickly generating billion-record synthetic databases"
// (SIGMOD 1994), the same as YCSB's. The sum zeta(count, theta) is computed once, at construction.

#include <cmath>
#include <cstdint>

#include "experiments/common/random.h"

namespace experiments {

class Zipf {
 public:
  // REQUIRES: count >= 1 and 0 <= theta < 1; theta 0 is uniform.
  Zipf(std::uint64_t count, double theta)
      : count_(count),
        theta_(theta),
        zeta_(theta == 0 ? static_cast<double>(count) : zeta(count, theta)),
        second_(1 + std::pow(0.5, theta)),
        alpha_(1 / (1 - theta)),
        eta_((1 - std::pow(2 / static_cast<double>(count), 1 - theta)) /
             (1 - zeta(2, theta) / zeta_)) {}

  static bool is_valid(std::uint64_t count, double theta) {
    return count >= 1 && theta >= 0 && theta < 1;
  }

  std::uint64_t rank(Random& random) const {
    if (theta_ == 0 || count_ <= 2) return small_or_uniform(random);
    const double unit = random.unit();
    const double scaled = unit * zeta_;
    if (scaled < 1) return 0;
    if (scaled < second_) return 1;
    const double rank = static_cast<double>(count_) * std::pow(eta_ * unit - eta_ + 1, alpha_);
    const auto whole = static_cast<std::uint64_t>(rank);
    return whole < count_ ? whole : count_ - 1;  // unit just below 1 may round up to the count
  }

  // The probability that the distribution gives to a rank. The method is exact for ranks 0 and 1.
  double mass(std::uint64_t rank) const {
    return 1 / (std::pow(static_cast<double>(rank + 1), theta_) * zeta_);
  }

  std::uint64_t count() const { return count_; }

 private:
  static double zeta(std::uint64_t count, double theta) {
    double sum = 0;
    for (std::uint64_t i = count; i >= 1; --i) sum += std::pow(static_cast<double>(i), -theta);
    return sum;  // small terms first: they would be lost in a sum that is large already
  }

  // The formula for eta divides by 0 for two ranks.
  std::uint64_t small_or_uniform(Random& random) const {
    if (theta_ == 0) return random.uniform(0, count_ - 1);
    return random.unit() * zeta_ < 1 ? 0 : count_ - 1;
  }

  const std::uint64_t count_;
  const double theta_;
  const double zeta_;
  const double second_;
  const double alpha_;
  const double eta_;
};

// Spreads ranks over the ids 0 .. count-1, so that hot rows are not neighbours. YCSB takes a hash
// modulo count, under which hot ranks may fall together and a third of the ids is never chosen;
// this is a permutation, so each id keeps the probability of its rank: a hash that can be inverted
// on the next power of two, walked until it comes back into range (less than twice on average).
class Scramble {
 public:
  explicit Scramble(std::uint64_t count) : count_(count) {
    while (mask_ < count - 1) mask_ = mask_ * 2 + 1;
    while ((std::uint64_t{1} << shift_) * (std::uint64_t{1} << shift_) <= mask_) ++shift_;
  }

  std::uint64_t id(std::uint64_t rank) const {
    std::uint64_t id = rank;
    do {
      id = step(id);
    } while (id >= count_);
    return id;
  }

 private:
  // Each line is a bijection on the numbers up to mask_: an addition, an odd factor, a shift to the
  // right of half the bits.
  std::uint64_t step(std::uint64_t value) const {
    for (int round = 0; round < 2; ++round) {
      value = (value + 0x9e3779b97f4a7c15u) & mask_;
      value = (value * 0xbf58476d1ce4e5b9u) & mask_;
      value ^= value >> shift_;
      value = (value * 0x94d049bb133111ebu) & mask_;
      value ^= value >> shift_;
    }
    return value;
  }

  const std::uint64_t count_;
  std::uint64_t mask_ = 0;
  unsigned shift_ = 1;
};

}  // namespace experiments
