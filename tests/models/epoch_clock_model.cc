// The epoch clock: epoch/epoch_clock.{h,cc} themselves, with a session that commits (E2), and with
// one that reads a page which another thread unlinks and reuses (E3, E20, E26).
#include "foedus-core/epoch/epoch_clock.cc"
#include "tests/models/harness/runtime.h"

namespace {

using namespace foedus;

constexpr Epoch kFirst(10);

// A runtime in which kLentUsMax passes between two reads of the time, or does not.
struct Runtime : model::Runtime<> {
  std::uint64_t now_us() override {
    if (passes && rl::rand(2) != 0) now_us_ += 2 * kLentUsMax;
    return now_us_;
  }
  bool passes = false;

 private:
  static constexpr std::uint64_t kLentUsMax = 100'000;
  std::uint64_t now_us_ = 0;
};

template <typename Scenario, rl::thread_id_t kThreads>
struct Clock : model::Suite<Scenario, kThreads> {
  Runtime runtime;
  epoch::EpochClock clock{&runtime, kFirst, 1, 0};
};

// A published epoch has all of its commits. The ring is a relaxed word and plain records: a logger
// that uses published() needs no order from the ring.
template <rl::thread_id_t kThreads, int kCommits>
struct Publishing : Clock<Publishing<kThreads, kCommits>, kThreads> {
  rl::atomic<int> committed{0};
  model::Plain<int> records[kCommits];
  std::uint64_t epochs[kCommits] = {};
  int found = 0;
  std::uint64_t looked_up_to = 0;

  void commit() {
    for (int i = 0; i < kCommits; ++i) {
      epochs[i] = this->clock.enter_commit(0).number();
      records[i].set(1);
      committed.store(i + 1, rl::mo_relaxed, MODEL_HERE);
      this->clock.leave_commit(0);
    }
  }
  // A logger: commits of an epoch that it finds published must be in the ring.
  void look() {
    looked_up_to = this->clock.published().number();
    found = committed.load(rl::mo_relaxed, MODEL_HERE);
    for (int i = 0; i < found && epochs[i] <= looked_up_to; ++i) {
      model::require(records[i].get() == 1, "the record is whole");
    }
  }
  void thread(unsigned index) {
    if (index == 0) return commit();
    if (index == 1) {
      for (int i = 0; i < kCommits; ++i) static_cast<void>(this->clock.step());
    }
    if (index == kThreads - 1) look();
  }
  void after() {
    for (int i = found; i < kCommits; ++i) {
      model::require(epochs[i] > looked_up_to, "no commit comes too late");
    }
  }
};

// The pins of a reading session: one; two, one after another; one that it lends in between; and
// those of the cache, where the second renews the first.
enum class Pin { kPage, kPageTwice, kPageLent, kCache, kCacheRenewed };

// Thread 0 reads the page while it is linked. The last thread unlinks it as SessionPages::retire()
// and PageCache::leave_locked() do, and writes to it when it may be reused.
template <Pin kPin, rl::thread_id_t kThreads>
struct Reclaiming : Clock<Reclaiming<kPin, kThreads>, kThreads> {
  base::AtomicWord<std::uint32_t> link{1};
  model::Plain<int> page{1};

  static constexpr bool kIsOfCache = kPin == Pin::kCache || kPin == Pin::kCacheRenewed;

  void read() {
    if (kIsOfCache) {
      this->clock.pin_cache(0);
      look();
      if (kPin == Pin::kCacheRenewed) {
        this->clock.pin_cache(0);
        look();
      }
      this->clock.unpin_cache(0);
      return;
    }
    if (kPin == Pin::kPageLent) return read_twice_lending();
    for (int i = 0; i < (kPin == Pin::kPageTwice ? 2 : 1); ++i) {
      this->clock.pin(0);
      look();
      this->clock.unpin(0);
    }
  }
  // E26. Reads again by the address of the first read if the pin was not revoked.
  void read_twice_lending() {
    this->clock.pin(0);
    const bool has_found = link.load_relaxed() != 0;
    if (has_found) look_at_page();
    this->clock.lend_pin(0);
    if (!this->clock.take_pin_back(0)) return;
    if (has_found) look_at_page();
    this->clock.unpin(0);
  }
  void look_at_page() { model::require(page.get() == 1, "the page is as it was"); }
  void look() {
    if (link.load_relaxed() != 0) look_at_page();
  }
  void retire_and_use() {
    link.store_relaxed(0);
    // from foedus-core/page/session_pages.h:
    //     base::fence_seq_cst();
    //     push_retired(pool_->id_of(page), clock_->current().number());
    base::fence_seq_cst();
    const Epoch stamp = this->clock.current();
    if (kThreads == 2) {
      static_cast<void>(this->clock.step());
      static_cast<void>(this->clock.step());
    }
    const Epoch reclaimable =
        kIsOfCache ? this->clock.cache_reclaimable() : this->clock.reclaimable();
    if (reclaimable >= stamp) page.set(2);
  }
  void before() { this->runtime.passes = kPin == Pin::kPageLent; }
  void thread(unsigned index) {
    if (index == 0) return read();
    if (index == kThreads - 1) return retire_and_use();
    static_cast<void>(this->clock.step());
    static_cast<void>(this->clock.step());
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "epoch clock",
      {model::scenario<Publishing<3, 1>, 3>("publishing, logger apart"),
       model::scenario<Publishing<2, 2>, 3>("publishing two commits"),
       model::scenario<Reclaiming<Pin::kPage, 2>, 3>("pages"),
       model::scenario<Reclaiming<Pin::kPage, 3>, 2>("pages, clock apart"),
       model::scenario<Reclaiming<Pin::kPageTwice, 2>, 3>("pages, two pins"),
       model::scenario<Reclaiming<Pin::kPageLent, 2>, 2>("pages, a pin that is lent"),
       model::scenario<Reclaiming<Pin::kPageLent, 3>, 1>("pages, lent, clock apart"),
       model::scenario<Reclaiming<Pin::kCache, 2>, 3>("cached pages"),
       model::scenario<Reclaiming<Pin::kCacheRenewed, 2>, 3>("cached pages, renewed pin"),
       model::scenario<Reclaiming<Pin::kCache, 3>, 2>("cached pages, clock apart"),
       model::scenario<Publishing<2, 1>, model::kExhaustive>("publishing")},
      {{"epoch_clock.cc update_reclaimable fence_seq_cst", rl::mo_acq_rel,
        "the fence of the step that began the epoch comes before these looks at the pins, too"},
       {"epoch_clock.cc update_reclaimable fence_seq_cst", rl::mo_relaxed, "as above"},
       {"epoch_clock.cc step store_seq_cst", rl::mo_release,
        "the fence behind it is what E2 needs"},
       {"epoch_clock.cc step store_seq_cst", rl::mo_relaxed, "as above"},
       {"epoch_clock.h take_pin_back compare_exchange_acq_rel", rl::mo_relaxed,
        "it decides between session and clock, and hands nothing over; there is one kind"},
       {"epoch_clock.cc look_at_pin compare_exchange_acq_rel", rl::mo_relaxed,
        "as above; the load before it acquires"},
       {"epoch_clock.h current load_acquire", rl::mo_relaxed,
        "E1 to E3 need none; it is for who concludes from the epoch what was stored before it"}}};
  return protocol.check(argc, argv);
}
