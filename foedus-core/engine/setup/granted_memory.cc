// The files of the system are described in proc(5), cgroups(7) and the kernel's
// cgroup-v1/memory.rst and cgroup-v2.rst.
#include "foedus-core/engine/setup/granted_memory.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "foedus-core/device/posix/text_file.h"
#include "foedus-core/page/page_pool.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kUnlimited = MemoryGrants::kUnlimited;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Returns the number that `text` begins with after blanks, or kUnlimited if no number stands there,
// for example in "max".
std::uint64_t number_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? number : kUnlimited;
}

// Returns the number that follows `word` on the line that begins with `word`, or kUnlimited if
// there is no such line.
std::uint64_t number_of_line(std::string_view text, std::string_view word) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(word)) return number_in(line.substr(word.size()));
  }
  return kUnlimited;
}

bool has_word(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// ---- cgroups ---------------------------------------------------------------------------------

// Replaces octal escapes by the characters: mountinfo writes a blank as \040, for example.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size();
    if (!is_escape) {
      plain += text[i];
      continue;
    }
    plain +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

// A hierarchy of cgroups that can limit memory, and the place where it is mounted.
struct Hierarchy {
  bool is_v2 = false;
  std::string root;   // cgroup that the mount shows as its top
  std::string mount;  // directory at which it is mounted
};

// Returns the hierarchy of a line of mountinfo, or nothing if its cgroups do not limit memory. The
// line: 36 35 98:0 /root /mount options [fields]... - type source super_options
std::optional<Hierarchy> parse_mount(std::string_view line) {
  const std::size_t dash = line.find(" - ");
  if (dash == line.npos) return std::nullopt;
  const auto before = split(line.substr(0, dash), ' ');
  const auto behind = split(line.substr(dash + 3), ' ');
  if (before.size() < 5 || behind.size() < 3) return std::nullopt;
  const bool is_v2 = behind[0] == "cgroup2";
  if (!is_v2 && (behind[0] != "cgroup" || !has_word(behind[2], "memory"))) return std::nullopt;
  return Hierarchy{is_v2, unescaped(before[3]), unescaped(before[4])};
}

// Returns the process's own cgroup from the text of /proc/self/cgroup. The line that has it is, for
// example, 4:memory:/path, and in version 2 it is 0::/path.
std::optional<std::string> own_cgroup(std::string_view text, bool is_v2) {
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = is_v2 ? line.starts_with("0::") : has_word(controllers, "memory");
    if (is_it) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// Returns the path from `root`, the cgroup that the mount shows as its top, down to `cgroup`.
// Returns an empty path if `cgroup` is that top, or if the mount does not show `cgroup`. The caller
// then reads the limits of the top. In a container the top is often the container's own cgroup,
// although /proc/self/cgroup has another path.
std::string path_below(std::string_view cgroup, std::string_view root) {
  if (root == "/") root = "";
  const bool is_below =
      cgroup.starts_with(root) && (cgroup.size() == root.size() || cgroup[root.size()] == '/');
  if (!is_below || cgroup.find("/..") != cgroup.npos) return "";
  std::string path(cgroup.substr(root.size()));
  while (path.ends_with('/')) path.pop_back();
  return path;
}

std::uint64_t limit_at(const std::string& directory, bool is_v2) {
  const auto text = [&](const char* name) {
    return device::read_text(directory + "/" + name).value_or("");
  };
  if (is_v2) return std::min(number_in(text("memory.max")), number_in(text("memory.high")));
  return std::min(number_in(text("memory.limit_in_bytes")),
                  number_of_line(text("memory.stat"), "hierarchical_memory_limit "));
}

// Returns the least limit of the cgroup at `path` and of those of its ancestors that the mount
// shows.
std::uint64_t limit_of(const std::string& root, const Hierarchy& hierarchy, std::string path) {
  std::uint64_t least = kUnlimited;
  for (;;) {
    least = std::min(least, limit_at(root + hierarchy.mount + path, hierarchy.is_v2));
    if (path.empty()) return least;
    path.resize(path.rfind('/'));
  }
}

std::uint64_t cgroup_limit(const std::string& root) {
  const auto cgroups = device::read_text(root + "/proc/self/cgroup");
  const auto mounts = device::read_text(root + "/proc/self/mountinfo");
  if (!cgroups.has_value() || !mounts.has_value()) return kUnlimited;
  std::uint64_t least = kUnlimited;
  for (const std::string_view line : split(*mounts, '\n')) {
    const auto hierarchy = parse_mount(line);
    if (!hierarchy.has_value()) continue;
    const auto own = own_cgroup(*cgroups, hierarchy->is_v2);
    if (!own.has_value()) continue;
    least = std::min(least, limit_of(root, *hierarchy, path_below(*own, hierarchy->root)));
  }
  return least;
}

// ---- addresses -------------------------------------------------------------------------------

// Returns the soft limit of RLIMIT_AS less the addresses in use. In the line of /proc/self/limits
// the soft limit stands first: "Max address space 4294967296 unlimited bytes".
std::uint64_t addresses_left(const std::string& root) {
  const auto limits = device::read_text(root + "/proc/self/limits");
  if (!limits.has_value()) return kUnlimited;
  const std::uint64_t limit = number_of_line(*limits, "Max address space ");
  if (limit == kUnlimited) return kUnlimited;
  const auto status = device::read_text(root + "/proc/self/status").value_or("");
  const std::uint64_t used_kib = number_of_line(status, "VmSize:");
  const std::uint64_t used = used_kib == kUnlimited ? 0 : used_kib << 10;
  return limit - std::min(limit, used);
}

}  // namespace

MemoryGrants read_memory_grants(const std::string& root) {
  MemoryGrants grants;
  grants.cgroup_bytes = cgroup_limit(root);
  grants.address_bytes = addresses_left(root);
  return grants;
}

MemoryDefault choose_memory(const MemoryGrants& grants) {
  constexpr std::uint64_t kWhole = ~((std::uint64_t{1} << 20) - 1);
  const std::uint64_t physical = grants.physical_bytes / 2;
  const std::uint64_t cgroup = grants.cgroup_bytes / 2;
  const std::uint64_t addresses = grants.address_bytes / 4;
  const std::uint64_t least = std::min({physical, cgroup, addresses});
  MemoryDefault chosen;
  if (least == physical) {
    chosen.reason = "half of the machine's " + size_in_words(grants.physical_bytes);
  } else if (least == cgroup) {
    chosen.reason = "half of the cgroup's " + size_in_words(grants.cgroup_bytes);
  } else {
    chosen.reason =
        "a quarter of the " + size_in_words(grants.address_bytes) + " that RLIMIT_AS leaves";
  }
  chosen.is_least = least < kMemoryBytesMin;
  chosen.bytes = std::clamp(least & kWhole, kMemoryBytesMin, page::PagePool::kBytesMax);
  return chosen;
}

std::string size_in_words(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  std::uint64_t rest = 0;  // remainder in the next smaller unit, below 1024
  for (; unit + 1 < std::size(kUnits) && bytes >= 1024; ++unit) {
    rest = bytes % 1024;
    bytes /= 1024;
  }
  const std::uint64_t tenth = rest * 10 / 1024;
  return std::to_string(bytes) + (tenth == 0 ? "" : "." + std::to_string(tenth)) + kUnits[unit];
}

}  // namespace foedus::engine
