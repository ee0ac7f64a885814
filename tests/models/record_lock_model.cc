// The queue lock of records and pages: occ/record_lock.h itself.
//
// A plain variable stands for what the lock protects: two holders at once, or a holder that does
// not see what the one before it did, are a data race.
#include "foedus-core/occ/record_lock.h"
#include "tests/models/model.h"

namespace {

using namespace foedus;

template <int kThreads>
struct Locking : model::Suite<Locking<kThreads>, kThreads> {
  occ::LockWord word;
  model::Plain<int> count{0};

  void enter() { count.set(count.get() + 1); }
  void thread(unsigned) {
    occ::LockWaiter waiter;
    occ::lock(&word, &waiter);
    enter();
    occ::unlock(&word, &waiter);
  }
  void after() { model::require(count.get() == kThreads, "each was in once"); }
};

// One locks, the other tries; the waiter of one that did not get it is used again.
struct Trying : model::Suite<Trying, 2> {
  occ::LockWord word;
  model::Plain<int> count{0};

  void thread(unsigned index) {
    occ::LockWaiter waiter;
    if (index == 0) {
      occ::lock(&word, &waiter);
    } else if (!occ::try_lock_for(&word, &waiter, 2)) {
      return;
    }
    count.set(count.get() + 1);
    occ::unlock(&word, &waiter);
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{"record lock",
                           {model::scenario<Locking<2>>("two lock", model::kExhaustive),
                            model::scenario<Trying>("one locks, one tries", model::kExhaustive),
                            model::scenario<Locking<3>>("three lock", 3)},
                           {}};
  return protocol.check(argc, argv);
}
