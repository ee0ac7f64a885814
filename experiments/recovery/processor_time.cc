#include "experiments/recovery/processor_time.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace experiments::recovery {

namespace {

double ms_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

}  // namespace

ProcessorTime ProcessorTime::now() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  ProcessorTime time;
  time.own_ms = ms_of(usage.ru_utime) + ms_of(usage.ru_stime);
  // The first line of proc(5)'s stat; all zero where there is none.
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  const double ms_per_tick = 1e3 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  time.all_ms = (user + nice + system + irq + softirq) * ms_per_tick;
  time.stolen_ms = steal * ms_per_tick;
  time.waited_ms = iowait * ms_per_tick;
  return time;
}

ProcessorTime ProcessorTime::since(const ProcessorTime& start) const {
  return {own_ms - start.own_ms, all_ms - start.all_ms, stolen_ms - start.stolen_ms,
          waited_ms - start.waited_ms};
}

}  // namespace experiments::recovery
