#pragma once
// Simulation: one run of a plan. A database on a simulated device lives through transactions, DDL,
// gleans, restarts, faults and crashes; at the changing calls of the device its files are copied,
// power fails for the copy, and an engine opens the remains (crash_state.h).
//
//   Z1  Equal plans give equal runs: the same calls of the device in the same order, and the same
//       bytes after each step.
//   Z2  The calling thread does all except the checks of crash states, which have a thread each,
//       one at a time. So the engine's thread-local state does not depend on the number of checks.
//   Z3  The reads of a committed transaction are those of the model at its commit. A snapshot is
//       the state at the end of its epoch.
//   Z4  Acknowledged commits are in every later state, and every state is the end of an epoch.

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/crash_state.h"
#include "tests/simulation/life.h"
#include "tests/simulation/plan/model.h"
#include "tests/simulation/plan/plan.h"
#include "tests/simulation/plan/transaction.h"

namespace foedus::simulation {

struct Outcome {
  std::string failure;       // empty: the run is right
  std::uint64_t step = 0;    // of the failure
  std::uint64_t call = 0;    // the state that failed; 0: none
  std::uint64_t digest = 0;  // of all calls of the device
  Counts counts;
};

class Simulation {
 public:
  explicit Simulation(const Plan& plan);
  ~Simulation();

  // Called after each step with the digests of all calls so far and of all files. May be empty.
  using Trace = std::function<void(std::uint64_t step, std::uint64_t calls, std::uint64_t files)>;
  Outcome run(const Trace& trace = {});
  // Lets each step and each changing call be written to `to`.
  void set_narration(std::FILE* to) { narration_ = to; }

 private:
  struct Open {
    engine::EngineSession* session = nullptr;
    std::unique_ptr<Txn> txn;
    TxnOptions options;
    std::vector<Operation> operations;
  };
  enum class End { kClose, kDie, kPowerFails };

  void tell(const std::string& line) const {
    if (narration_ != nullptr) std::fprintf(narration_, "%s\n", line.c_str());
  }
  bool has_failed() const { return !outcome_.failure.empty(); }
  void fail(std::string what);
  // Returns whether a call may return this status; otherwise the run has failed.
  bool is_expected(const Status& status, const char* what);
  // Returns whether a reading of all may return this status: after retries, and for a snapshot, not
  // a conflict.
  bool is_expected_reading(const Status& status, const char* what);
  // Notes a conflict of a transaction, which a snapshot never has.
  void note_conflict(const Open& open, const Status& status);

  void step();
  // Checks the states that were taken since the last call.
  void settle();
  void observe(const testing::CallSeen& call);
  void take_state(const testing::CallSeen& call, bool is_half);

  // ---- lives -----------------------------------------------------------------------------------
  void open();
  void look_at_recovered();
  void end(End how);
  void count_life();
  void make_storages(std::uint64_t count);

  // ---- steps -----------------------------------------------------------------------------------
  void step_transaction(bool in_one_go, bool for_update);
  void step_many();
  void step_sweep();
  void sweep_array(const StorageModel& array);
  // Makes transactions of `count` operations in all.
  void sweep(Open* open, std::size_t count, std::size_t per_txn,
             const std::function<Operation(std::size_t i)>& make);
  bool begin(Open* open);
  bool begin_writes(Open* open);
  bool begin_with_options(Open* open);
  bool operate(Open* open, bool for_update);
  bool perform_in(Open* open, Operation operation);
  void commit(Open* open);
  void check_committed(Open* open, Epoch epoch);
  void check_snapshot(Open* open, Epoch epoch);
  void wait_durable();
  void check_all();
  void read_snapshot();
  void change_catalog();
  void create_storage();
  void drop_storage();
  // Makes a change, and repeats it once there is space again, if there was none.
  Status with_room(const std::function<Status()>& change);
  void begin_fault();
  void fill_device();
  void clear_faults();
  void end_fault();
  void lose_power_soon();

  // The number of the large array, in plans that have one.
  static constexpr std::uint64_t kNumberOfLarge = 2;

  const Plan plan_;
  const std::vector<std::string> keys_;
  Outcome outcome_;
  std::FILE* narration_ = nullptr;
  History history_;
  testing::FailingDevice device_;
  std::unique_ptr<StateCheck> check_;
  base::Random random_;  // of this step

  std::unique_ptr<Life> life_;
  Life* open_life_ = nullptr;  // the open life
  std::vector<Open> sessions_;
  Epoch floor_;    // no commit up to here may be lost
  Epoch ceiling_;  // without an open database: no later commit can be there
  Ticket last_ticket_;
  std::uint64_t lives_ = 0;
  std::uint64_t serial_ = 0;
  std::uint64_t names_ = 0;

  bool is_faulty_ = false;  // errors of the device may occur
  bool is_full_ = false;    // the only error is a lack of space
  std::uint64_t fault_ends_at_ = 0;

  std::uint64_t step_ = 0;
  std::uint64_t calls_ = 0;  // that change something
  std::vector<CrashState> taken_;
};

}  // namespace foedus::simulation
