#pragma once
// The memory that the system grants a process, and the default of Options::memory_bytes. The
// default is the least of half the machine's memory, half of what the process's cgroup grants, and
// a quarter of the addresses that RLIMIT_AS leaves. It is no less than kMemoryBytesMin.
//
// The other half is for the program, the page cache of the system, and memory of the engine beside
// memory_bytes. Of addresses it is a quarter: a page pool reserves up to twice its size, and each
// thread has a stack and a heap.

#include <cstdint>
#include <string>

namespace foedus::engine {

inline constexpr std::uint64_t kMemoryBytesMin = 64u << 20;

struct MemoryGrants {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t physical_bytes = kUnlimited;
  // The least of the limits of the process's cgroup and of all above it that can be seen.
  std::uint64_t cgroup_bytes = kUnlimited;
  // Addresses that are left to the process.
  std::uint64_t address_bytes = kUnlimited;
};

// Reads cgroup_bytes and address_bytes from the files of the system, which begin at `root`: ""
// stands for those of this machine. A file that cannot be read sets no limit.
MemoryGrants read_memory_grants(const std::string& root);

struct MemoryDefault {
  std::uint64_t bytes = 0;
  bool is_least = false;  // less was granted
  std::string reason;     // "half of the cgroup's 238 MiB"
};

MemoryDefault choose_memory(const MemoryGrants& grants);

// Returns a size for people, rounded down to a tenth: "119 MiB", "1.5 GiB".
std::string size_in_words(std::uint64_t bytes);

}  // namespace foedus::engine
