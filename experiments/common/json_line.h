#pragma once
// The one JSON line that an experiment ends with, and the facts about process and machine in it.
// Plots are drawn from such lines and from nothing else. On a terminal, people get a table instead.

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/common/histogram.h"

namespace experiments {

// A JSON object under construction; members stay in the order of their addition.
class JsonObject {
 public:
  struct Member {
    std::string name;
    std::string json;
    std::vector<Member> members;  // of the object that is the value; else none
  };

  template <std::unsigned_integral T>
  JsonObject& add(std::string_view name, T value) {
    return add_raw(name, std::to_string(value));
  }
  template <std::signed_integral T>
  JsonObject& add(std::string_view name, T value) {
    return add_raw(name, std::to_string(value));
  }
  JsonObject& add(std::string_view name, bool value) {
    return add_raw(name, value ? "true" : "false");
  }
  JsonObject& add(std::string_view name, double value);  // 3 decimals; null if it is not finite
  JsonObject& add(std::string_view name, std::string_view value);
  JsonObject& add(std::string_view name, const char* value) {
    return add(name, std::string_view(value));
  }
  JsonObject& add(std::string_view name, const JsonObject& value) {
    add_raw(name, value.text());
    members_.back().members = value.members_;
    return *this;
  }
  JsonObject& add(std::string_view name, const std::map<std::string, std::uint64_t>& counts);
  // `json` must be a JSON value already.
  JsonObject& add_raw(std::string_view name, std::string_view json);

  std::string text() const;
  const std::vector<Member>& members() const { return members_; }

 private:
  std::vector<Member> members_;
};

// {"count", "p50", "p99", "p999"} of a histogram of nanoseconds, in microseconds.
JsonObject latency_us(const Histogram& histogram);

// {"median", "min", "max"} of some runs. REQUIRES: there are values.
JsonObject spread_of(std::vector<double> values);

// The commit that the sources of this program are at, as git tells it now, with "-dirty" if tracked
// files differ from it; "unknown" where there is no git or no repository.
std::string source_commit();
// Processor, its number of threads, memory and kernel, in one line.
std::string machine();
// The highest resident memory of this process so far; 0 where the kernel does not say.
std::uint64_t peak_memory_bytes();

// The members that every line begins with: experiment, commit, machine, options, default_options.
JsonObject begin_line(std::string_view experiment);
// Prints the line to stdout and flushes it. Nothing may be printed there afterwards. If stdout is a
// terminal and --json is not given, a table of the line is printed (result_table.h).
void print_line(const JsonObject& line);

}  // namespace experiments
