#pragma once
// DurabilityWaits: the waiters and callbacks of commits whose epochs are not durable yet.
//
//   word          written by    read by        meaning
//   durable       a logger      all            all commits of this epoch and before survive a crash
//   trouble       a logger      waiters        why durable does not move: none, no space, failed
//
//   L7  durable moves only after everything of those epochs is on the device (logger.h says when),
//       and only upwards. Waiters are woken and callbacks called after it has moved.
//   L8  A callback is called exactly once. It is taken out of the table under the mutex under which
//       durable moves. It is put in only if durable, read under that mutex, is below its epoch.
//   L26 While the log runs, a task of its own calls the callbacks. The thread that announces may be
//       a user's that does the logger's work (Runtime::help()), within transact() and with locks
//       held. A callback that ran there might wait for these locks, and keep the logger from its
//       work.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/process.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::internal {

class DurabilityWaits {
 public:
  using Callback = std::function<void(const Status&)>;

  // `always_durable`: nothing is logged, and every commit counts as durable at once.
  explicit DurabilityWaits(base::Runtime* runtime, bool always_durable = false);
  ~DurabilityWaits();
  DurabilityWaits(const DurabilityWaits&) = delete;
  DurabilityWaits& operator=(const DurabilityWaits&) = delete;

  // Sets the sink that is told what callbacks throw. Before the first callback.
  void set_sink(LogSink sink) { sink_ = std::move(sink); }
  // Sets the clock that wait() asks for an early epoch advance, and the logger if there is only
  // one. Both before the first wait. With one logger, a waiter may run the steps of clock and
  // logger in its own thread (Runtime::help()). Several loggers write at the same time in their own
  // threads, which one waiter could not do.
  void set_clock(epoch::EpochClock* clock, base::Task* only_logger = nullptr) {
    clock_ = clock;
    if (only_logger != nullptr) helped_ = {clock, only_logger};
  }

  Epoch durable() const {
    // order: acquire, pairs with announce(): what the announcer did before is seen.
    return Epoch(durable_.load_acquire());
  }
  bool is_durable(Epoch epoch) const { return epoch <= durable(); }

  // Returns once `epoch` is durable. kTimeout: it is not yet. kOutOfSpace, kOutOfMemory: the log
  // lacks space or memory at present. After the log has failed: the error that made it fail.
  // kForked: the log is the parent's, and `epoch` was not durable when it forked. Any thread.
  Status wait(Epoch epoch, std::uint64_t timeout_us);
  // Calls `callback` once: with success when `epoch` is durable (at once if it is), or with an
  // error if the log fails or is closed before. A full device is waited out. Any thread.
  void on_durable(Epoch epoch, Callback callback);

  // ---- log -----------------------------------------------------------------------------------

  // Starts the task that calls callbacks (L26). Throws as Runtime::start() does.
  void start();
  // Stops that task. This thread calls the callbacks that are due or left; from now on announce()
  // and fail() call them.
  void stop();

  // Moves durable to `epoch`, up to which all is on the device; wakes waiters and has callbacks
  // called. Any logger. An epoch below one that was announced is ignored.
  void announce(Epoch epoch);
  // Sets why durable stands still (kOutOfSpace, kOutOfMemory); ok: there is space again. Ignored
  // after fail().
  void set_out_of_space(const Status& status);
  // Ends all waits and callbacks with `status`: nothing more will become durable. Only the first
  // call counts.
  void fail(const Status& status);

  bool has_failed() const {
    // order: acquire, pairs with fail(): the status was set before. Cheap, because the cache line
    // is written rarely.
    return trouble_.load_acquire() == kFailed;
  }
  // Returns true if the log has neither failed nor run out of space.
  bool is_well() const { return trouble_.load_acquire() == kNone; }  // order: as has_failed()
  // Returns why durable does not move; ok if nothing is wrong.
  Status trouble() const;

 private:
  // Waiters of the next epoch sleep on while those of this one are woken.
  static constexpr std::uint64_t kWaitPoints = 4;

  enum Trouble : std::uint32_t { kNone = 0, kOutOfSpace = 1, kFailed = 2 };
  using CallbackTable = std::map<std::uint64_t, std::vector<Callback>>;  // by epoch

  class Teller final : public base::Task {
   public:
    explicit Teller(DurabilityWaits* waits) : waits_(waits) {}
    const char* name() const override { return "foedus-tell"; }
    std::uint64_t step() override {
      waits_->call_due();
      return kUntilNotified;
    }

   private:
    DurabilityWaits* const waits_;
  };

  base::WaitPoint* point_of(std::uint64_t epoch) { return &moved_[epoch % kWaitPoints]; }
  void wake_all();

  // Notifies the task that calls callbacks, or calls them in this thread if the task does not run.
  void tell();
  void call_due();
  void call(const Callback& callback, const Status& status) noexcept;

  // Constant after set_clock().
  base::Runtime* const runtime_;
  const std::uint64_t generation_ = base::process_generation();
  epoch::EpochClock* clock_ = nullptr;
  std::vector<base::Task*> helped_;
  LogSink sink_;
  Teller teller_{this};

  // Own synchronization.
  alignas(64) base::AtomicWord<std::uint64_t> durable_;
  base::AtomicWord<std::uint32_t> trouble_;
  alignas(64) std::array<base::WaitPoint, kWaitPoints> moved_;  // by epoch
  mutable std::mutex mutex_;

  // Guarded by mutex_.
  Status trouble_status_;
  CallbackTable callbacks_;  // of epochs that are not durable
  CallbackTable due_;        // of durable epochs: to be called
  CallbackTable left_;       // of epochs that will not be durable: to be called with the trouble
  bool has_teller_ = false;  // the task that calls callbacks runs (L26)
};

}  // namespace foedus::internal
