#pragma once
// SortedSource: records in the order of storage and G2, one of several that are merged. They come
// in pieces of memory, entry behind entry; only a new piece takes a virtual call. The last record
// of a piece may be cut: up to its key it is there, the rest when it is asked for.

#include <memory>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/invariant.h"
#include "foedus/status.h"
#include "gleaner/handoff/bucket.h"

namespace foedus::gleaner {

class SortedSource {
 public:
  virtual ~SortedSource() = default;

  // The record at hand; null at the end.
  const StreamRecord* head() const { return has_head_ ? &head_ : nullptr; }
  // Goes to the next record. The one at hand stays valid until the advance() after this.
  Status advance() {
    if (at_ == end_) FOEDUS_CHECK(next_piece());
    take_entry();
    return {};
  }
  // Makes the record at hand whole: head()->log is another one then, which may lie where the last
  // one did that any source of the merge has fetched.
  Status fetch() {
    if (!is_cut_) return {};
    FOEDUS_TRY(head_.log, fetch_cut());
    is_cut_ = false;
    return {};
  }
  // The same within a piece, which cannot fail. False: it ends, and advance() has to be called.
  bool try_advance() {
    if (at_ == end_) return false;
    take_entry();
    return true;
  }

 protected:
  // Entries [at_, end_), none at the end. The piece before stays as it is until the next call.
  virtual Status next_piece() = 0;
  // The record at hand, whole.
  virtual Result<const log::LogRecord*> fetch_cut() = 0;

  // The next entry of the piece, or none.
  void take_entry() {
    has_head_ = at_ != end_;
    if (!has_head_) return;
    const RecordEntry* const entry = RecordEntry::at(at_);
    head_ = entry->record();
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

  const char* at_ = nullptr;
  const char* end_ = nullptr;

 private:
  StreamRecord head_{};
  bool has_head_ = false;
  bool is_cut_ = false;
};

// Of a block in memory, which stays as it is.
class BlockSource final : public SortedSource {
 public:
  explicit BlockSource(const BlockHeader* block) {
    at_ = block->entries_begin();
    end_ = block->entries_end();
    take_entry();
  }

 private:
  Status next_piece() override { return {}; }
  Result<const log::LogRecord*> fetch_cut() override { FOEDUS_INVARIANT(false, at_); }
};

}  // namespace foedus::gleaner
