#pragma once
// Plan: the input of a simulated run. Equal plans give equal runs, to the byte of every file. The
// seed decides all choices within the bounds of the other fields, so that a failing run can be made
// smaller. Step i draws its random numbers from (seed, i) alone, so leaving out a step does not
// change the others.

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
  bool crashes = true;              // crashes of the database itself, beside those of its copies
  bool faults = true;               // EIO and ENOSPC
  bool corrupts = true;             // bits flipped in copies of closed databases
  bool large = true;                // in some plans an array with enough pages that files are moved
  std::set<std::uint64_t> omitted;  // steps

  // Power fails at one of `stride` writes and syncs, and eight times as often at other changing
  // calls, of which there are fewer; from a step on. 0: never.
  std::uint64_t stride = 4;
  std::uint64_t states_from_step = 0;
  std::uint64_t only_call = 0;  // this call alone, counted from 1; 0: by stride
  std::uint64_t states_max = ~std::uint64_t{0};

  // A planted bug, for the tests of the simulation itself: "sync:7" or "directory:7" leaves out the
  // sync of number 7, with a "+" at the end all later ones, too. Empty: none.
  std::string planted;

  bool operator==(const Plan&) const = default;
};

// Returns whether the plan has a large array: one of eight that may.
bool has_large_array(const Plan& plan);

// Returns the command line of `simulate` that repeats the plan, without defaults.
std::string command_of(const Plan& plan);
// Returns "3-5,9" for {3, 4, 5, 9}, and the reverse. Parts of another form are left out.
std::string text_of(const std::set<std::uint64_t>& numbers);
std::set<std::uint64_t> numbers_of(const std::string& text);

// Returns a random number for one item of a run, independent of all others.
std::uint64_t chance_of(std::uint64_t seed, std::uint64_t stream, std::uint64_t number);

}  // namespace foedus::simulation
