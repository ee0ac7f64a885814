#pragma once
// Bytes and names of sorted run files. Byte-exact description: FORMAT.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "foedus-core/device/device.h"
#include "foedus-core/page/page_id.h"

namespace foedus::gleaner {

inline constexpr std::uint32_t kRunMagic = 0x4e555246;  // "FRUN"
inline constexpr std::uint32_t kRunVersion = 2;
inline constexpr std::uint32_t kLastChunk = 1;  // flags

struct RunId {
  page::SnapshotNumber snapshot{};  // of the glean that makes it
  std::uint32_t soc = 0;            // of the reducer
  std::uint32_t run = 0;            // number in that reducer, from 0
  bool operator==(const RunId&) const = default;
};

struct RunChunkHeader {
  std::uint32_t magic;        // +4 -> 4
  std::uint32_t crc;          // +4 -> 8   of the chunk's first block
  std::uint32_t version;      // +4 -> 12
  std::uint32_t flags;        // +4 -> 16
  std::uint64_t chunk_bytes;  // +8 -> 24  a multiple of the device's block
  std::uint64_t entry_bytes;  // +8 -> 32  of the entries after this header
  std::uint64_t offset;       // +8 -> 40  of this chunk in the file
  std::uint32_t snapshot;     // +4 -> 44
  std::uint32_t soc;          // +4 -> 48
  std::uint32_t run;          // +4 -> 52
  std::uint32_t rest_crc;     // +4 -> 56  of the blocks after it; 0: there are none
};
static_assert(sizeof(RunChunkHeader) == 56);
static_assert(std::has_unique_object_representations_v<RunChunkHeader>);

// Returns the checksum of a chunk's first block, whose own checksum counts as zero. Leaves `block`
// unchanged.
std::uint32_t checksum_of_first_block(char* block);
// Returns the checksum of the blocks after the first.
std::uint32_t checksum_of_rest(const char* chunk, std::uint64_t chunk_bytes);

std::string run_name(const RunId& id);
std::optional<RunId> parse_run_name(std::string_view name);

// Removes the runs that a crash has left: all files with such a name, or only those of one SOC.
// Runs have no meaning beyond the glean that made them.
Status remove_orphaned_runs(device::Device* device, std::optional<std::uint32_t> soc = {});

}  // namespace foedus::gleaner
