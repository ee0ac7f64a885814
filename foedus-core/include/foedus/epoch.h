#pragma once
// Epoch: the coarse-grained time of the engine (paper §6.1). All commits of one epoch become
// durable together. Epoch 0 is "no epoch". A new database begins in epoch 1. A database that is
// opened again begins above every epoch that its files name.

#include "foedus/cxx20.h"

#include <compare>
#include <cstdint>

namespace foedus {

class Epoch {
 public:
  // 36 bits: with epochs of 10 ms they last 21 years. Commits of Durability::kSync can use epochs
  // faster: one for each sync of the device. Once half of all epochs are used, the clock ends
  // epochs early for such commits less and less. From 7/8 on each epoch lasts for
  // Options::epoch_interval_us. When nearly all are used, commits are refused with kNotSupported,
  // and reads go on. The rows then have to be copied to a new directory.
  static constexpr unsigned kBits = 36;
  static constexpr std::uint64_t kMax = (std::uint64_t{1} << kBits) - 1;

  constexpr Epoch() = default;
  constexpr explicit Epoch(std::uint64_t number) : number_(number) {}

  constexpr std::uint64_t number() const { return number_; }
  constexpr bool is_valid() const { return number_ != 0; }
  constexpr Epoch next() const { return Epoch(number_ + 1); }
  // Returns the epoch before this one; for "no epoch" and the first epoch, "no epoch".
  constexpr Epoch previous() const { return Epoch(number_ == 0 ? 0 : number_ - 1); }

  constexpr auto operator<=>(const Epoch&) const = default;

 private:
  std::uint64_t number_ = 0;
};

}  // namespace foedus
