#pragma once
// Random: one thread's random numbers (xoroshiro128++). The same seed and stream give the same
// numbers on every machine, so a run can be repeated from the seed that it printed.

#include <bit>
#include <cstdint>

namespace experiments {

class Random {
 public:
  // `stream`: which of many independent sequences of this seed, such as the number of the worker.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) {
    std::uint64_t state = seed + stream * 0xd1342543de82ef95u;
    low_ = split_mix(state);
    high_ = split_mix(state);
    if ((low_ | high_) == 0) low_ = 1;  // the one state that the generator never leaves
  }

  std::uint64_t next() {
    const std::uint64_t low = low_;
    std::uint64_t high = high_;
    const std::uint64_t result = std::rotl(low + high, 17) + low;
    high ^= low;
    low_ = std::rotl(low, 49) ^ high ^ (high << 21);
    high_ = std::rotl(high, 28);
    return result;
  }

  // Uniform in [low, high], both included. A range of 2^32 or less: the bias of the multiplication
  // is below 2^-32 of each probability.
  std::uint64_t uniform(std::uint64_t low, std::uint64_t high) {
    const std::uint64_t range = high - low + 1;
    if (range == 0) return next();
    const Wide product = static_cast<Wide>(next()) * range;
    return low + static_cast<std::uint64_t>(product >> 64);
  }

  bool percent(std::uint64_t chance) { return uniform(1, 100) <= chance; }

  // Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  __extension__ using Wide = unsigned __int128;  // ISO C++ has no type of 128 bits

  static std::uint64_t split_mix(std::uint64_t& state) {
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t low_;
  std::uint64_t high_;
};

}  // namespace experiments
