#pragma once
// Ledger: what the world outside a process was told, in memory that outlives it. A teller notes a
// transfer as begun before its transaction, and as acknowledged once it is durable. What the next
// process finds lies between the two.

#include <array>
#include <atomic>
#include <cstdint>

#include "tests/kills/bank.h"
#include "tests/kills/places.h"

namespace foedus::kills {

// How far a process has come.
enum class Stage : std::uint32_t {
  kOpening,
  kAudited,  // `found` is complete: the keeper looks at it
  kAtWork,   // set by the keeper
};

// Zeroes are an empty one.
struct Ledger {
  struct alignas(64) Teller {
    std::atomic<std::uint64_t> begun;         // transfers, the one at work included
    std::atomic<std::uint64_t> acknowledged;  // of them
  };
  std::array<Teller, kTellersMax> tellers;
  alignas(64) std::atomic<Stage> stage;
  BankRows found;
  std::uint64_t acks_verified;  // of TPC-C, in the order of the ack file
  std::uint32_t snapshot;       // that the process began with
  std::atomic<std::uint64_t> out_of_space;  // transactions that were refused for want of room
  Places places;
};

}  // namespace foedus::kills
