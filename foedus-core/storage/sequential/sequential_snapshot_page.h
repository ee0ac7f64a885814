#pragma once
// Pages of sequential storages in snapshots: bytes, and functions of one page alone.
//
//   root: newest runs page (level 1)       full runs page
//   | header | full | run × 1..100 |  -->  | header | full | run × 100 |  --> … --> the oldest one
//                      |                                      |
//                      v                                      v
//              record pages (level 0), consecutive in one file: | header | record | record | … |
//
//   S5  A run is what one glean has added. Its records are in the order of TID, session and append,
//       which is also the order in which a cursor gives volatile records (S4). Its epochs are above
//       those of all runs before it. So the order of all records is: runs pages from the oldest,
//       their runs, their pages, their records.
//   S6  A glean does not write pages of earlier gleans again, except the newest runs page. It
//       writes its record pages, and one runs page: a copy of the newest one with one run more, or
//       one after it if that is full. So a glean costs one page beyond its data.
//   S7  Only the last page of a run may have room for the record that comes next.

#include <cstdint>
#include <type_traits>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus/options.h"

namespace foedus::storage::sequential {

// The value of PageHeader::flags of pages that are laid out as here, not as in sequential_page.h.
inline constexpr std::uint8_t kSnapshotLayout = 1;

struct SequentialSnapshotRecord {
  page::RecordHeader header;    // +16 -> 16  present; lock 0
  std::uint32_t payload_bytes;  // +4 -> 20
  std::uint32_t session;        // that appended it: breaks ties of TIDs
  // then the payload, zeroes up to a multiple of 8

  static constexpr std::uint32_t size_of(std::uint32_t payload_bytes) {
    return 24 + ((payload_bytes + 7) & ~7u);
  }
  char* payload() { return reinterpret_cast<char*>(this + 1); }
  const char* payload() const { return reinterpret_cast<const char*>(this + 1); }
};
static_assert(sizeof(SequentialSnapshotRecord) == 24);

struct SequentialSnapshotPage {
  static constexpr std::uint32_t kDataBytes = page::kPageBytes - sizeof(page::PageHeader) - 8;

  page::PageHeader header;     // +64 -> 64  kind_word: pages of its run before it
  std::uint32_t data_end;      // +4 -> 68   bytes of records
  std::uint32_t record_count;  // +4 -> 72
  char data[kDataBytes];       // +4024 -> 4096

  SequentialSnapshotRecord* record_at(std::uint32_t offset) {
    return reinterpret_cast<SequentialSnapshotRecord*>(data + offset);
  }
  const SequentialSnapshotRecord* record_at(std::uint32_t offset) const {
    return reinterpret_cast<const SequentialSnapshotRecord*>(data + offset);
  }
  bool has_room(std::uint32_t payload_bytes) const {
    return data_end + SequentialSnapshotRecord::size_of(payload_bytes) <= kDataBytes;
  }
  bool is_of(page::StorageId storage, std::uint64_t number_in_run) const {
    return header.kind == page::PageKind::kSequential && header.flags == kSnapshotLayout &&
           header.level == 0 && header.storage_id == storage && header.kind_word == number_in_run;
  }
};
static_assert(sizeof(SequentialSnapshotPage) == page::kPageBytes);
static_assert(SequentialSnapshotRecord::size_of(kMaxSequentialPayloadBytes) <=
              SequentialSnapshotPage::kDataBytes);

// One run: page_count pages of one file, from first_page on.
struct SequentialRun {
  page::SnapshotPageId first_page;  // +8 -> 8
  std::uint64_t record_count;       // +8 -> 16
  std::uint64_t first_epoch;        // +8 -> 24  of its first record
  std::uint64_t last_epoch;         // +8 -> 32  of its last one
  std::uint32_t page_count;         // +4 -> 36
  std::uint32_t unused;             // +4 -> 40  0
};
static_assert(sizeof(SequentialRun) == 40);
static_assert(std::is_trivially_copyable_v<SequentialRun> &&
              std::has_unique_object_representations_v<SequentialRun>);

struct SequentialRunsPage {
  static constexpr std::uint32_t kRuns = 100;

  page::PageHeader header;         // +64 -> 64    kind_word: runs pages before it
  page::SnapshotPageId full_page;  // +8 -> 72     the one before it; null: none
  std::uint32_t run_count;         // +4 -> 76     1 .. kRuns
  std::uint32_t unused;            // +4 -> 80     0
  SequentialRun runs[kRuns];       // +4000 -> 4080
  char unused_end[16];             // +16 -> 4096  0

  bool is_full() const { return run_count == kRuns; }
  const SequentialRun& last_run() const { return runs[run_count - 1]; }
  bool is_of(page::StorageId storage) const {
    return header.kind == page::PageKind::kSequentialHeads && header.flags == kSnapshotLayout &&
           header.level == 1 && header.storage_id == storage && run_count >= 1 &&
           run_count <= kRuns && (header.kind_word == 0) == full_page.is_null();
  }
};
static_assert(sizeof(SequentialRunsPage) == page::kPageBytes);

}  // namespace foedus::storage::sequential
