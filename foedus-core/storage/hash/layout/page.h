#pragma once
// Pages of hash storages: bytes, and the rules that one page alone can show.
//
//  interior page                                    bin page
//  | header | owners × 128 | pointers × 128 | … |   | header | words | tags | records → … ← slots |
//
// A trie on the hash of the key, the high bits first. An interior page spreads by 7 bits: by the
// digit of the hash at header.flags. A bin holds all keys whose hash begins with its prefix. If
// that ends inside of the digit, several digits have one pointer, and owners[] says which.
//
//     reachable bin --spread: full--> moved, two successors, each with one more bit of prefix
//                  \--rebuild: full, much of it dead--> moved, one successor of the same prefix
//                  \--merge: the same, and its buddy has room--> both moved, one successor of both
//                  \--Subtree::try_drop(): as a snapshot has it--> dropped, no successor
//     moved, dropped --retired with it, reclaimed when no transaction can hold an address in it
//
//   H1  Exactly one pointer leads to a bin: the pointer of its first digit. owners[digit] is the
//       index of that pointer, for all digits that begin with the bin's bits. An interior page
//       never changes the bits that it spreads by, and is retired only as H2 says.
//   H2  A pointer to a volatile bin is changed only by the holder of the bin's lock, after a look
//       at the bin's version. An interior page is never split or grown. It is retired by a merge,
//       under the locks of all its bins (H6), or dropped with all pages below it (H14). So P5 asks
//       for the lock of the interior page only where the volatile half is null (O10). owners[] of a
//       bin's digits are changed under the bin's lock too. While a pointer is null, the owners of
//       its digits are not changed (H10). A reader that comes by old owners to a bin that does not
//       cover its hash searches again.
//   H3  All of a bin is guarded by the lock of its head, the first page of the chain. A session
//       that adds a record, links a page, rebuilds or spreads holds it. The version of the head
//       counts the keys of all pages of the bin. A page is chained only when the bin cannot spread
//       now.
//   H4  A record is marked moved before its copy can be found, both under the lock of the head. So
//       two live records of one key never exist. A reader that meets a moved record looks again
//       until the copy or the successor is there.
//   H5  The head of a bin has the birth of storage/moves/birth.h (Q2). After a rebuild, a spread or
//       a merge it is set when all bins that the records come from are marked moved. When expand()
//       moves a record within the bin, it is set before the copy can be found. Copies of snapshot
//       pages, and bins made at first touch, have as birth the epoch of the last drop (Q3).
//   H6  Two bins whose prefixes differ in the last bit may be merged. The session holds the locks
//       of both, of all their records, and of the new bin. So a session that comes to the new bin
//       by one of the two can add nothing before the other is marked moved. First the pointer of
//       the first digit is set to the new bin. Then owners[] of all its digits name that pointer.
//       Then the pointer that is not used any more is set to its own interior page: a session that
//       has it from old owners reads them again. A null pointer would not do, because another
//       session would make a first bin there. If the two bins have all digits of an interior page
//       that is not the root, the pointer to that page is set to the new bin instead, and the page
//       is retired as it is. A session that is still there comes to the new bin by the moved ones.
//   H7  Pages of snapshots have the same layout. In them next_page, head and the ids of chains are
//       SnapshotPageIds. The records of a bin are in the order of hash and key. None is deleted or
//       moved, and the version of the head counts them. A pointer whose halves are both null stands
//       for an empty bin of all digits that owners[] gives it. These may be fewer digits than a bin
//       made at first touch has in a new storage, never more. (H8 to H10: cold.h; H12 to H14:
//       install/install.h)

#include <cstdint>
#include <string_view>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/overflow_page.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus/epoch.h"

namespace foedus::storage::hash {

inline constexpr unsigned kDigitBits = 7;
inline constexpr std::uint32_t kDigits = 1u << kDigitBits;  // values of a digit
inline constexpr unsigned kHashBits = 64;
// A bin with a prefix of this length is never spread. The last interior page spreads by bits
// 56..62.
inline constexpr unsigned kPrefixBitsMax = 63;
static_assert(kPrefixBitsMax % kDigitBits == 0 && kPrefixBitsMax < kHashBits);

struct HashInteriorPage {
  static constexpr std::uint32_t kPointers = kDigits;

  page::PageHeader header;  // +64 -> 64  flags: hash bits above it; level: 1,
                            //   or more if null pointers stand for
                            //   interior pages
  base::AtomicWord<std::uint8_t> owners[kPointers];  // +128 -> 192  H1
  page::DualPagePointer pointers[kPointers];         // +2048 -> 2240
  char unused[page::kPageBytes - 2240];              // +1856 -> 4096

  std::uint32_t digit_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> (kHashBits - kDigitBits - header.flags)) &
           (kPointers - 1);
  }
  std::uint32_t owner_of(std::uint32_t digit) const {
    // order: acquire, pairs with set_owners(): the pointer is there before its digits are.
    return owners[digit].load_acquire();
  }
  // Sets the owner of `count` digits. REQUIRES: the page is not reachable, or the lock of the bin
  // that the digits belonged to is held.
  void set_owners(std::uint32_t begin, std::uint32_t count) {
    for (std::uint32_t i = begin; i < begin + count; ++i) {
      owners[i].store_release(static_cast<std::uint8_t>(begin));  // order: see owner_of()
    }
  }
};
static_assert(sizeof(HashInteriorPage) == page::kPageBytes);

// One record of a bin page: where it is, and how long. All but the length is constant; the length
// is guarded by the record's lock and read under the record's TID.
class HashSlot {
 public:
  constexpr HashSlot() = default;
  constexpr explicit HashSlot(std::uint64_t word) : word_(word) {}
  constexpr HashSlot(std::uint32_t offset, std::uint32_t key_bytes, std::uint32_t room,
                     std::uint32_t length)
      : word_(offset | std::uint64_t{key_bytes} << 16 | std::uint64_t{room} << 32 |
              std::uint64_t{length} << 48) {}

  constexpr std::uint64_t word() const { return word_; }
  constexpr std::uint32_t offset() const { return word_ & 0xffff; }  // in the page
  constexpr std::uint32_t key_bytes() const { return (word_ >> 16) & 0xffff; }
  constexpr std::uint32_t room() const { return (word_ >> 32) & 0xffff; }  // for the payload
  // Returns the length of the payload. If the body holds the id of a chain: page::kOverflowLength,
  // or kSnapshotOverflowLength if the chain is in a snapshot.
  constexpr std::uint32_t length() const { return static_cast<std::uint32_t>(word_ >> 48); }
  // Returns whether the body holds the id of a chain, volatile or in a snapshot.
  constexpr bool is_chain() const {
    return length() == page::kOverflowLength || length() == page::kSnapshotOverflowLength;
  }
  // Returns the bytes that the payload takes of the record.
  constexpr std::uint32_t body_bytes() const {
    return is_chain() ? page::kPayloadRoomBytesMin : length();
  }
  constexpr HashSlot with_length(std::uint32_t length) const {
    return {offset(), key_bytes(), room(), length};
  }

 private:
  std::uint64_t word_ = 0;
};

// Returns the bytes of a record: header, key, room for the payload.
constexpr std::uint32_t record_bytes_of(std::uint32_t key_bytes, std::uint32_t room) {
  return static_cast<std::uint32_t>(sizeof(page::RecordHeader)) + ((key_bytes + 7) & ~7u) + room;
}
// Returns the bytes that a record takes of a page: its slot included.
constexpr std::uint32_t space_of(std::uint32_t key_bytes, std::uint32_t room) {
  return record_bytes_of(key_bytes, room) + static_cast<std::uint32_t>(sizeof(HashSlot));
}

struct HashBinPage {
  static constexpr std::uint32_t kTagBits = 16;
  static constexpr std::uint32_t kTagsPerWord = 4;
  static constexpr std::uint32_t kRecordsMax = 96;
  static constexpr std::uint32_t kTagWords = kRecordsMax / kTagsPerWord;
  static constexpr std::uint32_t kDataOffset = 320;
  static constexpr std::uint32_t kDataBytes = page::kPageBytes - kDataOffset;

  //   word          written by                  read by           meaning
  //   next_page     the lock's holder           every session     next page of the chain, 0: none
  //   successors    the lock's holder, before   every session,    bins that replace it; the second
  //                 the moved flag              when it is moved  is 0 unless it was spread
  //   record_count  the lock's holder           every session     records below it are complete
  //   birth         the lock's holder           every session     H5
  page::PageHeader header;  // +64 -> 64    flags: bits of the prefix; version: of the head
  std::uint64_t prefix;     // +8 -> 72     of the hash of all keys, the other bits zero; constant
  std::uint64_t head;       // +8 -> 80     VolatilePageId of the first page of the chain; constant
  base::AtomicWord<std::uint64_t> next_page;        // +8 -> 88
  base::AtomicWord<std::uint64_t> birth;            // +8 -> 96     in the head
  base::AtomicWord<std::uint64_t> successors[2];    // +16 -> 112   in the head
  base::AtomicWord<std::uint32_t> record_count;     // +4 -> 116    of this page
  std::uint32_t data_end;                           // +4 -> 120    lock's holder: end of records
  std::uint64_t unused;                             // +8 -> 128
  base::AtomicWord<std::uint64_t> tags[kTagWords];  // +192 -> 320  low bits of the hash, by record
  char data[kDataBytes];                            // +3776 -> 4096

  unsigned prefix_bits() const { return header.flags; }
  bool covers(std::uint64_t hash) const {
    return ((hash ^ prefix) >> (kHashBits - prefix_bits())) == 0;
  }
  std::uint32_t load_count() const {
    // order: acquire, pairs with publish_record()'s release: records below it are complete.
    return record_count.load_acquire();
  }

  base::AtomicWord<std::uint64_t>& slot_word(std::uint32_t place) {
    return *reinterpret_cast<base::AtomicWord<std::uint64_t>*>(
        reinterpret_cast<char*>(this) + page::kPageBytes - (place + 1) * sizeof(std::uint64_t));
  }
  HashSlot slot(std::uint32_t place) {
    // order: acquire: in the sanitizer's build the length is part of what a record's TID guards.
    return HashSlot(slot_word(place).load_acquire());
  }
  page::RecordHeader* record(HashSlot slot) {
    return reinterpret_cast<page::RecordHeader*>(reinterpret_cast<char*>(this) + slot.offset());
  }

  // Returns whether another record fits.
  bool has_room(std::uint32_t key_bytes, std::uint32_t room) const {
    // order: relaxed, the caller holds the lock that guards it.
    const std::uint32_t count = record_count.load_relaxed();
    const std::uint32_t slots = (count + 1) * static_cast<std::uint32_t>(sizeof(HashSlot));
    return count < kRecordsMax &&
           data_end + record_bytes_of(key_bytes, room) + slots <= page::kPageBytes;
  }
};
static_assert(sizeof(HashBinPage) == page::kPageBytes);
static_assert(sizeof(base::AtomicWord<std::uint8_t>) == 1);

inline const char* key_of(const page::RecordHeader* record) {
  return reinterpret_cast<const char*>(record + 1);
}
inline char* payload_of(page::RecordHeader* record, HashSlot slot) {
  return reinterpret_cast<char*>(record + 1) + ((slot.key_bytes() + 7) & ~7u);
}

}  // namespace foedus::storage::hash
