#pragma once
// LinePage: a frame of the page cache that holds lines of pages of snapshots which lie on
// non-volatile memory. Each such page has a mini page here (Van Renen et al., SIGMOD'18, §3.2): the
// lines that searches have looked at, as many as there are, up to a bound.
//
//   | words | ids × 16 | masks × 16 | lines of ids[0] | lines of ids[1] | … | free |
//
//   none --add()--> mini page --add()--> larger one --add(): beyond the bound--> none, kOutgrown
//                       |
//                       +--add() of another page that needs space, CLOCK--> none
//
//   word           written by               read by            meaning
//   page_id        taker of the frame       all                the id by which the cache finds it
//   ids, masks     holder of the lock       readers, K18       which lines; id 0 is the end
//   version        holder of the lock       readers            K18
//   marks          readers, racing          holder of the lock 1: used since the hand came by
//   lock           add()                    add()              1: held
//   hand           holder of the lock       the same           CLOCK
//
//   K18 The version is odd while anything changes. A reader copies lines out; the copy counts only
//       if the version is even before, and the same after (a sequence lock). So a reader writes no
//       shared word but a mark, and keeps no address. Readers and writers have a cache pin as K2
//       says, so that the frame stays this page. A line page is written while it can be found; K1
//       forbids that for all other pages.
//   K19 Pages of snapshots never change, and no two pages that are ever read have the same id. So a
//       line is right wherever it comes from: two threads may load the same one, and a line or a
//       line page that is lost is loaded again.
//   K20 No thread waits: the lock is tried once, and if another thread has it, the lines are not
//       kept.
//   K21 Lines are not checked against the checksum of their page, which needs the whole page; the
//       memory has error correction of its own. The reader takes care that no byte of a line leads
//       beyond the page (occ/cold_lines.h).

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_lines.h"

namespace foedus::snapshot {

// kKept: the lines are in the line page now, or were dropped, because another thread has the lock
// (K20) or there is no frame for the line page.
// kOutgrown: the page has too many lines for a mini page; it has none now, and belongs in the
// page cache as a whole.
enum class LinesAdded : std::uint8_t { kKept, kOutgrown };

struct LinePage {
  static constexpr std::uint32_t kPages = 16;
  static constexpr std::uint32_t kHeaderBytes = 320;
  static constexpr std::uint32_t kLines = (page::kPageBytes - kHeaderBytes) / page::kLineBytes;

  std::uint64_t page_id;                          // +8 -> 8    as in PageHeader
  base::AtomicWord<std::uint32_t> version;        // +4 -> 12
  base::AtomicWord<std::uint32_t> lock;           // +4 -> 16
  base::AtomicWord<std::uint8_t> marks[kPages];   // +16 -> 32  by place in ids
  std::uint32_t hand;                             // +4 -> 36
  std::uint32_t unused[7];                        // +28 -> 64
  base::AtomicWord<std::uint64_t> ids[kPages];    // +128 -> 192
  base::AtomicWord<std::uint64_t> masks[kPages];  // +128 -> 320
  char lines[kLines][page::kLineBytes];           // +3776 -> 4096

  // Makes an empty line page of a frame that no other thread can reach.
  void initialize(page::SnapshotPageId id);

  // order: relaxed, a hint.
  bool is_empty() const { return ids[0].load_relaxed() == 0; }
  // Copies those of the `wanted` lines that are in this line page to their places in the page at
  // `to`, and returns which they are. The places of other wanted lines may have been overwritten,
  // too. Any thread.
  page::LineMask read(page::SnapshotPageId id, page::LineMask wanted, char* to);
  // Keeps lines of the page at `from`, in addition to those that its mini page has: up to
  // `lines_max` in all, which is at most kLines. *evicted grows by the number of mini pages that
  // were evicted. Any thread.
  LinesAdded add(page::SnapshotPageId id, page::LineMask lines, const char* from,
                 std::uint32_t lines_max, std::uint32_t* evicted);

 private:
  class Change;
};
static_assert(sizeof(LinePage) == page::kPageBytes);

}  // namespace foedus::snapshot
