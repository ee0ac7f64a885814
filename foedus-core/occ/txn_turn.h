#pragma once
// TxnTurn: the number of beginnings and ends of one session's transactions, and flags of the open
// one.
//
//   kEnded, kRevoked | number       number odd: a transaction is open, unless it is kEnded

#include <cstdint>

namespace foedus::occ {

struct TxnTurn {
  static constexpr std::uint64_t kRevoked = std::uint64_t{1} << 62;  // set by the engine's watch
  static constexpr std::uint64_t kEnded = std::uint64_t{1} << 63;    // rolled back after kRevoked

  static constexpr std::uint64_t number_of(std::uint64_t turn) {
    return turn & ~(kRevoked | kEnded);
  }
  static constexpr bool is_open(std::uint64_t turn) { return (turn & (kEnded | 1)) == 1; }
  static constexpr bool is_revoked(std::uint64_t turn) { return (turn & kRevoked) != 0; }
};

}  // namespace foedus::occ
