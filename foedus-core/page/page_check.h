#pragma once
// Checks of a snapshot page, of any kind, by its own bytes. A checksum says that the bytes are what
// some program wrote, not that it was this one.
//
//   P17  A page leads to pages of older snapshots, or to pages of its own snapshot that were
//        written before it. In its own file those lie before it. The exceptions are parts of one
//        payload or of one bin: each leads to the next, which lies directly after it.
//
// Checks by kind are in storage/<kind>/<kind>_page_check.h. A check returns null, or the text of
// the rule that is broken.

#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus/epoch.h"

namespace foedus::page {

using BrokenRule = const char*;

// Checks the header fields that all snapshot pages have in common.
inline BrokenRule broken_header_rule(const PageHeader& page) {
  // order: relaxed, for all loads here: the first reader of a page has it alone.
  const PageVersion version(page.version.load_relaxed());
  if (page.storage_id == StorageId{}) return "it is of no storage";
  if (page.lock.load_relaxed() != 0) return "it is locked";
  if (version.counts() != version) return "it says that it was moved, retired or dropped";
  if (page.birth_version != version.word()) return "it was born with other keys";
  if (page.purged_tid != 0) return "it says that records were purged from it";
  return nullptr;
}

// P17. Returns whether a pointer in `from` may lead to `to`; false if `to` is null.
inline bool may_lead_to(const PageHeader& from, SnapshotPageId to) {
  const SnapshotPageId own(from.page_id);
  if (to.page() == 0 || to.snapshot() == SnapshotNumber{}) return false;
  if (to.snapshot() != own.snapshot()) return to.snapshot() < own.snapshot();
  return to.soc() != own.soc() || to.page() < own.page();
}
// Returns whether a dual pointer in `from` leads to a page to which it may lead (P17).
inline bool does_lead_on(const PageHeader& from, const DualPagePointer& pointer) {
  return pointer.is_cold() && may_lead_to(from, pointer.load().snapshot_page);
}
// Returns whether a dual pointer in `from` is null or leads to a page to which it may lead (P17).
inline bool may_hold(const PageHeader& from, const DualPagePointer& pointer) {
  if (!pointer.is_cold()) return false;
  const SnapshotPageId id = pointer.load().snapshot_page;
  return id.is_null() || may_lead_to(from, id);
}
// P17. Returns whether `next` may be the next part of the same payload or bin; null means that
// there is none.
inline bool may_go_on_at(const PageHeader& from, SnapshotPageId next) {
  return next.is_null() || next == SnapshotPageId(from.page_id).plus(1);
}

// Returns whether a record is as records of a snapshot are: unlocked, with the flags `flags` and no
// others, and with a TID of a valid epoch up to `newest`.
inline bool is_quiet(const RecordHeader& record, std::uint64_t flags, Epoch newest) {
  const Tid tid = record.load_tid();
  const Epoch epoch = tid.epoch();
  // order: relaxed, the first reader of a page has it alone.
  return record.lock.load_relaxed() == 0 && (tid.word() & Tid::kFlags) == flags &&
         epoch.is_valid() && epoch <= newest;
}

}  // namespace foedus::page
