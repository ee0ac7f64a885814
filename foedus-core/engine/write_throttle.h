#pragma once
// WriterBrake: holds up writing transactions when log or memory run short faster than the gleaner
// makes room, smoothly at first.
//
//   E18 Writers wait at begin(), where they have no lock, and no pin but one that is lent (E26):
//       nothing that the gleaner waits for can be waiting for them. Nobody waits for a gleaner, or
//       for a log, that has failed, nor for a glean that nothing begins: it is due where the
//       pressure of the log begins. Nobody waits at the bound once close() has begun.
//
//   pressure   0 .. 1 from half of the log's bound to the bound, in bytes or in the pages that they
//              are expected to write, and from four fifths of the memory of volatile pages to all
//              of it; the highest one counts
//   wait       pressure squared times kWaitUsMax; at the log's bound until the log is below it

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/task.h"

namespace foedus::engine {

class Engine;

class WriterBrake final : public base::Task {
 public:
  explicit WriterBrake(Engine* engine) : engine_(engine) {}

  // Any thread; before a transaction that may write begins.
  void hold_up() {
    // order: relaxed, a hint; one line that is rarely written.
    const std::uint64_t wait_us = wait_us_.load_relaxed();
    if (wait_us != 0) [[unlikely]] wait(wait_us);
  }
  // Microseconds that writers have waited, all together.
  std::uint64_t waited_us() const { return waited_us_.load_relaxed(); }  // order: a statistic

  const char* name() const override { return "foedus-brake"; }
  std::uint64_t step() override;

 private:
  [[gnu::cold]] void wait(std::uint64_t wait_us);
  double log_pressure() const;
  double memory_pressure() const;

  Engine* const engine_;
  alignas(64) base::AtomicWord<std::uint64_t> wait_us_;
  alignas(64) base::AtomicWord<std::uint64_t> waited_us_;
};

}  // namespace foedus::engine
