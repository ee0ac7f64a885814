// The last page of a session's chain is dropped while the session comes back to append to it
// (storage/sequential, S10): sequential_install.cc and sequential_tail.cc quoted, over the clock's
// pins and page/page_header.h themselves.
#include "foedus-core/epoch/epoch_clock.cc"
#include "foedus-core/page/page_header.h"
#include "tests/models/harness/runtime.h"

namespace {

using namespace foedus;

constexpr std::uint64_t kPage = 1;
constexpr std::uint64_t kNext = 2;

enum class Room { kForAll, kForNone };

// The page has space for all appends, or is full and gets a next one. An append without a tail is
// left out, because the begin of a chain takes the lock that the drop holds.
template <int kAppends, Room kRoom>
struct Dropping : model::Suite<Dropping<kAppends, kRoom>, 2> {
  model::Runtime<> runtime;
  epoch::EpochClock clock{&runtime, Epoch(10), 1, 0};
  page::PageHeader page{};
  model::Plain<int> records[kAppends];
  base::AtomicWord<std::uint64_t> tail{kPage};
  int appended = 0;
  bool is_linked = false;
  bool is_dropped = false;

  // A transaction of the session that owns the chain, from its begin to its end.
  void append(int number) {
    clock.pin(0);
    // from foedus-core/storage/sequential/sequential_tail.cc:
    //     const std::uint64_t tail_id = chain->tail.load_acquire();
    //     if (tail_id == 0) [[unlikely]] {
    const std::uint64_t tail_id = tail.load_acquire();
    if (tail_id != 0 && kRoom == Room::kForNone) {
      model::require(!is_linked || tail_id == kNext, "the owner finds its newest page, or none");
      if (!is_linked) link();
    } else if (tail_id != 0) {
      records[number].set(1);
      // from foedus-core/storage/sequential/sequential_tail.h:
      //     const page::PageVersion before = page->load_version();
      //     page->store_version(before.plus_key());
      page.store_version(page.load_version().plus_key());
      ++appended;
    }
    clock.unpin(0);
  }

  void link() {
    // from foedus-core/storage/sequential/sequential_tail.cc:
    //     last->header.store_version(version.with(page::PageVersion::kMoved));
    //     FOEDUS_SYNC_POINT("sequential:moved");
    //     chain->tail.store_release(page->header.page_id);
    page.store_version(page.load_version().with(page::PageVersion::kMoved));
    tail.store_release(kNext);
    is_linked = true;
  }

  std::uint64_t pin() {
    // from foedus-core/storage/sequential/sequential_install.cc:
    //     const std::uint64_t pin = installation_.clock->slot(page->session).pin.load_acquire();
    return clock.slot(0).pin.load_acquire();
  }
  // Returns whether the page is quiet: appends are newer than the snapshot, so only an empty page
  // is.
  bool is_quiet() {
    // from foedus-core/storage/sequential/sequential_install.cc:
    //     const std::uint32_t count = page->header.load_version().keys();
    const std::uint32_t count = page.load_version().keys();
    for (std::uint32_t i = 0; i < count; ++i) {
      model::require(records[i].get() == 1, "a counted record is complete");
    }
    return count == 0;
  }
  void drop() {
    if (pin() != 0) return;
    // from foedus-core/storage/sequential/sequential_install.cc:
    //     const std::uint64_t tail = chain->tail.exchange_acq_rel(0);
    //     FOEDUS_SYNC_POINT("sequential:tail_taken");
    //     base::fence_seq_cst();
    //     const bool idle = pin_of(page) == 0;
    //     const bool is_last = tail == id.word() && !page->header.load_version().is_moved();
    //     const bool drops = idle && is_last && is_quiet(page, Appenders::kOver);
    const std::uint64_t before = tail.exchange_acq_rel(0);
    base::fence_seq_cst();
    const bool idle = pin() == 0;
    const bool is_last = before == kPage && !page.load_version().is_moved();
    is_dropped = idle && is_last && is_quiet();
    if (!is_dropped) {
      // from foedus-core/storage/sequential/sequential_install.cc:
      //     std::uint64_t expected = 0;
      //     chain->tail.compare_exchange_acq_rel(expected, tail);
      std::uint64_t expected = 0;
      tail.compare_exchange_acq_rel(expected, before);
    }
  }
  void thread(unsigned index) {
    if (index == 1) return drop();
    for (int i = 0; i < kAppends; ++i) append(i);
  }
  void after() {
    model::require(!is_dropped || appended == 0, "no record goes with its page");
    model::require(!is_linked || tail.load_relaxed() == kNext, "a next page stays the last one");
    model::require(!is_linked || !is_dropped, "a page that has a next one is not the last one");
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "last page of a chain",
      {model::scenario<Dropping<1, Room::kForAll>, model::kExhaustive>("an append"),
       model::scenario<Dropping<2, Room::kForAll>, model::kExhaustive>("two appends"),
       model::scenario<Dropping<2, Room::kForNone>, model::kExhaustive>("a next page")},
      {{"epoch_clock.h pin store_release", rl::mo_relaxed,
        "E4 is for who goes on when it sees a later pin; here any pin ends the drop"},
       {"sequential_model.cc append load_acquire", rl::mo_relaxed,
        "for a session's number that had another owner before"},
       {"sequential_model.cc link store_release", rl::mo_relaxed,
        "for who takes a page before the tail for one that has moved (S9), and for scans (S1)"},
       {"sequential_model.cc drop exchange_acq_rel", rl::mo_relaxed,
        "the fence behind it is what S10 needs"},
       {"sequential_model.cc drop compare_exchange_acq_rel", rl::mo_relaxed,
        "it gives back an id that the owner itself has stored"}},
      {"epoch_clock.cc", "page_header.h"}};
  return protocol.check(argc, argv);
}
