#pragma once
// Compaction: fewer records with the same effect (paper §7.3, "batching and optimization").
//
//   G14  A mapper, and a sorted run, has only a part of a key's history: others may hold records
//        that belong in between. Only one reduction is safe there: a put or an erasure makes all
//        records before it superfluous. (Increments of TIDs 1 and 5 may not be added up if another
//        mapper still holds a put of TID 3.)
//   G15  All other folding is done once, in KeyHistory, where the whole history of a key passes.
//        Its result depends on the newest put or erasure and on the records after it, so it is the
//        same whatever was left out before.
//
//   newest \ before it   put                 erase     write                increment
//   put, erase           supersedes          supersedes  supersedes          supersedes
//   write                folded into it (1)  kept      joined if they touch,  dropped if inside the
//                                                      the newer on top (2)   write, else kept
//   increment            folded into it (1)  kept      folded into it if      added up if at the
//                                                      inside (2)             same offset (2)
//   append               never the same key
//
//   (1) If it lies inside the payload and all records between were folded too. Else it is kept, and
//       the composer reports it as a contradiction, as it does any record after an erasure.
//   (2) If no kept record in between overlaps the record that would move. An erasure stays after it
//       superseded a put, because the previous snapshot may have the key.
//
// A folded record has TID, session and sequence of the newest record in it.
//
// A row can have as many changed parts as it has counters. A few parts are searched one by one.
// Many parts get an index by offset, for as long as no part overlaps another. A record then
// concerns only the parts that it overlaps or touches, and their order does not matter.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gleaner/handoff/record_stream.h"

namespace foedus::gleaner {

// Returns true if records before one of that type no longer matter to its key.
inline bool is_whole(log::LogRecordType type) {
  return type == log::LogRecordType::kPut || type == log::LogRecordType::kErase;
}

// Returns true for two records of one storage about the same key; each append is alone.
inline bool have_same_key(const StreamRecord& a, const StreamRecord& b) {
  return a.position == b.position && have_equal_keys(*a.log, *b.log) &&
         a.log->type != log::LogRecordType::kAppend && b.log->type != log::LogRecordType::kAppend;
}

// Takes the whole history of one key, and makes as few records of it as it can.
class KeyHistory {
 public:
  static constexpr std::size_t kIndexedFrom = 16;
  // `indexed_from`: number of parts from which on they are indexed; the result does not depend on
  // it.
  explicit KeyHistory(std::size_t indexed_from = kIndexedFrom) : indexed_from_(indexed_from) {}

  // Forgets the key and its records, and those that finish() made.
  void clear();
  // Adds a copy of the record. REQUIRES: records of one key come in their order (G2); none is an
  // append.
  void add(const StreamRecord& record);
  // Returns true if the record is about the key of those that were added.
  bool is_about_key_of(const StreamRecord& record) const {
    return record.position == position_ && record.log->key() == key_;
  }

  // Makes the records that the history is folded to. REQUIRES: no add() between this and clear().
  void finish();
  std::size_t record_count() const { return made_.size(); }
  // Returns a record that finish() has made, valid until clear().
  const StreamRecord& record(std::size_t index) const { return made_[index]; }

  // Returns the number of parts that were compared so far, for all keys.
  std::uint64_t looks() const { return looks_; }

 private:
  // The bytes that a record changes: the payload of a put or write, the number of an increment.
  struct Part {
    std::uint64_t begin;
    std::string_view bytes;

    std::uint64_t end() const { return begin + bytes.size(); }
  };
  struct Change {
    log::LogRecordType type;
    std::uint32_t begin;
    std::string bytes;
    std::uint64_t tid;
    std::uint32_t session;
    std::uint64_t sequence;

    bool is_write() const { return type == log::LogRecordType::kWriteAt; }
    Part part() const { return {begin, bytes}; }
    std::uint64_t end() const { return part().end(); }
    bool overlaps(const Change& other) const { return begin < other.end() && other.begin < end(); }
    bool overlaps(const Part& other) const { return begin < other.end() && other.begin < end(); }
    bool touches(const Change& other) const { return begin <= other.end() && other.begin <= end(); }
    bool contains(const Part& other) const { return begin <= other.begin && other.end() <= end(); }
    bool contains(const Change& other) const { return contains(other.part()); }
    void become(const StreamRecord& record);
    void overwrite(const Part& newer);
    void increment(const Part& newer);
    void join(Change before);
    template <typename Newer>
    void become_as_new_as(std::uint64_t newer_tid, const Newer& newer) {
      tid = newer_tid;
      session = newer.session;
      sequence = newer.sequence;
    }
    void become_as_new_as(const Change& newer) { become_as_new_as(newer.tid, newer); }
  };
  using Index = std::map<std::uint64_t, std::size_t>;  // begin -> place in changes_

  // Returns the changes so far, in the order of TIDs unless they are indexed.
  std::span<Change> changes() { return {changes_.data(), count_}; }
  void forget();
  // Appends a change, which reuses the memory of an earlier one.
  Change* push();
  bool fold_into_only(const StreamRecord& record);
  void add_write(Change write);
  void add_increment(Change increment);
  bool is_free_after(std::size_t index, const Change& change);
  void erase_change(std::size_t index);
  // ---- with an index
  bool try_index();
  void drop_index();
  Index::iterator first_touching(std::uint64_t begin);
  Index::iterator erase_indexed(Index::iterator at);
  void push_indexed(Change change);
  bool try_increment(const StreamRecord& record);
  bool try_write(const StreamRecord& record);

  std::uint64_t* make(const Change& change, std::uint64_t* to);

  const std::size_t indexed_from_;
  std::string key_;
  std::uint64_t position_ = 0;
  page::StorageId storage_id_{};
  // The first `count_` are in use; only the first of them may be whole. The rest, and memory_, is
  // kept for the next keys.
  std::vector<Change> changes_;
  std::size_t count_ = 0;
  // If is_indexed_: all changes that are not whole. No change overlaps another, no write touches
  // another.
  Index index_;
  bool is_indexed_ = false;
  bool is_tangled_ = false;  // an overlap was found, and may still be there
  std::uint64_t looks_ = 0;
  std::vector<std::uint64_t> memory_;  // of the records in made_
  std::vector<StreamRecord> made_;
};

}  // namespace foedus::gleaner
