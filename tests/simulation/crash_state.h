#pragma once
// CrashState: the contents of a device when power fails at one of its calls, and the check of their
// recovery. The recovered state must be that at the end of an epoch, not older than the last
// acknowledged one, in all storages and the catalog, also after more power failures during
// recovery.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/simulation/life.h"
#include "tests/simulation/plan/model.h"
#include "tests/simulation/plan/plan.h"
#include "tests/testing/failing_device.h"

namespace foedus::simulation {

struct Counts {
  std::uint64_t states = 0;  // images of a device after a crash that were recovered
  std::uint64_t by_kind[testing::kCallKinds] = {};  // by the call at which power failed
  std::uint64_t half_writes = 0;
  std::uint64_t recoveries = 0;
  std::uint64_t deaths = 0;  // deaths of the process; power failed later or not at all
  std::uint64_t second_crashes = 0;
  std::uint64_t early_opens = 0;
  std::uint64_t continued = 0;  // transactions were made on the state, and it crashed again
  std::uint64_t verified = 0;   // by the code of `foedus verify`
  std::uint64_t corruptions = 0;
  std::uint64_t refusals = 0;  // of corrupted databases
  std::uint64_t commits = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t faults = 0;
  // Counts of the lives of the run itself, not of the states.
  std::uint64_t pages_evicted = 0;  // from caches of snapshot pages
  std::uint64_t writers_waited_us = 0;
  std::uint64_t snapshot_files_removed = 0;

  void add(const Counts& other);
};

struct CrashState {
  std::unique_ptr<testing::FailingDevice> device;  // just before power fails
  testing::Call kind{};                            // at this call,
  std::string name;                                // of this file,
  std::uint64_t call = 0;                          // the changing call of this number
  bool is_half = false;                            // half of the write is done
  Epoch acknowledged;                              // up to this epoch no commit is lost
  Epoch newest;                                    // later ones were not over

  std::string describe() const;
};

class StateCheck {
 public:
  StateCheck(const Plan& plan, const std::vector<std::string>& keys, const History& history,
             Counts* counts)
      : plan_(plan), keys_(keys), history_(history), counts_(counts) {}

  // Checks a state. Returns a complaint, or an empty string.
  std::string run(CrashState state);

  // Returns the last epoch of `allowed` whose state the database has, or an invalid epoch and a
  // complaint in `wrong`.
  Epoch match(const Reading& reading, const std::vector<Epoch>& allowed, std::string* wrong) const;
  // Returns a complaint about the reads of a snapshot transaction, or an empty string. A snapshot
  // that covers more than the last of `allowed` was made in a life that the history does not know:
  // it has the state of one of them.
  std::string compare_snapshot(const Reading& reading, const std::vector<Epoch>& allowed) const;
  // Opens the database for snapshots, reads at each place of recovery, and waits for its end.
  std::string open_early(Life* life, Options options, const std::vector<Epoch>& allowed,
                         Status* opened);
  // Flips a bit of a closed database, which must be refused by name, or be harmless.
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
