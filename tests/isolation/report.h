#pragma once
// The results of a checker, for a person and as members of a JSON line.

#include <string>

#include "tests/isolation/checker/checker.h"

namespace foedus::isolation {

// Prints all anomalies to stderr.
void print_anomalies(const Checker& checker);
// Returns "name":value,…
std::string stats_json(const Checker& checker);

}  // namespace foedus::isolation
