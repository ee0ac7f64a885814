#pragma once
// A figure of the papers: what it claims, and the measurements that say whether it is so here.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/common/json_line.h"
#include "foedus/status.h"

namespace experiments::tiers {

struct Plan {
  std::string dir;        // of the databases, each in a directory of its own below it
  bool is_quick = false;  // smaller and shorter: shows that the figure can be drawn, and its shape
  std::uint32_t rounds = 3;  // in which measurements that are compared take turns; at least 1
  std::uint32_t sessions = 2;
  std::uint64_t seed = 1;
};

struct Verdict {
  std::string ours;
  bool is_same = false;  // the paper's claim holds here
};

struct Figure {
  const char* name;
  const char* claim;
  foedus::Result<Verdict> (*draw)(const Plan& plan);
};

foedus::Result<Verdict> draw_foedus_8(const Plan& plan);
foedus::Result<Verdict> draw_hyrise_1(const Plan& plan);
foedus::Result<Verdict> draw_data_size(const Plan& plan);
foedus::Result<Verdict> draw_warehouses(const Plan& plan);
foedus::Result<Verdict> draw_drill_down(const Plan& plan);
foedus::Result<Verdict> draw_hybrid(const Plan& plan);
foedus::Result<Verdict> draw_nvm_latency(const Plan& plan);
foedus::Result<Verdict> draw_dram_size(const Plan& plan);
foedus::Result<Verdict> draw_large_data(const Plan& plan);
foedus::Result<Verdict> draw_updates(const Plan& plan);
foedus::Result<Verdict> draw_pb_nvm(const Plan& plan);
foedus::Result<Verdict> draw_ramp_up(const Plan& plan);
foedus::Result<Verdict> draw_wear(const Plan& plan);

const std::vector<Figure>& all_figures();

// Prints one point of a curve to stdout, as a JSON line.
void print_point(const char* figure, const std::string& curve, const JsonObject& members);

// Returns the median. REQUIRES: there are values.
double median_of(std::vector<double> values);

}  // namespace experiments::tiers
