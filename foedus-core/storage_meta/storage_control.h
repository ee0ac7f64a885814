#pragma once
// StorageControl: all that the engine keeps in memory for one storage when its data is cold:
// identity, and one dual page pointer to the root.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "foedus/storage.h"

namespace foedus::internal {

struct StorageControl {
  explicit StorageControl(storage_meta::StorageMeta storage, std::uint64_t of_database = 0)
      : meta(std::move(storage)), database(of_database) {}

  // Constant after construction.
  const storage_meta::StorageMeta meta;
  const std::uint64_t database;  // number of the open database (engine/sessions/open_databases.h)

  // Flags. An operation may look at pages if the first two are not set. kDropped stays until the
  // database is closed. kUnapplied: rows of the log's tail are in no page yet
  // (engine/sessions/unapplied.h). The others say that operations look into the delta, that rows
  // may be put into it, and that there is one, if only for later.
  base::AtomicWord<std::uint32_t> state;
  static constexpr std::uint32_t kDropped = 1;
  static constexpr std::uint32_t kUnapplied = 2;
  static constexpr std::uint32_t kHasDelta = 4;
  static constexpr std::uint32_t kDeltaTakesPuts = 8;
  static constexpr std::uint32_t kMadeDelta = 16;

  // Set before kMadeDelta, and constant from then on: the storage's second tree
  // (storage/masstree/operations/delta.h).
  std::unique_ptr<StorageControl> delta;

  // Changed as dual page pointers are (page/dual_page_pointer.h, P4).
  alignas(64) page::DualPagePointer root;

  // The number of the epoch in which pages were last dropped for snapshot pages; 0: never. It is
  // raised before the pointer to the first of them loses its volatile half.
  base::AtomicWord<std::uint64_t> drop_epoch;

  // Counters, relaxed: conflicts are not the commit path, and a page is made once in many inserts.
  alignas(64) base::AtomicWord<std::uint64_t> conflicts[kConflictReasonCount];
  base::AtomicWord<std::uint64_t> volatile_pages;
  // Rows and parts of rows that were written where only snapshot pages are, since a snapshot was
  // last installed; without new rows and erasures.
  base::AtomicWord<std::uint64_t> cold_puts;
  // Next layers that were made in volatile pages; 0 again when a delta gets a new root.
  base::AtomicWord<std::uint64_t> layers;

  page::StorageId id() const { return meta.id; }
  bool is_plain() const {
    // order: acquire, pairs with the release of a drop, and of clear_unapplied().
    return (state.load_acquire() & (kDropped | kUnapplied)) == 0;
  }
  // Raises drop_epoch to `epoch`, which keyed storages read after a fence that follows the marks of
  // the dropped pages. Several threads may drop pages of a storage: the word never falls below an
  // epoch that one of them has announced.
  void announce_drop(Epoch epoch) {
    // order: relaxed, a lower bound of the word. If another thread has announced as much, the
    // exchange of the pointer that follows hands that on: it releases what was seen here.
    std::uint64_t before = drop_epoch.load_relaxed();
    while (before < epoch.number()) {
      // order: release, before the pointer: a reader that sees it without its volatile half sees
      // this.
      if (drop_epoch.compare_exchange_acq_rel(before, epoch.number())) return;
    }
  }
  bool has_delta() const {
    // order: acquire, pairs with set_has_delta().
    return (state.load_acquire() & kHasDelta) != 0;
  }
  bool made_delta() const {
    // order: acquire, pairs with set_delta().
    return (state.load_acquire() & kMadeDelta) != 0;
  }
  void set_delta(std::unique_ptr<StorageControl> made) {
    delta = std::move(made);
    state.fetch_or_release(kMadeDelta);  // order: release, pairs with made_delta()
  }
  void set_has_delta() {
    state.fetch_or_release(kHasDelta);  // order: release, pairs with has_delta()
  }
  void clear_has_delta() {
    state.fetch_and_release(~kHasDelta);  // order: relaxed would do: it is as good as none
  }
  bool delta_takes_puts() const {
    // order: relaxed: a transaction that may see it began after the flag could be set.
    return (state.load_relaxed() & kDeltaTakesPuts) != 0;
  }
  void set_delta_takes_puts() {
    state.fetch_or_release(kDeltaTakesPuts);  // order: relaxed would do
  }
  void clear_delta_takes_puts() {
    state.fetch_and_release(~kDeltaTakesPuts);  // order: relaxed would do
  }
  bool is_dropped() const {
    // order: acquire, pairs with the drop's release.
    return (state.load_acquire() & kDropped) != 0;
  }
  void set_dropped() {
    state.fetch_or_release(kDropped);  // order: release, pairs with is_dropped()
    if (made_delta()) delta->set_dropped();
  }
  bool has_unapplied() const {
    // order: acquire, pairs with the release below: a session that finds none finds all rows in
    // pages.
    return (state.load_acquire() & kUnapplied) != 0;
  }
  // Sets the flag. REQUIRES: no session uses the storage yet.
  void set_unapplied() {
    state.fetch_or_release(kUnapplied);  // order: relaxed would do
  }
  void clear_unapplied() {
    state.fetch_and_release(~kUnapplied);  // order: release, pairs with has_unapplied()
  }
};

}  // namespace foedus::internal

namespace foedus::occ {
using internal::StorageControl;
}
