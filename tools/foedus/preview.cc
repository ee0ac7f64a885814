#include "tools/foedus/preview.h"

#include "foedus-core/snapshot/files/format.h"

namespace foedus::cli {

std::string preview(std::string_view bytes, std::size_t bytes_max) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string shown;
  for (const char c : bytes.substr(0, bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '\\' || c == '"') {
      shown += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      shown += c;
    }
  }
  if (bytes.size() > bytes_max) shown += "…";
  return shown;
}

std::string size_of(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {" KiB", " MiB", " GiB", " TiB"};
  if (bytes < 10 * 1024) return count_of(bytes, "byte");
  std::size_t unit = 0;
  std::uint64_t tenths = bytes * 10 / 1024;
  while (tenths >= 10 * 1024 && unit + 1 < std::size(kUnits)) {
    tenths /= 1024;
    ++unit;
  }
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
         std::string(kUnits[unit]);
}

std::string name_of(page::SnapshotPageId id) {
  return "page " + std::to_string(id.page()) + " of " +
         snapshot::snapshot_name(id.snapshot(), id.soc());
}

std::string count_of(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace foedus::cli
