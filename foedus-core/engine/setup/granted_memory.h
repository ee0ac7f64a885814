#pragma once
// The memory that the system grants a process, and the default of Options::memory_bytes. The
// default is the least of half the machine's memory, half of what the process's cgroup grants, and
// a quarter of the addresses that RLIMIT_AS leaves. It is no less than kMemoryBytesMin, even if
// less is granted, and no more than a page pool can have.
//
// Half of the memory is left to the program, the page cache of the system, and memory that the
// engine takes beside memory_bytes. Three quarters of the addresses are left: a page pool reserves
// up to twice its size, and each thread has a stack and a heap.

#include <cstdint>
#include <string>

namespace foedus::engine {

inline constexpr std::uint64_t kMemoryBytesMin = 64u << 20;

struct MemoryGrants {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t physical_bytes = kUnlimited;
  // Least of the limits of the process's cgroup and of those of its ancestors that the process can
  // see.
  std::uint64_t cgroup_bytes = kUnlimited;
  // Bytes of address space that RLIMIT_AS leaves to the process.
  std::uint64_t address_bytes = kUnlimited;
};

// Reads cgroup_bytes and address_bytes from the files of the system below `root`: "" for those of
// this machine; tests have other roots. A file that cannot be read sets no limit.
MemoryGrants read_memory_grants(const std::string& root);

struct MemoryDefault {
  std::uint64_t bytes = 0;
  bool is_least = false;  // `bytes` is kMemoryBytesMin, and the grants allow less
  std::string reason;     // "half of the cgroup's 238 MiB"
};

MemoryDefault choose_memory(const MemoryGrants& grants);

// Returns a size as text for people, rounded down to a tenth of its unit: "119 MiB", "1.5 GiB".
std::string size_in_words(std::uint64_t bytes);

}  // namespace foedus::engine
