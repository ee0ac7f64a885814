#include "experiments/common/placement.h"

#include <gflags/gflags.h>
#include <sched.h>

#include <string>
#include <vector>

#include "experiments/common/options.h"

namespace experiments {

namespace {

// Those that this program may run on when it first asks, ascending: threads that are bound later do
// not count.
const std::vector<std::uint32_t>& processors_of_process() {
  static const std::vector<std::uint32_t> processors = [] {
    std::vector<std::uint32_t> found;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return found;
    for (std::uint32_t i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) found.push_back(i);
    }
    return found;
  }();
  return processors;
}

void add_soc(foedus::SocStats* sum, const foedus::SocStats& one) {
  sum->sessions += one.sessions;
  sum->pages_taken_local += one.pages_taken_local;
  sum->pages_taken_remote += one.pages_taken_remote;
  sum->pages_touched_local += one.pages_touched_local;
  sum->pages_touched_remote += one.pages_touched_remote;
}

JsonObject as_json(const foedus::SocStats& stats) {
  JsonObject object;
  object.add("sessions", stats.sessions);
  object.add("pages_taken_local", stats.pages_taken_local);
  object.add("pages_taken_remote", stats.pages_taken_remote);
  object.add("pages_touched_local", stats.pages_touched_local);
  object.add("pages_touched_remote", stats.pages_touched_remote);
  return object;
}

}  // namespace

void bind_worker_by_flags(std::uint32_t worker, std::uint32_t workers) {
  if (!FLAGS_bind) return;
  const std::vector<std::uint32_t>& processors = processors_of_process();
  if (processors.empty()) return;
  const std::size_t rank = std::size_t{worker} * processors.size() / workers;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processors[rank % processors.size()], &set);
  static_cast<void>(sched_setaffinity(0, sizeof(set), &set));  // else it runs where it can
}

JsonObject placement_between(const foedus::Stats& before, const foedus::Stats& after) {
  foedus::SocStats sum;
  std::string by_soc;
  for (std::size_t soc = 0; soc < after.socs.size(); ++soc) {
    foedus::SocStats one = after.socs[soc];
    if (soc < before.socs.size()) {
      one.pages_touched_local -= before.socs[soc].pages_touched_local;
      one.pages_touched_remote -= before.socs[soc].pages_touched_remote;
    }
    add_soc(&sum, one);
    by_soc += (soc == 0 ? "" : ",") + as_json(one).text();
  }
  JsonObject object = as_json(sum);
  object.add_raw("by_soc", "[" + by_soc + "]");
  return object;
}

}  // namespace experiments
