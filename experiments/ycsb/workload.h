#pragma once
// Workload: the operations of YCSB's core workloads A to F and their shares.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "experiments/common/random.h"

namespace experiments {

enum class OpKind : std::uint8_t { kRead, kUpdate, kInsert, kScan, kReadModifyWrite };
inline constexpr std::size_t kOpKinds = 5;

inline std::string_view to_string(OpKind kind) {
  constexpr std::string_view kNames[kOpKinds] = {"read", "update", "insert", "scan",
                                                 "read_modify_write"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct Workload {
  char name;
  std::uint8_t percent[kOpKinds];  // by OpKind; 100 together
  bool reads_latest = false;       // rows are chosen by how lately they were inserted

  OpKind pick(Random& random) const {
    std::uint64_t left = random.uniform(0, 99);
    std::size_t kind = 0;
    while (left >= percent[kind]) left -= percent[kind++];
    return static_cast<OpKind>(kind);
  }
  std::uint8_t share(OpKind kind) const { return percent[static_cast<std::size_t>(kind)]; }
};

//                                        read update insert scan read-modify-write
inline constexpr Workload kWorkloads[] = {{'A', {50, 50, 0, 0, 0}},
                                          {'B', {95, 5, 0, 0, 0}},
                                          {'C', {100, 0, 0, 0, 0}},
                                          {'D', {95, 0, 5, 0, 0}, true},
                                          {'E', {0, 0, 5, 95, 0}},
                                          {'F', {50, 0, 0, 0, 50}}};

// "A" or "a" .. "F"; nothing for any other name.
inline std::optional<Workload> workload_named(std::string_view name) {
  if (name.size() != 1) return std::nullopt;
  for (const Workload& workload : kWorkloads) {
    if ((name[0] & ~0x20) == workload.name) return workload;
  }
  return std::nullopt;
}

}  // namespace experiments
