#pragma once
// Reading a record without writing a word: look at the TID, copy, look at the TID again (paper
// §6.1, appendix D.1). This is the reader's half of a sequence lock; the writer's half is in
// txn/commit_apply.cc.
//
//   O3  What copy() produced counts only if optimistic_read() returns true.

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/page/tid.h"

namespace foedus::occ {

// Number of looks at a record that is being written, after which the reader conflicts. They take
// about a tenth of a second. A writer marks a record for microseconds, or for as long as the system
// leaves the writer without a processor.
inline constexpr unsigned kReadTries = base::SpinWait::kTurnsBeforeSleep + 300;

// Calls copy(), which reads a record with base::racy_read. `before` is the TID that the caller
// loaded before. Returns whether all that copy() read is of that version. REQUIRES: `before` is not
// being-written.
template <typename Copy>
[[gnu::always_inline]] inline bool copy_unchanged(const page::RecordHeader& record,
                                                  page::Tid before, Copy&& copy) {
  copy();
  base::fence_reader();  // order: the copy's loads come before the second look
  return record.tid.load_relaxed() == before.word();  // order: relaxed, the fence orders it
}

// Calls copy(tid) until the record's TID is the same before and after the call, and is not
// being-written. Sets `*observed` to that TID. copy() may run several times, and must use
// base::racy_read for all that the record's lock protects. Returns false after kReadTries looks.
template <typename Copy>
bool optimistic_read(const page::RecordHeader& record, page::Tid* observed, Copy&& copy) {
  base::SpinWait spin;
  for (unsigned i = 0; i < kReadTries; ++i) {
    const page::Tid before = record.load_tid();
    if (!before.is_being_written() && copy_unchanged(record, before, [&] { copy(before); }))
        [[likely]] {
      *observed = before;
      return true;
    }
    spin.once();
  }
  return false;
}

// Reads the TID alone, once it is not being-written. Returns false after kReadTries looks.
inline bool optimistic_tid(const page::RecordHeader& record, page::Tid* observed) {
  base::SpinWait spin;
  for (unsigned i = 0; i < kReadTries; ++i) {
    *observed = record.load_tid();
    if (!observed->is_being_written()) [[likely]]
      return true;
    spin.once();
  }
  return false;
}

}  // namespace foedus::occ
