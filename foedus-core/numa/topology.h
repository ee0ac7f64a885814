#pragma once
// Topology: the SOCs of the machine, or as many emulated ones as were asked for.
//
//   N1  A real SOC is a NUMA node that has processors and memory. The machine's nodes are trusted
//       only after get_mempolicy and mbind were seen to work: numa_available() of libnuma 2.0.16
//       says yes in containers that refuse both.
//   N2  Emulated SOCs differ in nothing but their number: their memory lies anywhere and their
//       threads run anywhere, and every other path of the engine is the same.
//   N3  A Topology never changes. It may be copied and read by any thread.

#include <cstdint>
#include <vector>

#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::numa {

class Topology {
 public:
  // `socs` as in Options::socs: 0 stands for the machine's number; that number itself is real, too.
  // Fails with kInvalidArgument above kMaxSocs.
  static Result<Topology> make(std::uint32_t socs);

  std::uint32_t socs() const { return socs_; }
  bool is_emulated() const { return nodes_.empty(); }
  // Sessions are dealt out to SOCs in turn.
  std::uint32_t soc_of_session(std::uint32_t session) const { return session % socs_; }
  // The NUMA node of a SOC. REQUIRES: not is_emulated().
  int node_of(std::uint32_t soc) const;

  // kRequire fails with kNotSupported if memory and threads cannot be bound to SOCs here.
  Status check_binding(Facility numa_binding) const;
  // True if binding was not switched off and works.
  bool can_bind(Facility numa_binding) const {
    return numa_binding != Facility::kOff && !is_emulated();
  }

  // Lets the calling thread run on the processors of that SOC only. Does nothing if SOCs are
  // emulated.
  Status pin_thread_to(std::uint32_t soc) const;

 private:
  Topology(std::uint32_t socs, std::vector<int> nodes) : socs_(socs), nodes_(std::move(nodes)) {}

  std::uint32_t socs_;
  std::vector<int> nodes_;  // by SOC; empty: emulated
};

// Memory of the machine, in bytes; the process may be granted less.
std::uint64_t physical_memory_bytes();

}  // namespace foedus::numa
