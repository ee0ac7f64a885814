#pragma once
// Pages of sequential storages: bytes, and functions of one page alone.
//
//   root (kSequentialHeads, level 1) heads (level 0)                record page (kSequential)
//   | header | heads page × 252 | --> | header | {head, tail} × 63 | --> | header | next | record |
//                                                                                   |
//                                                         next page of the chain <--+
//
//   S1  Each session has one chain, and only that session, the owner, appends to it: an append
//       needs no lock. The owner alone stores record bytes, count, next and tail. It publishes each
//       record before the count that includes it, and each page before the link to it, by one
//       release store. The installer changes flags and tail only of a page that the owner cannot
//       come to any more (S9, S10).
//   S2  The version of a page counts the records of a record page, the chains begun in a heads
//       page, or the heads pages made in the root. A record page is marked moved when the next one
//       is linked; its count is final then.
//   S3  A record is appended as deleted, of TID 0, with its payload. Its transaction's commit makes
//       it present, and nothing changes it afterwards. If there is no commit it stays deleted.
//   S4  The present records of one chain are in the order of their TIDs, because a session commits
//       one transaction after the other.
//
// Rules with snapshots follow; S5 to S7 are in sequential_snapshot_page.h. The root pointer is an
// exception to P3: both halves together are the storage.
//
//   S8  Let e be the newest epoch in the runs of the snapshot half. The storage is all records of
//       the snapshot, then the volatile ones of epochs above e. Volatile records up to e are in the
//       snapshot too (O12), and scans pass over them. So an installation has no pages to match. It
//       changes the snapshot half, and from that instant the records up to the new e are read from
//       the snapshot. Then it drops pages that no scan needs any more. No snapshot page ever
//       becomes volatile, because no record changes (S3); where an append finds no volatile page,
//       it makes an empty one. A scan takes both halves as they were at one instant, and remembers
//       them.
//   S9  Pages that have moved are dropped, from the head of the chain on. Each record has to be of
//       an epoch that the snapshot covers, or given up: deleted, and its transaction is over. To
//       show that it is over, the owner leaves its pin in kind_word when it marks the page moved.
//       All appends to the page were made under that pin or older ones. So their transactions are
//       over if the owner's pin is 0 or newer by now (E4). No thread writes to such records again,
//       so O11's locks on them and marks in them are not needed. The page that the tail names stays
//       even if it has moved, because the tail may be one page behind, and sessions search from it.
//   S10 The last page is dropped if, besides, its owner is in no transaction. Store-then-look shows
//       that. The installer takes the lock of the heads page, exchanges the tail for null, fences,
//       and looks at the owner's pin. The owner pins, fences (EpochClock::pin()), and only then
//       loads the tail. If the installer's fence comes first, the owner finds no tail and waits for
//       the lock, under which it looks again. If the owner's fence comes first, the installer sees
//       the pin and puts the tail back. Or the installer sees a later 0: then that transaction is
//       over, and its appends are visible. Meanwhile an owner that had loaded the tail may append,
//       which changes no word of the installer's, or store another tail. If it stores that before
//       the exchange, the installer puts that tail back. If it stores it after the exchange, the
//       installer's compare-and-swap fails. That transaction may also be over by the second look at
//       the pin, with all its records quiet. Then the page is marked moved, so it is not the last
//       and stays. The owner pays nothing: no word of its own, no fence that it does not have
//       anyway.
//   S11 Heads pages are dropped when they have no chain, under their lock; the root when it has no
//       heads pages, under its own. A session makes a chain or heads page under that lock, after a
//       look at the version. The counts of S2 do not go down: a chain that was dropped and begun
//       again is a change.
//   S12 A session that makes a heads page holds its lock from before the root leads to it until the
//       root counts it. Otherwise another session of this page could begin a chain and commit
//       appends, while a scan that found no heads page still sees the old count. No thread can have
//       that lock before, and its holder waits for nothing. A chain needs no such lock: until it is
//       counted only its own session can append to it.

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

  page::PageHeader header;                    // +64 -> 64   kind_word: S9
  base::AtomicWord<std::uint64_t> next_page;  // +8 -> 72   VolatilePageId, 0: the last page
  std::uint32_t data_end;                     // bytes of records; used by the owner
  std::uint32_t session;                      // owner of the chain; constant
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

// One session's chain, on a line of its own. The owner reads it for each append, and writes to it
// for each page. The tail may be one page behind the last, and is null while the installer looks at
// the owner's pin (S10).
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
