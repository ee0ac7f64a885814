#pragma once
// The system transactions of the Master-Tree: they change where records are, never what a user
// sees, and write no log. Each takes the locks of the pages that it changes, and looks again before
// it changes anything. Each leaves a valid tree behind, whatever comes next.

#include <cstdint>

#include "foedus-core/page/page_header.h"

namespace foedus::storage::masstree {

// The outcome of a system transaction. All but kDone changed nothing.
enum class Change : std::uint8_t {
  kDone,
  kAgain,    // another session was there first: look again
  kBusy,     // a record lock was not free for long
  kNoRoom,   // the page needs another change first
  kNoPage,   // out of pages
  kDropped,  // the page was dropped, for a snapshot page or with the storage
};
// Returns whether a page that was just locked must not be changed any more, and the outcome then.
inline bool is_closed(page::PageVersion version, Change* change) {
  *change = version.is_dropped() ? Change::kDropped : Change::kAgain;
  return version.is_dropped() || version.is_moved();
}

}  // namespace foedus::storage::masstree
