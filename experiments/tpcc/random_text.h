#pragma once
// Random numbers and text as the specification wants them: NURand (clause 2.1.6), last names
// (4.3.2.3), strings (4.3.2.2), zip codes (4.3.2.7) and "ORIGINAL" data (4.3.3.1).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "experiments/common/random.h"

namespace experiments::tpcc {

// NURand(A, x, y) with the run-time constant C.
inline std::uint32_t nurand(Random& random, std::uint32_t a, std::uint32_t c, std::uint32_t x,
                            std::uint32_t y) {
  const std::uint64_t mixed = random.uniform(0, a) | random.uniform(x, y);
  return static_cast<std::uint32_t>((mixed + c) % (y - x + 1)) + x;
}

inline constexpr std::uint32_t kNurandLastName = 255;
inline constexpr std::uint32_t kNurandCustomer = 1023;
inline constexpr std::uint32_t kNurandItem = 8191;

// The constants C of one run.
struct NurandConstants {
  std::uint32_t last_name = 0;
  std::uint32_t customer = 0;
  std::uint32_t item = 0;
};

// Clause 2.1.6.1: C for last names differs between load and run by 65 .. 119, not by 96 or 112.
inline bool is_run_constant(std::uint32_t load, std::uint32_t run) {
  const std::uint32_t delta = load < run ? run - load : load - run;
  return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
}
inline NurandConstants load_constants(Random& random) {
  return {.last_name = static_cast<std::uint32_t>(random.uniform(0, kNurandLastName)),
          .customer = static_cast<std::uint32_t>(random.uniform(0, kNurandCustomer)),
          .item = static_cast<std::uint32_t>(random.uniform(0, kNurandItem))};
}
inline NurandConstants run_constants(Random& random, std::uint32_t last_name_of_load) {
  for (;;) {
    const NurandConstants constants = load_constants(random);
    if (is_run_constant(last_name_of_load, constants.last_name)) return constants;
  }
}

// Three syllables by the digits of `number`, 0 .. 999, padded with zero bytes.
inline void make_last_name(std::uint32_t number, char (&out)[16]) {
  constexpr std::string_view kSyllables[10] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                               "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  std::memset(out, 0, sizeof(out));
  char* end = out;
  for (const std::uint32_t digit : {number / 100 % 10, number / 10 % 10, number % 10}) {
    std::memcpy(end, kSyllables[digit].data(), kSyllables[digit].size());
    end += kSyllables[digit].size();
  }
}

// A random a-string of [bytes_min, bytes_max] letters and digits, padded with zero bytes.
template <std::size_t kBytes>
void make_text(Random& random, std::size_t bytes_min, std::size_t bytes_max, char (&out)[kBytes]) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  static_assert(kLetters.size() == 64);
  constexpr unsigned kBitsPerLetter = 6;
  constexpr unsigned kLettersPerWord = 10;
  const std::size_t bytes = random.uniform(bytes_min, bytes_max);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (i % kLettersPerWord == 0) word = random.next();
    out[i] = kLetters[word % kLetters.size()];
    word >>= kBitsPerLetter;
  }
  std::memset(out + bytes, 0, kBytes - bytes);
}

template <std::size_t kBytes>
void make_digits(Random& random, char (&out)[kBytes]) {
  for (char& c : out) c = static_cast<char>('0' + random.uniform(0, 9));
}

// Four random digits and "11111".
inline void make_zip(Random& random, char (&out)[9]) {
  std::memset(out, '1', sizeof(out));
  for (int i = 0; i < 4; ++i) out[i] = static_cast<char>('0' + random.uniform(0, 9));
}

inline constexpr std::string_view kOriginal = "ORIGINAL";

// I_DATA and S_DATA: 26 .. 50 letters, in one row of ten with "ORIGINAL" somewhere inside.
inline void make_item_data(Random& random, char (&out)[50]) {
  constexpr std::size_t kBytesMin = 26;
  make_text(random, kBytesMin, sizeof(out), out);
  if (!random.percent(10)) return;
  const std::size_t at = random.uniform(0, kBytesMin - kOriginal.size());
  std::memcpy(out + at, kOriginal.data(), kOriginal.size());
}
inline bool is_original(const char (&data)[50]) {
  return std::string_view(data, sizeof(data)).find(kOriginal) != std::string_view::npos;
}

}  // namespace experiments::tpcc
