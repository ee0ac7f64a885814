#include "foedus-core/storage/hash/rebuild.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/find.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/trie.h"
#include "foedus-core/storage/moves/after_marks.h"

namespace foedus::storage::hash {

namespace {

// A bin with more records than this, dead ones included, is not replaced any more: it only grows by
// chaining. A bin grows so large if other sessions held locks of its records at many attempts, or
// if its keys share 63 bits of hash.
constexpr std::uint32_t kMembersMax = 512;
// The number of tries for the lock of a record (O1).
constexpr unsigned kLockSpins = 64;
// A bin is rebuilt up to this fill, and is spread if it has more. With a lower limit, bins are
// rebuilt less often, but rows that come and go make more of them spread (experiments/churn).
constexpr std::uint32_t kRebuiltBytesMax = HashBinPage::kDataBytes / 8 * 7;
constexpr std::uint32_t kRebuiltRecordsMax = HashBinPage::kRecordsMax / 8 * 7;
// A bin whose live records fill no more than this is merged with its buddy, if both together are
// within the limit above.
constexpr std::uint32_t kMergedBytesMax = HashBinPage::kDataBytes / 8 * 5;
constexpr std::uint32_t kMergedRecordsMax = HashBinPage::kRecordsMax / 8 * 5;

// One record of the bin that is replaced.
struct Member {
  HashBinPage* page;
  page::RecordHeader* record;
  std::uint32_t place;
  bool locked = false;  // here, with the waiter of its index
  bool kept = false;

  HashSlot slot() const { return page->slot(place); }
  std::string_view key() const { return {key_of(record), slot().key_bytes()}; }
};

class Replacement {
 public:
  Replacement(occ::TxnContext& ctx, occ::StorageControl* control, HashBinPage* bin)
      : ctx_(ctx), source_(source_of(ctx, control)), bin_(bin) {}
  ~Replacement() {
    unlock_from(0);
    if (buddy_ == nullptr) return;
    occ::unlock(&buddy_->header.lock, &buddy_waiter_);
    if (buddy_->header.load_version().is_moved()) retire_bin(source_, buddy_);
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  bool lock_all() { return lock_members(bin_); }
  // Decides which records stay, and whether one bin is enough for them and `space` more.
  void plan(std::uint32_t space);
  // Takes the buddy along if both fit into one bin with `space` more.
  void include_buddy(std::uint32_t space);
  bool build();
  void publish();

 private:
  bool lock_members(HashBinPage* bin);
  bool is_dead(const Member& member) const;
  bool copy(const Member& member, HashBinPage* to);
  void give_up();
  void move_members();
  void mark_moved(HashBinPage* bin);
  void give_birth();
  void unlock_from(std::uint32_t begin);

  occ::TxnContext& ctx_;
  const PageSource source_;
  HashBinPage* const bin_;
  Successors successors_;
  std::uint64_t purged_tid_ = 0;
  std::uint32_t bytes_ = 0;  // of the records that stay, and `space`
  std::uint32_t kept_ = 0;
  bool spread_ = false;
  HashBinPage* buddy_ = nullptr;  // locked
  occ::LockWaiter buddy_waiter_;
  std::uint32_t count_ = 0;
  Member members_[kMembersMax];
  occ::LockWaiter waiters_[kMembersMax];
};

bool Replacement::lock_members(HashBinPage* bin) {
  for (HashBinPage* page = bin; page != nullptr; page = next_of(*source_.pool, page)) {
    const std::uint32_t records = page->load_count();
    for (std::uint32_t place = 0; place < records; ++place) {
      page::RecordHeader* const record = page->record(page->slot(place));
      if (record->load_tid().is_moved()) continue;
      if (count_ == kMembersMax) return false;
      Member& member = members_[count_];
      member = {page, record, place};
      if (!ctx_.locks().holds(record)) {
        if (!occ::try_lock_for(&record->lock, &waiters_[count_], kLockSpins)) return false;
        member.locked = true;
      }
      ++count_;
    }
  }
  return true;
}

// Returns whether the record may be purged: it was erased or never committed, in an epoch that no
// open transaction began in or before. An insert that may still be committed is not dead, because
// its TID began in the epoch of its call, when its transaction was open. And no open transaction
// has read a dead record as present.
bool Replacement::is_dead(const Member& member) const {
  const page::Tid tid = member.record->load_tid();
  if (!tid.is_deleted() || !member.locked || ctx_.sets().writes().contains(member.record))
    return false;
  return tid.epoch() <= ctx_.clock().reclaimable();
}

void Replacement::plan(std::uint32_t space) {
  bytes_ = space;
  kept_ = 1;
  purged_tid_ = bin_->header.purged_tid;
  if (buddy_ != nullptr) purged_tid_ = std::max(purged_tid_, buddy_->header.purged_tid);
  for (std::uint32_t i = 0; i < count_; ++i) {
    Member& member = members_[i];
    member.kept = !is_dead(member);
    const HashSlot slot = member.slot();
    if (member.kept) {
      bytes_ += space_of(slot.key_bytes(), slot.room());
      ++kept_;
    } else {
      FOEDUS_INVARIANT(slot.length() != kOverflowLength, member.record);
      const page::Tid tid = member.record->load_tid().without(page::Tid::kFlags);
      purged_tid_ = std::max(purged_tid_, tid.word());
    }
  }
  spread_ = bytes_ > kRebuiltBytesMax || kept_ > kRebuiltRecordsMax;
}

void Replacement::include_buddy(std::uint32_t space) {
  if (bytes_ > kMergedBytesMax || kept_ > kMergedRecordsMax) return;
  HashBinPage* const buddy = buddy_of(source_, bin_);
  if (buddy == nullptr) return;
  FOEDUS_SYNC_POINT("hash:buddy_found");
  if (!occ::try_lock_for(&buddy->header.lock, &buddy_waiter_, kBinSpins)) return;
  buddy_ = buddy;
  const std::uint32_t own = count_;
  if (!buddy->header.load_version().is_gone() && lock_members(buddy)) {
    plan(space);
    if (!spread_) return;
  }
  unlock_from(own);
  count_ = own;
  occ::unlock(&buddy->header.lock, &buddy_waiter_);
  buddy_ = nullptr;
  plan(space);
}

// Appends a copy of the record to `to`, or to a page chained to it. False: out of pages.
bool Replacement::copy(const Member& member, HashBinPage* to) {
  const HashSlot slot = member.slot();
  HashBinPage* page = to;
  while (!page->has_room(slot.key_bytes(), slot.room())) {
    HashBinPage* next = next_of(*source_.pool, page);
    if (next == nullptr) {
      next = make_bin_page(source_, to->prefix, to->prefix_bits(), to);
      if (next == nullptr) return false;
      page->next_page.store_release(next->header.page_id);  // order: not reachable by others yet
    }
    page = next;
  }
  const std::string_view key = member.key();
  const page::Tid tid(member.record->tid.load_relaxed());  // order: relaxed, its lock is held
  page::RecordHeader* const record =
      place_record(page, hash_of(key), key, slot.room(), slot.length(), tid);
  // The lock is held, so no session writes to the payload; and no other session can reach the copy.
  std::memcpy(payload_of(record, slot), payload_of(member.record, slot), slot.body_bytes());
  publish_record(page);
  to->header.birth_version += 1;
  return true;
}

bool Replacement::build() {
  const unsigned bits = bin_->prefix_bits() + (spread_ ? 1 : 0) - (buddy_ != nullptr ? 1 : 0);
  if (bits > kPrefixBitsMax) return false;
  const std::uint64_t prefix = buddy_ == nullptr ? bin_->prefix : bin_->prefix & buddy_->prefix;
  successors_.first = make_bin_page(source_, prefix, bits, nullptr);
  bool complete = successors_.first != nullptr;
  const std::uint64_t bit = spread_ ? std::uint64_t{1} << (kHashBits - bits) : 0;
  if (spread_) {
    successors_.second = make_bin_page(source_, bin_->prefix | bit, bits, nullptr);
    complete = complete && successors_.second != nullptr;
    if (complete && needs_interior(bin_)) {
      successors_.interior = make_interior(source_, 1, bin_->prefix_bits(), 1);
      complete = successors_.interior != nullptr;
    }
  }
  for (std::uint32_t i = 0; i < count_ && complete; ++i) {
    if (!members_[i].kept) continue;
    const bool second = (hash_of(members_[i].key()) & bit) != 0;
    complete = copy(members_[i], second ? successors_.second : successors_.first);
  }
  if (!complete) give_up();
  return complete;
}

void Replacement::give_up() {
  release_bin(source_, successors_.first);
  release_bin(source_, successors_.second);
  if (successors_.interior != nullptr) {
    source_.pages->release(&successors_.interior->header);
    // order: relaxed, statistics.
    source_.control->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
  }
  successors_ = {};
}

// Marks all records moved (H4), and changes this transaction's own entries to the copies.
void Replacement::move_members() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Member& member = members_[i];
    const page::Tid tid(member.record->tid.load_relaxed());  // order: relaxed, its lock is held
    // order: release. A reader that sees the mark sees all that was stored before it.
    member.record->tid.store_release(tid.with(page::Tid::kMoved).word());
    const bool own = !member.locked || ctx_.sets().writes().contains(member.record);
    if (!own) continue;
    KeyPosition copy;
    for (HashBinPage* bin : {successors_.first, successors_.second}) {
      if (bin == nullptr) continue;
      const std::string_view key = member.key();
      if (search_bin(*source_.pool, bin, hash_of(key), key, &copy) == Search::kFound) break;
    }
    FOEDUS_INVARIANT(copy.record != nullptr, member.record);
    follow_record(ctx_, member.record, copy.record, copy.place);
  }
}

void Replacement::mark_moved(HashBinPage* bin) {
  // order: relaxed twice, the release of the moved flag makes them visible.
  bin->successors[0].store_relaxed(successors_.first->header.page_id);
  if (successors_.second != nullptr) {
    bin->successors[1].store_relaxed(successors_.second->header.page_id);
  }
  const page::PageVersion version = bin->header.load_version();
  bin->header.store_version(version.with(page::PageVersion::kMoved));
}

// Sets the birth of the successors. REQUIRES: the replaced bins are marked moved. The locks of the
// successors are held, so no session has moved the bins' records on.
void Replacement::give_birth() {
  const moves::Birth birth = birth_now(ctx_, bin_, buddy_);
  // order: release, pairs with the acquire in needs_relocation().
  successors_.first->birth.store_release(birth.word());
  if (successors_.second != nullptr) successors_.second->birth.store_release(birth.word());
}

void Replacement::publish() {
  FOEDUS_SYNC_POINT("hash:before_move");
  move_members();
  for (HashBinPage* bin : {successors_.first, successors_.second}) {
    if (bin == nullptr) continue;
    bin->header.purged_tid = purged_tid_;
    bin->header.store_version(page::PageVersion(bin->header.birth_version));
    bin->birth.store_release(moves::kNotBorn.word());  // order: not reachable by others yet
  }
  if (buddy_ == nullptr) {
    // Once the bin is marked moved, other sessions can reach its successors, but no pointers lead
    // to these yet. A session that holds their locks could change such a pointer (H2), so they are
    // locked until the pointers are in place.
    const occ::LockGuard first(&successors_.first->header.lock);
    std::optional<occ::LockGuard> second;
    if (successors_.second != nullptr) second.emplace(&successors_.second->header.lock);
    mark_moved(bin_);
    give_birth();
    FOEDUS_SYNC_POINT("hash:moved");
    return replace_bin(source_, bin_, successors_);
  }
  const occ::LockGuard guard(&successors_.first->header.lock);  // H6
  mark_moved(bin_);
  FOEDUS_SYNC_POINT("hash:half_moved");
  mark_moved(buddy_);
  give_birth();
  FOEDUS_SYNC_POINT("hash:moved");
  merge_bins(source_, bin_, successors_.first);
}

void Replacement::unlock_from(std::uint32_t begin) {
  for (std::uint32_t i = begin; i < count_; ++i) {
    if (members_[i].locked) occ::unlock(&members_[i].record->lock, &waiters_[i]);
  }
}

}  // namespace

void follow_record(occ::TxnContext& ctx, page::RecordHeader* from, page::RecordHeader* to,
                   std::uint32_t place) {
  if (ctx.sets().writes().contains(from)) ctx.sets().writes().move(from, to, place);
  if (!ctx.locks().holds(from)) return;
  occ::LockWaiter* const waiter = ctx.locks().waiters().take();
  const bool locked = occ::try_lock(&to->lock, waiter);
  FOEDUS_INVARIANT(locked, from, to);
  ctx.locks().held().add(to, waiter);
}

moves::Birth birth_now(occ::TxnContext& ctx, const HashBinPage* bin, const HashBinPage* buddy) {
  const auto has_others = [&ctx](const HashBinPage* from) {
    const moves::Birth before(from->birth.load_relaxed());  // order: relaxed, under the bin's lock
    return before.concerns(ctx.begin_epoch(), ctx.session());
  };
  return moves::birth_now(ctx, has_others(bin) || (buddy != nullptr && has_others(buddy)));
}

bool try_replace(occ::TxnContext& ctx, occ::StorageControl* control, HashBinPage* bin,
                 std::uint32_t space) {
  ctx.reserve_moves(kMembersMax);
  Replacement replacement(ctx, control, bin);
  if (!replacement.lock_all()) return false;
  replacement.plan(space);
  replacement.include_buddy(space);
  if (!replacement.build()) return false;
  replacement.publish();
  return true;
}

}  // namespace foedus::storage::hash
