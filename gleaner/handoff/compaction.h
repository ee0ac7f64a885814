#pragma once
// Compaction: fewer records that say the same (paper §7.3, "batching and optimization").
//
//   G14  What a mapper has, and a run, is a part of a key's history: others may hold records that
//        belong in between. There, one thing only is sure: a put or an erasure makes everything
//        before it superfluous, whatever that was. (Increments 1 and 5 may not be added up if a put
//        with TID 3 is on its way from another mapper.)
//   G15  So the rest is done once, in KeyHistory, where the whole history of a key passes. Its
//        result depends on the newest put or erasure and on what follows it, and on nothing before:
//        it is the same whatever was left out on the way.
//
//   newest \ before it   put                 erase     write                increment
//   put, erase           supersedes          supersedes  supersedes          supersedes
//   write                folded into it (1)  kept      joined if they touch,  dropped if inside the
//                                                      the newer on top (2)   write, else kept
//   increment            folded into it (1)  kept      folded into it if      added up if at the
//                                                      inside (2)             same offset (2)
//   append               never the same key
//
//   (1) If it lies inside the payload and all between were folded too. Else it is kept, and is a
//       contradiction for the composer to report, as is anything that follows an erasure.
//   (2) If nothing that is kept in between overlaps what would move past it. An erasure stays after
//       it superseded a put: the snapshot before may have the key.
//
// A folded record has TID, session and sequence of the newest that is in it.
//
// A row may have as many parts as counters fit into it. A few are looked at one after the other; of
// more there is an index by offset, for as long as none of them overlaps another: then a record can
// concern those only that it overlaps or touches itself, and order matters to none.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gleaner/handoff/record_stream.h"

namespace foedus::gleaner {

// True if nothing before a record of that type matters to its key any more.
inline bool is_whole(log::LogRecordType type) {
  return type == log::LogRecordType::kPut || type == log::LogRecordType::kErase;
}

// True for records of one storage that are about the same thing; each append is its own.
inline bool have_same_key(const StreamRecord& a, const StreamRecord& b) {
  return a.position == b.position && have_equal_keys(*a.log, *b.log) &&
         a.log->type != log::LogRecordType::kAppend && b.log->type != log::LogRecordType::kAppend;
}

// The whole history of one key, from which it makes as few records as it can.
class KeyHistory {
 public:
  static constexpr std::size_t kIndexedFrom = 16;
  // `indexed_from`: so many parts have an index. What is made does not depend on it.
  explicit KeyHistory(std::size_t indexed_from = kIndexedFrom) : indexed_from_(indexed_from) {}

  // Forgets the last one.
  void clear();
  // Records of one key in their order (G2), copied. No appends.
  void add(const StreamRecord& record);
  // True if the record is about the key of those that were added.
  bool is_about_key_of(const StreamRecord& record) const {
    return record.position == position_ && record.log->key() == key_;
  }

  // Makes records of what was added; add() is not called any more before clear().
  void finish();
  std::size_t record_count() const { return made_.size(); }
  // Valid until clear().
  const StreamRecord& record(std::size_t index) const { return made_[index]; }

  // How many parts were looked at, of all keys, to find those that records concern.
  std::uint64_t looks() const { return looks_; }

 private:
  // Bytes that a record changes: of a put the payload, of an increment the number.
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

  // What is there, in the order of TIDs unless it is indexed.
  std::span<Change> changes() { return {changes_.data(), count_}; }
  void forget();
  // Room for one more, which has the memory of one that was there before.
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
  // The first `count_`; the first one may be whole, the others are not. What is behind, and
  // memory_, is kept for the keys that follow.
  std::vector<Change> changes_;
  std::size_t count_ = 0;
  // Of those that are not whole, if is_indexed_: none overlaps another, no write touches another.
  Index index_;
  bool is_indexed_ = false;
  bool is_tangled_ = false;  // there were such, and are for all that is known
  std::uint64_t looks_ = 0;
  std::vector<std::uint64_t> memory_;  // of the records in made_
  std::vector<StreamRecord> made_;
};

}  // namespace foedus::gleaner
