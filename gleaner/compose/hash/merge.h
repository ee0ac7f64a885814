#pragma once
// Merges the records of an old bin and the log records of the same hashes, in the order of a hash
// storage's records.
//
// Folding repeats what commit did to the live record (storage/hash/commit.cc). A put is the
// whole payload, and an erasure leaves no record. Partial writes change bytes of an inline payload;
// for a payload in a chain, the log has a put of the whole. A record that no commit can have made
// is kCorruption (G8).

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "foedus-core/log/ring/record.h"
#include "gleaner/compose/hash/pages.h"

namespace foedus::gleaner {

// Reads the log records of a range one by one.
class HashLogCursor {
 public:
  HashLogCursor(RecordStream* stream, const PositionRange& range)
      : stream_(stream), range_(range), position_(range.begin) {}

  // Returns the current record, valid until the next advance(). Null at the end, and before the
  // first advance().
  const StreamRecord* current() const { return current_; }
  bool is_in(const PositionRange& range) const {
    return current_ != nullptr && range.contains(current_->position);
  }
  Status advance();

 private:
  RecordStream* stream_;
  const PositionRange range_;
  std::uint64_t position_;
  const StreamRecord* current_ = nullptr;
};

// Reads the records of an old bin whose hashes are in a range. One page of the bin is in memory.
class OldHashBin {
 public:
  // `head`: the first page, which was read already.
  OldHashBin(const Composition& composition, const HashPrefix& prefix, const PositionRange& range,
             page::SnapshotPageId id, std::unique_ptr<page::PageBytes> head)
      : composition_(composition),
        prefix_(prefix),
        range_(range),
        id_(id),
        block_(std::move(head)) {}

  Status start();
  bool is_at_end() const { return is_at_end_; }
  // REQUIRES: !is_at_end().
  std::uint64_t hash() const { return hash_; }
  std::string_view key() const { return key_; }
  HashRecord record() const;
  Status advance();

 private:
  Status check_page();
  Status next_page();
  Status look();

  const Composition& composition_;
  const HashPrefix prefix_;
  const PositionRange range_;
  page::SnapshotPageId id_;
  std::unique_ptr<page::PageBytes> block_;
  std::uint32_t place_ = 0;
  bool is_first_ = true;  // no record was read yet
  bool is_at_end_ = false;
  std::uint64_t hash_ = 0;
  std::string key_;
};

class HashMerge {
 public:
  // Merges the hashes in `range`. `old` may be null.
  HashMerge(const Composition& composition, HashLogCursor* log, const PositionRange& range,
            OldHashBin* old)
      : composition_(composition), log_(*log), range_(range), old_(old) {}

  // Returns true if all records left in `range` fit one page. Looks ahead by one page's worth of
  // records at most. REQUIRES: `range` is the first part of the hashes left.
  Result<bool> fits(const PositionRange& range);
  // Takes the records left in `range`, however many they are.
  Result<HashBin> take(const PositionRange& range);

 private:
  Status look_ahead();
  Status supersede_old_chain();
  Status fold();
  Status fold_one(const log::LogRecord& log, bool is_first);
  Status write_part(const log::LogRecord& log);
  Status finish();
  Status contradiction(const char* what) const;

  const Composition& composition_;
  HashLogCursor& log_;
  const PositionRange range_;
  OldHashBin* old_;
  std::deque<HashRecord> ahead_;
  bool is_at_end_ = false;  // no record comes after those in ahead_
  // The record into which log records are folded. Its chain is written after the last of them.
  HashRecord record_;
  bool is_present_ = false;
};

}  // namespace foedus::gleaner
