#pragma once
// The bytes of a binary dump, as ../DUMP.md describes them. Numbers are little-endian.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "foedus-core/base/crc32c.h"

namespace foedus::cli {

// "FOEDUSDP"
inline constexpr std::uint64_t kBinaryDumpMagic = 0x50445355'44454f46;

struct BinaryDumpHeader {
  std::uint64_t magic = kBinaryDumpMagic;  // +8 -> 8
  std::uint32_t version = 1;               // +4 -> 12
  std::uint32_t crc = 0;                   // +4 -> 16
};
static_assert(sizeof(BinaryDumpHeader) == 16);

enum class BlockKind : std::uint32_t { kStorage = 1, kRows = 2, kEnd = 3 };

struct BlockHeader {
  std::uint32_t kind = 0;           // +4 -> 4: BlockKind
  std::uint32_t payload_bytes = 0;  // +4 -> 8
  std::uint64_t number = 0;         // +8 -> 16: of the block, from 0
  std::uint32_t rows = 0;           // +4 -> 20: kRows
  std::uint32_t crc = 0;            // +4 -> 24: of the bytes before and of the payload
};
static_assert(sizeof(BlockHeader) == 24);

// The payload of a storage's block; the name follows.
struct BinaryStorage {
  std::uint64_t records = 0;        // +8 -> 8: arrays
  std::uint32_t payload_bytes = 0;  // +4 -> 12: arrays
  std::uint32_t kind = 0;           // +4 -> 16: StorageKind
};
static_assert(sizeof(BinaryStorage) == 16);

// Stands before the key and the value of each row.
struct BinaryRow {
  std::uint32_t key_bytes = 0;    // +4 -> 4
  std::uint32_t value_bytes = 0;  // +4 -> 8
};
static_assert(sizeof(BinaryRow) == 8);

struct BinaryEnd {
  std::uint64_t storages = 0;  // +8 -> 8
  std::uint64_t rows = 0;      // +8 -> 16
};
static_assert(sizeof(BinaryEnd) == 16);

static_assert(std::has_unique_object_representations_v<BinaryDumpHeader> &&
              std::has_unique_object_representations_v<BlockHeader> &&
              std::has_unique_object_representations_v<BinaryStorage>);

// A block of rows is written once it has this many bytes, so it has at most one row more.
inline constexpr std::size_t kBlockBytesWanted = 256u << 10;
// The most that a payload can have: no reader allocates more.
inline constexpr std::size_t kBlockPayloadMax = 8u << 20;

inline std::uint32_t crc_of(const BinaryDumpHeader& header) {
  return base::crc32c(&header, offsetof(BinaryDumpHeader, crc));
}
inline std::uint32_t crc_of(const BlockHeader& header, const void* payload) {
  return base::crc32c(payload, header.payload_bytes,
                      base::crc32c(&header, offsetof(BlockHeader, crc)));
}

}  // namespace foedus::cli
