#pragma once
// CrashState: what a device holds when power fails at one of its calls, and what an engine must
// make of it: the state at the end of an epoch that is no older than the last one that was
// acknowledged, in all storages and the catalog, also after more power failures while it recovers.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/base/clock.h"
#include "tests/simulation/life.h"
#include "tests/simulation/model.h"
#include "tests/simulation/plan.h"
#include "tests/testing/failing_device.h"

namespace foedus::simulation {

struct Counts {
  std::uint64_t states = 0;  // images of a device after a crash that were recovered
  std::uint64_t by_kind[testing::kCallKinds] = {};  // of the call at which it failed
  std::uint64_t half_writes = 0;
  std::uint64_t recoveries = 0;
  std::uint64_t deaths = 0;  // of the process, power failed later or not at all
  std::uint64_t second_crashes = 0;
  std::uint64_t early_opens = 0;
  std::uint64_t continued = 0;  // transactions were made on it, and it crashed again
  std::uint64_t verified = 0;   // by the code of `foedus verify`
  std::uint64_t corruptions = 0;
  std::uint64_t refusals = 0;  // of corrupted ones
  std::uint64_t commits = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t faults = 0;
  // Of the lives of the run itself, not of the states.
  std::uint64_t pages_evicted = 0;  // from caches of snapshot pages
  std::uint64_t writers_waited_us = 0;
  std::uint64_t snapshot_files_removed = 0;

  void add(const Counts& other);
};

struct CrashState {
  std::unique_ptr<testing::FailingDevice> device;  // just before power fails
  testing::Call kind{};                            // at this call,
  std::string name;                                // of this file,
  std::uint64_t call = 0;                          // which is the changing one of this number
  bool is_half = false;                            // half of the write is done
  Epoch acknowledged;                              // of this and earlier epochs nothing is lost
  Epoch newest;                                    // and later ones were not over

  std::string describe() const;
};

class StateCheck {
 public:
  StateCheck(const Plan& plan, const std::vector<std::string>& keys, const History& history,
             Counts* counts)
      : plan_(plan), keys_(keys), history_(history), counts_(counts) {}

  // What is wrong; empty: nothing.
  std::string run(CrashState state);

  // Which of `allowed` the database holds the state of, the last one of them. "No epoch", and
  // `wrong`: none.
  Epoch match(const Reading& reading, const std::vector<Epoch>& allowed, std::string* wrong) const;
  // What is wrong in what a snapshot transaction read. What covers more than the last of `allowed`
  // was made in a life that the history does not know: it holds the state of one of them.
  std::string compare_snapshot(const Reading& reading, const std::vector<Epoch>& allowed) const;
  // Opens for snapshots, reads at each place of recovery, waits for its end.
  std::string open_early(Life* life, Options options, const std::vector<Epoch>& allowed,
                         Status* opened);
  // Flips a bit of a database that was closed in order: it is refused by name, or harmless.
  std::string corrupt(const testing::FailingDevice& closed, std::uint64_t chance);

 private:
  std::string compare_content(const Content& all, Epoch epoch) const;
  std::string verify(const testing::FailingDevice& device) const;
  std::string crash_again(testing::FailingDevice* device, base::Random* random,
                          std::vector<Epoch>* allowed);
  std::string go_on(testing::FailingDevice* device, Life* life, Content content,
                    base::Random* random);
  Status run_some(Life* life, Content* content, base::Random* random);

  const Plan& plan_;
  const std::vector<std::string>& keys_;
  const History& history_;
  Counts* const counts_;
};

}  // namespace foedus::simulation
