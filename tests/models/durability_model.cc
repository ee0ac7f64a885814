// Waiters for a durable epoch, and the thread that announces it or a failure: log/durability.{h,cc}
// themselves. Plain variables stand for earlier work of the announcer.
#include "tests/models/harness/threads.h"

#include "foedus-core/base/user_call.cc"
#include "foedus-core/epoch/epoch_clock.cc"
#include "foedus-core/log/durability.cc"
#include "tests/models/harness/runtime.h"

namespace {

using namespace foedus;

constexpr Epoch kEpoch(10);
constexpr std::uint64_t kForever = ~std::uint64_t{0};

template <typename Scenario>
struct Waits : model::Suite<Scenario, 2> {
  model::Runtime<> runtime;
  epoch::EpochClock clock{&runtime, kEpoch, 1, 0};
  internal::DurabilityWaits waits{&runtime};
  model::Plain<int> device{0};

  void before() { waits.set_clock(&clock); }
};

// One thread waits, and then reads the durable work.
struct Announced : Waits<Announced> {
  void thread(unsigned index) {
    if (index == 0) {
      device.set(1);
      waits.announce(kEpoch);
      return;
    }
    model::require(waits.wait(kEpoch, kForever).is_ok(), "it became durable");
    model::require(device.get() == 1, "the device has all of it");
  }
};

// A callback is called once, at any interleaving, and after the announcement.
struct Called : Waits<Called> {
  int calls = 0;

  void thread(unsigned index) {
    if (index == 0) {
      device.set(1);
      waits.announce(kEpoch);
      return;
    }
    waits.on_durable(kEpoch, [this](const Status& status) {
      model::require(status.is_ok() && device.get() == 1, "the device has all of it");
      ++calls;
    });
  }
  void after() { model::require(calls == 1, "each callback is called once"); }
};

// The log fails, and the waiter gets the reason.
struct Failed : Waits<Failed> {
  void thread(unsigned index) {
    if (index == 0) {
      device.set(1);
      waits.fail(ErrorCode::kIoError);
      return;
    }
    model::require(waits.wait(kEpoch, kForever).code() == ErrorCode::kIoError, "it says why");
  }
};

// A reader that sees the failure without the lock sees the work before it.
struct Seen : Waits<Seen> {
  void thread(unsigned index) {
    if (index == 0) {
      device.set(1);
      waits.fail(ErrorCode::kIoError);
    } else if (waits.has_failed()) {
      model::require(device.get() == 1, "what came before is seen");
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "durability waits",
      {model::scenario<Announced, 6>("announced"),
       model::scenario<Called, model::kExhaustive>("called"), model::scenario<Failed, 6>("failed"),
       model::scenario<Seen, model::kExhaustive>("failure seen")},
      {{"durability.h is_well load_acquire", rl::mo_relaxed,
        "the status behind it is read under the mutex"}},
      {"epoch_clock.cc"}};
  return protocol.check(argc, argv);
}
