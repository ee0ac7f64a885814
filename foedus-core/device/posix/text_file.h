#pragma once
// Text files of the system, such as those below /proc and /sys.

#include <optional>
#include <string>

namespace foedus::device {

// Returns the text of the file, its first MiB at most; nothing if it cannot be read.
std::optional<std::string> read_text(const std::string& path);

}  // namespace foedus::device
