#pragma once
// The result of an experiment as people read it.

#include <string>

#include "experiments/common/json_line.h"

namespace experiments {

// Returns the table of a line: where it ran, what is asked for first (throughput, aborts,
// latencies), and then the other figures of the experiment that are not zero. Details of the engine
// are left out; all members are in the line's JSON.
std::string result_table(const JsonObject& line);

}  // namespace experiments
