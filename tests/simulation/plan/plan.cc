#include "tests/simulation/plan/plan.h"

#include <cstdlib>
#include <sstream>

namespace foedus::simulation {

std::string text_of(const std::set<std::uint64_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::uint64_t first = *at;
    std::uint64_t last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
  }
  return text;
}

std::set<std::uint64_t> numbers_of(const std::string& text) {
  std::set<std::uint64_t> numbers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part.empty()) continue;
    const std::size_t dash = part.find('-');
    const std::uint64_t first = std::strtoull(part.c_str(), nullptr, 10);
    const std::uint64_t last =
        dash == std::string::npos ? first : std::strtoull(part.c_str() + dash + 1, nullptr, 10);
    for (std::uint64_t i = first; i <= last; ++i) numbers.insert(i);
  }
  return numbers;
}

bool has_large_array(const Plan& plan) { return plan.large && plan.seed % 8 == 5; }

std::string command_of(const Plan& plan) {
  const Plan usual;
  std::string command = "simulate --seed=" + std::to_string(plan.seed);
  const auto number = [&](const char* name, std::uint64_t value, std::uint64_t by_default) {
    if (value != by_default) command += std::string(" --") + name + "=" + std::to_string(value);
  };
  const auto flag = [&](const char* name, bool value) {
    if (!value) command += std::string(" --no") + name;
  };
  number("steps", plan.steps, usual.steps);
  number("sessions", plan.sessions, usual.sessions);
  number("storages", plan.storages, usual.storages);
  number("keys", plan.keys, usual.keys);
  flag("gleans", plan.gleans);
  flag("ddl", plan.ddl);
  flag("restarts", plan.restarts);
  flag("crashes", plan.crashes);
  flag("faults", plan.faults);
  flag("corrupts", plan.corrupts);
  flag("large", plan.large);
  if (!plan.omitted.empty()) command += " --omit=" + text_of(plan.omitted);
  number("stride", plan.stride, usual.stride);
  number("states_from_step", plan.states_from_step, usual.states_from_step);
  number("only_call", plan.only_call, usual.only_call);
  if (plan.states_max != usual.states_max) number("states_max", plan.states_max, 0);
  if (!plan.planted.empty()) command += " --planted=" + plan.planted;
  return command;
}

std::uint64_t chance_of(std::uint64_t seed, std::uint64_t stream, std::uint64_t number) {
  std::uint64_t mixed = seed * 0x9e3779b97f4a7c15u + stream * 0xbf58476d1ce4e5b9u + number;
  for (int i = 0; i < 2; ++i) {  // the finish of splitmix64
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    mixed ^= mixed >> 31;
  }
  return mixed == 0 ? 1 : mixed;
}

}  // namespace foedus::simulation
