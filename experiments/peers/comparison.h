#pragma once
// Comparison: two sides, run in turns. What both meet at the same time, such as a busy neighbour on
// the machine, is in both numbers of a round, so the ratio of a round says more than either number.

#include <cstdint>
#include <vector>

#include "experiments/common/json_line.h"
#include "experiments/peers/side.h"
#include "foedus/status.h"

namespace experiments {

// Of an odd number of values the one in the middle, else the mean of the two there; 0 of none.
double median(std::vector<double> values);

class Comparison {
 public:
  Comparison(Side& ours, Side& peer) : sides_{&ours, &peer} {}

  // Each round runs both for that long; the side that goes first changes.
  foedus::Status run(std::uint32_t rounds, double seconds, std::uint64_t seed);

  // Adds medians, ratios, and of both sides aborts, latencies and log.
  void add_to(JsonObject& line) const;

 private:
  struct Total {
    std::vector<double> txn_per_s;  // by round
    SideRun sum;
    std::uint64_t log_bytes = 0;  // of all runs together
  };
  foedus::Status run_side(std::size_t which, double seconds, std::uint64_t seed);

  Side* const sides_[2];  // ours, the peer
  Total totals_[2];
};

}  // namespace experiments
