#pragma once
// ProcessorTime: what this process and what all the machine had of its processors, since the
// machine started. Between two of them: whether something else was slow, or was kept from running.

namespace experiments::recovery {

struct ProcessorTime {
  double own_ms = 0;     // of this process, all threads
  double all_ms = 0;     // of all processes, and of the system
  double stolen_ms = 0;  // that the machine's host gave to others
  double waited_ms = 0;  // idle, while some process waited for a device

  static ProcessorTime now();
  ProcessorTime since(const ProcessorTime& start) const;
};

}  // namespace experiments::recovery
