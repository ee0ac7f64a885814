#include "foedus-core/storage/array/array_install.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage/array/array_page_check.h"
#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/base/install_team.h"
#include "foedus-core/storage/moves/after_marks.h"
#include "foedus-core/storage/moves/birth.h"

namespace foedus::storage::array {

namespace {

// A pointer to a volatile page, as it was seen before the page was locked.
struct Link {
  page::DualPagePointer* pointer;
  page::PageHeader* holder;  // the page that the pointer lies in; null: the root
  page::DualPageIds ids;     // after the new snapshot page was installed
};

class Installer {
 public:
  explicit Installer(const Installation& installation)
      : installation_(installation),
        cold_pages_(cold_pages_of(installation)),
        shape_(shape_of(installation.control->meta.payload_bytes)),
        waiters_(shape_.records_per_page) {}

  Status run(page::SnapshotPageId root) {
    return below(&installation_.control->root, nullptr, root);
  }
  const InstallCounts& own_counts() const { return counts_; }
  InstallCounts counts() const { return whole_counts(installation_, counts_); }

 private:
  bool drops() { return counts_.wants_more(installation_); }
  // Returns whether unchanged pages are looked at too, to drop some or to clear their CLOCK
  // reference bits.
  bool looks_at_all() { return installation_.spares_used || drops(); }

  Status below(page::DualPagePointer* pointer, page::PageHeader* holder,
               page::SnapshotPageId snapshot) {
    Link link{pointer, holder, {}};
    bool is_new = false;
    for (;;) {
      const page::DualPageIds before = pointer->load();
      FOEDUS_SYNC_POINT("array:install_looked");
      link.ids = {before.volatile_page, snapshot};
      is_new = before != link.ids;
      // This is tried again only if a session makes the page volatile meanwhile: there is no other
      // change of the pointer.
      if (!is_new || change_pointer(pointer, holder, before, link.ids)) break;
    }
    if (link.ids.volatile_page.is_null()) return {};
    if (!is_new && !looks_at_all() && installation_.is_unchanged(snapshot)) {
      counts_.has_passed_over = true;
      return {};
    }
    page::PageHeader* const page = installation_.pool->resolve(link.ids.volatile_page);
    FOEDUS_SYNC_POINT("array:installed");
    if (page->level != 0) FOEDUS_CHECK(children(page, snapshot));
    const bool is_spared = page->level == 0 && installation_.spares(page);
    if (is_spared) ++counts_.pages_spared;
    const bool dropped =
        !is_spared && drops() &&
        (page->level != 0 ? drop_interior(link, page) : drop_border(link, page));
    ++(dropped ? counts_.pages_dropped : counts_.pages_kept);
    return {};
  }

  Status children(page::PageHeader* page, page::SnapshotPageId snapshot) {
    page::SnapshotPageId below_it[ArrayInteriorPage::kPointers];
    FOEDUS_CHECK(load_children(snapshot, *page, below_it));
    auto* const interior = reinterpret_cast<ArrayInteriorPage*>(page);
    if (is_divided(*interior)) return children_together(interior, below_it);
    for (std::uint32_t i = 0; i < ArrayInteriorPage::kPointers; ++i) {
      FOEDUS_CHECK(below(&interior->pointers[i], page, below_it[i]));
    }
    return {};
  }

  // Returns whether the children of this page are dealt out to threads: they have pages below them,
  // and there are enough children for all threads. At level 2 any number will do, because the
  // children of lower pages are never dealt out.
  bool is_divided(const ArrayInteriorPage& page) const {
    if (page.header.level < 2 || !installation_.is_shared()) return false;
    if (page.header.level == 2) return true;
    const auto is_volatile = [](const page::DualPagePointer& pointer) {
      return !pointer.load_volatile().is_null();
    };
    const auto children = std::count_if(std::begin(page.pointers), std::end(page.pointers),
                                        is_volatile);
    return static_cast<std::size_t>(children) >= 2 * installation_.workers->workers().size();
  }

  // Installs below the children by several threads (O19).
  Status children_together(ArrayInteriorPage* page, const page::SnapshotPageId* snapshots) {
    InstallTeam<Installer> team(installation_, counts_);
    return team.run(
        ArrayInteriorPage::kPointers,
        [&](std::size_t child) { return page->pointers[child].load_volatile().soc(); },
        [&](Installer& installer, std::size_t child) {
          return installer.below(&page->pointers[child], &page->header, snapshots[child]);
        },
        &counts_);
  }

  // Reads the ids in a snapshot page, all null if there is none: the page itself is not kept (O14).
  Status load_children(page::SnapshotPageId snapshot, const page::PageHeader& page,
                       page::SnapshotPageId* children) {
    if (snapshot.is_null()) return {};
    const occ::ColdReads reads(&cold_pages_);
    const page::PageHeader* const read = cold_pages_.page(snapshot);
    if (read == nullptr) return cold_pages_.take_failure();
    const page::StorageId storage = installation_.control->id();
    if (!is_page_of(*read, storage, page.level, page.kind_word)) {
      return occ::not_that_page(snapshot);
    }
    const auto* const cold = reinterpret_cast<const ArrayInteriorPage*>(read);
    for (std::uint32_t i = 0; i < ArrayInteriorPage::kPointers; ++i) {
      children[i] = cold->pointers[i].load().snapshot_page;
    }
    return {};
  }

  // Drops a border page if it is quiet (O11). If the snapshot has no page there, all records of a
  // quiet page are zero, so nothing is lost.
  bool drop_border(const Link& link, page::PageHeader* page) {
    auto* const border = reinterpret_cast<ArrayBorderPage*>(page);
    const occ::LockGuard guard(&page->lock);
    std::uint32_t locked = 0;
    bool quiet = true;
    while (quiet && locked < shape_.records_per_page) {
      page::RecordHeader* const record = record_at(border, locked, shape_);
      quiet = occ::try_lock(&record->lock, &waiters_[locked]);
      if (!quiet) break;
      ++locked;
      quiet = record->load_tid().epoch() <= installation_.covered;
    }
    if (quiet) {
      FOEDUS_SYNC_POINT("array:before_drop");
      for (std::uint32_t i = 0; i < locked; ++i) {
        page::RecordHeader* const record = record_at(border, i, shape_);
        // order: release, pairs with readers' acquire: a reader that sees the mark sees all that
        // was stored before it.
        record->tid.store_release(record->load_tid().with(page::Tid::kMoved).word());
      }
      take(link, page);
    }
    for (std::uint32_t i = 0; i < locked; ++i) {
      occ::unlock(&record_at(border, i, shape_)->lock, &waiters_[i]);
    }
    if (quiet) retire(page);
    return quiet;
  }

  // Drops an interior page if all pages below it have gone. Under its lock no session makes a child
  // volatile.
  bool drop_interior(const Link& link, page::PageHeader* page) {
    auto* const interior = reinterpret_cast<ArrayInteriorPage*>(page);
    {
      const occ::LockGuard guard(&page->lock);
      for (const page::DualPagePointer& pointer : interior->pointers) {
        if (!pointer.load_volatile().is_null()) return false;
      }
      take(link, page);
    }
    retire(page);
    return true;
  }

  // Marks the page, announces the drop (A9), then takes the page from its pointer. REQUIRES: its
  // records are marked, and its lock is held. The holder's lock is taken after it, as O1 says.
  void take(const Link& link, page::PageHeader* page) {
    page->store_version(page->load_version().with(page::PageVersion::kDropped));
    moves::announce_drop(installation_);
    FOEDUS_SYNC_POINT("array:dropped");
    const bool taken = change_pointer(link.pointer, link.holder, link.ids,
                                      {page::VolatilePageId(), link.ids.snapshot_page});
    FOEDUS_INVARIANT(taken, link.ids.volatile_page.word(), link.ids.snapshot_page.word());
  }
  void retire(page::PageHeader* page) {
    installation_.pages->retire(page);
    // order: relaxed, statistics.
    installation_.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
  }

  const Installation& installation_;
  occ::ColdPages cold_pages_;
  const ArrayShape& shape_;
  std::vector<occ::LockWaiter> waiters_;  // one for each record of a page
  InstallCounts counts_;
};

}  // namespace

Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root) {
  Installer installer(installation);
  FOEDUS_CHECK(installer.run(root));
  return installer.counts();
}

}  // namespace foedus::storage::array
