#pragma once
// The items of which a dump consists, in all formats: for each storage its head and its rows, and
// an end with counts. See ../DUMP.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "foedus/status.h"
#include "tools/foedus/data/any_storage.h"

namespace foedus::cli {

inline constexpr std::uint32_t kDumpVersion = 1;

struct DumpStorage {
  std::string name;
  StorageShape shape;
};
struct DumpRow {
  std::uint64_t index = 0;  // arrays
  std::string key;          // keyed storages
  std::string value;
};
struct DumpEnd {
  std::uint64_t storages = 0;
  std::uint64_t rows = 0;
};
using DumpItem = std::variant<DumpStorage, DumpRow, DumpEnd>;

enum class DumpFormat : std::uint8_t { kJsonl, kCsv, kBinary };
// Reads "jsonl", "csv" or "binary". kInvalidArgument.
Result<DumpFormat> parse_dump_format(std::string_view text);

}  // namespace foedus::cli
