#pragma once
// Stands in for numa/soc_memory.h: one static piece of memory, the same in all executions. A plain
// variable says whether it was committed; each user of memory has to read it (check_committed()).

#include <cstdint>
#include <utility>

#include "foedus-core/numa/topology.h"
#include "tests/models/harness/model.h"

namespace foedus::numa {

class SocMemory {
 public:
  static constexpr std::uint64_t kSmallPageBytes = 4096;
  static constexpr std::uint64_t kHugePageBytes = 2u << 20;

  // The committed bytes of the pool or cache.
  struct Committed {
    model::Plain<std::uint64_t> bytes{0};
  };
  static inline Committed* committed = nullptr;
  static void check_committed(const void* address) {
    const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(address) - memory);
    model::require(offset < committed->bytes.get(), "only committed memory is used");
  }

  static Result<SocMemory> reserve(std::uint64_t, Facility) { return SocMemory(); }
  Status place(const Topology&, std::uint32_t, std::uint64_t, std::uint64_t, Facility) {
    return {};
  }
  Status commit(std::uint64_t offset, std::uint64_t bytes) {
    committed->bytes.set(offset + bytes);
    return {};
  }
  void prefault(std::uint64_t, std::uint64_t) {}

  char* begin() const { return memory; }
  bool has_huge_pages() const { return false; }
  bool is_bound() const { return false; }

 private:
  alignas(kHugePageBytes) static inline char memory[kHugePageBytes];
};

}  // namespace foedus::numa
