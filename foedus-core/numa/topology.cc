#include "foedus-core/numa/topology.h"

#include <numa.h>
#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/processor.h"
#include "foedus-core/base/system/thread.h"

namespace foedus::numa {

namespace {

// N1. Returns whether this process may ask for and set memory policies.
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

bool is_set(const bitmask* mask, unsigned bit) { return numa_bitmask_isbitset(mask, bit) != 0; }

// Returns the processors that the process could use when it started, ascending: a thread that opens
// a database may be bound to fewer. Not empty.
std::vector<std::uint32_t> processors_of_process() {
  std::vector<std::uint32_t> processors;
  const bitmask* const all = numa_all_cpus_ptr;
  for (unsigned i = 0; all != nullptr && i < all->size; ++i) {
    if (is_set(all, i)) processors.push_back(i);
  }
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  for (std::uint32_t i = 0; processors.empty() && i < std::max(1l, online); ++i) {
    processors.push_back(i);
  }
  return processors;
}

struct Node {
  int number;
  std::vector<std::uint32_t> processors;
};

// Returns the nodes that have memory and processors which this process may use (N1), ascending.
std::vector<Node> usable_nodes() {
  std::vector<Node> nodes;
  if (!do_policies_work()) return nodes;
  const std::vector<std::uint32_t> usable = processors_of_process();
  const Mask memory_nodes(numa_get_mems_allowed());
  const Mask mask(numa_allocate_cpumask());
  for (int number = 0; number <= numa_max_node() && nodes.size() < kMaxSocs; ++number) {
    if (!is_set(memory_nodes.get(), static_cast<unsigned>(number))) continue;
    if (numa_node_to_cpus(number, mask.get()) != 0) continue;
    Node node{number, {}};
    std::ranges::copy_if(usable, std::back_inserter(node.processors), [&](std::uint32_t processor) {
      return processor < mask->size && is_set(mask.get(), processor);
    });
    if (!node.processors.empty()) nodes.push_back(std::move(node));
  }
  return nodes;
}

// Returns whether a thread of the engine can be bound to the processors of each SOC. The calling
// thread stays where it is.
bool can_threads_be_bound(const std::vector<std::vector<std::uint32_t>>& processors) {
  if (processors.size() == 1) return true;  // N10
  bool is_bound = true;
  base::Thread probe("foedus-probe", [&] {
    for (const auto& of_soc : processors) is_bound = is_bound && base::run_on(of_soc);
  });
  probe.join();
  return is_bound;
}

}  // namespace

Result<Topology> Topology::make(std::uint32_t socs, std::uint32_t processors) {
  if (socs > kMaxSocs) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "Options::socs is " + std::to_string(socs) + ", more than " +
                             std::to_string(kMaxSocs));
  }
  if (processors != 0) {
    std::vector<std::uint32_t> numbers(processors);
    std::iota(numbers.begin(), numbers.end(), 0u);
    socs = std::max(socs, 1u);
    return Topology(socs, ProcessorMap::in_blocks(numbers, socs));
  }
  std::vector<Node> nodes = usable_nodes();
  const std::uint32_t machine_socs =
      nodes.empty() ? 1 : static_cast<std::uint32_t>(nodes.size());
  if (socs == 0) socs = machine_socs;
  if (socs != machine_socs || nodes.empty()) {
    return Topology(socs, ProcessorMap::in_blocks(processors_of_process(), socs));
  }
  std::vector<std::vector<std::uint32_t>> by_soc;
  for (Node& node : nodes) by_soc.push_back(std::move(node.processors));
  Topology topology(socs, ProcessorMap::of_socs(by_soc));
  for (const Node& node : nodes) topology.nodes_.push_back(node.number);
  topology.can_bind_threads_ = can_threads_be_bound(by_soc);
  topology.processors_ = std::move(by_soc);
  return topology;
}

int Topology::node_of(std::uint32_t soc) const {
  FOEDUS_INVARIANT(soc < nodes_.size(), soc, nodes_.size());
  return nodes_[soc];
}

Status Topology::check_binding(Facility numa_binding) const {
  if (numa_binding != Facility::kRequire || can_bind(numa_binding)) return {};
  return Status::error(ErrorCode::kNotSupported,
                       is_emulated()
                           ? "PageOptions::numa_binding is required, but this process may not set "
                             "memory policies, or Options::socs is not the machine's number of "
                             "NUMA nodes"
                           : "PageOptions::numa_binding is required, but threads of this process "
                             "cannot be bound to the processors of NUMA nodes");
}

std::span<const std::uint32_t> Topology::background_processors(std::uint32_t soc,
                                                               Facility numa_binding) const {
  FOEDUS_INVARIANT(soc < socs_, soc, socs_);
  if (socs_ == 1 || !can_bind(numa_binding)) return {};
  return processors_[soc];
}

std::uint64_t physical_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace foedus::numa
