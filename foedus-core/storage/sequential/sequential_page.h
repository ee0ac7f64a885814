#pragma once
// Pages of sequential storages: bytes, and functions of one page alone.
//
//   root (kSequentialHeads, level 1) heads (level 0)                record page (kSequential)
//   | header | heads page × 252 | --> | header | {head, tail} × 63 | --> | header | next | record |
//                                                                                   |
//                                                         next page of the chain <--+
//
//   S1  Each session has one chain, and only that session appends to it: an append needs no lock.
//       The owner alone stores record bytes, count, next and tail. It publishes each by one release
//       store after all that it says is there (a record before the count, a page before the link).
//       The installer changes flags and tail only of a page that the owner cannot come to any more
//       (S9, S10).
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
//       snapshot, too (O12), and are passed over. So an install needs no page to fit another. It
//       changes the snapshot half, by which records up to the new e change sides at one instant.
//       Then it drops pages that no scan needs any more. Nothing is ever made volatile again,
//       because no record changes (S3); pages that are missing in memory are made empty. A scan
//       takes both halves as they were at one instant, and remembers them.
//   S9  Pages that have moved are dropped, from the head of the chain on. Each record has to be of
//       an epoch that the snapshot covers, or given up: deleted, and its transaction is over. To
//       show that, the owner leaves its pin in kind_word when it marks the page moved. All appends
//       there were made under that pin or older ones. So a pin of 0 or a newer one in its place
//       says that they are over (E4). No thread writes to such records again, so O11's locks on
//       them and marks in them are not needed. The page that the tail names stays: the tail may be
//       behind, and others come by it.
//   S10 The last page is dropped if, besides, its owner is in no transaction, by store-then-look.
//       The installer takes the lock of the heads page, exchanges the tail for null, fences, and
//       looks at the owner's pin. The owner pins, fences (EpochClock::pin()), and only then loads
//       the tail. If the installer's fence comes first, the owner finds no tail and waits for the
//       lock, under which it looks again. If the owner's comes first, the installer sees the pin
//       and puts the tail back. Or it sees a later 0: that transaction is over, its appends in
//       sight. Meanwhile an owner that had loaded the tail may append, which changes no word of the
//       installer's, or store another tail. If it did so before the exchange, that tail is put
//       back; if after it, the compare-and-swap that puts back fails. That transaction may also be
//       over by the second look, and all be quiet: then the page has moved, and is not the last.
//       The owner pays nothing: no word of its own, no fence that it does not have anyway.
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
// for each page. The tail may be behind by the page that was linked last, and is null for a moment
// of S10.
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
