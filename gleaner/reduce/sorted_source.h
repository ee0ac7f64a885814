#pragma once
// SortedSource: one of several sources that are merged; its records are in the order of storage and
// G2. They come in pieces: of memory, with entries one after another, or of items that lead to
// entries. Only a new piece takes a virtual call. The last record of a piece of memory may be cut.
// Its first bytes, up to its key, are then in memory; fetch() reads the rest.

#include <algorithm>
#include <cstddef>
#include <memory>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"
#include "foedus/status.h"
#include "gleaner/handoff/block.h"
#include "gleaner/handoff/partition_records.h"

namespace foedus::gleaner {

class SortedSource {
 public:
  virtual ~SortedSource() = default;

  // Returns the current record; null at the end.
  const StreamRecord* head() const { return has_head_ ? &heads_[head_] : nullptr; }
  // Moves to the next record. The previous one stays valid and in place until the next advance().
  Status advance() {
    if (!try_advance()) {
      FOEDUS_CHECK(next_piece());
      take_first();
    }
    return {};
  }
  // Completes the current record. head()->log then points to other memory, which any source of the
  // merge may use for its next fetch().
  Status fetch() {
    if (!is_cut_) return {};
    FOEDUS_TRY(heads_[head_].log, fetch_cut());
    is_cut_ = false;
    return {};
  }
  // Moves to the next record of the piece, which cannot fail. Returns false at the piece's end;
  // then advance() has to be called.
  bool try_advance() {
    if (item_ != items_end_) {
      take_item();
    } else if (at_ != end_) {
      take_entry();
    } else {
      return false;
    }
    return true;
  }

 protected:
  // Sets at_ and end_ to the next entries; to equal ones at the end. The previous piece stays
  // valid until the next call.
  virtual Status next_piece() = 0;
  // Returns the complete current record.
  virtual Result<const log::LogRecord*> fetch_cut() = 0;

  // Takes the first record of a piece, if it has one.
  void take_first() { has_head_ = try_advance(); }

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  // For a piece of items: [item_, items_end_), whose units count in memory_.
  const SortItem* item_ = nullptr;
  const SortItem* items_end_ = nullptr;
  const char* memory_ = nullptr;

 private:
  void take_entry() {
    const RecordEntry* const entry = RecordEntry::at(at_);
    head_ = 1 - head_;
    heads_[head_] = entry->record();
    const std::uint64_t bytes = entry->bytes();
    const auto left = static_cast<std::uint64_t>(end_ - at_);
    is_cut_ = bytes > left;
    const char* const next = at_ + (is_cut_ ? left : bytes);
    // A merge returns to its sources in an order that the processor cannot predict. So the lines of
    // a piece are prefetched one by one, as far ahead as some records are long.
    constexpr std::size_t kAheadBytes = 512;
    for (const char* at = at_; at < next; at += 64) base::prefetch_line(at + kAheadBytes);
    at_ = next;
  }

  // Takes the record of the next item. Items are in order and entries are not, so the processor
  // cannot predict the lines of an entry. Most entries are as long as the current one. Prefetching
  // more lines would evict others that are on their way.
  void take_item() {
    constexpr std::ptrdiff_t kAheadItems = 12;
    // The items are prefetched some lines earlier.
    constexpr std::uintptr_t kItemsAheadBytes = (kAheadItems + 64) * sizeof(SortItem);
    constexpr std::uint64_t kAheadBytes = 192;  // of an entry; the processor prefetches its rest
    const RecordEntry* const entry = item_->entry(memory_);
    // This may lie after the last item, where no memory may be, so it is a number and not a
    // pointer.
    const std::uintptr_t items_ahead = reinterpret_cast<std::uintptr_t>(item_) + kItemsAheadBytes;
    base::prefetch_line(reinterpret_cast<const void*>(items_ahead));
    if (items_end_ - item_ > kAheadItems) {
      const char* const ahead = memory_ + item_[kAheadItems].unit * SortItem::kUnitBytes;
      const std::size_t in_line = reinterpret_cast<std::uintptr_t>(ahead) % 64;
      base::prefetch_lines(ahead - in_line, in_line + std::min(entry->bytes(), kAheadBytes));
    }
    head_ = 1 - head_;
    heads_[head_] = entry->record();
    ++item_;
  }

  StreamRecord heads_[2] = {};  // the current one, and the previous one
  std::size_t head_ = 0;
  bool has_head_ = false;
  bool is_cut_ = false;
};

// The records of a sorted group.
class GroupSource final : public SortedSource {
 public:
  explicit GroupSource(const SortedGroup& group) {
    memory_ = group.memory;
    item_ = group.items.data();
    items_end_ = group.items.data() + group.items.size();
    take_first();
  }

 private:
  Status next_piece() override { return {}; }
  Result<const log::LogRecord*> fetch_cut() override { FOEDUS_INVARIANT(false, item_); }
};

}  // namespace foedus::gleaner
