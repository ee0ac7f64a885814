// Dual page pointers: page/dual_page_pointer.h itself. Pages are plain variables with a value;
// snapshot page 1 has 1, and a writer makes it 2.
#include "foedus-core/page/dual_page_pointer.h"
#include "tests/models/harness/model.h"

namespace {

using namespace foedus;
using page::DualPageIds;
using page::SnapshotPageId;
using page::VolatilePageId;

constexpr SnapshotPageId kOldSnapshot(1);
constexpr SnapshotPageId kNewSnapshot(2);

template <typename Scenario, rl::thread_id_t kThreads>
struct Pointer : model::Suite<Scenario, kThreads> {
  page::DualPagePointer pointer;
  model::Plain<int> volatile_pages[4];
  model::Plain<int> snapshot_pages[3];

  void before() {
    snapshot_pages[1].set(1);
    pointer.store({VolatilePageId(), kOldSnapshot});
  }
  int value_of(const DualPageIds& ids) {
    return ids.volatile_page.is_null() ? snapshot_pages[ids.snapshot_page.word()].get()
                                       : volatile_pages[ids.volatile_page.number()].get();
  }
  // Builds volatile page `number` from the page of `seen`, and installs it.
  bool install(const DualPageIds& seen, std::uint64_t number) {
    volatile_pages[number].set(snapshot_pages[seen.snapshot_page.word()].get());
    return pointer.compare_exchange(seen, {VolatilePageId(number), seen.snapshot_page});
  }
};

// Two threads build the page; one of them installs it, and both use that one.
struct TwoInstall : Pointer<TwoInstall, 2> {
  int won[2] = {0, 0};

  void thread(unsigned index) {
    const DualPageIds seen = pointer.load();
    if (seen.volatile_page.is_null()) won[index] = install(seen, index + 1) ? 1 : 0;
    const VolatilePageId id = pointer.load_volatile();
    model::require(!id.is_null(), "there is a page now");
    model::require(volatile_pages[id.number()].get() == 1, "it is whole");
  }
  void after() { model::require(won[0] + won[1] == 1, "one wins"); }
};

// Readers load the pointer while the page is made: both halves, or the volatile one alone.
template <bool kBoth>
struct Reading : Pointer<Reading<kBoth>, 2> {
  void thread(unsigned index) {
    if (index == 0) {
      this->install(this->pointer.load(), 1);
      return;
    }
    DualPageIds ids{this->pointer.load_volatile(), kOldSnapshot};
    if (kBoth) ids = this->pointer.load();
    model::require(this->value_of(ids) == 1, "what is there is whole");
  }
};

// The holder of a page's lock shifts another pointer to this place: of a volatile page, or of one
// of the new snapshot. The reader has no other order with either page.
template <bool kVolatile>
struct Shift : Pointer<Shift<kVolatile>, 2> {
  void thread(unsigned index) {
    if (index == 0) {
      this->volatile_pages[1].set(1);
      this->snapshot_pages[2].set(1);
      this->pointer.store({VolatilePageId(kVolatile ? 1 : 0), kNewSnapshot});
      return;
    }
    model::require(this->value_of(this->pointer.load()) == 1, "what is there is whole");
  }
};

// A writer installs a page, changes it and commits; the gleaner makes a snapshot page of it and
// drops it.
template <typename Scenario>
struct Cycle : Pointer<Scenario, 2> {
  rl::atomic<int> committed{0};

  void write_and_glean() {
    const DualPageIds first{VolatilePageId(), kOldSnapshot};
    const DualPageIds installed{VolatilePageId(3), kOldSnapshot};
    if (!this->install(first, 3)) return;
    this->volatile_pages[3].set(2);
    committed.store(1, rl::mo_release, MODEL_HERE);
    this->snapshot_pages[2].set(this->volatile_pages[3].get());
    const DualPageIds gleaned{VolatilePageId(3), kNewSnapshot};
    model::require(this->pointer.compare_exchange(installed, gleaned), "gleaned");
    model::require(this->pointer.compare_exchange(gleaned, {VolatilePageId(), kNewSnapshot}),
                   "dropped");
  }
};

// A builder that has read the old snapshot page does not install it after a whole cycle: null ->
// install -> glean -> drop -> null is a change.
struct StaleBuilder : Cycle<StaleBuilder> {
  int built = 0;

  void thread(unsigned index) {
    if (index == 0) return write_and_glean();
    const DualPageIds seen = pointer.load();
    if (seen.volatile_page.is_null()) built = install(seen, 1) ? 1 : 0;
  }
  void after() {
    const int wanted = committed(MODEL_HERE).load() != 0 ? 2 : 1;
    model::require(value_of(pointer.load()) == wanted, "a committed value is not lost");
    model::require(built != 0 || wanted == 2, "one of them installed");
  }
};

// A transaction that has read the old snapshot page, and serializes after the commit that replaced
// it, finds the change when it verifies.
struct SecondLook : Cycle<SecondLook> {
  void thread(unsigned index) {
    if (index == 0) return write_and_glean();
    const DualPageIds first = pointer.load();
    if (!first.volatile_page.is_null()) return;
    const int value = value_of(first);
    const bool is_behind = committed.load(rl::mo_acquire, MODEL_HERE) != 0;
    const bool is_same = pointer.load() == first;
    model::require(!(is_behind && is_same) || value == 2, "what was read was replaced before");
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "dual page pointer",
      {model::scenario<TwoInstall, model::kExhaustive>("two install"),
       model::scenario<Reading<true>, model::kExhaustive>("reading by both halves"),
       model::scenario<Reading<false>, model::kExhaustive>("reading by the volatile half"),
       model::scenario<Shift<true>, model::kExhaustive>("a volatile page is shifted"),
       model::scenario<Shift<false>, model::kExhaustive>("a snapshot page is shifted"),
       model::scenario<StaleBuilder, model::kExhaustive>("stale builder"),
       model::scenario<SecondLook, model::kExhaustive>("second look")},
      {{"dual_page_pointer.h compare_exchange compare_and_swap", rl::mo_acq_rel,
        "the builtin is a full fence, nobody needs more than its acquire and release"}}};
  return protocol.check(argc, argv);
}
