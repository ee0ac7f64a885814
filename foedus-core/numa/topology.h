#pragma once
// Topology: the SOCs of the machine, or as many emulated ones as were asked for.
//
//   N1  A real SOC is a NUMA node that has memory and processors which this process may use. The
//       machine's nodes are trusted only after get_mempolicy and mbind were seen to work:
//       numa_available() of libnuma 2.0.16 says yes in containers that refuse both.
//   N2  Emulated SOCs differ in nothing but their number: their memory lies anywhere, their
//       background threads run anywhere, and every other path of the engine is the same. The
//       processors are dealt out to them (N8), so that sessions belong to SOCs by the same rule.
//   N3  A Topology never changes. It may be copied and read by any thread.
//   N10  Where there are several real SOCs, background threads are bound to the processors of
//        theirs. This holds only if a thread was seen to be bound to each SOC when the topology was
//        made. A single SOC has all processors, so there is nothing to bind.

#include <cstdint>
#include <span>
#include <vector>

#include "foedus-core/numa/processor_map.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::numa {

class Topology {
 public:
  // Finds the SOCs. `socs` is Options::socs: 0 stands for the machine's number, and that number
  // itself gives real SOCs, too. `processors` is base::Runtime::processors(): unless it is 0, all
  // SOCs are emulated, and that many processors are dealt out to them. Fails with kInvalidArgument
  // above kMaxSocs.
  static Result<Topology> make(std::uint32_t socs, std::uint32_t processors = 0);

  std::uint32_t socs() const { return socs_; }
  // Returns how many processors all SOCs have together.
  std::uint32_t processors() const { return map_.processors(); }
  bool is_emulated() const { return nodes_.empty(); }
  // Returns the SOCs that threads on `processor` belong to.
  SocRange socs_of(std::uint32_t processor) const { return map_.socs_of(processor); }
  // Returns the NUMA node of a SOC. REQUIRES: not is_emulated().
  int node_of(std::uint32_t soc) const;

  // Succeeds unless `binding` is kRequire and memory and threads cannot be bound to SOCs here: then
  // kNotSupported.
  Status check_binding(Facility numa_binding) const;
  // Returns true if binding was not switched off and works, of memory and of threads.
  bool can_bind(Facility numa_binding) const {
    return numa_binding != Facility::kOff && !is_emulated() && can_bind_threads_;
  }
  // Returns the processors that a background thread of `soc` is to be bound to; empty: it runs
  // anywhere (N10).
  std::span<const std::uint32_t> background_processors(std::uint32_t soc,
                                                       Facility numa_binding) const;

 private:
  Topology(std::uint32_t socs, ProcessorMap map) : socs_(socs), map_(std::move(map)) {}

  std::uint32_t socs_;
  ProcessorMap map_;
  std::vector<int> nodes_;  // by SOC; empty: emulated
  std::vector<std::vector<std::uint32_t>> processors_;  // by SOC, ascending; empty: emulated
  bool can_bind_threads_ = false;
};

// Memory of the machine, in bytes; the process may be granted less.
std::uint64_t physical_memory_bytes();

}  // namespace foedus::numa
