// Reads and expiry of snapshots: quoted words of engine/snapshots.{h,cc} (E52). A list and a
// manifest are plain variables, to which the thread that frees or removes them writes.
#include "foedus-core/base/atomic_word.h"
#include "tests/models/harness/model.h"

namespace {

using namespace foedus;

constexpr std::uint64_t kNothing = 0;
constexpr std::uint64_t kChoosing = ~std::uint64_t{0};

struct List {
  model::Plain<std::uint64_t> newest{0};
};

// A session reads the newest snapshot kReads times; the gleaner publishes the second one and
// expires the first.
template <int kReads>
struct Expiring : model::Suite<Expiring<kReads>, 2> {
  List lists[3];
  model::Plain<int> manifests[3];
  base::AtomicWord<List*> list_{&lists[1]};
  base::AtomicWord<std::uint64_t> reading;

  void before() {
    lists[1].newest.set(1);
    manifests[1].set(1);
  }
  void read() {
    // from foedus-core/engine/snapshots/snapshots.cc:
    //     reading.store_release(kChoosing);
    //     base::fence_seq_cst();
    //     FOEDUS_SYNC_POINT("snapshots:choosing");
    //     const List* const list = list_.load_acquire();
    reading.store_release(kChoosing);
    base::fence_seq_cst();
    const List* const list = list_.load_acquire();
    const std::uint64_t number = list->newest.get();
    model::require(number != 0, "a list that is looked at is there");
    // from foedus-core/engine/snapshots/snapshots.cc:
    //     const ReadableSnapshot* const newest = list->kept.empty() ? nullptr : list->kept.back();
    //     slots_[session].reading.store_release(newest == nullptr ? kNothing :
    //     word_of(newest->number()));
    reading.store_release(number);
    model::require(manifests[number].get() == 1, "what is read stays");
    // from foedus-core/engine/snapshots/snapshots.h:
    //     slots_[session].reading.store_release(kNothing);
    reading.store_release(kNothing);
  }
  void publish() {
    manifests[2].set(1);
    lists[2].newest.set(2);
    // from foedus-core/engine/snapshots/snapshots.cc:
    //     list_.store_release(list.get());
    list_.store_release(&lists[2]);
  }
  void expire() {
    // from foedus-core/engine/snapshots/snapshots.cc:
    //     base::fence_seq_cst();
    //     for (std::uint32_t i = 0; i < sessions_max_; ++i) {
    //     const std::uint64_t reading = slots_[i].reading.load_acquire();
    //     if (reading == kChoosing) {
    base::fence_seq_cst();
    const std::uint64_t read = reading.load_acquire();
    if (read == kChoosing) return;
    // from foedus-core/engine/snapshots/snapshots.cc:
    //     if (readers.are_choosing) return expired;
    //     old_lists_.clear();
    lists[1].newest.set(0);
    if (read != 1) manifests[1].set(0);
  }
  void thread(unsigned index) {
    if (index == 1) {
      publish();
      return expire();
    }
    for (int i = 0; i < kReads; ++i) read();
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "snapshot readers",
      {model::scenario<Expiring<1>, model::kExhaustive>("a read"),
       model::scenario<Expiring<2>, model::kExhaustive>("two reads")},
      {{"snapshots_model.cc read store_release #1", rl::mo_relaxed,
        "who sees kChoosing frees nothing; the number behind it is released"}}};
  return protocol.check(argc, argv);
}
