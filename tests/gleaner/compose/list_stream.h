#pragma once
// ListStream: a RecordStream over records that a test makes, sorted as reducers sort them (G2). The
// record of next() is overwritten by the next call, so that a caller which keeps it fails.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus/storage.h"
#include "gleaner/handoff/compaction.h"
#include "gleaner/handoff/record_stream.h"

namespace foedus::gleaner {

class ListStream : public RecordStream {
 public:
  explicit ListStream(StorageKind kind, page::StorageId storage = page::StorageId{1})
      : kind_(kind), storage_(storage) {}

  // Adds a record. Call rewind() after the last one, and before another pass.
  void add(log::LogRecordType type, page::Tid tid, std::string_view key, std::string_view payload,
           std::uint32_t payload_offset = 0, std::uint32_t session = 0) {
    const std::size_t bytes = log::LogRecord::size_of(key.size(), payload.size());
    Entry entry;
    entry.words = std::make_unique<std::uint64_t[]>(bytes / 8);
    auto* const record = reinterpret_cast<log::LogRecord*>(entry.words.get());
    record->prepare(type, storage_, key.size(), payload.size(), payload_offset);
    record->tid = tid.word();
    if (!key.empty()) std::memcpy(record->key_data(), key.data(), key.size());
    if (!payload.empty()) std::memcpy(record->payload_data(), payload.data(), payload.size());
    entry.record = {position_of(kind_, *record), record, session, entries_.size()};
    entries_.push_back(std::move(entry));
    sorted_ = false;
  }
  // Adds a record of an array.
  void add(log::LogRecordType type, page::Tid tid, std::uint64_t index, std::string_view payload,
           std::uint32_t payload_offset = 0) {
    const std::string_view key(reinterpret_cast<const char*>(&index), sizeof(index));
    add(type, tid, key, payload, payload_offset);
  }

  // Starts again, with the records of one range.
  void rewind(const PositionRange& range = {}) {
    range_ = range;
    next_ = 0;
    status_ = {};
  }
  std::size_t size() const { return entries_.size(); }

  const StreamRecord* next() override {
    if (!sorted_) sort();
    while (next_ < entries_.size() && !range_.contains(entries_[next_].record.position)) ++next_;
    std::fill(given_.begin(), given_.end(), ~std::uint64_t{0});
    if (next_ == entries_.size()) return nullptr;
    if (next_ == fails_at_) {
      status_ = Status::error(ErrorCode::kIoError, "cannot read the test's run");
      return nullptr;
    }
    const Entry& entry = entries_[next_++];
    is_last_of_key_ = says_last_ && (next_ == entries_.size() ||
                                     !have_same_key(entry.record, entries_[next_].record));
    given_.assign(entry.words.get(), entry.words.get() + entry.record.log->record_bytes / 8);
    current_ = entry.record;
    current_.log = reinterpret_cast<const log::LogRecord*>(given_.data());
    return &current_;
  }

  // Returns all records, in order; valid until another one is added.
  std::vector<StreamRecord> records() {
    if (!sorted_) sort();
    std::vector<StreamRecord> records;
    for (const Entry& entry : entries_) records.push_back(entry.record);
    return records;
  }

  // Sets whether is_last_of_key() returns true for the last record of a key.
  void say_last_of_key(bool says) { says_last_ = says; }

  // Lets the read of the record of this number fail.
  void fail_at(std::size_t number) { fails_at_ = number; }

 private:
  struct Entry {
    std::unique_ptr<std::uint64_t[]> words;
    StreamRecord record;
  };

  void sort() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& left, const Entry& right) {
      return is_before(left.record, right.record);
    });
    sorted_ = true;
  }

  StorageKind kind_;
  page::StorageId storage_;
  std::vector<Entry> entries_;
  bool sorted_ = false;
  PositionRange range_;
  std::size_t next_ = 0;
  bool says_last_ = true;
  std::size_t fails_at_ = ~std::size_t{0};
  StreamRecord current_{};
  std::vector<std::uint64_t> given_;
};

}  // namespace foedus::gleaner
