#pragma once
// OpenState: whether a database is open and recovered, for all calls and tasks that depend on it.
//
//   word           written by                      read by              meaning
//   opened_in_     Engine::start(), close()        every call           generation of the process
//                                                                       that opened it; 0: closed
//   recovered_in_  end_recovery(), Engine::close() transactions, DDL    likewise; 0: not yet, or
//                                                                       not any more
//   over_          end_recovery()                  all, while it is 0   how recovery ended:
//                                                                       recovery_status_ and
//                                                                       recovered_in_
//   given_up_      close()                         recovery, gleaner    recovery is to end soon
//
//   E12 A child of fork() touches nothing of an engine of its parent. Threads are not there, locks
//       may be held for ever, pools and rings are not mapped, and their addresses may be in use for
//       something else. So every call looks at the generation of the process first, and the child
//       leaves the engine as it is instead of destroying it.

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
  // Waits for the end of recovery. kTimeout: it goes on.
  Status wait_recovered(std::uint64_t timeout_us) const;
  bool is_recovered() const {
    return recovered_in_.load_acquire() == generation_;  // order: as check_recovered()
  }
  // Returns kForked in a child of the process that opened the database (E12).
  Status check_process() const { return base::check_process(generation_); }

  // ---- recovery, and the task that runs it -----------------------------------------------------

  // Returns whether recovery has ended, successful or not.
  bool is_recovery_over() const {
    // order: acquire, pairs with end_recovery(): the status, and all that was recovered.
    return over_.load_acquire() != 0;
  }
  // Returns how recovery ended. REQUIRES: is_recovery_over().
  const Status& recovery_status() const { return recovery_status_; }
  // Returns whether recovery is asked to end soon, because the database closes. Recovery then fails
  // with kClosed, unless it has passed its last look at this.
  bool is_recovery_given_up() const {
    return given_up_.load_relaxed() != 0;  // order: as give_up_recovery()
  }
  // Ends recovery. Lets the calls go on that wait for it, if `status` is ok. Called once.
  void end_recovery(Status status);

  // ---- Engine::start() and close() -------------------------------------------------------------

  void set_open();
  // Refuses the calls that follow.
  void set_closed();
  void set_not_recovered();
  void give_up_recovery() {
    given_up_.store_relaxed(1);  // order: relaxed, a wish; it guards nothing
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
  // One cache line, written at open, at the end of recovery and at close, read by every
  // transaction.
  alignas(64) base::AtomicWord<std::uint64_t> opened_in_;
  base::AtomicWord<std::uint64_t> recovered_in_;
};

}  // namespace foedus::engine
