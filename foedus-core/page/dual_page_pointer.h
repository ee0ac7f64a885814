#pragma once
// DualPagePointer: the only kind of lasting pointer between pages (paper §4, figure 2). It joins a
// mutable volatile page in DRAM with an immutable snapshot page on NVM that is its equal or its
// past.
//
//     volatile  snapshot     meaning                               leaves by
//     null      null         no page yet                           install_volatile
//     X         null         volatile page, never gleaned          install_snapshot
//     null      Y            the snapshot page is the truth        install_volatile (a copy of Y)
//     X         Y            X is the truth, Y its past or equal   install_snapshot, drop_volatile
//
//   P3  While the volatile half is not null, that page represents all that the snapshot page does.
//       When it is null, the snapshot half is the truth.
//   P4  Both halves change together, by one 16-byte compare-and-swap that expects both as they were
//       seen: a builder that worked from a stale half fails. The exceptions are pointers that no
//       other thread can reach yet, and shifts inside an interior page under that page's lock.
//   P5  A pointer inside a page that can be split, grown or retired is changed only under that
//       page's lock, after a look whether it is moved, retired or dropped. Roots of storages are
//       changed by the compare-and-swap of P4, and need no lock.
//   P18 Pages of the page cache are shared and stay as they were read, with one exception. The
//       volatile half of a pointer in them, which is null on the device, may be a hint: the cache
//       frame that last held the child. A hint may be wrong at any time, and is followed only if
//       the cache finds the child there (K30, snapshot/cache/page_cache.h). load() reads it as
//       null, and a volatile copy of a cached page is cleared of hints.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/page_id.h"

namespace foedus::page {

// Both halves as seen at one time.
struct DualPageIds {
  VolatilePageId volatile_page;
  SnapshotPageId snapshot_page;

  constexpr bool is_null() const { return volatile_page.is_null() && snapshot_page.is_null(); }
  constexpr bool operator==(const DualPageIds&) const = default;
};

class alignas(16) DualPagePointer {
 public:
  DualPagePointer() = default;

  // Returns the volatile half alone, which is what nearly every traversal needs.
  VolatilePageId load_volatile() const {
    // order: acquire, pairs with the release of the store: the page's contents are there.
    return VolatilePageId(volatile_.load_acquire());
  }

  // Returns both halves; a hint (P18) reads as null. The halves may be of two moments. A later
  // compare-and-swap, or the verification of the pointer set, detects that.
  DualPageIds load() const {
    // order: acquire twice, volatile first. Whichever compare-and-swap wrote the volatile half, its
    // snapshot half is seen, or a newer one. Snapshot halves never go back. So if a second load
    // finds both halves as the first one did, and the volatile one null, both were so at one
    // moment. In the other order a page that was installed, changed, gleaned and dropped in between
    // could be missed. The snapshot half would be from before the glean, the null from after the
    // drop.
    const std::uint64_t word = volatile_.load_acquire();
    const VolatilePageId volatile_page((word & kHintFlag) != 0 ? 0 : word);
    return {volatile_page, SnapshotPageId(snapshot_.load_acquire())};
  }

  // P4. Changes both halves from `expected` to `desired`. Returns false and changes nothing if they
  // are not `expected`.
  bool compare_exchange(const DualPageIds& expected, const DualPageIds& desired) {
    __extension__ using Both = unsigned __int128;
    const auto joined = [](const DualPageIds& ids) {
      return static_cast<Both>(ids.volatile_page.word()) |
             (static_cast<Both>(ids.snapshot_page.word()) << 64);
    };
    // order: the builtin is a full fence: the new page's contents are there before its id is.
    return __sync_bool_compare_and_swap(reinterpret_cast<Both*>(this), joined(expected),
                                        joined(desired));
  }

  // P18. Returns the frame of the hint, 0 if there is none.
  std::uint32_t hint() const {
    const std::uint64_t word = volatile_.load_relaxed();  // order: relaxed, a hint
    return (word & kHintFlag) != 0 ? static_cast<std::uint32_t>(word) : 0;
  }
  // P18. Sets the hint. REQUIRES: the pointer lies in a page of the page cache at which the caller
  // may look.
  void set_hint(std::uint32_t frame) {
    volatile_.store_relaxed(kHintFlag | frame);  // order: relaxed, a hint
  }
  // Clears the hint. REQUIRES: the pointer lies in a copy that no other thread can reach.
  void clear_hint() {
    if (hint() != 0) volatile_.store_relaxed(0);  // order: relaxed, the caller has the copy alone
  }
  // Returns whether the volatile half is null and holds no hint, as on a device. REQUIRES: no other
  // thread has the page of the pointer.
  bool is_cold() const { return volatile_.load_relaxed() == 0; }  // order: relaxed, see REQUIRES

  // Stores both halves of a pointer that is not reachable yet, or is shifted under the page's lock
  // (P4).
  void store(const DualPageIds& ids) {
    // order: release, pairs with the acquire of load_volatile().
    snapshot_.store_release(ids.snapshot_page.word());
    volatile_.store_release(ids.volatile_page.word());
  }

 private:
  // No id of a page has this bit: page numbers are smaller (PagePool::kNumberBits).
  static constexpr std::uint64_t kHintFlag = (VolatilePageId::kNumberMask + 1) >> 1;

  base::AtomicWord<std::uint64_t> volatile_;  // +8 -> 8
  base::AtomicWord<std::uint64_t> snapshot_;  // +8 -> 16
};
static_assert(sizeof(DualPagePointer) == 16 && alignof(DualPagePointer) == 16);

}  // namespace foedus::page
