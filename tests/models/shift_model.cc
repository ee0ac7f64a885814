// Verification of pointers in an interior page of a Master-Tree while the holder of its lock shifts
// them: storage/masstree/layout/page.h itself, with the lines of storage/masstree/change/adopt.cc
// that shift and those of storage/masstree/change/track.cc that verify.
#include "foedus-core/storage/masstree/layout/page.h"

#include "foedus-core/occ/record_lock.cc"
#include "tests/models/harness/model.h"

namespace {

using namespace foedus;
using page::DualPageIds;
using page::SnapshotPageId;
using page::VolatilePageId;
using storage::masstree::InteriorPage;

constexpr std::uint64_t kSlice = 100;  // the slice of the followed pointer
const DualPageIds kMoved{VolatilePageId(0, 1), SnapshotPageId()};
const DualPageIds kObserved{VolatilePageId(), SnapshotPageId(7)};
const DualPageIds kInstalled{VolatilePageId(0, 2), SnapshotPageId(7)};
const DualPageIds kCold{VolatilePageId(), SnapshotPageId(8)};
const DualPageIds kTwins[] = {{VolatilePageId(0, 3), SnapshotPageId()},
                              {VolatilePageId(0, 4), SnapshotPageId()}};

// Three children: one that has moved to twins, the followed one, and its cold neighbour.
template <typename Scenario>
struct Shifting : model::Suite<Scenario, 2> {
  alignas(page::kPageBytes) static inline char memory[page::kPageBytes];
  InteriorPage* const page = reinterpret_cast<InteriorPage*>(memory);

  void make(const DualPageIds& at_issue) {
    std::memset(memory, 0, sizeof(memory));
    // Makes all words that three separators and four children use.
    model::adopt(&page->header.lock, 16);
    model::adopt(&page->groups[0], 4 * 8);
    model::adopt(&page->groups[0].children, 4 * 16);
    model::adopt(&page->child(0), 16);
    page->header.store_version(page::PageVersion(2, 0));
    page->child(0).store(kMoved);
    page->set_separator(0, kSlice);
    page->child(1).store(at_issue);
    page->set_separator(1, kSlice + 100);
    page->child(2).store(kCold);
  }

  // Adopts the twins of the first child.
  void shift() {
    const occ::LockGuard guard(&page->header.lock);
    constexpr unsigned at = 0;
    const page::PageVersion version = page->header.load_version();
    const unsigned keys = version.keys();
    InteriorPage* const parent = page;
    // from foedus-core/storage/masstree/change/adopt.cc:
    //     for (unsigned i = keys; i > at; --i) {
    //       parent->child(i + 1).store(parent->child(i).load());
    //       parent->set_separator(i, parent->separator(i - 1));
    //     }
    for (unsigned i = keys; i > at; --i) {
      parent->child(i + 1).store(parent->child(i).load());
      parent->set_separator(i, parent->separator(i - 1));
    }
    parent->child(at + 1).store(kTwins[1]);
    parent->set_separator(at, 50);
    parent->child(at).store(kTwins[0]);
    parent->header.store_version(version.plus_key());
  }

  // Joins the twins again.
  void join() {
    const occ::LockGuard guard(&page->header.lock);
    InteriorPage* const parent_ = page;
    constexpr unsigned at_ = 0;
    const unsigned keys_ = page->header.load_version().keys();
    parent_->child(at_).store(kMoved);
    // from foedus-core/storage/masstree/change/pair.cc:
    //     for (unsigned i = at_; i + 1 < keys_; ++i) {
    //       parent_->set_separator(i, parent_->separator(i + 1));
    //       FOEDUS_SYNC_POINT("masstree:pair_shifting");
    //       parent_->child(i + 1).store(parent_->child(i + 2).load());
    //     }
    for (unsigned i = at_; i + 1 < keys_; ++i) {
      parent_->set_separator(i, parent_->separator(i + 1));
      parent_->child(i + 1).store(parent_->child(i + 2).load());
    }
    // from foedus-core/storage/masstree/change/pair.cc:
    //     const std::uint32_t merges = (parent_->header.load_version().layers() + 1) & 0xffff;
    //     parent_->header.store_version(page::PageVersion(keys_ - 1, merges));
    const std::uint32_t merges = (parent_->header.load_version().layers() + 1) & 0xffff;
    parent_->header.store_version(page::PageVersion(keys_ - 1, merges));
  }

  // Returns true if the observed pointer is taken for unchanged.
  bool look_again() {
    for (unsigned tries = 0;;) {
      const page::PageVersion version = page->header.load_version();
      const bool is_same = look_in(version.keys());
      // from foedus-core/storage/masstree/change/track.cc:
      //     const bool is_quiet = !occ::is_held(page->header.lock.load_acquire()) &&
      //                           page->header.load_version() == version;
      //     if (is_quiet) return look;
      //     if (++tries == kShiftTries) return occ::PointerState::kInstalled;
      //     spin.once();
      const bool is_quiet =
          !occ::is_held(page->header.lock.load_acquire()) && page->header.load_version() == version;
      if (is_quiet) return is_same;
      if (++tries == 2) return false;
      rl::yield(1, MODEL_HERE);
    }
  }
  bool look_in(unsigned keys) {
    InteriorPage* const interior = page;
    // from foedus-core/storage/masstree/change/track.cc:
    //     for (const unsigned i : {at, at + 1, at - 1}) {
    //       if (i <= keys && is_same(&interior->child(i))) return occ::PointerState::kSame;
    //     }
    const unsigned at = interior->child_of(kSlice, keys);
    for (const unsigned i : {at, at + 1, at - 1}) {
      if (i <= keys && interior->child(i).load() == kObserved) return true;
    }
    return false;
  }
};

// Another transaction installed a page there, wrote to it and committed before the verification.
struct Changed : Shifting<Changed> {
  void before() { make(kInstalled); }
  void thread(unsigned index) {
    if (index == 0) return shift();
    model::require(!look_again(), "an install is not missed");
  }
};

// After the change the adopted twins are joined again: pages and numbers of keys have their old
// values.
struct ChangedAndJoined : Shifting<ChangedAndJoined> {
  void before() { make(kInstalled); }
  void thread(unsigned index) {
    if (index == 0) {
      shift();
      return join();
    }
    model::require(!look_again(), "an install is not missed");
  }
};

// No change: a verification during shifts may conflict, others do not.
struct Unchanged : Shifting<Unchanged> {
  void before() { make(kObserved); }
  void thread(unsigned index) {
    if (index == 0) return shift();
    static_cast<void>(look_again());
  }
  void after() { model::require(look_again(), "it is found where it is now"); }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{"shifts",
                           {model::scenario<Changed, 3>("an install is not missed"),
                            model::scenario<ChangedAndJoined, 2>("it is joined again"),
                            model::scenario<Unchanged, 2>("no change")},
                           {},
                           {"record_lock.h", "dual_page_pointer.h"}};
  return protocol.check(argc, argv);
}
