// history_check [--history FILE]: checks a history (FORMAT.md) from a file or from standard input.
// It prints one JSON line of counts, and each anomaly to stderr. Exit status 0: none.

#include <gflags/gflags.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/isolation/checker/checker.h"
#include "tests/isolation/history_json.h"
#include "tests/isolation/report.h"

DEFINE_string(history, "", "file with the history; empty: standard input");
DEFINE_uint64(anomalies, 20, "how many are reported at most");

int main(int argc, char** argv) {
  using namespace foedus::isolation;
  gflags::SetUsageMessage("checks a history for isolation and durability");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::ifstream file;
  if (!FLAGS_history.empty()) {
    file.open(FLAGS_history);
    if (!file) {
      std::fprintf(stderr, "cannot open %s\n", FLAGS_history.c_str());
      return 2;
    }
  }
  std::istream& in = FLAGS_history.empty() ? std::cin : file;
  Checker checker(FLAGS_anomalies);
  std::string text;
  for (std::uint64_t number = 1; std::getline(in, text); ++number) {
    Line line;
    std::string why;
    if (!parse_line(text, &line, &why)) {
      std::fprintf(stderr, "line %llu: %s\n", static_cast<unsigned long long>(number), why.c_str());
      return 2;
    }
    checker.add(std::move(line));
  }
  checker.finish();
  print_anomalies(checker);
  std::printf("{%s}\n", stats_json(checker).c_str());
  return checker.anomalies().empty() ? 0 : 1;
}
