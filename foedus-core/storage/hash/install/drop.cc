#include "foedus-core/storage/hash/install/drop.h"

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/moves/after_marks.h"
#include "foedus-core/storage/moves/birth.h"

namespace foedus::storage::hash {

Subtree::Subtree(const Installation& installation)
    : installation_(installation),
      source_{installation.pool, installation.pages, installation.control, installation.soc} {}

bool Subtree::try_drop(page::DualPagePointer* pointer, page::PageHeader* holder,
                       page::PageHeader* page, page::SnapshotPageId snapshot,
                       std::uint64_t* pages_dropped) {
  // If memory runs out, the attempt has failed, and release() unlocks all as after other failures.
  bool quiet = false;
  base::trying([&] { quiet = collect(page) && lock_interiors(); });
  if (quiet) {
    FOEDUS_SYNC_POINT("hash:before_drop");
    mark();
    FOEDUS_SYNC_POINT("hash:dropped");
    const bool taken = change_pointer(pointer, holder, {page->volatile_id(), snapshot},
                                      {page::VolatilePageId(), snapshot});
    FOEDUS_INVARIANT(taken, page->page_id, snapshot.word());
  }
  release();
  if (quiet) *pages_dropped += retire();
  bins_.clear();
  interiors_.clear();
  members_.clear();
  return quiet;
}

bool Subtree::collect(page::PageHeader* page) {
  if (page->kind == page::PageKind::kHashBin) {
    return collect_bin(reinterpret_cast<HashBinPage*>(page));
  }
  auto* const interior = reinterpret_cast<HashInteriorPage*>(page);
  std::uint32_t children = 0;
  for (const page::DualPagePointer& pointer : interior->pointers) {
    const page::VolatilePageId child = pointer.load_volatile();
    if (child.is_null() || child == page->volatile_id()) continue;  // H6
    ++children;
    if (!collect(source_.pool->resolve(child))) return false;
  }
  interiors_.push_back({interior, children});
  return true;
}

// Allocates before it takes the lock, so that release() knows each lock that is held.
bool Subtree::try_lock(occ::LockWord* word, unsigned spins) {
  locks_.push_back({word, waiters_.take()});
  if (occ::try_lock_for(word, locks_.back().waiter, spins)) return true;
  locks_.pop_back();
  return false;
}

bool Subtree::collect_bin(HashBinPage* bin) {
  if (!try_lock(&bin->header.lock, kBinSpins)) return false;
  if (bin->header.load_version().is_gone()) return false;
  if (page::Tid(bin->header.purged_tid).epoch() > installation_.covered) return false;
  bins_.push_back(bin);
  for (HashBinPage* page = bin; page != nullptr; page = next_of(*source_.pool, page)) {
    const std::uint32_t count = page->load_count();
    for (std::uint32_t place = 0; place < count; ++place) {
      page::RecordHeader* const record = page->record(page->slot(place));
      if (record->load_tid().is_moved()) continue;  // by expand(), within this bin
      if (!try_lock(&record->lock, 1)) return false;
      if (record->load_tid().epoch() > installation_.covered) return false;
      members_.push_back({record, page, place});
    }
  }
  return true;
}

// Locks the interior pages (H14). Under a page's lock no session makes a child volatile, and the
// pointers to the locked bins stay. So if a page has as many children as before, they are the same
// ones.
bool Subtree::lock_interiors() {
  for (const Interior& interior : interiors_) {
    FOEDUS_SYNC_POINT("hash:drop_collected");
    occ::LockWaiter* const waiter = waiters_.take();
    base::reserve_more(&locks_, 1);
    occ::lock(&interior.page->header.lock, waiter);
    locks_.push_back({&interior.page->header.lock, waiter});
    std::uint32_t children = 0;
    for (const page::DualPagePointer& pointer : interior.page->pointers) {
      const page::VolatilePageId child = pointer.load_volatile();
      if (!child.is_null() && child != interior.page->header.volatile_id()) ++children;
    }
    if (children != interior.children) return false;
  }
  return true;
}

void Subtree::mark() {
  for (HashBinPage* const bin : bins_) {
    for (HashBinPage* page = bin; page != nullptr; page = next_of(*source_.pool, page)) {
      page::PageHeader& header = page->header;
      header.store_version(header.load_version().with(page::PageVersion::kDropped));
    }
  }
  for (const Member& member : members_) {
    const page::Tid tid = member.record->load_tid();
    // order: release. A session that sees the record moved also sees the page dropped, and searches
    // for no copy of the record.
    member.record->tid.store_release(tid.with(page::Tid::kMoved).word());
  }
  for (const Interior& interior : interiors_) {
    page::PageHeader& header = interior.page->header;
    header.store_version(header.load_version().with(page::PageVersion::kDropped));
  }
  FOEDUS_SYNC_POINT("hash:drop_marked");
  moves::announce_drop(installation_);
}

void Subtree::release() {
  for (std::size_t i = locks_.size(); i-- != 0;) occ::unlock(locks_[i].word, locks_[i].waiter);
  locks_.clear();
  waiters_.clear();
}

// Retires all collected pages and the chains of their payloads. Returns the number of pages without
// those of chains.
std::uint64_t Subtree::retire() {
  std::uint64_t pages = interiors_.size();
  for (const Member& member : members_) {
    const HashSlot slot = member.page->slot(member.place);
    if (slot.length() != kOverflowLength) continue;
    const std::uint64_t chain = load_overflow_id(payload_of(member.record, slot));
    retire_overflow(*source_.pool, *source_.pages, source_.control, chain);
  }
  for (HashBinPage* const bin : bins_) {
    for (HashBinPage* page = bin; page != nullptr; page = next_of(*source_.pool, page)) ++pages;
    retire_bin(source_, bin);
  }
  for (const Interior& interior : interiors_) {
    source_.pages->retire(&interior.page->header);
    // order: relaxed, statistics.
    source_.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
  }
  return pages;
}

}  // namespace foedus::storage::hash
