#pragma once
// Installation: the means and limits of a storage that installs the pages of a new snapshot at its
// dual page pointers. It then drops volatile pages that did not change since (paper §7.5). Hard to
// get right, because transactions run meanwhile.
//
//   O11 A volatile page is dropped under its lock and the locks of all its records, which are only
//       tried. Each record must be of an epoch that the snapshot covers. All are marked moved and
//       the page dropped before its pointer loses the volatile half. So a reader that sees the
//       pointer without it can never meet an old record that looks alive. If one lock is not free
//       or one record is newer, nothing is marked.
//   O16 Afterwards volatile pages lead to pages of the new snapshot only. Each pointer whose
//       volatile half is null leads to a page of its tree. Each record that was copied with the
//       name of its payload (O13) names a file of it. Where the two trees have other shapes, the
//       old page is materialized. What the installer has found so stays so: sessions move such
//       pointers and names within their range of keys. They make new ones only by copying the page
//       that a pointer leads to while it does. Some pointers and names it could not look at,
//       because they moved away meanwhile, and some it could not change. It reports that, and the
//       files of earlier snapshots stay until a later one.
//   O18 Only what changed is looked at, unless pages are to be dropped. A page of a snapshot never
//       changes, nor does anything below it, and a tree never takes back a page that it has left.
//       So a page of the new tree that is of a snapshot not above `installed` has been in all trees
//       since that one. Pointers and names that volatile pages have for its keys lead, by O16, into
//       those trees. So they lead to that page, or to pages and payloads below it. All of them stay
//       as they are. (Where marks of use are taken away, all volatile pages are looked at, too.)
//   O12 An epoch that a snapshot covers is over. Its transactions have published, so a write of it
//       that the snapshot does not have is in no page either.

#include <algorithm>
#include <cstdint>
#include <span>

#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/occ/cold_pages.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/page/session_pages.h"
#include "foedus-core/snapshot/cache/page_cache.h"
#include "foedus-core/storage/base/install_workers.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/epoch.h"

namespace foedus::storage {

struct Installation {
  page::PagePool* pool = nullptr;
  page::SessionPages* pages = nullptr;  // to which dropped pages are given
  snapshot::PageCache* cache = nullptr;
  epoch::EpochClock* clock = nullptr;
  occ::StorageControl* control = nullptr;
  Epoch covered;                       // all of this epoch and before is in the snapshot
  std::uint32_t soc = 0;               // the SOC whose part of the cache is used
  std::uint32_t session = kNoSession;  // the caller's, whose cache pin is used (O14)
  // Volatile pages to drop at most, or a few more; 0: pointers are installed only. Sequential
  // storages drop all that they can: no session comes back to their pages.
  std::uint64_t pages_to_drop = ~std::uint64_t{0};
  // Pages that were used since the last installation stay, this time.
  bool spares_used = false;
  // The files of the snapshot: words of the ids of their pages 0, ascending.
  std::span<const std::uint64_t> files = {};
  // Volatile pages lead to nothing that only snapshots before this one have (O16). 0: not known.
  page::SnapshotNumber installed{};
  // Threads that take part (O19), the caller's among them; null: there are none.
  InstallWorkers* workers = nullptr;
  // Pages that all of them have dropped; null for one that is alone.
  base::AtomicWord<std::uint64_t>* dropped_by_all = nullptr;

  // Takes the page's mark of use: called once for each volatile page with records.
  bool spares(page::PageHeader* page) const { return spares_used && page->take_used(); }

  // Returns whether the page stays as long as the snapshot, because it is in one of its files.
  bool has_file_of(page::SnapshotPageId id) const {
    return std::binary_search(files.begin(), files.end(), id.word() - id.page());
  }

  // Returns whether the page, and all that it leads to, is of `installed` or before (O18).
  bool is_unchanged(page::SnapshotPageId id) const {
    return !id.is_null() && id.snapshot() <= installed;
  }

  // Returns whether the storage has enough volatile pages for threads to share them.
  bool is_shared() const {
    // order: relaxed, a statistic.
    return workers != nullptr && control->volatile_pages.load_relaxed() >= kSharedPagesMin;
  }
  // Returns the part of one thread. `dropped`: the pages that all of them have dropped so far.
  Installation of_worker(std::size_t index, base::AtomicWord<std::uint64_t>* dropped) const {
    const InstallWorkers::Worker& worker = workers->workers()[index];
    Installation part = *this;
    part.pages = worker.pages;
    part.session = worker.session;
    part.soc = worker.soc;
    part.workers = nullptr;
    part.dropped_by_all = dropped;
    return part;
  }

  static constexpr std::uint32_t kNoSession = ~std::uint32_t{0};
  // Looking at this many pages takes a few times as long as waking threads.
  static constexpr std::uint64_t kSharedPagesMin = 512;
};

inline occ::ColdPages cold_pages_of(const Installation& installation) {
  FOEDUS_INVARIANT(installation.session != Installation::kNoSession, installation.soc);
  return occ::ColdPages({.cache = installation.cache,
                         .clock = installation.clock,
                         .session = installation.session,
                         .soc = installation.soc});
}

struct InstallCounts {
  std::uint64_t pages_dropped = 0;
  std::uint64_t pages_told = 0;  // of them, those that Installation::dropped_by_all counts
  // Volatile pages that changed since, or were in use. Where pages were not looked at (O18), all
  // volatile pages of the storage, those of payloads among them.
  std::uint64_t pages_kept = 0;
  std::uint64_t pages_spared = 0;  // of them, those that Installation::spares()
  bool has_passed_over = false;    // pages that have not changed (O18)
  // O16. Volatile pages may lead to pages of earlier snapshots that are none of the new one.
  bool may_need_earlier = false;
  // The storage has a delta now, which takes no puts before all transactions that are open now are
  // over (M47).
  bool has_new_delta = false;
  bool is_delta_empty = false;  // the storage has one, without a row

  // Adds the counts of another thread of the same installation.
  void add(const InstallCounts& other) {
    pages_dropped += other.pages_dropped;
    pages_kept += other.pages_kept;
    pages_spared += other.pages_spared;
    has_passed_over = has_passed_over || other.has_passed_over;
    may_need_earlier = may_need_earlier || other.may_need_earlier;
  }
  // Returns whether more pages are to be dropped.
  bool wants_more(const Installation& installation) {
    base::AtomicWord<std::uint64_t>* const all = installation.dropped_by_all;
    if (all == nullptr) return pages_dropped < installation.pages_to_drop;
    // order: relaxed twice, a count.
    if (pages_told != pages_dropped) all->fetch_add_relaxed(pages_dropped - pages_told);
    pages_told = pages_dropped;
    return all->load_relaxed() < installation.pages_to_drop;
  }
};

inline InstallCounts whole_counts(const Installation& installation, InstallCounts counts) {
  if (!counts.has_passed_over) return counts;
  // order: relaxed, a statistic.
  counts.pages_kept = installation.control->volatile_pages.load_relaxed();
  return counts;
}

}  // namespace foedus::storage
