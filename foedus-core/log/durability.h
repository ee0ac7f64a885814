#pragma once
// DurabilityWaits: who waits for an epoch to become durable, and who is told.
//
//   word          written by    read by        meaning
//   durable       a logger      all            all commits of this epoch and before survive a crash
//   trouble       a logger      waiters        why durable does not move: none, no space, failed
//
//   L7  durable moves only after everything of those epochs is on the device (logger.h says when),
//       only upwards, and waiters are woken and callbacks called after it has moved.
//   L8  A callback is called exactly once: it is taken out of the table under the mutex under which
//       durable moves, and put in only if durable, looked at under that mutex, is below its epoch.
//   L26 While the log runs, callbacks are called by a task of their own: who announces may be a
//       user who does the logger's work (Runtime::help()), within transact() and with locks.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/process.h"
#include "foedus-core/base/task.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus/epoch.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::internal {

class DurabilityWaits {
 public:
  using Callback = std::function<void(const Status&)>;

  // `always_durable`: nothing is logged, every commit counts as durable at once.
  explicit DurabilityWaits(base::Runtime* runtime, bool always_durable = false);
  ~DurabilityWaits();
  DurabilityWaits(const DurabilityWaits&) = delete;
  DurabilityWaits& operator=(const DurabilityWaits&) = delete;

  // Receives what callbacks throw, in words. Before the first callback.
  void set_sink(LogSink sink) { sink_ = std::move(sink); }
  // The clock that wait() asks to hurry, and the logger if there is one only, both before the
  // first wait. Then a waiter does the work of both in its own thread, see Runtime::help(); several
  // loggers had better write at the same time.
  void set_clock(epoch::EpochClock* clock, base::Task* only_logger = nullptr) {
    clock_ = clock;
    if (only_logger != nullptr) helped_ = {clock, only_logger};
  }

  Epoch durable() const {
    // order: acquire, pairs with announce(): what the announcer did before is seen.
    return Epoch(durable_.load_acquire());
  }
  bool is_durable(Epoch epoch) const { return epoch <= durable(); }

  // Returns once `epoch` is durable, or kTimeout, or the log's error: kOutOfSpace, kOutOfMemory
  // while there is no room, and for ever the one that made the log fail. kForked: the log is the
  // parent's, and `epoch` was not durable when it forked. Any thread.
  Status wait(Epoch epoch, std::uint64_t timeout_us);
  // Calls `callback` once: with success when `epoch` is durable (at once if it is), with an error
  // when the log has failed or is closed before. A full device is waited out. Any thread.
  void on_durable(Epoch epoch, Callback callback);

  // ---- log -----------------------------------------------------------------------------------

  // L26. Throws as Runtime::start() does.
  void start();
  // What is due or left is called by this thread, and later on by who announces or fails.
  void stop();

  // All up to `epoch` is on the device. Wakes and calls. Any logger; a smaller epoch than one that
  // was announced is ignored.
  void announce(Epoch epoch);
  // There is no room (kOutOfSpace, kOutOfMemory), or there is again (ok). Ignored after fail().
  void set_out_of_space(const Status& status);
  // Nothing more will become durable. Wakes all, calls all. Only the first call counts.
  void fail(const Status& status);

  bool has_failed() const {
    // order: acquire, pairs with fail(): the status behind it is there. One rarely written line.
    return trouble_.load_acquire() == kFailed;
  }
  // Neither failed nor out of space.
  bool is_well() const { return trouble_.load_acquire() == kNone; }  // order: as has_failed()
  // Why durable does not move; ok if nothing is wrong.
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

  // By the teller, if it runs, else in this thread.
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
  CallbackTable due_;        // of those that are: to be called
  CallbackTable left_;       // of those that will not be: to be called with the trouble
  bool has_teller_ = false;  // it runs
};

}  // namespace foedus::internal
