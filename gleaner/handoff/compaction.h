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

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gleaner/handoff/record_stream.h"

namespace foedus::gleaner {

// True if nothing before a record of that type matters to its key any more.
inline bool is_whole(log::LogRecordType type) {
  return type == log::LogRecordType::kPut || type == log::LogRecordType::kErase;
}

// True for records of one storage that are about the same thing; each append is its own.
inline bool have_same_key(const StreamRecord& a, const StreamRecord& b) {
  return a.position == b.position && a.log->key() == b.log->key() &&
         a.log->type != log::LogRecordType::kAppend && b.log->type != log::LogRecordType::kAppend;
}

// The whole history of one key, from which it makes as few records as it can.
class KeyHistory {
 public:
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

 private:
  struct Change {
    log::LogRecordType type;
    std::uint32_t begin;  // of the bytes that it changes
    std::string bytes;    // of a put: the payload, of an increment: the number
    std::uint64_t tid;
    std::uint32_t session;
    std::uint64_t sequence;

    std::uint64_t end() const { return std::uint64_t{begin} + bytes.size(); }
    bool overlaps(const Change& other) const {
      return begin < other.end() && other.begin < end();
    }
    bool touches(const Change& other) const {
      return begin <= other.end() && other.begin <= end();
    }
    bool contains(const Change& other) const {
      return begin <= other.begin && other.end() <= end();
    }
    void overwrite(const Change& newer);
    void increment(const Change& newer);
    void become_as_new_as(const Change& newer);
  };
  static Change change_of(const StreamRecord& record);
  void add_write(Change write);
  void add_increment(Change increment);
  bool is_free_after(std::size_t index, const Change& change) const;
  void erase_change(std::size_t index);
  void make(const Change& change);

  std::string key_;
  std::uint64_t position_ = 0;
  page::StorageId storage_id_{};
  // In the order of their TIDs; the first one may be whole, the others are not.
  std::vector<Change> changes_;
  std::vector<std::unique_ptr<std::uint64_t[]>> memory_;
  std::vector<StreamRecord> made_;
};

}  // namespace foedus::gleaner
