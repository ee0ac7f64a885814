#pragma once
// One process of a run: it opens the database, shows the rows that it finds, and works until it is
// killed, or for its time, and closes.

#include <cstdint>
#include <string>

#include "foedus/foedus.h"
#include "tests/kills/ledger.h"

namespace foedus::kills {

struct VictimPlan {
  std::string dir;
  std::string ack_file;  // of TPC-C
  std::uint64_t seed = 1;
  std::uint32_t number = 0;         // of the process
  std::uint32_t tellers = 2;        // 0 .. kTellersMax
  std::uint32_t tpcc_sessions = 1;  // 0: no TPC-C
  std::uint32_t socs = 1;
  bool is_spread = false;  // over two more directories; their order and the loggers change
  bool is_tiered = false;  // snapshots lie on an SSD tier, too, of another directory
  DeviceKind device = DeviceKind::kFile;
  std::uint64_t memory_bytes = 256u << 20;
  bool checks_all = false;  // receipts, the consistency of TPC-C, and all its acks
  double seconds = 0;       // of work; then it closes the database
};

// Runs the process. kOutOfSpace: there is no space to open the database, or to load TPC-C.
Status run_victim(const VictimPlan& plan, Ledger* ledger);

}  // namespace foedus::kills
