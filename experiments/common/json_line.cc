#include "experiments/common/json_line.h"

#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <thread>

#include "experiments/common/options.h"
#include "experiments/common/result_table.h"

namespace experiments {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The value behind "<name>...:" in a file of /proc; empty if there is none.
std::string proc_value(const char* file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos && begin != std::string::npos) return line.substr(begin);
  }
  return {};
}

std::uint64_t kilobytes(const std::string& value) {
  return value.empty() ? 0 : std::stoull(value) * 1024;
}

std::string first_line_of(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  char line[256] = {};
  const bool got = std::fgets(line, sizeof(line), pipe) != nullptr;
  const int status = pclose(pipe);
  if (!got || status != 0) return {};
  std::string text = line;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

JsonObject& JsonObject::add(std::string_view name, double value) {
  if (!std::isfinite(value)) return add_raw(name, "null");
  char text[64];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return add_raw(name, text);
}

JsonObject& JsonObject::add(std::string_view name, std::string_view value) {
  return add_raw(name, quoted(value));
}

JsonObject& JsonObject::add(std::string_view name,
                            const std::map<std::string, std::uint64_t>& counts) {
  JsonObject inner;
  for (const auto& [key, count] : counts) inner.add(key, count);
  return add(name, inner);
}

JsonObject& JsonObject::add_raw(std::string_view name, std::string_view json) {
  members_.push_back({std::string(name), std::string(json), {}});
  return *this;
}

std::string JsonObject::text() const {
  std::string text = "{";
  for (const Member& member : members_) {
    if (text.size() > 1) text += ", ";
    text += quoted(member.name) + ": " + member.json;
  }
  return text + "}";
}

JsonObject spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  JsonObject spread;
  spread.add("median", values[values.size() / 2]);
  spread.add("min", values.front());
  spread.add("max", values.back());
  return spread;
}

JsonObject latency_us(const Histogram& histogram) {
  constexpr double kNanosecondsPerUs = 1000;
  JsonObject object;
  object.add("count", histogram.count());
  object.add("p50", histogram.percentile(0.5) / kNanosecondsPerUs);
  object.add("p99", histogram.percentile(0.99) / kNanosecondsPerUs);
  object.add("p999", histogram.percentile(0.999) / kNanosecondsPerUs);
  return object;
}

std::string source_commit() {
  // The compiler was given an absolute path to this file by the build; git finds its repository.
  const std::string file = __FILE__;
  const std::string folder = file.substr(0, file.find_last_of('/'));
  const std::string found = first_line_of("git -C '" + folder +
                                          "' describe --always --dirty --abbrev=12 --exclude '*'"
                                          " 2>/dev/null");
  return found.empty() ? "unknown" : found;
}

std::string machine() {
  std::string text = proc_value("/proc/cpuinfo", "model name");
  if (text.empty()) text = "unknown processor";
  text += " x " + std::to_string(std::thread::hardware_concurrency());
  const std::uint64_t memory = kilobytes(proc_value("/proc/meminfo", "MemTotal"));
  text += ", " + std::to_string(memory >> 30) + " GiB";
  utsname system{};
  if (uname(&system) == 0) text += std::string(", ") + system.sysname + " " + system.release;
  return text;
}

std::uint64_t peak_memory_bytes() { return kilobytes(proc_value("/proc/self/status", "VmHWM")); }

JsonObject begin_line(std::string_view experiment) {
  JsonObject line;
  line.add("experiment", experiment);
  line.add("commit", source_commit());
  line.add("machine", machine());
  line.add("options", options_as_json());
  line.add("default_options", options_are_default());
  return line;
}

void print_line(const JsonObject& line) {
  const bool is_for_people = isatty(STDOUT_FILENO) == 1 && !FLAGS_json;
  std::printf("%s\n", is_for_people ? result_table(line).c_str() : line.text().c_str());
  std::fflush(stdout);
}

}  // namespace experiments
