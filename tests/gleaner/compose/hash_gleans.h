#pragma once
// HashGleans: a hash storage that has only snapshots, and the model that they must match.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "gleaner/compose/hash/composer.h"
#include "tests/gleaner/compose/hash_walk.h"
#include "tests/gleaner/compose/list_stream.h"
#include "tests/gleaner/compose/memory_pages.h"
#include "tests/gleaner/live_walk.h"

namespace foedus::gleaner {

// Returns the seed of the environment, or one that differs from run to run.
inline std::uint64_t test_seed() {
  const char* const given = std::getenv("FOEDUS_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : base::system_seed();
}

class HashGleans {
 public:
  explicit HashGleans(std::uint32_t fan_out_bits = 1) {
    meta_.id = page::StorageId{7};
    meta_.kind = StorageKind::kHash;
    meta_.name = "orders";
    meta_.fan_out_bits = fan_out_bits;
    begin();
  }

  // ---- changes: the next glean finds them in the log, the model at once -------------------------

  void put(const std::string& key, const std::string& payload) {
    log(log::LogRecordType::kPut, key, payload);
    model_[key] = {payload, tid_.word()};
  }
  void erase(const std::string& key) {
    log(log::LogRecordType::kErase, key, {});
    model_.erase(key);
  }
  void write_at(const std::string& key, std::uint32_t offset, const std::string& part) {
    log(log::LogRecordType::kWriteAt, key, part, offset);
    Walked& record = model_.at(key);
    record.payload.replace(offset, part.size(), part);
    record.tid = tid_.word();
  }
  void increment(const std::string& key, std::uint32_t offset, std::uint64_t delta) {
    log(log::LogRecordType::kIncrement, key,
        std::string(reinterpret_cast<const char*>(&delta), sizeof(delta)), offset);
    Walked& record = model_.at(key);
    std::uint64_t value;
    std::memcpy(&value, record.payload.data() + offset, sizeof(value));
    value += delta;
    std::memcpy(record.payload.data() + offset, &value, sizeof(value));
    record.tid = tid_.word();
  }
  // Adds a record to the log, not to the model.
  void log(log::LogRecordType type, const std::string& key, const std::string& payload,
           std::uint32_t offset = 0) {
    if (!same_tid_) tid_ = page::Tid(Epoch(10 + snapshot_), ++ordinal_);
    stream_->add(type, tid_, key, payload, offset);
  }
  // Sets whether the next records belong to the transaction of the last write.
  void set_same_tid(bool same) { same_tid_ = same; }
  void set_tid(page::Tid tid) {
    tid_ = tid;
    same_tid_ = true;
  }

  // ---- gleans -----------------------------------------------------------------------------------

  // Gleans in ranges that begin at these digits of the root; each has a file of its own.
  Status glean(const std::vector<std::uint64_t>& digits = {0}) {
    Composition composition{&meta_, root_, &pages_, nullptr, live_.begin()};
    std::vector<std::unique_ptr<MemoryWriter>> writers;
    std::vector<Subtree> all;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      writers.push_back(std::make_unique<MemoryWriter>(&pages_, snapshot_,
                                                       static_cast<std::uint32_t>(i)));
      if (appends_before_failure_ != 0) writers[i]->fail_append_after(appends_before_failure_);
      composition.writer = writers[i].get();
      const std::uint64_t next = i + 1 < digits.size() ? digits[i + 1] << 57 : 0;
      const PositionRange range{digits[i] << 57, next - 1};
      EXPECT_EQ(align_hash_boundary(meta_, range.begin + 12345), range.begin);
      stream_->rewind(range);
      FOEDUS_TRY(const std::vector<Subtree> part, compose_hash(composition, range, stream_.get()));
      all.insert(all.end(), part.begin(), part.end());
    }
    composition.writer = writers[0].get();
    FOEDUS_TRY(root_, join_hash(composition, all));
    written_ = 0;
    for (const auto& writer : writers) written_ += writer->count();
    pages_.finish();
    live_.expect_counted(pages_, root_);
    begin();
    return {};
  }

  void end_counting() { live_.end(); }
  LiveCheck<MemoryPages>& live() { return live_; }

  // Reads all records, and also searches every n-th key.
  HashWalk::Seen verify(std::size_t every = 1) {
    HashWalk walk(&pages_, meta_);
    HashWalk::Seen seen = walk.all(root_);
    EXPECT_EQ(seen.records.size(), model_.size());
    EXPECT_TRUE(seen.records == model_);
    std::size_t i = 0;
    for (const auto& [key, record] : model_) {
      if (i++ % every != 0) continue;
      EXPECT_EQ(walk.find(root_, key), record) << key;
    }
    EXPECT_EQ(walk.find(root_, "no such key"), std::nullopt);
    return seen;
  }

  storage_meta::StorageMeta meta_;
  MemoryPages pages_;
  page::SnapshotPageId root_;
  std::uint32_t snapshot_ = 0;
  std::uint32_t written_ = 0;  // pages of the last glean
  std::uint32_t appends_before_failure_ = 0;
  std::map<std::string, Walked> model_;
  std::unique_ptr<ListStream> stream_;

 private:
  void begin() {
    ++snapshot_;
    ordinal_ = 0;
    stream_ = std::make_unique<ListStream>(StorageKind::kHash, meta_.id);
  }

  LiveCheck<MemoryPages> live_;
  page::Tid tid_;
  std::uint32_t ordinal_ = 0;
  bool same_tid_ = false;
};

inline std::string key_number(std::uint64_t i) { return "key" + std::to_string(i); }

// Returns keys that all have one hash: their first word makes a factor of its first product 0,
// whatever the second word is.
inline std::string equal_hash_key(std::uint64_t i, const std::string& tail = "tail") {
  std::string key(16, '\0');
  std::memcpy(key.data(), &storage::hash::internal::kMix1, 8);
  std::memcpy(key.data() + 8, &i, 8);
  return key + tail;
}

}  // namespace foedus::gleaner
