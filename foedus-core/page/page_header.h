#pragma once
// PageHeader: the first 64 bytes of every page, volatile or snapshot.
//
//   word           written by                      read by            meaning
//   lock           waiters of the page's lock      the same           see occ/record_lock.h
//   version        the lock's holder               everyone           see PageVersion
//   birth_version  the page's maker, before others verify             version it was born with
//   purged_tid     the lock's holder               the lock's holder  P7
//   last_soc       any committer, relaxed, racing  partition stage    SOC that modified it last
//   is_used        any session, relaxed, racing    install            some session looked at it
//
//   P6  Everything of a page's identity (id, storage, kind, level) is constant from the moment that
//       the page can be reached.
//   P7  A new record starts with a TID above purged_tid. That is the highest TID of any record that
//       was removed from this page or, by splits, its ancestors. Otherwise a re-inserted key could
//       sort before its own erasure in the log.
//   P8  is_used is a hint about volatile pages, set by one of a few visits, and zero in snapshot
//       pages. A session sets it only if it is clear, so that the line stays shared while it is
//       set.

#include <cstdint>
#include <cstring>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/page_id.h"

namespace foedus::page {

// Stable numbers: they are written to snapshot pages.
enum class PageKind : std::uint8_t {
  kNone = 0,
  kArrayInterior = 1,
  kArrayBorder = 2,
  kHashInterior = 3,
  kHashBin = 4,
  kMasstreeInterior = 5,
  kMasstreeBorder = 6,
  kSequential = 7,
  kSequentialHeads = 8,
  kOverflow = 9,
};

// PageVersion: the word that phantom protection compares. It counts the distinct keys of a page,
// and its records that became layers. Both only grow while the page is not moved. Flags say what
// has become of the page.
class PageVersion {
 public:
  static constexpr std::uint64_t kMoved = std::uint64_t{1} << 32;    // foster twins took over
  static constexpr std::uint64_t kRetired = std::uint64_t{1} << 33;  // no pointer leads to it
  static constexpr std::uint64_t kDropped = std::uint64_t{1} << 34;  // its snapshot page took over

  constexpr PageVersion() = default;
  constexpr explicit PageVersion(std::uint64_t word) : word_(word) {}
  constexpr PageVersion(std::uint32_t keys, std::uint32_t layers)
      : word_(keys | (static_cast<std::uint64_t>(layers) << 16)) {}

  constexpr std::uint64_t word() const { return word_; }
  constexpr std::uint32_t keys() const { return static_cast<std::uint32_t>(word_ & 0xffff); }
  constexpr std::uint32_t layers() const {
    return static_cast<std::uint32_t>((word_ >> 16) & 0xffff);
  }
  constexpr bool is_moved() const { return (word_ & kMoved) != 0; }
  constexpr bool is_retired() const { return (word_ & kRetired) != 0; }
  constexpr bool is_dropped() const { return (word_ & kDropped) != 0; }
  // Returns whether the page's pointers and records are no longer those of the storage.
  constexpr bool is_gone() const { return (word_ & (kMoved | kRetired | kDropped)) != 0; }
  // Returns keys and layers alone, which is what a page-version set remembers.
  constexpr PageVersion counts() const { return PageVersion(word_ & 0xffffffff); }
  constexpr PageVersion with(std::uint64_t flags) const { return PageVersion(word_ | flags); }
  constexpr PageVersion plus_key() const { return PageVersion(word_ + 1); }
  constexpr PageVersion plus_layer() const { return PageVersion(word_ + (1u << 16)); }
  constexpr bool operator==(const PageVersion&) const = default;

 private:
  std::uint64_t word_ = 0;
};

struct PageHeader {
  std::uint64_t page_id;                           // +8 -> 8   VolatilePageId or SnapshotPageId
  StorageId storage_id;                            // +4 -> 12
  std::uint32_t crc32c;                            // +4 -> 16  snapshot pages: of all other bytes
  PageKind kind;                                   // +1 -> 17
  std::uint8_t level;                              // +1 -> 18  0: holds records
  std::uint8_t layer;                              // +1 -> 19  Master-Tree: depth of the layer
  std::uint8_t flags;                              // +1 -> 20  by kind; constant
  base::AtomicWord<std::uint16_t> last_soc;        // +2 -> 22  statistics (paper §7.2)
  base::AtomicWord<std::uint16_t> is_used;         // +2 -> 24  P8
  base::AtomicWord<std::uint64_t> lock;            // +8 -> 32
  base::AtomicWord<std::uint64_t> version;         // +8 -> 40
  std::uint64_t birth_version;                     // +8 -> 48
  std::uint64_t purged_tid;                        // +8 -> 56
  std::uint64_t kind_word;                         // +8 -> 64  by kind

  // Sets the identity of a page and clears the rest of its header. REQUIRES: no other thread can
  // reach the page yet.
  void initialize(VolatilePageId id, StorageId storage, PageKind page_kind,
                  std::uint8_t page_level) {
    std::memset(static_cast<void*>(this), 0, sizeof(*this));
    page_id = id.word();
    storage_id = storage;
    kind = page_kind;
    level = page_level;
  }

  // Marks the page as used (P8). REQUIRES: the page is volatile.
  void mark_used() {
    if (is_used.load_relaxed() == 0) is_used.store_relaxed(1);  // order: relaxed, a hint
  }
  // Clears the mark of use. Returns whether the page was marked since the last call. One thread at
  // a time calls this.
  bool take_used() {
    if (is_used.load_relaxed() == 0) return false;
    is_used.store_relaxed(0);  // order: relaxed, a hint; a mark that comes in between is lost
    return true;
  }

  VolatilePageId volatile_id() const { return VolatilePageId(page_id); }
  PageVersion load_version() const {
    // order: acquire, pairs with store_version(): records and slots below the count are complete.
    return PageVersion(version.load_acquire());
  }
  // REQUIRES: the caller holds the page's lock, or the page is not reachable yet.
  void store_version(PageVersion next) { version.store_release(next.word()); }

  // Returns the page of a record, or of any other address within a page.
  static PageHeader* of(void* inside) {
    return reinterpret_cast<PageHeader*>(reinterpret_cast<std::uintptr_t>(inside) &
                                         ~static_cast<std::uintptr_t>(kPageBytes - 1));
  }
  static const PageHeader* of(const void* inside) { return of(const_cast<void*>(inside)); }
};
static_assert(sizeof(PageHeader) == 64);

}  // namespace foedus::page
