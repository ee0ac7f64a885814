#pragma once
// Pages of the Master-Tree (paper §8). A tree is a trie of layers; each layer is a B-tree over one
// 64-bit slice of the key, read as a big-endian number. Border pages hold records, interior pages
// separators and dual page pointers.
//
//   header | slices 0-7, slots 0-7 | slices 8-15, slots 8-15 | …   free   … | record 1 | record 0 |
//
// A search knows where to begin before it has seen anything of a page: in its first 256 bytes. The
// directory of keys grows from there in groups of a line of slices and a line of slots, the heap of
// records from the end.
//
//     made --(linked)--> live --reorganize()/split_interior()--> moved --adopt()/grow()--> retired
//          \                        twins, or one replacement
//           \--merge()/merge_interior(): with a neighbour--> moved, retired
//
//   M1  The slices low..last (both inclusive) that a page is responsible for never change, moved or
//       not. Its successors (twins, a replacement page, or the page that it was merged to) cover
//       them, in two ranges at most. The page that it was merged to covers slices of the neighbour,
//       too.
//   M2  Nothing but the count makes a key visible: record, slice and slot are complete before
//       header.version counts it. Slice, offset, key bytes and capacity never change then.
//   M3  Records never move inside a page. A page without room, or a record that needs more, makes
//       the whole page move. It goes to two twins, or to one page in its place (foster_major null),
//       or with a neighbour (M16).
//   M4  A moved page never changes again. Its foster words are set before its first record is
//       marked moved, and all its records are before header.version says so. So no twin's record
//       can change while the old one still looks alive.
//   M5  All keys of one slice are in one page, and always fit: see crowded_capacity().
//   M6  The fields of a slot that change (payload bytes, layer) change under the record's lock.
//   M7  A record becomes a next layer once: TID flag, then the pointer in place of the payload,
//       then the slot's mark, then the page's layer count. Readers that see the flag without the
//       mark wait for it; the writer does nothing but these stores in between.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus/options.h"

namespace foedus::storage::masstree {

// ---- keys

// The length class of the rest of a key in a layer. Keys of 0..8 bytes end in this slice; longer
// ones have a remainder, and share one slot per slice (a record, or the next layer).
inline constexpr unsigned kRemainderClass = 9;

inline unsigned class_of(std::size_t key_bytes) {
  return key_bytes > 8 ? kRemainderClass : static_cast<unsigned>(key_bytes);
}

inline constexpr std::uint64_t kLastSlice = ~std::uint64_t{0};

// Returns the first 8 bytes as a big-endian number, with zeroes after a shorter key.
inline std::uint64_t slice_of(std::string_view rest) {
  std::uint64_t word = 0;
  if (rest.size() >= 8) [[likely]] {
    std::memcpy(&word, rest.data(), 8);
  } else {
    std::memcpy(&word, rest.data(), rest.size());
  }
  return __builtin_bswap64(word);
}

// Writes the 8 bytes of a slice.
inline void put_slice(std::uint64_t slice, char* to) {
  slice = __builtin_bswap64(slice);
  std::memcpy(to, &slice, 8);
}

constexpr std::uint32_t align_16(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + 15) & ~std::size_t{15});
}

// ---- slots

// A border page's entry of a record, in one word.
class Slot {
 public:
  // Key bytes of a next-layer record that came from another page: its remainder stayed behind.
  static constexpr std::uint32_t kLayerKeyBytes = 0xffff;
  // Payload bytes: a chain of overflow pages, see storage/base/overflow.h.
  static constexpr std::uint32_t kOverflow = 0xffff;
  // Payload bytes: a chain of pages of a snapshot; the body holds a SnapshotPageId.
  static constexpr std::uint32_t kSnapshotOverflow = 0xfffe;
  // Payload bytes: a next layer. The low bits are the page's layer count when the record became one
  // here, or 0 if it came from another page.
  static constexpr std::uint32_t kLayer = 0xf000;
  static constexpr std::uint32_t kLayerOrdinalMask = 0x00ff;

  constexpr Slot() = default;
  constexpr explicit Slot(std::uint64_t word) : word_(word) {}
  constexpr Slot(std::uint32_t offset, std::uint32_t key_bytes, std::uint32_t capacity,
                 std::uint32_t payload_bytes)
      : word_(offset | (std::uint64_t{key_bytes} << 16) | (std::uint64_t{capacity} << 32) |
              (std::uint64_t{payload_bytes} << 48)) {}

  constexpr std::uint64_t word() const { return word_; }
  constexpr std::uint32_t offset() const { return word_ & 0xffff; }
  constexpr std::uint32_t key_bytes() const { return (word_ >> 16) & 0xffff; }
  constexpr std::uint32_t capacity() const { return (word_ >> 32) & 0xffff; }
  constexpr std::uint32_t payload_field() const { return word_ >> 48; }

  constexpr unsigned key_class() const { return key_bytes() > 8 ? kRemainderClass : key_bytes(); }
  constexpr std::uint32_t remainder_bytes() const {
    return key_bytes() <= 8 || key_bytes() == kLayerKeyBytes ? 0 : key_bytes() - 8;
  }
  constexpr bool is_overflow() const { return payload_field() == kOverflow; }
  constexpr bool is_snapshot_overflow() const { return payload_field() == kSnapshotOverflow; }
  // Returns whether the payload is in a chain of pages, of either kind.
  constexpr bool is_chain() const { return payload_field() >= kSnapshotOverflow; }
  constexpr bool is_layer() const { return (payload_field() & ~kLayerOrdinalMask) == kLayer; }
  constexpr std::uint32_t layer_ordinal() const { return payload_field() & kLayerOrdinalMask; }
  // Returns the length of the inline payload of a record that is no layer, or the mark of a chain.
  constexpr std::uint32_t payload_bytes() const { return is_layer() ? 0 : payload_field(); }

  constexpr std::uint32_t payload_offset() const {
    return offset() + static_cast<std::uint32_t>(sizeof(page::RecordHeader)) +
           align_16(remainder_bytes());
  }
  constexpr std::uint32_t record_bytes() const { return payload_offset() - offset() + capacity(); }
  constexpr Slot with_offset(std::uint32_t offset) const {
    return Slot((word_ & ~std::uint64_t{0xffff}) | offset);
  }
  constexpr Slot with_payload(std::uint32_t payload_field) const {
    return Slot((word_ & 0xffffffffffffu) | (std::uint64_t{payload_field} << 48));
  }

 private:
  std::uint64_t word_ = 0;
};

// Returns the room for a payload: a multiple of 16, in which a dual page pointer always fits.
inline constexpr std::uint32_t kCapacityMin = 16;
constexpr std::uint32_t capacity_for(std::size_t payload_bytes) {
  return std::max(kCapacityMin, align_16(payload_bytes));
}

// Returns the heap bytes of a record.
constexpr std::uint32_t footprint(std::size_t remainder_bytes, std::uint32_t capacity) {
  return static_cast<std::uint32_t>(sizeof(page::RecordHeader)) + align_16(remainder_bytes) +
         capacity;
}

// ---- pages

// The words that border and interior pages have in common.
struct TreePage {
  page::PageHeader header;                       // +64 -> 64
  std::uint64_t low;                             // +8 -> 72   M1
  std::uint64_t last;                            // +8 -> 80   M1
  base::AtomicWord<std::uint64_t> foster_minor;  // +8 -> 88   M4: VolatilePageId words
  base::AtomicWord<std::uint64_t> foster_major;  // +8 -> 96   0: the minor one took all

  bool contains(std::uint64_t slice) const { return low <= slice && slice <= last; }
  bool is_border() const { return header.level == 0; }

  static TreePage* of(page::PageHeader* header) { return reinterpret_cast<TreePage*>(header); }
};
static_assert(sizeof(TreePage) == 96);

// header.kind_word of border pages: their birth (storage/moves/birth.h).
// header.version: keys and layers. header.flags: kLayerAnchor.
struct BorderPage : TreePage {
  static constexpr unsigned kKeysMax = 64;
  static constexpr unsigned kNone = ~0u;
  // header.flags: the page is the root that a record became (the layer anchor), and has that
  // record. Or it took the place of such a page that had got no other key. A transaction that saw
  // the record before it became a layer may verify by this page's count at birth.
  static constexpr std::uint8_t kLayerAnchor = 1;

  // Eight keys: the slices, which a search compares, and the slots, which it looks at where the
  // slice is equal.
  struct Group {
    static constexpr unsigned kKeys = 8;
    std::uint64_t slices[kKeys];                   // +64 -> 64
    base::AtomicWord<std::uint64_t> slots[kKeys];  // +64 -> 128
  };

  base::AtomicWord<std::uint32_t> sorted_keys;  // +4 -> 100  the first keys, so many, ascend by
                                                //            (slice, class)
  std::uint32_t heap_begin;                     // +4 -> 104  written by the lock's holder
  std::uint64_t zero[3];                        // +24 -> 128
  char body[page::kPageBytes - 128];            // +3968 -> 4096  groups, then free, then records

  static constexpr std::uint32_t kBodyBytes = sizeof(body);
  static constexpr std::uint32_t kBodyBegin = page::kPageBytes - kBodyBytes;

  // Returns the bytes of the groups that `keys` keys need.
  static constexpr std::uint32_t directory_bytes(unsigned keys) {
    return (keys + Group::kKeys - 1) / Group::kKeys * static_cast<std::uint32_t>(sizeof(Group));
  }

  static BorderPage* of(page::PageHeader* header) { return reinterpret_cast<BorderPage*>(header); }
  static BorderPage* of(TreePage* tree_page) { return static_cast<BorderPage*>(tree_page); }
  static BorderPage* of_record(page::RecordHeader* record) {
    return of(page::PageHeader::of(static_cast<void*>(record)));
  }

  Group& group(unsigned index) { return reinterpret_cast<Group*>(body)[index / Group::kKeys]; }
  std::uint64_t slice(unsigned index) { return group(index).slices[index % Group::kKeys]; }
  base::AtomicWord<std::uint64_t>& slot_word(unsigned index) {
    return group(index).slots[index % Group::kKeys];
  }
  Slot slot(unsigned index) {
    // order: acquire, pairs with the release of the writer of the changing fields (M6, M7).
    return Slot(slot_word(index).load_acquire());
  }
  char* at(std::uint32_t offset) { return reinterpret_cast<char*>(this) + offset; }
  page::RecordHeader* record(Slot slot) {
    return reinterpret_cast<page::RecordHeader*>(at(slot.offset()));
  }
  page::RecordHeader* record(unsigned index) { return record(slot(index)); }
  std::string_view remainder(Slot slot) {
    return {at(slot.offset()) + sizeof(page::RecordHeader), slot.remainder_bytes()};
  }
  char* payload(Slot slot) { return at(slot.payload_offset()); }
  // Returns the pointer to a next layer. REQUIRES: slot.is_layer(), or the caller makes it one.
  page::DualPagePointer* layer_pointer(Slot slot) {
    return reinterpret_cast<page::DualPagePointer*>(payload(slot));
  }
  // Returns the index of a record's slot in this page. kNone: it is not one of the first `keys`.
  unsigned index_of(const page::RecordHeader* record, unsigned keys) {
    const auto offset = static_cast<std::uint32_t>(reinterpret_cast<const char*>(record) -
                                                   reinterpret_cast<const char*>(this));
    for (unsigned i = 0; i < keys; ++i) {
      if (slot(i).offset() == offset) return i;
    }
    return kNone;
  }

  bool is_layer_anchor() const { return (header.flags & kLayerAnchor) != 0; }
  page::PageVersion birth() const { return page::PageVersion(header.birth_version); }

  // Returns whether one more record of `bytes` fits after the first `keys`. REQUIRES: the lock.
  bool has_room(unsigned keys, std::uint32_t bytes) const {
    return keys < kKeysMax && kBodyBegin + directory_bytes(keys + 1) + bytes <= heap_begin;
  }
};
static_assert(sizeof(BorderPage) == page::kPageBytes);

// header.version: keys is the number of separators, children are one more; layers counts merges.
//
// Child i is responsible for slices from separator i-1 (or low) to below separator i (or last). The
// last separator of each group of eight is also a pivot. So a search waits for memory twice at
// most: for header and pivots, whose lines it loads together, and for one group.
//
// An adoption shifts separators and children to the right, from the end. A merge shifts them to the
// left, from the beginning. Readers look meanwhile, and cannot go wrong, for two reasons. First,
// each place up to the count that a reader saw has a pointer to a page that was reachable at that
// look or later; so has the first place that a merge left over. So that page was not retired before
// the reader's transaction began (M8). Second, the reader looks at the child's own low and last. If
// the last child counted ends below the slice, the page has grown since that look, and the next
// place has been written.
//
// A reader finds its child, unless several shifts overtook it; then it looks again. A child is
// stored in its new place before the old one is overwritten, so it is where it was or beside. In a
// shift to the right, a pivot is stored after its group, and that after all groups to its right. So
// a reader that sees the new pivot sees these groups shifted. In a shift to the left, a pivot is
// stored after its group and before the groups to its right. So a reader that sees the old pivot
// looks one place too far in these.
struct InteriorPage : TreePage {
  static constexpr unsigned kGroupSize = 8;
  static constexpr unsigned kGroups = 20;
  static constexpr unsigned kSeparatorsMax = kGroups * kGroupSize - 1;

  struct Group {
    base::AtomicWord<std::uint64_t> separators[kGroupSize];  // +64 -> 64
    page::DualPagePointer children[kGroupSize];              // +128 -> 192  each after its own
  };

  base::AtomicWord<std::uint64_t> pivots[kGroups - 1];  // +152 -> 248
  std::uint64_t zero;                                   // +8 -> 256
  Group groups[kGroups];                                // +3840 -> 4096

  static constexpr std::uint32_t kGroupsBegin = page::kPageBytes - kGroups * sizeof(Group);

  static InteriorPage* of(TreePage* tree_page) { return static_cast<InteriorPage*>(tree_page); }

  // Returns a child. Child 0 lies in the last place, which has no separator.
  page::DualPagePointer& child(unsigned index) {
    const unsigned place = index == 0 ? kSeparatorsMax : index - 1;
    return groups[place / kGroupSize].children[place % kGroupSize];
  }
  std::uint64_t separator(unsigned index) const {
    // order: relaxed, a guess that the child's fences check; exact under the lock.
    return groups[index / kGroupSize].separators[index % kGroupSize].load_relaxed();
  }
  // Sets a separator, and its pivot. REQUIRES: the lock, or a page that no other session can reach.
  void set_separator(unsigned index, std::uint64_t slice) {
    // order: relaxed, as in separator().
    groups[index / kGroupSize].separators[index % kGroupSize].store_relaxed(slice);
    const bool is_pivot = index % kGroupSize == kGroupSize - 1 && index < kSeparatorsMax;
    // order: release, pairs with child_of(): the groups to the right are shifted already.
    if (is_pivot) pivots[index / kGroupSize].store_release(slice);
  }

  // Returns the first of the slices that a child is responsible for. REQUIRES: child <= keys.
  std::uint64_t low_of(unsigned child) const { return child == 0 ? low : separator(child - 1); }
  std::uint64_t last_of(unsigned child, unsigned keys) const {
    return child == keys ? last : separator(child) - 1;
  }

  // Returns the group in which to look for the child of `slice`. The child comes after a separator
  // of the group, or is child 0.
  unsigned group_of(std::uint64_t slice, unsigned keys) const {
    unsigned at = 0;  // this many pivots are not above the slice
    for (unsigned count = keys / kGroupSize; count > 0;) {
      const unsigned half = (count + 1) / 2;
      // order: acquire, pairs with set_separator().
      at = pivots[at + half - 1].load_acquire() <= slice ? at + half : at;
      count -= half;
    }
    return at;
  }
  // Returns the child to look for `slice` in, among the first `keys` separators.
  unsigned child_of(std::uint64_t slice, unsigned keys) {
    const unsigned at = group_of(slice, keys);
    base::prefetch_lines(groups[at].children, sizeof(groups[at].children));
    unsigned child = at * kGroupSize;
    const unsigned end = std::min(keys - child, kGroupSize);
    for (unsigned i = 0; i < end; ++i) {
      // order: relaxed, as in separator().
      child += groups[at].separators[i].load_relaxed() <= slice ? 1 : 0;
    }
    return child;
  }
};
static_assert(sizeof(InteriorPage) == page::kPageBytes);

}  // namespace foedus::storage::masstree
