#pragma once
// Curves of a figure: speeds of several systems over one quantity.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/tiers/figure.h"
#include "experiments/tiers/lookups.h"

namespace experiments::tiers {

// One run of a curve at one point: how fast it was, and what else its JSON line says.
struct PointSeen {
  double per_s;
  std::vector<std::pair<std::string, double>> members;
};

class Curves {
 public:
  using Measure = std::function<foedus::Result<PointSeen>()>;

  // `x_name` and `y_name` are the members of the lines that hold the point and the speed.
  Curves(const Plan& plan, const char* figure, const char* x_name, const char* y_name);

  // Measures each of the curves at the point `x`, in rounds in which they take turns, and prints a
  // line for each: median, least and most of the speeds, and the members of the last round. A
  // curve is its name and what measures it.
  foedus::Status add(double x, const std::vector<std::pair<std::string, Measure>>& curves);
  // Measures lookups in the settings, whose curves have the names of their systems.
  foedus::Status add_lookups(double x, const std::vector<LookupSetting>& settings);

  // Returns the median speed of a curve at a point. REQUIRES: it was measured.
  double speed(const char* curve, double x) const { return speeds_.at(curve).at(x); }
  // Returns how many times as fast `one` was there as `other`.
  double ratio(const System& one, const System& other, double x) const {
    return speed(one.name, x) / speed(other.name, x);
  }
  // Returns whether `one` was faster than `other` at each point, where both were measured.
  bool is_always_faster(const System& one, const System& other) const;
  // Returns the part of the speed at one point that a system has at another.
  double kept(const System& system, double from, double to) const {
    return speed(system.name, to) / speed(system.name, from);
  }

 private:
  const Plan& plan_;
  const char* const figure_;
  const char* const x_name_;
  const char* const y_name_;
  std::map<std::string, std::map<double, double>> speeds_;
};

// How many times as fast three tiers are as other systems where data fits DRAM (main memory), where
// it fits NVM, and beyond (SSD). REQUIRES: they were measured there.
struct RegionRatios {
  RegionRatios(const Curves& curves, double in_dram, double in_nvm, double in_ssd)
      : of_memory(curves.ratio(kThreeTiers, kMainMemory, in_dram)),
        of_nvm(curves.ratio(kThreeTiers, kNvmPages, in_nvm)),
        of_direct(curves.ratio(kThreeTiers, kNvmDirect, in_nvm)),
        of_ssd(curves.ratio(kThreeTiers, kSsdPages, in_ssd)) {}
  std::string text() const;

  const double of_memory;
  const double of_nvm;
  const double of_direct;
  const double of_ssd;
};

}  // namespace experiments::tiers
