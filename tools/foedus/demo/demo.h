#pragma once
// The command `foedus demo`: two databases under TPC-C, one with snapshots and one that has only
// its log, on a page of this machine. See README.md.

#include <cstdint>
#include <iosfwd>
#include <string>

#include "tools/foedus/commands.h"

namespace foedus::cli {

struct DemoPlan {
  std::uint16_t port = 8047;  // 0: any that is free
  std::string dir;            // holds the directory of the databases; empty: /dev/shm or $TMPDIR
  std::uint32_t warehouses = 1;
  std::uint32_t sessions = 1;  // of each database
  bool is_small = false;       // a hundredth of the rows of TPC-C, for tests
};

// Serves the page until SIGINT or SIGTERM, then ends both processes and removes their files.
// REQUIRES: the process has no other threads, which would take the signals.
// Returns kCannotRead, with a message in `err`: this build has no demo, the port is in use, or the
// directory cannot be written.
ExitStatus run_demo(const DemoPlan& plan, std::ostream* out, std::ostream* err);

}  // namespace foedus::cli
