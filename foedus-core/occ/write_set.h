#pragma once
// The write set of a transaction (paper §6).

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "foedus-core/base/line_allocator.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/occ/address_index.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::occ {

// The precondition of a write: the call relied on the presence or absence of the record, as own
// earlier writes leave it. Commit checks the record again.
enum class Precondition : std::uint8_t { kNone, kPresent, kAbsent };

// A write to a record. `log` is the log record that says what is written. Several entries of one
// record are applied in the order of the calls. An entry takes one cache line.
struct alignas(64) WriteEntry {
  static constexpr std::uint32_t kNone = AddressIndex::kNone;

  page::RecordHeader* record = nullptr;
  log::LogRecord* log = nullptr;
  StorageControl* storage = nullptr;
  LockWaiter* waiter = nullptr;    // of the lock phase; null: this entry did not lock the record
  std::uint64_t overflow = 0;      // first page of a payload that is larger than a page, or 0
  std::uint32_t place = 0;         // by kind of storage: where its page describes the record
  std::uint32_t next_own = kNone;  // next entry of the same record
  Precondition precondition = Precondition::kNone;

  // Returns whether a read with own writes need not look at what was there before this write.
  bool is_whole() const {
    return log->type == log::LogRecordType::kPut || log->type == log::LogRecordType::kErase;
  }
};
static_assert(sizeof(WriteEntry) == 64);

// A Bloom filter of records: the answer "not added" is certain. After 25 records were added, the
// filter says of 1 in 80 other records that they may have been added.
class RecordFilter {
 public:
  [[gnu::always_inline]] bool may_have(const page::RecordHeader* record) const {
    const std::uint64_t hash = hash_of(record);
    return (words_[word_of(hash)] >> bit_of(hash) & 1) != 0;
  }
  // Adds `record`. Returns may_have(record) as it was before.
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

// The write set. Entries of one record are linked in the order of the calls. A read with own writes
// begins with the newest put or erase of the record, if there is one, because earlier entries do
// not matter then.
//
// Few transactions read a record that they have written, so most entries are never indexed. An
// entry from indexed_ on is the only one of its record. The filter answers most lookups. The other
// lookups first scan the entries, if these are few and none is indexed. If the scan finds the
// record, or if there was no scan, all entries are indexed.
class WriteSet {
 public:
  struct Own {
    std::uint32_t first = WriteEntry::kNone;  // the entry with which a read begins (WriteSet)
    std::uint32_t newest = WriteEntry::kNone;
    std::uint32_t oldest = WriteEntry::kNone;
  };
  // An entry in the canonical order of the lock phase.
  struct Sorted {
    page::RecordHeader* record;
    WriteEntry* entry;
  };

  // What the set has gone through since the transaction's begin: two equal states mean that no
  // entry was added or cut off between them.
  struct State {
    std::uint32_t entries = 0;
    std::uint32_t cuts = 0;
    // One comparison: scans make it for each row.
    bool operator==(const State& other) const {
      return std::bit_cast<std::uint64_t>(*this) == std::bit_cast<std::uint64_t>(other);
    }
  };

  explicit WriteSet(base::MemorySource* source = nullptr)
      : entries_(base::LineAllocator<WriteEntry>(source)),
        sorted_(base::LineAllocator<Sorted>(source)),
        owns_(base::LineAllocator<Own>(source)),
        cuts_(base::LineAllocator<std::uint32_t>(source)),
        index_(source) {}

  bool is_empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // Returns how many entries there is room for, used ones included.
  std::size_t room() const { return entries_.size(); }
  std::span<WriteEntry> entries() { return {entries_.data(), count_}; }
  WriteEntry& operator[](std::uint32_t i) { return entries_[i]; }

  // Returns the entries of `record`; if it has none, all members are kNone.
  Own find(const page::RecordHeader* record) {
    if (!may_have(record)) [[likely]]
      return {};
    const std::uint32_t i = known(record, count_);
    return i == WriteEntry::kNone ? Own{} : owns_[i];
  }
  bool contains(const page::RecordHeader* record) {
    return may_have(record) && known(record, count_) != WriteEntry::kNone;
  }
  // Adds an entry. Allocates, if at all, before it changes anything.
  void add(const WriteEntry& entry) {
    reserve_one();
    add_reserved(entry);
  }
  // Adds an entry, and allocates nothing. REQUIRES: has_room().
  [[gnu::always_inline]] void add_reserved(const WriteEntry& entry) {
    const std::uint32_t number = count_++;
    // The entry is built in its place, field by field. A copy of the whole entry would read sixteen
    // bytes at a time just after eight-byte stores, and the processor stalls such loads.
    new (&entries_[number])
        WriteEntry(entry.record, entry.log, entry.storage, entry.waiter, entry.overflow,
                   entry.place, entry.next_own, entry.precondition);
    if (filter_.add(entry.record)) [[unlikely]]
      link_to_known(number);
  }
  // Returns whether the next add() needs no allocation.
  bool has_room() const { return count_ < room_; }
  void reserve_one() {
    if (!has_room()) [[unlikely]]
      make_room();
  }
  // Makes room: the next `count` calls of move() do not allocate, if no add() comes between.
  void reserve_moves(std::size_t count) { index_.reserve(count_ - indexed_ + count); }
  // Updates the entries of a record that has moved from `from` to `to`. find() then finds them by
  // either address.
  void move(const page::RecordHeader* from, page::RecordHeader* to, std::uint32_t place);
  void clear();

  State state() const { return {count_, cut_count_}; }
  // Returns how many of the entries that the set had in `state` it still has. Those from there on
  // were added later.
  std::uint32_t kept_since(State state) const;
  // Makes room: the next cut() allocates nothing.
  void reserve_cut() { base::reserve_more(&cuts_, 1); }
  // Takes the newest entries away, until `count` are left (a rollback to a savepoint). REQUIRES:
  // reserve_cut().
  void cut(std::uint32_t count);

  // Returns whether no record has two entries.
  bool has_one_for_each() const { return !has_repeats_; }
  // Makes sorted() the entries in canonical order: by address of the record, then in the order of
  // the calls. sorted() is valid until the next add() or move(). unsort() empties it.
  void sort();
  void unsort() { sorted_.clear(); }
  const base::LineVector<Sorted>& sorted() const { return sorted_; }

 private:
  // Returns false only if `record` has no entry. Looks at the count first, so that a transaction
  // without writes does not touch the filter.
  bool may_have(const page::RecordHeader* record) const {
    return !is_empty() && filter_.may_have(record);
  }
  void make_room();
  // Returns the record's index in owns_, or WriteEntry::kNone if it has no entry before `end`. If
  // it has one, all entries before `end` are indexed afterwards. Allocates nothing, because
  // make_room() has made room.
  [[gnu::noinline]] std::uint32_t known(const page::RecordHeader* record, std::uint32_t end);
  // Links entry `number`, the newest of all, to the earlier entries of its record, if there are
  // any.
  [[gnu::noinline]] void link_to_known(std::uint32_t number);
  // Indexes the entries before `end`.
  void index_up_to(std::uint32_t end);
  // Takes the entries from `count` on off the chain of `own`, of which at least the newest is one.
  void cut_chain(Own* own, std::uint32_t count);

  base::LineVector<WriteEntry> entries_;  // all of its room is constructed
  base::LineVector<Sorted> sorted_;
  // One per record that is indexed; kNone for a record whose entries were all cut off. All of its
  // room is constructed.
  base::LineVector<Own> owns_;
  base::LineVector<std::uint32_t> cuts_;  // of each cut() of the transaction: entries that it left
  AddressIndex index_;            // record -> owns_
  std::uint32_t count_ = 0;       // number of entries_ that are used
  std::uint32_t cut_count_ = 0;   // number of cuts_; beside count_, so that state() is one load
  std::uint32_t room_ = 0;        // number of entries up to which no array has to grow
  std::uint32_t indexed_ = 0;     // entries before this one are in index_
  std::uint32_t owns_count_ = 0;  // number of owns_ that are used
  bool has_repeats_ = false;
  RecordFilter filter_;
};

}  // namespace foedus::occ
