#include "foedus-core/storage/sequential/sequential_install.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/sequential/sequential_page.h"
#include "foedus-core/storage/sequential/sequential_pages.h"

namespace foedus::storage::sequential {

namespace {

// Whether transactions that appended to a page may still be open.
enum class Appenders : std::uint8_t { kMayBeOpen, kOver };

class Installer {
 public:
  explicit Installer(const Installation& installation)
      : installation_(installation), control_(installation.control) {}

  InstallCounts run(page::SnapshotPageId root) {
    install_root(root);
    FOEDUS_SYNC_POINT("sequential:installed");
    const page::DualPageIds ids = control_->root.load();
    if (!ids.volatile_page.is_null()) {
      auto* const page = page_of<SequentialRootPage>(pool(), ids.volatile_page.word());
      for (page::DualPagePointer& pointer : page->pointers) drop_below(page, &pointer);
      drop_root(ids, page);
    }
    counts_.pages_kept = control_->volatile_pages.load_relaxed();  // order: relaxed, statistics
    return counts_;
  }

 private:
  page::PagePool& pool() { return *installation_.pool; }

  // Installs the root. This is tried again only if a session makes the volatile root meanwhile.
  void install_root(page::SnapshotPageId root) {
    for (;;) {
      const page::DualPageIds before = control_->root.load();
      const page::DualPageIds after{before.volatile_page, root};
      FOEDUS_SYNC_POINT("sequential:install_looked");
      if (before == after || control_->root.compare_exchange(before, after)) return;
    }
  }

  void drop_below(SequentialRootPage* root, page::DualPagePointer* pointer) {
    const page::VolatilePageId id = pointer->load_volatile();
    if (id.is_null()) return;
    auto* const heads = page_of<HeadsPage>(pool(), id.word());
    for (Chain& chain : heads->chains) {
      if (chain.head.load_volatile().is_null()) continue;
      drop_moved(heads, &chain);
      drop_last(heads, &chain);
    }
    drop_heads(root, pointer, heads);
  }

  // Drops the moved pages from the head of the chain on, until one is not quiet (S9). Only the
  // installer changes the head of a chain that has one, so it looks at the pages without a lock.
  void drop_moved(HeadsPage* heads, Chain* chain) {
    for (;;) {
      const page::VolatilePageId id = chain->head.load_volatile();
      // order: acquire, pairs with link_page(): a page before the tail is marked moved. If the load
      // gives an older tail, one page more is kept.
      if (chain->tail.load_acquire() == id.word()) return;
      auto* const page = page_of<SequentialPage>(pool(), id.word());
      FOEDUS_INVARIANT(page->header.load_version().is_moved(), id.word(), page->session);
      if (!is_quiet(page, appenders_of(page))) return;
      // order: acquire, pairs with link_page(); S2: a page that has moved has a next one.
      const page::VolatilePageId next(page->next_page.load_acquire());
      FOEDUS_INVARIANT(!next.is_null(), id.word(), page->session);
      FOEDUS_SYNC_POINT("sequential:before_drop");
      mark(&page->header);
      change(&chain->head, &heads->header, id, next);
      retire(&page->header);
    }
  }

  // Drops the last page (S10). The tail has to be exchanged before the fence, and the look at the
  // pin has to come after it.
  void drop_last(HeadsPage* heads, Chain* chain) {
    const page::VolatilePageId id = chain->head.load_volatile();
    auto* const page = page_of<SequentialPage>(pool(), id.word());
    if (page->header.load_version().is_moved()) return;
    FOEDUS_SYNC_POINT("sequential:before_tail");
    {
      const occ::LockGuard guard(&heads->header.lock);
      if (pin_of(page) != 0) return;  // an owner at work need not wait for the lock
      FOEDUS_SYNC_POINT("sequential:pin_looked");
      const std::uint64_t tail = chain->tail.exchange_acq_rel(0);
      FOEDUS_SYNC_POINT("sequential:tail_taken");
      base::fence_seq_cst();  // order: S10, pairs with the fence of EpochClock::pin()
      const bool idle = pin_of(page) == 0;
      // The owner may have been at work since the first look, and have linked other pages. If it
      // stored its tail before the exchange, `tail` is another page. If it stored it after, this
      // page was marked moved before that.
      const bool is_last = tail == id.word() && !page->header.load_version().is_moved();
      const bool drops = idle && is_last && is_quiet(page, Appenders::kOver);
      if (!drops) {
        std::uint64_t expected = 0;
        chain->tail.compare_exchange_acq_rel(expected, tail);  // else the owner has stored another
        return;
      }
      mark(&page->header);
      // The lock of the heads page is held (O10), so a compare-and-swap is all that is left (P4).
      const bool taken = chain->head.compare_exchange({id, {}}, {});
      FOEDUS_INVARIANT(taken, id.word(), page->session);
    }
    retire(&page->header);
  }

  // Drops a heads page without a chain (S11).
  void drop_heads(SequentialRootPage* root, page::DualPagePointer* pointer, HeadsPage* heads) {
    {
      const occ::LockGuard guard(&heads->header.lock);
      const bool has_chain =
          std::any_of(std::begin(heads->chains), std::end(heads->chains),
                      [](const Chain& chain) { return !chain.head.load_volatile().is_null(); });
      if (has_chain) return;
      mark(&heads->header);
      change(pointer, &root->header, heads->header.volatile_id(), {});
    }
    retire(&heads->header);
  }
  void drop_root(const page::DualPageIds& ids, SequentialRootPage* root) {
    {
      const occ::LockGuard guard(&root->header.lock);
      const bool has_heads =
          std::any_of(std::begin(root->pointers), std::end(root->pointers),
                      [](const page::DualPagePointer& pointer) {
                        return !pointer.load_volatile().is_null();
                      });
      if (has_heads) return;
      mark(&root->header);
      const bool taken = control_->root.compare_exchange(ids, {{}, ids.snapshot_page});
      FOEDUS_INVARIANT(taken, ids.volatile_page.word(), ids.snapshot_page.word());
    }
    retire(&root->header);
  }

  std::uint64_t pin_of(const SequentialPage* page) {
    // order: acquire, pairs with the release of pin() and unpin() (E4). All that transactions
    // stored that are over by this pin is visible.
    const std::uint64_t pin = installation_.clock->slot(page->session).pin.load_acquire();
    return epoch::EpochClock::epoch_of_pin(pin);  // a lent pin counts, too
  }
  // Returns whether transactions that appended to the page may be open (S9). REQUIRES: it has
  // moved.
  Appenders appenders_of(const SequentialPage* page) {
    const std::uint64_t pin = pin_of(page);
    const bool over = pin == 0 || pin > page->header.kind_word;
    return over ? Appenders::kOver : Appenders::kMayBeOpen;
  }

  bool is_quiet(SequentialPage* page, Appenders appenders) const {
    const std::uint32_t count = page->header.load_version().keys();
    std::uint32_t offset = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      SequentialRecord* const record = page->record_at(offset);
      offset += SequentialRecord::size_of(record->payload_bytes);
      const page::Tid tid = record->header.load_tid();
      const bool is_over = tid.is_deleted() ? appenders == Appenders::kOver
                                            : tid.epoch() <= installation_.covered;
      // order: relaxed. A lock of the owner is seen with the record's TID, or the appenders are
      // over. A reader's lock (a retry locks what it reads) may be missed: it protects nothing
      // here, and the retry can still commit.
      if (!is_over || record->header.lock.load_relaxed() != 0) return false;
    }
    return true;
  }

  // Announces the drop and marks the page, before the pointer to it is changed. So a thread that
  // still finds the page sees that it was dropped.
  void mark(page::PageHeader* page) {
    control_->announce_drop(installation_.clock->current());
    page->store_version(page->load_version().with(page::PageVersion::kDropped));
  }
  void change(page::DualPagePointer* pointer, page::PageHeader* holder, page::VolatilePageId from,
              page::VolatilePageId to) {
    const bool changed = change_pointer(pointer, holder, {from, {}}, {to, {}});
    FOEDUS_INVARIANT(changed, from.word(), to.word());
  }
  void retire(page::PageHeader* page) {
    retire_page(installation_.pages, control_, page);
    ++counts_.pages_dropped;
  }

  const Installation& installation_;
  occ::StorageControl* const control_;
  InstallCounts counts_;
};

}  // namespace

Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root) {
  return Installer(installation).run(root);
}

}  // namespace foedus::storage::sequential
