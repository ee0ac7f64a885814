#include "gleaner/reduce/run_file.h"

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "foedus-core/base/crc32c.h"

namespace foedus::gleaner {

namespace {

constexpr std::string_view kPrefix = "run-";

}  // namespace

std::uint32_t checksum_of_first_block(char* block) {
  char* const field = block + offsetof(RunChunkHeader, crc);
  std::uint32_t kept;
  std::memcpy(&kept, field, sizeof(kept));
  std::memset(field, 0, sizeof(kept));
  const std::uint32_t crc = base::crc32c(block, device::kBlockBytes);
  std::memcpy(field, &kept, sizeof(kept));
  return crc;
}

std::uint32_t checksum_of_rest(const char* chunk, std::uint64_t chunk_bytes) {
  return base::crc32c(chunk + device::kBlockBytes, chunk_bytes - device::kBlockBytes);
}

std::string run_name(const RunId& id) {
  char text[48];
  std::snprintf(text, sizeof(text), "run-%08u-%u-%u", static_cast<unsigned>(id.snapshot),
                static_cast<unsigned>(id.soc), static_cast<unsigned>(id.run));
  return text;
}

std::optional<RunId> parse_run_name(std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  std::uint32_t numbers[3];
  const char* at = name.data() + kPrefix.size();
  const char* const end = name.data() + name.size();
  for (std::uint32_t& number : numbers) {
    if (&number != numbers) {
      if (at == end || *at != '-') return std::nullopt;
      ++at;
    }
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return std::nullopt;
    at = behind;
  }
  const RunId id{page::SnapshotNumber{numbers[0]}, numbers[1], numbers[2]};
  // No other spelling of these numbers (signs, zeroes, a tail) is a name that run_name() made.
  if (run_name(id) != name) return std::nullopt;
  return id;
}

Status remove_orphaned_runs(device::Device* device, std::optional<std::uint32_t> soc) {
  FOEDUS_TRY(const std::vector<std::string> names, device->list());
  for (const std::string& name : names) {
    const std::optional<RunId> id = parse_run_name(name);
    if (!id.has_value() || (soc.has_value() && id->soc != *soc)) continue;
    FOEDUS_CHECK(device::unless_gone(device->remove(name)));
  }
  return {};
}

}  // namespace foedus::gleaner
