// The lock of records and pages: occ/record_lock.{h,cc} themselves.
//
// A plain variable stands for the protected data: two holders at once, or a holder that does not
// see the changes of the one before, are a data race. So is an access to a waiter after its end. A
// lost wake is an execution that does not end.
#include "foedus-core/occ/record_lock.cc"
#include "tests/models/harness/model.h"

namespace {

using namespace foedus;

template <typename Scenario, int kThreads>
struct Locks : model::Suite<Scenario, kThreads> {
  occ::LockWord word;
  model::Plain<int> count{0};

  void enter() { count.set(count.get() + 1); }
  void lock_once() {
    occ::LockWaiter waiter;
    occ::lock(&word, &waiter);
    enter();
    occ::unlock(&word, &waiter);
  }
  // Tries to lock; a waiter that gave up ends.
  bool lock_or_give_up() {
    occ::LockWaiter waiter;
    if (!occ::lock_for(&word, &waiter, 0)) return false;
    enter();
    occ::unlock(&word, &waiter);
    return true;
  }
  void require_free() { model::require(word.load_relaxed() == 0, "nobody has it or waits"); }
};

template <int kThreads>
struct Locking : Locks<Locking<kThreads>, kThreads> {
  void thread(unsigned) { this->lock_once(); }
  void after() {
    model::require(this->count.get() == kThreads, "each was in once");
    this->require_free();
  }
};

// One thread locks twice with the same waiter: remains of the first time do not disturb the second.
struct LockingAgain : Locks<LockingAgain, 2> {
  void thread(unsigned index) {
    if (index == 0) return lock_once();
    occ::LockWaiter waiter;
    for (int i = 0; i < 2; ++i) {
      occ::lock(&word, &waiter);
      enter();
      occ::unlock(&word, &waiter);
    }
  }
  void after() {
    model::require(count.get() == 3, "each was in as often as it wanted");
    require_free();
  }
};

// One thread locks, the other tries; the waiter of a failed try is used again.
struct Trying : Locks<Trying, 2> {
  void thread(unsigned index) {
    if (index == 0) return lock_once();
    occ::LockWaiter waiter;
    if (!occ::try_lock_for(&word, &waiter, 2)) return;
    enter();
    occ::unlock(&word, &waiter);
  }
  void after() { require_free(); }
};

// Some threads wait without a limit, the others give up as soon as they are the first of the queue.
template <int kThreads, int kPatient>
struct GivingUp : Locks<GivingUp<kThreads, kPatient>, kThreads> {
  bool has_locked[kThreads] = {};

  void thread(unsigned index) {
    if (index < kPatient) {
      this->lock_once();
      has_locked[index] = true;
    } else {
      has_locked[index] = this->lock_or_give_up();
    }
  }
  void after() {
    int locked = 0;
    for (const bool has : has_locked) locked += has ? 1 : 0;
    model::require(this->count.get() == locked, "those were in that got it");
    this->require_free();
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "record lock",
      {model::scenario<Locking<2>, model::kExhaustive>("two lock"),
       model::scenario<LockingAgain, 4>("one locks twice"),
       model::scenario<Trying, model::kExhaustive>("one locks, one tries"),
       model::scenario<GivingUp<2, 1>, model::kExhaustive>("one locks, one gives up"),
       model::scenario<Locking<3>, 3>("three lock"),
       model::scenario<GivingUp<3, 2>, 3>("two lock, one gives up"),
       model::scenario<GivingUp<3, 1>, 3>("one locks, two give up"),
       model::scenario<Locking<4>, 2>("four lock")},
      {{"record_lock.cc await_lock compare_exchange_acq_rel", rl::mo_relaxed,
        "it hands nothing over; one exchange of the word sees the other whatever the order"},
       {"record_lock.cc await_turn compare_exchange_acq_rel", rl::mo_relaxed,
        "it hands nothing over; where it fails, the load above it looks again"}}};
  return protocol.check(argc, argv);
}
