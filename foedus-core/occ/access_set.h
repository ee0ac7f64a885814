#pragma once
// The sets that a transaction keeps until it commits: read set, write set, pointer set,
// page-version set (paper §6, §8, appendix D.3). All are private to the session, on lines of its
// own. The arrays keep their room from one transaction to the next, so nothing is allocated once a
// session has seen its usual load. Arrays that a large transaction has made larger than
// kKeptBytesMax are given back at its end. Large pieces count against the memory of the database:
// once that is spent, a call that adds to a set throws base::BudgetSpent.

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/line_allocator.h"
#include "foedus-core/log/log_record.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::occ {

// Bytes that an array may keep between two transactions.
inline constexpr std::size_t kKeptBytesMax = 1u << 20;

// A record was read under this TID.
struct ReadEntry {
  page::RecordHeader* record;
  page::Tid observed;
  StorageControl* storage;
};

// The read set. All of its room is constructed, so adding an entry is a look at the end and a
// store, in line. The vector's own push_back() would be a call.
class ReadSet {
 public:
  explicit ReadSet(base::MemorySource* source = nullptr)
      : room_(base::LineAllocator<ReadEntry>(source)) {}
  ReadSet(const ReadSet&) = delete;
  ReadSet& operator=(const ReadSet&) = delete;

  // Makes room for `count` entries in all.
  void reserve(std::size_t count) {
    if (count > room_.size()) resize(count);
  }
  [[gnu::always_inline]] bool has_room() const { return next_ != room_end_; }
  // Adds an entry, and allocates nothing. REQUIRES: has_room().
  [[gnu::always_inline]] void add_reserved(const ReadEntry& entry) { *next_++ = entry; }
  // Allocates, if at all, before it changes anything.
  [[gnu::always_inline]] void add(const ReadEntry& entry) {
    if (!has_room()) [[unlikely]] grow();
    add_reserved(entry);
  }
  // Forgets all but the first `count`.
  void truncate(std::size_t count) {
    FOEDUS_INVARIANT(count <= size(), count, size());
    next_ = begin() + count;
  }
  void clear() {
    base::trim(&room_, kKeptBytesMax);
    next_ = room_.data();
    room_end_ = next_ + room_.size();
  }
  bool is_empty() const { return next_ == room_.data(); }
  std::size_t size() const { return static_cast<std::size_t>(next_ - room_.data()); }
  // Entries that there is room for in all.
  std::size_t room() const { return room_.size(); }
  ReadEntry& operator[](std::size_t i) { return room_[i]; }
  ReadEntry* begin() { return room_.data(); }
  ReadEntry* end() { return next_; }

 private:
  void resize(std::size_t room);
  [[gnu::noinline]] void grow();

  base::LineVector<ReadEntry> room_;
  ReadEntry* next_ = nullptr;      // after those that are used
  ReadEntry* room_end_ = nullptr;  // of room_
};

// The precondition of a write, own writes before it included: the call relied on the record's
// presence or absence. Commit has to find the same.
enum class Premise : std::uint8_t { kNone, kPresent, kAbsent };

// A write to a record: `log` says how. Several entries of one record are applied in order. One line
// each.
struct alignas(64) WriteEntry {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  page::RecordHeader* record = nullptr;
  log::LogRecord* log = nullptr;
  StorageControl* storage = nullptr;
  LockWaiter* waiter = nullptr;    // of the lock phase; null while not locked by it
  std::uint64_t overflow = 0;      // first page of a payload that is larger than a page, or 0
  std::uint32_t place = 0;         // the storage's own: where in its page the record is described
  std::uint32_t next_own = kNone;  // next entry of the same record
  Premise premise = Premise::kNone;
};
static_assert(sizeof(WriteEntry) == 64);

// A dual page pointer was followed to its snapshot page.
struct PointerEntry {
  page::DualPagePointer* pointer;  // where it was then
  page::PageHeader* holder;        // the page that the pointer lies in; null: a storage's root
  page::DualPageIds observed;
  StorageControl* storage;
  std::uint64_t place = 0;  // the storage's own: where it is found again if it does not stay there
};

// The answers that a second look at a followed pointer can give.
enum class PointerLook : std::uint8_t { kSame, kInstalled, kDropped };

// Looks at a followed pointer of a storage in which pointers stay where they are.
inline PointerLook look_in_place(const PointerEntry& entry) {
  // A page that has gone keeps its pointers as they were.
  const bool has_gone = entry.holder != nullptr && entry.holder->load_version().is_gone();
  if (has_gone) return PointerLook::kDropped;
  // Both halves: null -> installed -> gleaned -> dropped -> null is a change.
  return entry.pointer->load() == entry.observed ? PointerLook::kSame : PointerLook::kInstalled;
}

// All keys of a page, present and missing, were looked at.
struct PageEntry {
  page::PageHeader* page;
  page::PageVersion observed;  // counts only
  StorageControl* storage;
};

// Maps the address of a record or page to the number of its entry, below 2^32. Lookup and clear are
// O(1). Every use begins with the smallest table and grows through tables of twice the size, one
// after the other in slots_. So the small transactions after a large one stay in the processor's
// cache.
class AddressIndex {
 public:
  explicit AddressIndex(base::MemorySource* source = nullptr)
      : slots_(kSlotsMin, base::LineAllocator<Slot>(source)), table_(slots_.data()) {}
  AddressIndex(const AddressIndex&) = delete;
  AddressIndex& operator=(const AddressIndex&) = delete;

  // Returns the number of `address`, or WriteEntry::kNone.
  std::uint32_t find(const void* address) const {
    for (std::size_t i = home_of(address);; i = (i + 1) & table_mask_) {
      const Slot& slot = table_[i];
      if (slot.generation != generation_) return WriteEntry::kNone;
      if (slot.address == address) return slot.number;
    }
  }
  // Returns the place of the number of `address`. It is WriteEntry::kNone if there was none; the
  // caller stores one there.
  std::uint32_t& at(const void* address) {
    if ((used_ + 1) * 2 > table_mask_ + 1) [[unlikely]] grow();
    for (std::size_t i = home_of(address);; i = (i + 1) & table_mask_) {
      Slot& slot = table_[i];
      if (slot.generation != generation_) {
        slot = {address, WriteEntry::kNone, generation_};
        ++used_;
        return slot.number;
      }
      if (slot.address == address) return slot.number;
    }
  }
  // Sets the number of `address`, and replaces an earlier one.
  void set(const void* address, std::uint32_t number);
  // Returns a number of further addresses that can be set without allocation.
  std::size_t room() const { return (table_mask_ + 1) / 2 - used_; }
  // Makes room: `count` more addresses can be set without allocation.
  void reserve(std::size_t count) {
    while ((used_ + count) * 2 > table_mask_ + 1) grow();
  }
  void clear() {
    if (used_ == 0 && table_mask_ == kSlotsMin - 1) return;
    used_ = 0;
    if (slots_.size() * sizeof(Slot) > kKeptBytesMax) [[unlikely]] {
      slots_.resize(kSlotsMin);
      slots_.shrink_to_fit();
    }
    table_ = slots_.data();
    table_mask_ = kSlotsMin - 1;
    if (++generation_ == 0) forget_all();
  }
  bool is_empty() const { return used_ == 0; }

 private:
  static constexpr std::size_t kSlotsMin = 512;
  struct Slot {
    const void* address = nullptr;
    std::uint32_t number = 0;
    std::uint32_t generation = 0;
  };

  std::size_t home_of(const void* address) const {
    // Records are at least 16 bytes apart; the multiplication spreads the remaining bits.
    const std::uint64_t word = reinterpret_cast<std::uint64_t>(address) >> 4;
    return (word * 0x9e3779b97f4a7c15u) >> 32 & table_mask_;
  }
  void grow();
  void forget_all();

  base::LineVector<Slot> slots_;
  Slot* table_;                             // in use: part of slots_, at most half full
  std::size_t table_mask_ = kSlotsMin - 1;  // its slots less 1
  std::uint32_t generation_ = 1;
  std::size_t used_ = 0;
};

// A Bloom filter of records: the answer "not added" is certain. With 25 records added, 1 in 80
// others looks as if it had been added, too.
class RecordFilter {
 public:
  [[gnu::always_inline]] bool may_have(const page::RecordHeader* record) const {
    const std::uint64_t hash = hash_of(record);
    return (words_[word_of(hash)] >> bit_of(hash) & 1) != 0;
  }
  // Adds it. Returns what may_have() said before.
  [[gnu::always_inline]] bool add(const page::RecordHeader* record) {
    const std::uint64_t hash = hash_of(record);
    std::uint64_t& word = words_[word_of(hash)];
    const std::uint64_t bit = std::uint64_t{1} << bit_of(hash);
    const bool before = (word & bit) != 0;
    word |= bit;
    return before;
  }
  void clear() { words_ = {}; }

 private:
  static std::uint64_t hash_of(const page::RecordHeader* record) {
    return reinterpret_cast<std::uint64_t>(record) * 0x9e3779b97f4a7c15u;
  }
  static std::size_t word_of(std::uint64_t hash) { return hash >> (64 - kWordBits); }
  static unsigned bit_of(std::uint64_t hash) { return hash >> (64 - kWordBits - 6) & 63; }

  static constexpr unsigned kWordBits = 5;

  alignas(64) std::array<std::uint64_t, std::size_t{1} << kWordBits> words_{};
};

// The write set. Entries of one record are linked in order. A reader of own writes begins with the
// newest entry that sets the whole payload (put or erase), if there is one.
//
// Few transactions read a record that they have written, so most entries are never indexed. An
// entry from indexed_ on is the only one of its record. A lookup is answered by the filter, or by a
// scan of those few entries; if the scan finds the record, all are indexed.
class WriteSet {
 public:
  struct Own {
    std::uint32_t first = WriteEntry::kNone;  // where the reader begins
    std::uint32_t newest = WriteEntry::kNone;
    std::uint32_t oldest = WriteEntry::kNone;
  };
  // An entry in the canonical order of the lock phase.
  struct Sorted {
    page::RecordHeader* record;
    WriteEntry* entry;
  };

  explicit WriteSet(base::MemorySource* source = nullptr)
      : entries_(base::LineAllocator<WriteEntry>(source)),
        sorted_(base::LineAllocator<Sorted>(source)),
        owns_(base::LineAllocator<Own>(source)),
        index_(source) {}

  bool is_empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // Entries that there is room for in all.
  std::size_t room() const { return entries_.size(); }
  std::span<WriteEntry> entries() { return {entries_.data(), count_}; }
  WriteEntry& operator[](std::uint32_t i) { return entries_[i]; }

  // Returns the chain of `record`, or one of kNone.
  Own find(const page::RecordHeader* record) {
    if (!may_have(record)) [[likely]] return {};
    const std::uint32_t i = known(record, count_);
    return i == WriteEntry::kNone ? Own{} : owns_[i];
  }
  bool contains(const page::RecordHeader* record) {
    return may_have(record) && known(record, count_) != WriteEntry::kNone;
  }
  // Allocates, if at all, before it changes anything.
  void add(const WriteEntry& entry) {
    reserve_one();
    add_reserved(entry);
  }
  // Adds an entry, and allocates nothing. REQUIRES: has_room().
  [[gnu::always_inline]] void add_reserved(const WriteEntry& entry) {
    const std::uint32_t number = count_++;
    // The entry is built in its place, field by field. A copy of the whole entry would read sixteen
    // bytes at a time just after eight-byte stores, and the processor stalls such loads.
    new (&entries_[number]) WriteEntry(entry.record, entry.log, entry.storage, entry.waiter,
                                       entry.overflow, entry.place, entry.next_own, entry.premise);
    if (filter_.add(entry.record)) [[unlikely]] link_to_known(number);
  }
  // Returns whether the next add() does without allocation.
  bool has_room() const { return count_ < room_; }
  void reserve_one() {
    if (!has_room()) [[unlikely]] make_room();
  }
  // Makes room: `count` calls of move() in all do not allocate.
  void reserve_moves(std::size_t count) { index_.reserve(count_ - indexed_ + count); }
  // Updates the entries of a record that has moved: they say `to` and `place`, and are found by
  // `to`.
  void move(const page::RecordHeader* from, page::RecordHeader* to, std::uint32_t place);
  void clear();

  // Returns whether no record has two entries.
  bool has_one_for_each() const { return !has_repeats_; }
  // Puts the entries in canonical order: by record, and by the user's calls within one record.
  // sorted() holds until the next add(), move() or unsort(), after which it is empty.
  void sort();
  void unsort() { sorted_.clear(); }
  const base::LineVector<Sorted>& sorted() const { return sorted_; }

 private:
  // Returns false if `record` has no entry for certain. The count comes first: it spares a
  // transaction without writes the filter.
  bool may_have(const page::RecordHeader* record) const {
    return !is_empty() && filter_.may_have(record);
  }
  void make_room();
  // Returns the record's index in owns_, from the entries before `end`; WriteEntry::kNone: it has
  // none. If it has some, all before `end` are indexed. Allocates nothing: make_room() has made
  // room.
  [[gnu::noinline]] std::uint32_t known(const page::RecordHeader* record, std::uint32_t end);
  // Links entry `number`, the newest of all, to those of its record before it, if there are any.
  [[gnu::noinline]] void link_to_known(std::uint32_t number);
  // Indexes the entries before `end`.
  void index_up_to(std::uint32_t end);

  base::LineVector<WriteEntry> entries_;  // all of its room is constructed
  base::LineVector<Sorted> sorted_;
  base::LineVector<Own> owns_;  // one per record that is indexed; all of its room is constructed
  AddressIndex index_;          // record -> owns_
  std::uint32_t count_ = 0;       // of entries_ that are used
  std::uint32_t room_ = 0;        // up to this many entries nothing grows
  std::uint32_t indexed_ = 0;     // entries before this one are in index_
  std::uint32_t owns_count_ = 0;  // of owns_
  bool has_repeats_ = false;
  RecordFilter filter_;
};

// The page-version set.
class PageSet {
 public:
  explicit PageSet(base::MemorySource* source = nullptr)
      : entries_(base::LineAllocator<PageEntry>(source)), index_(source) {}

  base::LineVector<PageEntry>& entries() { return entries_; }
  bool is_empty() const { return entries_.empty(); }
  // Makes room: `count` more entries need no allocation.
  void reserve(std::size_t count) {
    base::reserve_more(&entries_, count);
    index_.reserve(count);
  }
  // Remembers `page` as seen; the first look counts.
  void add(page::PageHeader* page, page::PageVersion observed, StorageControl* storage);
  PageEntry* find(const page::PageHeader* page) {
    if (entries_.empty()) return nullptr;
    const std::uint32_t i = index_.find(page);
    return i == WriteEntry::kNone ? nullptr : &entries_[i];
  }
  // Follows a change that the transaction itself made to `page`, under the page's lock. Its own
  // change is no phantom if the remembered version was still true before.
  void advance_page_version(const page::PageHeader* page, page::PageVersion before,
                            page::PageVersion after) {
    PageEntry* const entry = find(page);
    if (entry != nullptr && entry->observed == before.counts()) entry->observed = after.counts();
  }
  // Makes `entry` that of another page, to which its keys went.
  void repoint(PageEntry* entry, page::PageHeader* page, page::PageVersion observed);
  void clear() {
    entries_.clear();
    base::trim(&entries_, kKeptBytesMax);
    index_.clear();
  }

 private:
  base::LineVector<PageEntry> entries_;
  AddressIndex index_;
};

// A record lock that a transaction holds before its commit (get_for_update).
struct HeldLock {
  page::RecordHeader* record;
  LockWaiter* waiter;
};

// The record locks that a transaction holds. Lookup is O(1), however many there are.
class HeldLocks {
 public:
  explicit HeldLocks(base::MemorySource* source = nullptr)
      : entries_(base::LineAllocator<HeldLock>(source)), index_(source) {}

  bool is_empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const base::LineVector<HeldLock>& entries() const { return entries_; }
  bool contains(const page::RecordHeader* record) const {
    return !entries_.empty() && find(record) != WriteEntry::kNone;
  }
  // Returns whether all held records lie at lower addresses: then `record` may be waited for (O1).
  // May return false though they do, once the highest one has moved.
  bool are_below(const page::RecordHeader* record) const { return highest_ < address_of(record); }
  void add(page::RecordHeader* record, LockWaiter* waiter);
  // Makes room: `count` more locks need no allocation.
  void reserve(std::size_t count) {
    base::reserve_more(&entries_, count);
    index_.reserve(count);
  }
  // Replaces `from` by `to`, which `waiter` holds. Returns the waiter that holds `from`. REQUIRES:
  // contains(from).
  LockWaiter* move(const page::RecordHeader* from, page::RecordHeader* to, LockWaiter* waiter);
  void clear() {
    entries_.clear();
    base::trim(&entries_, kKeptBytesMax);
    index_.clear();
    highest_ = 0;
  }

 private:
  static std::uintptr_t address_of(const page::RecordHeader* record) {
    return reinterpret_cast<std::uintptr_t>(record);
  }
  // Returns the place of the lock. An address from which a lock has moved away stays in the index.
  std::uint32_t find(const page::RecordHeader* record) const {
    const std::uint32_t i = index_.find(record);
    return i == WriteEntry::kNone || entries_[i].record != record ? WriteEntry::kNone : i;
  }

  base::LineVector<HeldLock> entries_;
  AddressIndex index_;  // record -> entries_
  std::uintptr_t highest_ = 0;
};

// LockWaiters that stay where they are (O2); their room is kept.
class WaiterPool {
 public:
  WaiterPool() = default;  // of a system transaction
  WaiterPool(base::MemorySource* source, std::uint32_t session)
      : source_(source), session_(session) {}
  ~WaiterPool() { drop_blocks(0); }
  WaiterPool(const WaiterPool&) = delete;
  WaiterPool& operator=(const WaiterPool&) = delete;

  LockWaiter* take() {
    if (next_ == end_) [[unlikely]] begin_block();
    return next_++;
  }
  // Makes room: `count` more waiters are taken without allocation.
  void reserve(std::size_t count) {
    while (blocks_.size() < blocks_used_ + (count + kBlockWaiters - 1) / kBlockWaiters) add_block();
  }
  void clear() {
    blocks_used_ = 0;
    next_ = end_ = nullptr;
    if (blocks_.size() > kBlocksKept) [[unlikely]]
      drop_blocks(kBlocksKept);
  }

 private:
  static constexpr std::size_t kBlockWaiters = 256;
  static constexpr std::size_t kBlockBytes = kBlockWaiters * sizeof(LockWaiter);
  static constexpr std::size_t kBlocksKept = kKeptBytesMax / kBlockBytes;

  void add_block();
  void drop_blocks(std::size_t kept);
  void begin_block() {
    if (blocks_used_ == blocks_.size()) add_block();
    next_ = blocks_[blocks_used_++].get();
    end_ = next_ + kBlockWaiters;
  }

  base::MemorySource* const source_ = nullptr;
  const std::int64_t session_ = -1;
  std::vector<std::unique_ptr<LockWaiter[]>> blocks_;
  std::size_t blocks_used_ = 0;
  LockWaiter* next_ = nullptr;
  LockWaiter* end_ = nullptr;
};

}  // namespace foedus::occ
