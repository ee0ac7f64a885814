#pragma once
// What can be said against a page of a snapshot, whatever its kind, by its own bytes: a checksum
// says that they are what somebody wrote, not that it was this program.
//
//   P17  A page leads to older snapshots, or to pages that were written before it: in its own file
//       to those that lie before it. Only the parts of one payload or of one bin follow one
//       another, each at the place right behind.
//
// The rest is said by kind, storage/<kind>/<kind>_page_check.h. A rule is a null pointer where
// nothing is wrong, else what is.

#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus/epoch.h"

namespace foedus::page {

using BrokenRule = const char*;

// What every snapshot page has in its header.
inline BrokenRule broken_header_rule(const PageHeader& page) {
  // order: relaxed, all of it; who looks at a page first has it alone.
  const PageVersion version(page.version.load_relaxed());
  if (page.storage_id == StorageId{}) return "it is of no storage";
  if (page.lock.load_relaxed() != 0) return "it is locked";
  if (version.counts() != version) return "it says that it was moved, retired or dropped";
  if (page.birth_version != version.word()) return "it was born with other keys";
  if (page.purged_tid != 0) return "it says that records were purged from it";
  return nullptr;
}

// P17. Whether a pointer in `from` may lead to `to`; false for null, too.
inline bool may_lead_to(const PageHeader& from, SnapshotPageId to) {
  const SnapshotPageId own(from.page_id);
  if (to.page() == 0 || to.snapshot() == SnapshotNumber{}) return false;
  if (to.snapshot() != own.snapshot()) return to.snapshot() < own.snapshot();
  return to.soc() != own.soc() || to.page() < own.page();
}
// The same of a dual pointer.
inline bool does_lead_on(const PageHeader& from, const DualPagePointer& pointer) {
  return pointer.is_cold() && may_lead_to(from, pointer.load().snapshot_page);
}
// Of one that may be null, too.
inline bool may_hold(const PageHeader& from, const DualPagePointer& pointer) {
  if (!pointer.is_cold()) return false;
  const SnapshotPageId id = pointer.load().snapshot_page;
  return id.is_null() || may_lead_to(from, id);
}
// P17. Whether it may be the next part of the same payload or bin; null: there is none.
inline bool may_go_on_at(const PageHeader& from, SnapshotPageId next) {
  return next.is_null() || next == SnapshotPageId(from.page_id).plus(1);
}

// Whether a record that is there may look so: nobody has it, and its TID, without `flags`, is of an
// epoch up to `newest`.
inline bool is_quiet(const RecordHeader& record, std::uint64_t flags, Epoch newest) {
  const Tid tid = record.load_tid();
  const Epoch epoch = tid.epoch();
  // order: relaxed, as above.
  return record.lock.load_relaxed() == 0 && (tid.word() & Tid::kFlags) == flags &&
         epoch.is_valid() && epoch <= newest;
}

}  // namespace foedus::page
