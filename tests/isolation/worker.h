#pragma once
// The work of a process of a run: it opens the database, audits it after a crash, and runs windows
// until it gets the answer to stop.

#include <functional>
#include <vector>

#include "tests/isolation/run.h"
#include "tests/isolation/session_worker.h"

namespace foedus::isolation {

// Takes the lines that are no transactions, in order. At a kWindow the tapes are complete, and the
// result is whether to go on.
using LineSink = std::function<bool(const Line&)>;

struct WorkerParts {
  const RunOptions* options;
  std::uint32_t process;  // from 1 on
  SharedState* shared;
  std::vector<Tape> tapes;  // one for each session
  LineSink sink;
  RunResult* result;
};

Status run_worker(const WorkerParts& parts);

}  // namespace foedus::isolation
