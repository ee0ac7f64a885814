#include "foedus-core/storage/masstree/install/subtree.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/moves/after_marks.h"

namespace foedus::storage::masstree {

namespace {

constexpr unsigned kPageTries = 100;
// The number of tries for the lock of a page above. Other threads of the installation hold that
// lock for as long as an exchange takes (O19).
constexpr unsigned kSharedPageTries = 2'000;

bool is_covered(const Installation& installation, page::Tid tid) {
  return tid.epoch() <= installation.covered;
}

VolatileContents volatile_contents_of_twins(const Installation& installation, TreePage* page) {
  VolatileContents contents{1, 0, true};
  TreePage* const minor = twin_of(*installation.pool, page, page->low);
  TreePage* const major = twin_of(*installation.pool, page, page->last);
  contents.add(volatile_contents_of(installation, minor));
  if (major != minor) contents.add(volatile_contents_of(installation, major));
  return contents;
}

}  // namespace

VolatileContents volatile_contents_of_records(const Installation& installation, BorderPage* page) {
  const page::PageVersion version = page->header.load_version();
  // If nothing is to be dropped, no caller asks whether the page is quiet. Then its records are not
  // looked at, because each is a cache line more.
  const bool may_go = installation.pages_to_drop != 0 && !version.is_gone() &&
                      is_covered(installation, page::Tid(page->header.purged_tid));
  VolatileContents contents{1, version.keys(), may_go};
  for (unsigned i = 0; i < version.keys(); ++i) {
    const Slot slot = page->slot(i);
    if (slot.is_snapshot_overflow()) {
      const page::SnapshotPageId chain(load_overflow_id(page->payload(slot)));
      if (!installation.has_file_of(chain)) contents.leads_to_cold = true;
    }
    if (!contents.is_quiet) continue;
    const page::RecordHeader* const record = page->record(slot);
    const bool is_old = slot.is_layer() || is_covered(installation, record->load_tid());
    // order: relaxed, a guess; collect() tries the lock.
    contents.is_quiet = is_old && record->lock.load_relaxed() == 0;
  }
  return contents;
}

VolatileContents volatile_contents_of(const Installation& installation, TreePage* page) {
  page::PagePool& pool = *installation.pool;
  const page::PageVersion version = page->header.load_version();
  if (version.is_dropped()) return {1, 0, false, true};
  if (version.is_moved()) return volatile_contents_of_twins(installation, page);
  const auto below = [&](const page::DualPagePointer& pointer, VolatileContents* contents) {
    const page::VolatilePageId id = pointer.load_volatile();
    if (id.is_null()) {
      contents->leads_to_cold = true;
    } else {
      contents->add(volatile_contents_of(installation, TreePage::of(pool.resolve(id))));
    }
  };
  if (page->is_border()) {
    BorderPage* const border = BorderPage::of(page);
    VolatileContents contents = volatile_contents_of_records(installation, border);
    for (unsigned i = 0; i < version.keys() && version.layers() != 0; ++i) {
      const Slot slot = border->slot(i);
      if (slot.is_layer()) below(*border->layer_pointer(slot), &contents);
    }
    return contents;
  }
  VolatileContents contents{1, 0, true};
  InteriorPage* const interior = InteriorPage::of(page);
  for (unsigned i = 0; i <= version.keys(); ++i) below(interior->child(i), &contents);
  return contents;
}

// ---- locking

// Allocates before it takes the lock, so that release() knows each lock that is held.
bool Subtree::try_lock_word(occ::LockWord* word, unsigned tries) {
  locks_.push_back({word, waiters_.take()});
  if (occ::try_lock_for(word, locks_.back().waiter, tries)) return true;
  locks_.pop_back();
  return false;
}

bool Subtree::try_lock_above(page::PageHeader* page) {
  const bool is_shared = installation_.dropped_by_all != nullptr;
  return try_lock_word(&page->lock, is_shared ? kSharedPageTries : kPageTries);
}

bool Subtree::try_lock(page::PageHeader* page) { return try_lock_word(&page->lock, kPageTries); }

bool Subtree::collect(TreePage* page, const SliceRange& dropped) {
  if (!try_lock(&page->header)) return false;
  const page::PageVersion version = page->header.load_version();
  if (version.is_dropped() || version.is_retired()) return false;
  if (version.is_moved()) return collect_twins(page, dropped);
  members_.push_back({page, dropped, false, nullptr});
  return page->is_border() ? collect_border(BorderPage::of(page), dropped)
                           : collect_interior(InteriorPage::of(page), dropped);
}

bool Subtree::collect_twins(TreePage* page, const SliceRange& dropped) {
  if (dropped.low > page->low || dropped.last < page->last) return false;
  members_.push_back({page, dropped, true, nullptr});
  TreePage* const minor = twin_of(*installation_.pool, page, page->low);
  TreePage* const major = twin_of(*installation_.pool, page, page->last);
  return collect(minor, dropped) && (major == minor || collect(major, dropped));
}

bool Subtree::collect_border(BorderPage* page, const SliceRange& dropped) {
  if (!is_covered(installation_, page::Tid(page->header.purged_tid))) return false;
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i < keys; ++i) {
    page::RecordHeader* const record = page->record(i);
    if (!try_lock_word(&record->lock, 1)) return false;
    const Slot slot = page->slot(i);  // settled, under the record's lock (M6)
    if (!slot.is_layer()) {
      if (!is_covered(installation_, record->load_tid())) return false;
      continue;
    }
    const page::VolatilePageId root = page->layer_pointer(slot)->load_volatile();
    if (root.is_null() || !dropped.contains(page->slice(i))) continue;
    if (!collect(TreePage::of(installation_.pool->resolve(root)), kAllSlices)) return false;
  }
  return true;
}

bool Subtree::collect_interior(InteriorPage* page, const SliceRange& dropped) {
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i <= keys; ++i) {
    const std::uint64_t low = i == 0 ? page->low : page->separator(i - 1);
    const std::uint64_t last = i == keys ? page->last : page->separator(i) - 1;
    if (dropped.is_empty() || last < dropped.low || low > dropped.last) continue;
    if (low < dropped.low || last > dropped.last) return false;
    const page::VolatilePageId child = page->child(i).load_volatile();
    if (child.is_null()) continue;
    if (!collect(TreePage::of(installation_.pool->resolve(child)), dropped)) return false;
  }
  return true;
}

// ---- giving up

void Subtree::set_replacement(const TreePage* page, const TreePage* replacement) {
  for (Member& member : members_) {
    if (member.page == page) member.replacement = replacement;
  }
}

void Subtree::mark_records(BorderPage* page) {
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i < keys; ++i) {
    page::RecordHeader* const record = page->record(i);
    // order: release: a reader that sees the flag sees the foster words, or the page dropped (M32).
    record->tid.store_release(record->load_tid().with(page::Tid::kMoved).word());
  }
}

void Subtree::mark() {
  for (const Member& member : members_) {
    page::PageHeader& header = member.page->header;
    if (member.replacement == nullptr) {
      header.store_version(header.load_version().with(page::PageVersion::kDropped));
    } else {
      // order: release, pairs with twin_of(); before the marks (M4).
      member.page->foster_minor.store_release(member.replacement->header.page_id);
    }
    if (member.page->is_border() && !member.was_moved) mark_records(BorderPage::of(member.page));
  }
  FOEDUS_SYNC_POINT("masstree:drop_records_moved");
  const bool drops = std::any_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.replacement == nullptr;
  });
  if (drops) moves::announce_drop(installation_);
}

void Subtree::mark_moved() {
  for (const Member& member : members_) {
    if (member.replacement == nullptr) continue;
    page::PageHeader& header = member.page->header;
    header.store_version(header.load_version().with(page::PageVersion::kMoved));
    FOEDUS_SYNC_POINT("masstree:exchange_half_moved");
  }
}

void Subtree::release() {
  for (std::size_t i = locks_.size(); i-- != 0;) occ::unlock(locks_[i].word, locks_[i].waiter);
  locks_.clear();
  waiters_.clear();
}

void Subtree::forget() { members_.clear(); }

void Subtree::retire_chains(BorderPage* page, const SliceRange& dropped) {
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = page->slot(i);
    if (!slot.is_overflow() || !dropped.contains(page->slice(i))) continue;
    retire_overflow(*installation_.pool, *installation_.pages, installation_.control,
                    load_overflow_id(page->payload(slot)));
  }
}

std::uint64_t Subtree::retire() {
  const std::uint64_t pages = members_.size();
  for (const Member& member : members_) {
    if (member.page->is_border() && !member.was_moved) {
      retire_chains(BorderPage::of(member.page), member.dropped);
    }
    retire_page(installation_, &member.page->header);
  }
  members_.clear();
  return pages;
}

void retire_page(const Installation& installation, page::PageHeader* page) {
  // order: relaxed, statistics.
  installation.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
  installation.pages->retire(page);
}

}  // namespace foedus::storage::masstree
