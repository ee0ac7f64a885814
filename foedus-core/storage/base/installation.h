#pragma once
// Installation: what a storage needs to install a new snapshot, and the limits it keeps. To install
// is to set the snapshot halves of its dual page pointers, and then to drop volatile pages that did
// not change since (paper §7.5). Transactions run meanwhile, which the rules are about.
//
//   O11 A volatile page is dropped under its lock and the locks of all its records, which are only
//       tried. Each record must be of an epoch that the snapshot covers (O12). All are marked moved
//       and the page dropped before its pointer loses the volatile half. So a reader that sees the
//       pointer without it can never meet an old record that looks alive. If one lock is not free
//       or one record is newer, nothing is marked.
//   O16 After an installation volatile pages lead to the new snapshot only. Each of their pointers
//       with a null volatile half leads to a page of its tree. Each record that names a chain in a
//       snapshot (O13) names one in a file of it. Where the shapes of the old and the new tree
//       differ, the installer materializes the old page. What it has found so stays so: sessions
//       move such pointers and names, but only within their range of keys. They make new ones only
//       by copying the page that a pointer leads to at that time. The installer may miss pointers
//       and names that move meanwhile, and cannot change all. It reports that in
//       InstallCounts::may_need_earlier, and the files of earlier snapshots stay until a later
//       installation.
//   O18 An installation that is to drop no pages looks only at what changed. A page of a snapshot
//       never changes, nor does anything below it, and a page that has left the tree never comes
//       back to it. So a page of the new tree whose id is of the snapshot `installed` or an older
//       one has been in all trees since `installed`. By O16, pointers and names that volatile pages
//       have for its keys lead into those trees: to that page, or to pages and payloads below it.
//       None of them needs a change, so the installer passes over the page. (An installation that
//       takes marks of use away looks at all volatile pages.)
//   O12 An epoch that a snapshot covers is over, and its transactions have published their log
//       records, which the snapshot has. So no page has a write of such an epoch that the snapshot
//       lacks, and a page without newer records may be dropped.

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
  page::SessionPages* pages = nullptr;  // dropped pages are retired here
  snapshot::PageCache* cache = nullptr;
  epoch::EpochClock* clock = nullptr;
  occ::StorageControl* control = nullptr;
  Epoch covered;                       // all of this epoch and before is in the snapshot
  std::uint32_t soc = 0;               // the SOC whose part of the cache is used
  std::uint32_t session = kNoSession;  // the caller's, whose cache pin is used (O14)
  // Volatile pages to drop at most, or a few more; 0: pointers are installed only. Sequential
  // storages drop all that they can: no session comes back to their pages.
  std::uint64_t pages_to_drop = ~std::uint64_t{0};
  // Pages with a mark of use stay this time, and lose the mark (P8).
  bool spares_used = false;
  // The files of the snapshot, ascending: for each the word of the id of its page 0.
  std::span<const std::uint64_t> files = {};
  // The oldest snapshot that volatile pages may need: they lead to no page that only earlier ones
  // have (O16). 0: not known.
  page::SnapshotNumber installed{};
  // Threads that take part (O19), the caller's among them; null: there are none.
  InstallWorkers* workers = nullptr;
  // The pages that all threads together have dropped; null if there is one thread only.
  base::AtomicWord<std::uint64_t>* dropped_by_all = nullptr;

  // If spares_used: takes the page's mark of use, and returns whether there was one, which keeps
  // the page. Called once for each volatile page with records.
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
  // Returns the Installation of the worker `index`. `dropped`: counts the pages that all workers
  // drop.
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
  // To look at so many pages takes a few times as long as to wake the threads.
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
  std::uint64_t pages_told = 0;  // of them, how many dropped_by_all counts
  // Volatile pages that stay: they changed since, were in use, or were not to be dropped. If pages
  // were passed over (O18), all volatile pages of the storage, overflow pages among them
  // (whole_counts()).
  std::uint64_t pages_kept = 0;
  std::uint64_t pages_spared = 0;  // of them, those that Installation::spares()
  bool has_passed_over = false;    // pages that have not changed (O18)
  // O16. Volatile pages may lead to pages of earlier snapshots that the new one does not have.
  bool may_need_earlier = false;
  // The storage has a delta now. The delta takes no puts before all transactions that are open now
  // have ended (M47).
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
