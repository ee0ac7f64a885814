#include "experiments/common/result_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "experiments/common/text.h"

namespace experiments {

namespace {

using Member = JsonObject::Member;
using Members = std::vector<Member>;

// Members of the first line of a table, and those that only someone asks for who knows the engine.
constexpr std::array<std::string_view, 26> kNotShown = {"experiment",
                                                        "commit",
                                                        "machine",
                                                        "options",
                                                        "default_options",
                                                        "placement",
                                                        "samples",
                                                        "checksum",
                                                        "gleaned_records",
                                                        "gleaned_log_bytes",
                                                        "snapshot_pages_written",
                                                        "volatile_pages_dropped",
                                                        "volatile_pages_spared",
                                                        "log_bytes_behind_max",
                                                        "log_bytes_behind_bound",
                                                        "cache_bytes",
                                                        "cache_hits",
                                                        "log_bytes_since_open",
                                                        "volatile_page_bytes",
                                                        "volatile_page_bytes_max",
                                                        "log_buffer_bytes",
                                                        "free_page_bytes",
                                                        "data_bytes",
                                                        "reserved_bytes",
                                                        "gleaner_cpu_s",
                                                        "snapshot_at_open"};

// The first rows of a table, where a line has them.
constexpr std::array<std::string_view, 5> kFirst = {"txn_per_s", "ops_per_s", "aborts",
                                                    "latency_us", "durable_latency_us"};

template <std::size_t kCount>
bool is_in(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Member* find(const Members& members, std::string_view name) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.name == name; });
  return found == members.end() ? nullptr : &*found;
}

std::string unquoted(const std::string& json) {
  return json.size() >= 2 && json.front() == '"' ? json.substr(1, json.size() - 2) : json;
}

// Returns a number with three digits of precision if it is small, and with its thousands apart if
// it is large.
std::string grouped(double value) {
  if (value < 0) return "-" + grouped(-value);
  if (value < 1000) return text("%.3g", value);
  std::string digits = text("%.0f", value);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return grouped(bytes) + " " + kUnits[unit];
}

// Ends of names that say the unit of a value.
struct Unit {
  std::string_view ending;
  std::string_view text;
};
constexpr std::array<Unit, 9> kUnits = {{{"_per_s", "/s"},
                                         {"_seconds", " s"},
                                         {"_ms", " ms"},
                                         {"_ms_max", " ms"},
                                         {"_us", " us"},
                                         {"_us_max", " us"},
                                         {"_s", " s"},
                                         {"_share", " %"},
                                         {"_bytes", ""}}};

const Unit* unit_of(std::string_view name) {
  const auto* const found = std::find_if(
      kUnits.begin(), kUnits.end(), [&](const Unit& unit) { return name.ends_with(unit.ending); });
  return found == kUnits.end() ? nullptr : found;
}

// Members whose names say little to people.
struct Label {
  std::string_view name;
  std::string_view text;
};
constexpr std::array<Label, 6> kLabels = {
    {{"txn_per_s", "transactions"},
     {"ops_per_s", "operations"},
     {"peak_memory_bytes", "memory at most"},
     {"stall_ms_max", "longest stall"},
     {"writers_waited_share", "writers waited"},
     {"gleaner_cpu_s_per_million_records", "gleaner, s/M records"}}};

// Returns a value as people read it, with the unit that the end of the name says.
std::string value_text(const Member& member) {
  if (member.json == "true") return "yes";
  if (member.json == "false") return "no";
  char* end = nullptr;
  const double value = std::strtod(member.json.c_str(), &end);
  const bool is_number = end == member.json.c_str() + member.json.size();
  if (!is_number) return unquoted(member.json);
  const Unit* const unit = unit_of(member.name);
  if (unit == nullptr) return grouped(value);
  if (unit->ending == "_bytes") return bytes_text(value);
  return grouped(unit->ending == "_share" ? value * 100 : value) + std::string(unit->text);
}

// Returns a name with the words apart, and without the unit that value_text() shows.
std::string label_of(std::string_view name) {
  for (const Label& label : kLabels) {
    if (label.name == name) return std::string(label.text);
  }
  const Unit* const unit = unit_of(name);
  if (unit != nullptr) name.remove_suffix(unit->ending.size());
  std::string label(name);
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

bool is_nothing(const Member& member) {
  return member.json == "null" || member.json == "{}" || member.json == "[]" ||
         member.json == "\"\"" || member.json.find_first_not_of("0.") == std::string::npos;
}

std::string row(const std::string& label, const std::string& value) {
  return text("  %-24s %s\n", label.c_str(), value.c_str());
}

std::string latency_row(const std::string& label, const Members& latency) {
  std::string line = text("  %-24s", label.c_str());
  for (const char* const name : {"p50", "p99", "p999", "count"}) {
    const Member* const member = find(latency, name);
    line += text(" %12s", member == nullptr ? "" : value_text(*member).c_str());
  }
  return line + "\n";
}

// Returns the rows of latencies, of one kind of operation or by kind.
std::string latency_rows(const Member& member) {
  std::string rows = text("  %-24s %12s %12s %12s %12s\n", (label_of(member.name) + ", us").c_str(),
                          "p50", "p99", "p99.9", "count");
  if (find(member.members, "p50") != nullptr) return rows + latency_row("", member.members);
  for (const Member& kind : member.members) {
    rows += latency_row("  " + label_of(kind.name), kind.members);
  }
  return rows;
}

bool is_latency(const Member& member) {
  if (find(member.members, "p50") != nullptr) return true;
  return !member.members.empty() && find(member.members.front().members, "p50") != nullptr;
}

// Returns "a 1, b 2" of an object of values; what is zero is left out.
std::string list_text(const Members& members) {
  std::string list;
  for (const Member& member : members) {
    if (is_nothing(member)) continue;
    if (!list.empty()) list += ", ";
    list += label_of(member.name) + " " + value_text(member);
  }
  return list.empty() ? "none" : list;
}

std::string rows_of(const Member& member) {
  if (is_latency(member)) return latency_rows(member);
  if (!member.members.empty()) return row(label_of(member.name), list_text(member.members));
  return row(label_of(member.name), value_text(member));
}

std::string heading(const Members& members) {
  const auto of = [&](std::string_view name) {
    const Member* const member = find(members, name);
    return member == nullptr ? std::string() : unquoted(member->json);
  };
  std::string line = of("experiment") + ", commit " + of("commit") + ", " + of("machine");
  const Member* const options = find(members, "options");
  const Member* const seed = options == nullptr ? nullptr : find(options->members, "seed");
  if (seed != nullptr) line += ", seed " + seed->json;
  if (of("default_options") == "true") line += ", default options";
  return line + "\n";
}

}  // namespace

std::string result_table(const JsonObject& line) {
  const Members& members = line.members();
  std::string table = "\n" + heading(members);
  for (const std::string_view name : kFirst) {
    const Member* const member = find(members, name);
    if (member != nullptr && !is_nothing(*member)) table += rows_of(*member);
  }
  for (const Member& member : members) {
    if (is_in(kFirst, member.name) || is_in(kNotShown, member.name) || is_nothing(member)) continue;
    table += rows_of(member);
  }
  return table + "  (all figures and options: --json)";
}

}  // namespace experiments
