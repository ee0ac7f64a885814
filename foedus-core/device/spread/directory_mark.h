#pragma once
// DirectoryMark: a small text file in each directory of a database that has several. It says to
// which database the directory belongs. Byte-exact description: FORMAT.md.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/device/device.h"
#include "foedus/status.h"

namespace foedus::device {

inline constexpr std::string_view kMarkName = "foedus.directory";
// Name of the next mark until it is whole.
inline constexpr std::string_view kNewMarkName = "foedus.directory.new";

// A random identity: 32 hexadecimal digits, which no two databases or directories share.
struct Identity {
  std::string digits;
  friend bool operator==(const Identity&, const Identity&) = default;
};
Identity make_identity(base::Random* random);

struct DirectoryMark {
  struct Part {
    Identity identity;
    std::string path;  // as FileOptions::dirs named it last; for messages only
    friend bool operator==(const Part&, const Part&) = default;
  };
  Identity database;
  // The directory's own identity, if it is one of FileOptions::dirs; the main one (Options::dir)
  // has none.
  std::optional<Identity> own;
  // In the mark of the main directory: all directories of FileOptions::dirs that may hold files, in
  // any order. Else empty.
  std::vector<Part> parts;
  friend bool operator==(const DirectoryMark&, const DirectoryMark&) = default;
};

std::string encode_mark(const DirectoryMark& mark);
// Parses a mark. `path`: for messages. kCorruption; kWrongVersion.
Result<DirectoryMark> parse_mark(std::string_view text, const std::string& path);

// Reads the mark of a directory; nothing if there is none. kCorruption, kWrongVersion, kIoError.
Result<std::optional<DirectoryMark>> read_mark(Device* device);
// Writes the mark of a directory durably, in place of an older one. A crash leaves the older mark,
// or none if there was none, or the new one.
Status write_mark(Device* device, const DirectoryMark& mark);

}  // namespace foedus::device
