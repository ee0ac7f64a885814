#include "foedus-core/numa/topology.h"

#include <errno.h>
#include <unistd.h>
#include <numa.h>
#include <numaif.h>
#include <sys/mman.h>

#include <memory>
#include <string>

#include "foedus-core/base/invariant.h"

namespace foedus::numa {

namespace {

// N1. Whether this process may ask for and set memory policies.
bool do_policies_work() {
  int mode = 0;
  if (get_mempolicy(&mode, nullptr, 0, nullptr, 0) != 0) return false;
  if (numa_available() < 0) return false;
  constexpr std::size_t kProbeBytes = 4096;
  void* const probe =
      mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) return false;
  const bool works = mbind(probe, kProbeBytes, MPOL_DEFAULT, nullptr, 0, 0) == 0;
  munmap(probe, kProbeBytes);
  return works;
}

struct FreesMask {
  void operator()(bitmask* mask) const { numa_bitmask_free(mask); }
};
using Mask = std::unique_ptr<bitmask, FreesMask>;

// Nodes that have memory which this process may use, and processors; ascending.
std::vector<int> usable_nodes() {
  std::vector<int> nodes;
  if (!do_policies_work()) return nodes;
  const Mask memory_nodes(numa_get_mems_allowed());
  const Mask processors(numa_allocate_cpumask());
  for (int node = 0; node <= numa_max_node(); ++node) {
    if (numa_bitmask_isbitset(memory_nodes.get(), static_cast<unsigned>(node)) == 0) continue;
    if (numa_node_to_cpus(node, processors.get()) != 0) continue;
    if (numa_bitmask_weight(processors.get()) != 0) nodes.push_back(node);
  }
  if (nodes.size() > kMaxSocs) nodes.resize(kMaxSocs);
  return nodes;
}

}  // namespace

Result<Topology> Topology::make(std::uint32_t socs) {
  if (socs > kMaxSocs) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "Options::socs is " + std::to_string(socs) + ", more than " +
                             std::to_string(kMaxSocs));
  }
  std::vector<int> nodes = usable_nodes();
  const std::uint32_t machine_socs =
      nodes.empty() ? 1 : static_cast<std::uint32_t>(nodes.size());
  if (socs == 0) socs = machine_socs;
  if (socs != machine_socs) nodes.clear();
  return Topology(socs, std::move(nodes));
}

int Topology::node_of(std::uint32_t soc) const {
  FOEDUS_INVARIANT(soc < nodes_.size(), soc, nodes_.size());
  return nodes_[soc];
}

Status Topology::check_binding(Facility numa_binding) const {
  if (numa_binding != Facility::kRequire || !is_emulated()) return {};
  return Status::error(ErrorCode::kNotSupported,
                       "Options::numa_binding is required, but this process may not set memory "
                       "policies, or Options::socs is not the machine's number of NUMA nodes");
}

Status Topology::pin_thread_to(std::uint32_t soc) const {
  FOEDUS_INVARIANT(soc < socs_, soc, socs_);
  if (is_emulated()) return {};
  if (numa_run_on_node(node_of(soc)) == 0) return {};
  return Status::system_error(ErrorCode::kNotSupported,
                              "cannot pin a thread to NUMA node " + std::to_string(node_of(soc)),
                              errno);
}

std::uint64_t physical_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace foedus::numa
