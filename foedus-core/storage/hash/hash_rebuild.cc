#include "foedus-core/storage/hash/hash_rebuild.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/sync_point.h"
#include "foedus-core/occ/overflow.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/hash/hash_find.h"
#include "foedus-core/storage/hash/hash_function.h"
#include "foedus-core/storage/hash/hash_trie.h"

namespace foedus::storage::hash {

namespace {

// A bin with more records than that, dead ones included, only grows by chaining: it has met locks
// that others held for long many times over, or its keys share 63 bits of hash.
constexpr std::uint32_t kMembersMax = 512;
// How long the lock of a record is tried for (O1).
constexpr unsigned kLockSpins = 64;
// What a rebuilt bin may be filled to: the next rebuild pays for itself.
constexpr std::uint32_t kRebuiltBytesMax = HashBinPage::kDataBytes / 4 * 3;
constexpr std::uint32_t kRebuiltRecordsMax = HashBinPage::kRecordsMax / 4 * 3;

// One record of the bin that is replaced.
struct Member {
  HashBinPage* page;
  page::RecordHeader* record;
  std::uint32_t place;
  bool locked = false;  // with the waiter of the same number
  bool kept = false;

  HashSlot slot() const { return page->slot(place); }
  std::string_view key() const { return {key_of(record), slot().key_bytes()}; }
};

class Replacement {
 public:
  Replacement(occ::TxnContext& ctx, occ::StorageControl* control, HashBinPage* bin)
      : ctx_(ctx), source_(source_of(ctx, control)), bin_(bin) {}
  ~Replacement() { unlock_all(); }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  bool lock_all();
  // Which records stay, and whether one bin is enough for them and `space` more.
  void plan(std::uint32_t space);
  bool build();
  void publish();

 private:
  bool is_dead(const Member& member) const;
  bool copy(const Member& member, HashBinPage* to);
  void give_up();
  void move_members();
  void follow_page_version();
  void unlock_all();

  occ::TxnContext& ctx_;
  const PageSource source_;
  HashBinPage* const bin_;
  Successors successors_;
  std::uint64_t purged_tid_ = 0;
  bool spread_ = false;
  std::uint32_t count_ = 0;
  Member members_[kMembersMax];
  occ::LockWaiter waiters_[kMembersMax];
};

bool Replacement::lock_all() {
  for (HashBinPage* page = bin_; page != nullptr; page = next_of(*source_.pool, page)) {
    const std::uint32_t records = page->load_count();
    for (std::uint32_t place = 0; place < records; ++place) {
      page::RecordHeader* const record = page->record(page->slot(place));
      if (record->load_tid().is_moved()) continue;
      if (count_ == kMembersMax) return false;
      Member& member = members_[count_];
      member = {page, record, place};
      if (!ctx_.holds(record)) {
        if (!occ::try_lock_for(&record->lock, &waiters_[count_], kLockSpins)) return false;
        member.locked = true;
      }
      ++count_;
    }
  }
  return true;
}

// Erased or never committed, in an epoch in which no open transaction began: so it is no insert
// that may still be committed (its TID began in the epoch of its call), and no one has read it.
bool Replacement::is_dead(const Member& member) const {
  const page::Tid tid = member.record->load_tid();
  if (!tid.is_deleted() || !member.locked || ctx_.write_set().contains(member.record)) return false;
  return tid.epoch() <= ctx_.clock().reclaimable();
}

void Replacement::plan(std::uint32_t space) {
  std::uint32_t bytes = space;
  std::uint32_t kept = 1;
  purged_tid_ = bin_->header.purged_tid;
  for (std::uint32_t i = 0; i < count_; ++i) {
    Member& member = members_[i];
    member.kept = !is_dead(member);
    const HashSlot slot = member.slot();
    if (member.kept) {
      bytes += space_of(slot.key_bytes(), slot.room());
      ++kept;
    } else {
      FOEDUS_INVARIANT(slot.length() != occ::kOverflowLength, member.record);
      const page::Tid tid = member.record->load_tid().without(page::Tid::kFlags);
      purged_tid_ = std::max(purged_tid_, tid.word());
    }
  }
  spread_ = bytes > kRebuiltBytesMax || kept > kRebuiltRecordsMax;
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
  const std::uint32_t bytes =
      slot.length() == occ::kOverflowLength ? occ::kPayloadRoomBytesMin : slot.length();
  // The lock is held: nobody writes to the payload, and the copy is nobody's yet.
  std::memcpy(payload_of(record, slot), payload_of(member.record, slot), bytes);
  publish_record(page);
  to->header.birth_version += 1;
  return true;
}

bool Replacement::build() {
  const unsigned bits = bin_->prefix_bits() + (spread_ ? 1 : 0);
  if (bits > kPrefixBitsMax) return false;
  successors_.first = make_bin_page(source_, bin_->prefix, bits, nullptr);
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

// Marks all records moved (H4) and lets this transaction's own entries follow.
void Replacement::move_members() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Member& member = members_[i];
    const page::Tid tid(member.record->tid.load_relaxed());  // order: relaxed, its lock is held
    // order: release: a reader that sees the mark looks again, and nothing before it is lost.
    member.record->tid.store_release(tid.with(page::Tid::kMoved).word());
    const bool own = !member.locked || ctx_.write_set().contains(member.record);
    if (!own) continue;
    Lookup copy;
    for (HashBinPage* bin : {successors_.first, successors_.second}) {
      if (bin == nullptr) continue;
      const std::string_view key = member.key();
      if (search_bin(*source_.pool, bin, hash_of(key), key, &copy) == Search::kFound) break;
    }
    FOEDUS_INVARIANT(copy.record != nullptr, member.record);
    follow_record(ctx_, member.record, copy.record, copy.place);
  }
}

// What this transaction saw of the bin, if it is still true, it now saw of the successors.
void Replacement::follow_page_version() {
  occ::PageEntry* const entry = ctx_.page_set().find(&bin_->header);
  if (entry == nullptr || entry->page != &bin_->header) return;
  if (entry->observed != bin_->header.load_version().counts()) return;
  const auto birth_of = [](const HashBinPage* bin) {
    return page::PageVersion(bin->header.birth_version);
  };
  ctx_.page_set().repoint(entry, &successors_.first->header, birth_of(successors_.first));
  if (successors_.second != nullptr) {
    ctx_.page_set().add(&successors_.second->header, birth_of(successors_.second),
                        source_.control);
  }
}

void Replacement::publish() {
  FOEDUS_SYNC_POINT("hash:before_move");
  move_members();
  const BinBirth birth = birth_now(ctx_, bin_);
  for (HashBinPage* bin : {successors_.first, successors_.second}) {
    if (bin == nullptr) continue;
    bin->header.purged_tid = purged_tid_;
    bin->header.store_version(page::PageVersion(bin->header.birth_version));
    bin->birth.store_release(birth.word());  // order: not reachable by others yet
  }
  follow_page_version();
  // order: relaxed twice, the release of the moved flag makes them visible.
  bin_->successors[0].store_relaxed(successors_.first->header.page_id);
  if (successors_.second != nullptr) {
    bin_->successors[1].store_relaxed(successors_.second->header.page_id);
  }
  const page::PageVersion version = bin_->header.load_version();
  bin_->header.store_version(version.with(page::PageVersion::kMoved));
  FOEDUS_SYNC_POINT("hash:moved");
  replace_bin(source_, bin_, successors_);
}

void Replacement::unlock_all() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (members_[i].locked) occ::unlock(&members_[i].record->lock, &waiters_[i]);
  }
}

}  // namespace

void follow_record(occ::TxnContext& ctx, page::RecordHeader* from, page::RecordHeader* to,
                   std::uint32_t place) {
  if (ctx.write_set().contains(from)) ctx.write_set().move(from, to, place);
  if (!ctx.holds(from)) return;
  occ::LockWaiter* const waiter = ctx.waiters().take();
  const bool locked = occ::try_lock(&to->lock, waiter);
  FOEDUS_INVARIANT(locked, from, to);
  ctx.held().push_back({to, waiter});
}

BinBirth birth_now(occ::TxnContext& ctx, const HashBinPage* bin) {
  // order: H5. With the fence of the pin (epoch/epoch_clock.h): a transaction that saw one of these
  // records unmarked fenced before this, so the epoch in which it began is not above ours.
  base::fence_seq_cst();
  const BinBirth before(bin->birth.load_relaxed());  // order: relaxed, under the bin's lock
  const bool others = before.concerns(ctx.begin_epoch(), ctx.session());
  return {ctx.clock().current(), others ? BinBirth::kSeveral : ctx.session()};
}

bool try_replace(occ::TxnContext& ctx, occ::StorageControl* control, HashBinPage* bin,
                 std::uint32_t space) {
  Replacement replacement(ctx, control, bin);
  if (!replacement.lock_all()) return false;
  replacement.plan(space);
  if (!replacement.build()) return false;
  replacement.publish();
  return true;
}

}  // namespace foedus::storage::hash
