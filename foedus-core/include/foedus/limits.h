#pragma once
// Limits of the engine. A call beyond a limit returns kTooLarge or kInvalidArgument and changes
// nothing. The number of epochs is limited, too: Epoch::kBits. Ranges of options stand beside the
// options.

#include "foedus/cxx20.h"

#include <cstddef>
#include <cstdint>

namespace foedus {

inline constexpr std::size_t kMaxKeyBytes = 1024;           // Master-Tree, hash
inline constexpr std::size_t kMaxPayloadBytes = 4u << 20;   // Master-Tree, hash
inline constexpr std::size_t kMaxArrayPayloadBytes = 2000;  // array: fixed-size payloads
inline constexpr std::uint64_t kMaxArrayRecords = std::uint64_t{1} << 40;
inline constexpr std::size_t kMaxSequentialPayloadBytes = 3072;  // sequential
inline constexpr std::size_t kMaxStorageNameBytes = 64;
inline constexpr std::uint32_t kMaxSocs = 64;
inline constexpr std::uint32_t kMaxSessions = 1024;

}  // namespace foedus
