#pragma once
// Plan: all that a simulated run depends on. Equal plans give equal runs, to the byte of every
// file. The seed decides everything; the other fields are bounds within which it may, so that a run
// that fails can be made smaller. Step i draws its chances from (seed, i) alone: to leave out a
// step changes no other one's mind.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace foedus::simulation {

struct Plan {
  std::uint64_t seed = 1;
  std::uint64_t steps = 150;
  std::uint64_t sessions = 4;  // at most
  std::uint64_t storages = 9;  // at most
  std::uint64_t keys = 200;    // at most, in a storage
  bool gleans = true;          // on request and by pace
  bool ddl = true;
  bool restarts = true;
  bool crashes = true;              // of the database itself, beside those of its copies
  bool faults = true;               // EIO and ENOSPC
  bool corrupts = true;             // copies that were closed in order
  bool large = true;                // an array of so many pages that files are moved, in some plans
  std::set<std::uint64_t> omitted;  // steps

  // Power fails at every so manieth write and sync, and at other changing calls, of which there are
  // fewer, eight times as often; from a step on. 0: never.
  std::uint64_t stride = 4;
  std::uint64_t states_from_step = 0;
  std::uint64_t only_call = 0;  // this call alone, counted from 1; 0: by stride
  std::uint64_t states_max = ~std::uint64_t{0};

  // A planted bug, for the tests of the simulation itself: "sync:7" or "directory:7" leaves out the
  // sync of number 7, with a "+" behind it all later ones, too. Empty: none.
  std::string planted;

  bool operator==(const Plan&) const = default;
};

// Whether the plan has a large array: one of eight that may.
bool has_large_array(const Plan& plan);

// The command line of `simulate` that repeats the plan; what is as by default is left out.
std::string command_of(const Plan& plan);
// "3-5,9" for {3, 4, 5, 9}, and back. What is not of that form is left out.
std::string text_of(const std::set<std::uint64_t>& numbers);
std::set<std::uint64_t> numbers_of(const std::string& text);

// Chances of one thing of a run, independent of those of all others.
std::uint64_t chance_of(std::uint64_t seed, std::uint64_t stream, std::uint64_t number);

}  // namespace foedus::simulation
