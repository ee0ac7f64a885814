// A storage is dropped while a transaction commits a write to it (E5): words of
// engine/sessions/catalog.cc and storage_meta/storage_control.h, quoted, over the clock itself.
// What comes behind the drop in the log would be lost by recovery.
#include "foedus-core/epoch/epoch_clock.cc"
#include "tests/models/harness/runtime.h"

namespace {

using namespace foedus;

// A session commits, the catalog drops, the clock advances. A wait that does not end is no failure
// of this scenario.
struct Dropping : model::Suite<Dropping, 3> {
  model::Runtime<> runtime;
  epoch::EpochClock clock{&runtime, Epoch(10), 1, 0};
  base::AtomicWord<std::uint32_t> dropped;
  model::Plain<int> ring{0};
  bool has_committed = false;
  bool is_dropped_durably = false;
  bool is_before_drop = false;

  void commit() {
    static_cast<void>(clock.enter_commit(0));
    // from foedus-core/storage_meta/storage_control.h:
    //     return (state.load_acquire() & kDropped) != 0;
    const bool is_dropped = dropped.load_acquire() != 0;
    if (!is_dropped) {
      ring.set(1);
      has_committed = true;
    }
    clock.leave_commit(0);
  }
  void drop() {
    // from foedus-core/storage_meta/storage_control.h:
    //     state.fetch_or_release(kDropped);
    // from foedus-core/engine/sessions/catalog.cc:
    //     control->set_dropped();
    //     base::fence_seq_cst();
    //     FOEDUS_SYNC_POINT("catalog:drop_marked");
    //     const Epoch epoch = parts_.clock->current();
    //     parts_.ddl->wait_published(epoch);
    dropped.store_release(1);
    base::fence_seq_cst();
    const Epoch epoch = clock.current();
    if (clock.published() < epoch) return;
    is_dropped_durably = true;
    is_before_drop = ring.get() == 1;
  }
  void thread(unsigned index) {
    if (index == 0) return commit();
    if (index == 1) return drop();
    static_cast<void>(clock.step());
    static_cast<void>(clock.step());
  }
  void after() {
    const bool is_lost = is_dropped_durably && has_committed && !is_before_drop;
    model::require(!is_lost, "no commit behind the drop");
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{"drop of a storage",
                           {model::scenario<Dropping, 2>("a commit and the drop")},
                           {{"drop_model.cc commit load_acquire", rl::mo_relaxed,
                             "a commit that sees the flag reads nothing that was stored before it"},
                            {"drop_model.cc drop store_release", rl::mo_relaxed, "as above"}},
                           {"epoch_clock.h", "epoch_clock.cc"}};
  return protocol.check(argc, argv);
}
