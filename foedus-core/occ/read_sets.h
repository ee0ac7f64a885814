#pragma once
// What a transaction has read: read set, pointer set, page-version set (paper §6, §8, appendix
// D.3).

#include <cstddef>
#include <cstdint>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/line_allocator.h"
#include "foedus-core/occ/address_index.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::occ {

// An entry of the read set: `record` was read while its TID was `observed`.
struct ReadEntry {
  page::RecordHeader* record;
  page::Tid observed;
  StorageControl* storage;
};

// The read set. All entries that it has room for are constructed, so add() is a compare and a
// store, in line. The vector's push_back() would be a call.
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
  // Adds an entry. Allocates, if at all, before it changes anything.
  [[gnu::always_inline]] void add(const ReadEntry& entry) {
    if (!has_room()) [[unlikely]]
      grow();
    add_reserved(entry);
  }
  // Forgets all entries but the first `count`.
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
  // Returns how many entries there is room for, used ones included.
  std::size_t room() const { return room_.size(); }
  ReadEntry& operator[](std::size_t i) { return room_[i]; }
  ReadEntry* begin() { return room_.data(); }
  ReadEntry* end() { return next_; }

 private:
  void resize(std::size_t room);
  [[gnu::noinline]] void grow();

  base::LineVector<ReadEntry> room_;
  ReadEntry* next_ = nullptr;      // end of the entries that are used
  ReadEntry* room_end_ = nullptr;  // end of room_
};

// An entry of the pointer set: `pointer` was followed to its snapshot page while its ids were
// `observed`.
struct PointerEntry {
  page::DualPagePointer* pointer;  // its address when it was followed
  page::PageHeader* holder;        // the page that the pointer lies in; null: a storage's root
  page::DualPageIds observed;
  StorageControl* storage;
  std::uint64_t place = 0;  // by kind of storage: how to find the pointer again if it moves
};

// Results of a second look at a followed pointer. kInstalled: the pointer has other ids, or was not
// found. kDropped: the page that holds the pointer has gone.
enum class PointerState : std::uint8_t { kSame, kInstalled, kDropped };

// Verifies a followed pointer: returns whether it is still as observed. REQUIRES: the pointer
// cannot move to another address. (Pointers in pages of a Master-Tree can.)
inline PointerState look_in_place(const PointerEntry& entry) {
  // A page that has gone keeps its pointers as they were: the comparison below would see no change.
  const bool has_gone = entry.holder != nullptr && entry.holder->load_version().is_gone();
  if (has_gone) return PointerState::kDropped;
  // Compares both halves. The volatile half may be null again, after a page was installed, changed,
  // gleaned and dropped. Then only the snapshot half differs.
  return entry.pointer->load() == entry.observed ? PointerState::kSame : PointerState::kInstalled;
}

// The pointer set.
class PointerSet {
 public:
  explicit PointerSet(base::MemorySource* source = nullptr)
      : entries_(base::LineAllocator<PointerEntry>(source)) {}

  void reserve(std::size_t count) { entries_.reserve(count); }
  // Adds an entry, unless it is equal to the newest one.
  void add(const PointerEntry& entry) {
    if (!entries_.empty()) {
      const PointerEntry& last = entries_.back();
      if (last.pointer == entry.pointer && last.observed == entry.observed &&
          last.place == entry.place) {
        return;
      }
    }
    entries_.push_back(entry);
  }
  // Returns whether there is an entry of `pointer` that observed `ids`.
  bool has(const page::DualPagePointer* pointer, const page::DualPageIds& ids) const;
  // Sets `observed` to `after` in all entries of `pointer` that observed `before`. Returns whether
  // there are any.
  bool replace(const page::DualPagePointer* pointer, const page::DualPageIds& before,
               const page::DualPageIds& after);
  // Drops entries of the storage, or of the pointer, that observed `ids`. Returns whether there
  // were any.
  bool remove(const StorageControl* storage, const page::DualPageIds& ids);
  bool remove(const page::DualPagePointer* pointer, const page::DualPageIds& ids);
  // Forgets all entries but the first `count`.
  void truncate(std::size_t count) {
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(count), entries_.end());
  }
  void clear() {
    entries_.clear();
    base::trim(&entries_, kKeptBytesMax);
  }
  bool is_empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const PointerEntry& back() const { return entries_.back(); }
  const PointerEntry& operator[](std::size_t i) const { return entries_[i]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  base::LineVector<PointerEntry> entries_;
};

// A page that was scanned, or in which a key was missed. No key may come to it before the commit.
struct PageEntry {
  page::PageHeader* page;
  page::PageVersion observed;  // its counts, without flags
  StorageControl* storage;
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
  // Remembers that `page` was seen at version `observed`. If the page has an entry already, that
  // one stays.
  void add(page::PageHeader* page, page::PageVersion observed, StorageControl* storage);
  PageEntry* find(const page::PageHeader* page) {
    if (entries_.empty()) return nullptr;
    const std::uint32_t i = index_.find(page);
    return i == AddressIndex::kNone ? nullptr : &entries_[i];
  }
  // Updates the entry of `page` after this transaction itself has changed the page from version
  // `before` to `after`, under the page's lock. Its own change is no phantom. If the remembered
  // version is not `before`, another session has changed the page, and the entry stays.
  void advance_page_version(const page::PageHeader* page, page::PageVersion before,
                            page::PageVersion after) {
    PageEntry* const entry = find(page);
    if (entry != nullptr && entry->observed == before.counts()) entry->observed = after.counts();
  }
  // Makes `entry` remember `page` at version `observed`, instead of the page that it remembered
  // before. For example, the keys of the old page have moved to `page`.
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

}  // namespace foedus::occ
