#pragma once
// Pages of sequential storages: bytes, and what can be said of one page alone.
//
//   root (kSequentialHeads, level 1)      heads (level 0)                 record page (kSequential)
//   | header | heads page × 252 |  ---->  | header | {head, tail} × 63 |  --> | header | next |
//   records … |
//                                                                               \--> next page of
//                                                                               the chain
//
//   S1  Each session has one chain, and only that session appends to it: to append needs no lock.
//       The owner alone stores record bytes, count, next and tail; it publishes each by one release
//       store after all that it says is there (a record before the count, a page before the link).
//   S2  The version of a page counts: records of a record page, sessions that have a chain in a
//       heads page, heads pages in the root. A record page is marked moved when the next one is
//       linked; its count is final then.
//   S3  A record is appended as deleted, of TID 0, with its payload; its transaction's commit makes
//       it present, and nothing changes it afterwards. If there is no commit it stays deleted.
//   S4  The present records of one chain are in the order of their TIDs, because a session commits
//       one transaction after the other.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/tid.h"
#include "foedus/options.h"

namespace foedus::storage::sequential {

struct SequentialRecord {
  page::RecordHeader header;    // +16 -> 16
  std::uint32_t payload_bytes;  // +4 -> 20   constant
  std::uint32_t unused;         // +4 -> 24
  // then the payload, rounded up to 8

  static constexpr std::uint32_t size_of(std::uint32_t payload_bytes) {
    return 24 + ((payload_bytes + 7) & ~7u);
  }
  char* payload() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(SequentialRecord) == 24);

struct SequentialPage {
  static constexpr std::uint32_t kDataBytes = page::kPageBytes - sizeof(page::PageHeader) - 16;

  page::PageHeader header;                    // +64 -> 64
  base::AtomicWord<std::uint64_t> next_page;  // +8 -> 72   VolatilePageId, 0: the last page
  std::uint32_t data_end;                     // +4 -> 76   owner's: bytes of records
  std::uint32_t session;                      // +4 -> 80   whose chain it is; constant
  char data[kDataBytes];                      // +4016 -> 4096

  SequentialRecord* record_at(std::uint32_t offset) {
    return reinterpret_cast<SequentialRecord*>(data + offset);
  }
  bool has_room(std::uint32_t payload_bytes) const {
    return data_end + SequentialRecord::size_of(payload_bytes) <= kDataBytes;
  }
};
static_assert(sizeof(SequentialPage) == page::kPageBytes);
static_assert(SequentialRecord::size_of(kMaxSequentialPayloadBytes) <= SequentialPage::kDataBytes);

// One session's chain, on a line of its own: the owner reads it for each append, and writes to it
// for each page. The tail may be behind by the page that was linked last.
struct Chain {
  page::DualPagePointer head;            // +16 -> 16
  base::AtomicWord<std::uint64_t> tail;  // +8 -> 24   VolatilePageId
  std::uint64_t unused[5];               // +40 -> 64
};
static_assert(sizeof(Chain) == 64);

struct HeadsPage {
  static constexpr std::uint32_t kChains = 63;

  page::PageHeader header;  // +64 -> 64
  Chain chains[kChains];    // +4032 -> 4096
};
static_assert(sizeof(HeadsPage) == page::kPageBytes);

struct SequentialRootPage {
  static constexpr std::uint32_t kPointers = 252;

  page::PageHeader header;                    // +64 -> 64
  page::DualPagePointer pointers[kPointers];  // +4032 -> 4096
};
static_assert(sizeof(SequentialRootPage) == page::kPageBytes);
static_assert(HeadsPage::kChains * SequentialRootPage::kPointers >= kMaxSessions);

}  // namespace foedus::storage::sequential
