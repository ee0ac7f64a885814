#pragma once
// OpenState: tells calls and tasks whether the database is open, and whether it is recovered.
//
//   word           written by                      read by              meaning
//   opened_in_     Engine::start(), close()        every call           generation of the process
//                                                                       that opened it; 0: closed
//   recovered_in_  end_recovery(), Engine::close() transactions, DDL    generation of the process
//                                                                       whose recovery succeeded;
//                                                                       0: not recovered, or closed
//   over_          end_recovery()                  waiters, gleaner     1: recovery has ended, and
//                                                                       recovery_status_ says how
//   given_up_      Engine::close(), ~Engine()      recovery, gleaner    1: recovery is to end soon
//
//   E12 A child of fork() touches nothing of its parent's engine. The engine's threads do not exist
//       in the child, locks may be held for ever, and pools and rings are not mapped: their
//       addresses may be in use for something else. So every call looks at the generation of the
//       process first, and the child leaves the engine as it is instead of destroying it.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/process.h"
#include "foedus-core/base/system/task.h"
#include "foedus/status.h"

namespace foedus::engine {

class OpenState {
 public:
  explicit OpenState(base::Runtime* runtime) : runtime_(runtime) {}
  OpenState(const OpenState&) = delete;
  OpenState& operator=(const OpenState&) = delete;

  // ---- any thread ----------------------------------------------------------------------------

  Status check_open() const {
    // order: acquire, pairs with set_open(): all that Engine::start() made is there.
    if (opened_in_.load_acquire() == base::process_generation()) [[likely]]
      return {};
    return why_not_open();
  }
  // Waits for the end of recovery (E8). Returns what check_open() reports, or how recovery failed.
  Status check_recovered() const {
    // order: acquire, pairs with end_recovery(): all that recovery made is there.
    if (recovered_in_.load_acquire() == base::process_generation()) [[likely]]
      return {};
    return wait_recovered(base::Runtime::kForever);
  }
  // Waits for the end of recovery. Returns what check_recovered() returns, or kTimeout if recovery
  // has not ended within `timeout_us`.
  Status wait_recovered(std::uint64_t timeout_us) const;
  bool is_recovered() const {
    return recovered_in_.load_acquire() == generation_;  // order: as check_recovered()
  }
  // Returns kForked in a child of the process that opened the database (E12).
  Status check_process() const { return base::check_process(generation_); }

  // ---- recovery, and the task that runs it -----------------------------------------------------

  // Returns whether recovery has ended, successful or not.
  bool is_recovery_over() const {
    // order: acquire, pairs with end_recovery(): the status is there, and all that recovery made.
    return over_.load_acquire() != 0;
  }
  // Returns how recovery ended. REQUIRES: is_recovery_over().
  const Status& recovery_status() const { return recovery_status_; }
  // Returns whether recovery is asked to end soon, because the database closes. Recovery then fails
  // with kClosed, unless it has called this function for the last time before.
  bool is_recovery_given_up() const {
    return given_up_.load_relaxed() != 0;  // order: as give_up_recovery()
  }
  // Ends recovery with `status`, and wakes the calls that wait for its end. These calls go on if
  // `status` is ok, and return it otherwise. Called once.
  void end_recovery(Status status);

  // ---- Engine::start() and close() -------------------------------------------------------------

  void set_open();
  // Makes check_open() refuse all later calls.
  void set_closed();
  void set_not_recovered();
  void give_up_recovery() {
    given_up_.store_relaxed(1);  // order: relaxed, a request; it guards no other memory
  }

 private:
  Status why_not_open() const;

  base::Runtime* const runtime_;
  const std::uint64_t generation_ = base::process_generation();

  // Own synchronization.
  mutable base::WaitPoint recovery_ended_;
  Status recovery_status_;  // written before over_, constant after
  base::AtomicWord<std::uint32_t> given_up_;
  base::AtomicWord<std::uint32_t> over_;
  // Both words lie on one cache line, which every transaction reads. The line is written only at
  // open, at the end of recovery and at close.
  alignas(64) base::AtomicWord<std::uint64_t> opened_in_;
  base::AtomicWord<std::uint64_t> recovered_in_;
};

}  // namespace foedus::engine
