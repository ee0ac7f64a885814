#pragma once
// SortedSource: records in the order of storage and G2, one of several that are merged. They come
// in pieces: of memory, entry behind entry, or of items that lead to entries. Only a new piece
// takes a virtual call. The last record of a piece of memory may be cut: up to its key it is there,
// the rest when it is asked for.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"
#include "foedus/status.h"
#include "gleaner/handoff/block.h"

namespace foedus::gleaner {

class SortedSource {
 public:
  virtual ~SortedSource() = default;

  // The record at hand; null at the end.
  const StreamRecord* head() const { return has_head_ ? &heads_[head_] : nullptr; }
  // Goes to the next record. The one at hand stays valid, and where it is, until the advance()
  // after this.
  Status advance() {
    if (!try_advance()) {
      FOEDUS_CHECK(next_piece());
      take_first();
    }
    return {};
  }
  // Makes the record at hand whole: head()->log is another one then, which may lie where the last
  // one did that any source of the merge has fetched.
  Status fetch() {
    if (!is_cut_) return {};
    FOEDUS_TRY(heads_[head_].log, fetch_cut());
    is_cut_ = false;
    return {};
  }
  // The same within a piece, which cannot fail. False: it ends, and advance() has to be called.
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
  // Entries [at_, end_), none at the end. The piece before stays as it is until the next call.
  virtual Status next_piece() = 0;
  // The record at hand, whole.
  virtual Result<const log::LogRecord*> fetch_cut() = 0;

  // The first record of a piece, or none.
  void take_first() { has_head_ = try_advance(); }

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  // If the piece is one of items: [item_, items_end_), whose units count in memory_.
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
    // A merge comes back to each of its sources in no order that the processor could foresee: so
    // the lines of a piece are asked for one by one, as far ahead as some records are long.
    constexpr std::size_t kAheadBytes = 512;
    for (const char* at = at_; at < next; at += 64) base::prefetch_line(at + kAheadBytes);
    at_ = next;
  }

  // Items are in order, entries are not: each is some lines that the processor does not foresee.
  // Most are as long as the one at hand. Lines more would take the place of others on their way.
  void take_item() {
    constexpr std::ptrdiff_t kAheadItems = 12;
    // The items themselves are asked for some lines before that.
    constexpr std::uintptr_t kItemsAheadBytes = (kAheadItems + 64) * sizeof(SortItem);
    constexpr std::uint64_t kAheadBytes = 192;  // of an entry: more of it follows by itself
    const RecordEntry* const entry = item_->entry(memory_);
    // Beyond the last one, too, where there may be nothing: by its number, not as a pointer.
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

  StreamRecord heads_[2] = {};  // the one at hand, and the one before
  std::size_t head_ = 0;
  bool has_head_ = false;
  bool is_cut_ = false;
};

// The records of a sorted group.
class GroupSource final : public SortedSource {
 public:
  GroupSource(const char* memory, std::span<const SortItem> items) {
    memory_ = memory;
    item_ = items.data();
    items_end_ = items.data() + items.size();
    take_first();
  }

 private:
  Status next_piece() override { return {}; }
  Result<const log::LogRecord*> fetch_cut() override { FOEDUS_INVARIANT(false, item_); }
};

}  // namespace foedus::gleaner
