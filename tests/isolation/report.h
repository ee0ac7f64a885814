#pragma once
// What a checker found, for a person and as members of a JSON line.

#include <string>

#include "tests/isolation/checker.h"

namespace foedus::isolation {

// To stderr.
void print_anomalies(const Checker& checker);
// "name":value,…
std::string stats_json(const Checker& checker);

}  // namespace foedus::isolation
