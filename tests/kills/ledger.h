#pragma once
// Ledger: the transfers that a process has acknowledged, in memory that outlives it. A teller notes
// a transfer as begun before its transaction, and as acknowledged once it is durable. The count
// that the next process finds lies between the two.

#include <array>
#include <atomic>
#include <cstdint>

#include "tests/kills/bank.h"
#include "tests/kills/places.h"

namespace foedus::kills {

// The progress of a process.
enum class Stage : std::uint32_t {
  kOpening,
  kAudited,  // `found` is complete: the keeper checks it
  kAtWork,   // set by the keeper
};

// An empty ledger is all zeroes.
struct Ledger {
  struct alignas(64) Teller {
    std::atomic<std::uint64_t> begun;         // transfers, the current one included
    std::atomic<std::uint64_t> acknowledged;  // of them
  };
  std::array<Teller, kTellersMax> tellers;
  alignas(64) std::atomic<Stage> stage;
  BankRows found;
  std::uint64_t acks_verified;  // of TPC-C, in the order of the ack file
  std::uint32_t snapshot;       // at the begin of the process
  std::atomic<std::uint64_t> out_of_space;  // transactions refused for lack of space
  Places places;
};

}  // namespace foedus::kills
