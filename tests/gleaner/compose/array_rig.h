#pragma once
// ArrayRig: an array that is written to and gleaned again and again, and a model that the pages of
// every snapshot must equal.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/storage/array/array_page.h"
#include "gleaner/compose/array/composer.h"
#include "tests/gleaner/compose/list_stream.h"
#include "tests/gleaner/compose/memory_pages.h"
#include "tests/gleaner/live_walk.h"

namespace foedus::gleaner {

class ArrayRig {
 public:
  struct Record {
    std::uint64_t tid = 0;
    std::string payload;
    bool operator==(const Record&) const = default;
  };

  ArrayRig(std::uint64_t records, std::uint32_t payload_bytes)
      : shape_(storage::array::shape_of(payload_bytes)) {
    meta_.id = page::StorageId{1};
    meta_.kind = StorageKind::kArray;
    meta_.name = "accounts";
    meta_.records = records;
    meta_.payload_bytes = payload_bytes;
    levels_ = storage::array::levels_of(shape_.pages_of(records));
    new_stream();
  }

  // Writes to the log and to the model. The offset of a whole put is 0.
  void write(std::uint64_t index, std::string_view part, std::uint32_t offset = 0) {
    const bool whole = part.size() == meta_.payload_bytes;
    Record& record = touch(index);
    record.payload.replace(offset, part.size(), part);
    stream_->add(whole ? log::LogRecordType::kPut : log::LogRecordType::kWriteAt, tid_, index, part,
                 offset);
  }
  void increment(std::uint64_t index, std::int64_t delta, std::uint32_t offset) {
    Record& record = touch(index);
    std::uint64_t value;
    std::memcpy(&value, record.payload.data() + offset, sizeof(value));
    value += static_cast<std::uint64_t>(delta);
    std::memcpy(record.payload.data() + offset, &value, sizeof(value));
    stream_->add(log::LogRecordType::kIncrement, tid_, index,
                 {reinterpret_cast<const char*>(&delta), sizeof(delta)}, offset);
  }

  // Composes the next snapshot in the ranges that begin at 0 and the boundaries given, a writer for
  // each, and joins them in the first one's file.
  Status glean(const std::vector<std::uint64_t>& boundaries = {}) {
    ++snapshot_;
    writers_.clear();
    accounting_ = live_.begin();
    std::vector<Subtree> subtrees;
    for (std::size_t i = 0; i <= boundaries.size(); ++i) {
      PositionRange range;
      if (i != 0) range.begin = boundaries[i - 1];
      if (i != boundaries.size()) range.last = boundaries[i] - 1;
      stream_->rewind(range);
      FOEDUS_TRY(const std::vector<Subtree> some,
                 compose_array(composition(i), range, stream_.get()));
      subtrees.insert(subtrees.end(), some.begin(), some.end());
    }
    FOEDUS_TRY(root_, join_array(composition(0), subtrees));
    pages_.finish();
    live_.expect_counted(pages_, root_);
    new_stream();
    return {};
  }

  // Returns the record in the last snapshot, and checks all pages of its path.
  Record read(std::uint64_t index) {
    page::SnapshotPageId id = root_;
    const std::uint64_t number = index / shape_.records_per_page;
    for (std::uint32_t level = levels_;; --level) {
      if (id.is_null()) return untouched();
      std::uint64_t span = 1;
      for (std::uint32_t i = 0; i < level; ++i) span *= 252;
      const page::PageHeader* const header = pages_.at(id);
      EXPECT_EQ(header->page_id, id.word());
      EXPECT_EQ(header->level, level);
      EXPECT_EQ(header->storage_id, meta_.id);
      EXPECT_EQ(header->kind_word, number / span * span * shape_.records_per_page);
      seen_.insert(id.word());
      if (level == 0) break;
      EXPECT_EQ(header->kind, page::PageKind::kArrayInterior);
      const auto* const interior = pages_.as<storage::array::ArrayInteriorPage>(id);
      const auto ids = interior->pointers[number / (span / 252) % 252].load();
      EXPECT_TRUE(ids.volatile_page.is_null());
      id = ids.snapshot_page;
    }
    EXPECT_EQ(pages_.at(id)->kind, page::PageKind::kArrayBorder);
    auto* const border = const_cast<storage::array::ArrayBorderPage*>(
        pages_.as<storage::array::ArrayBorderPage>(id));
    page::RecordHeader* const record =
        storage::array::record_at(border, index % shape_.records_per_page, shape_);
    EXPECT_EQ(record->lock.load_relaxed(), 0u);
    return {record->tid.load_relaxed(), {storage::array::payload_of(record), meta_.payload_bytes}};
  }
  // Checks all records that were ever written, and every `step`th of the others.
  void expect_equal_to_model(std::uint64_t step = 1) {
    for (const auto& [index, record] : model_) ASSERT_EQ(read(index), record) << index;
    for (std::uint64_t index = 0; index < meta_.records; index += step) {
      if (model_.contains(index)) continue;
      ASSERT_EQ(read(index), untouched()) << index;
    }
  }
  // Returns the ids of the pages of the path to an index, the root first; null ones too.
  std::vector<page::SnapshotPageId> path_to(std::uint64_t index) const {
    std::vector<page::SnapshotPageId> path = {root_};
    std::uint64_t span = shape_.records_per_page;
    for (std::uint32_t i = 1; i < levels_; ++i) span *= 252;
    for (std::uint32_t level = levels_; level != 0 && !path.back().is_null(); --level) {
      const auto* const interior = pages_.as<storage::array::ArrayInteriorPage>(path.back());
      path.push_back(interior->pointers[index / span % 252].load().snapshot_page);
      span /= 252;
    }
    return path;
  }

  Composition composition(std::size_t soc) {
    while (writers_.size() <= soc) {
      const auto number = static_cast<std::uint32_t>(writers_.size());
      writers_.push_back(std::make_unique<MemoryWriter>(&pages_, snapshot_, number));
      if (number == 0) writers_.back()->fail_append_after(appends_before_failure_);
    }
    return {&meta_, root_, &pages_, writers_[soc].get(), accounting_};
  }
  std::uint32_t appended() const {
    std::uint32_t count = 0;
    for (const auto& writer : writers_) count += writer->count();
    return count;
  }
  void fail_append_after(std::uint32_t appends) { appends_before_failure_ = appends; }

  const storage_meta::StorageMeta& meta() const { return meta_; }
  std::uint64_t records_per_page() const { return shape_.records_per_page; }
  std::uint32_t levels() const { return levels_; }
  std::uint32_t snapshot() const { return snapshot_; }
  page::SnapshotPageId root() const { return root_; }
  page::Tid next_tid() const { return page::Tid(Epoch(7), ordinal_ + 1); }
  ListStream& stream() { return *stream_; }
  MemoryPages& pages() { return pages_; }
  LiveCheck<MemoryPages>& live() { return live_; }
  // Sets the root of pages that were moved, as a new snapshot.
  void set_root(page::SnapshotPageId root) {
    root_ = root;
    ++snapshot_;
  }
  std::size_t pages_seen() const { return seen_.size(); }

 private:
  void new_stream() { stream_ = std::make_unique<ListStream>(StorageKind::kArray, meta_.id); }
  Record untouched() const { return {0, std::string(meta_.payload_bytes, '\0')}; }
  Record& touch(std::uint64_t index) {
    tid_ = page::Tid(Epoch(7), ++ordinal_);
    Record& record = model_.try_emplace(index, untouched()).first->second;
    record.tid = tid_.word();
    return record;
  }

  storage_meta::StorageMeta meta_;
  const storage::array::ArrayShape& shape_;
  std::uint32_t levels_;
  MemoryPages pages_;
  std::vector<std::unique_ptr<MemoryWriter>> writers_;  // by SOC; of the last snapshot
  std::uint32_t snapshot_ = 0;
  std::uint32_t appends_before_failure_ = ~std::uint32_t{0};
  page::SnapshotPageId root_;
  std::unique_ptr<ListStream> stream_;
  std::map<std::uint64_t, Record> model_;
  std::set<std::uint64_t> seen_;
  LiveCheck<MemoryPages> live_;
  snapshot::PageAccounting* accounting_ = nullptr;  // of the current glean
  std::uint32_t ordinal_ = 0;
  page::Tid tid_;
};

}  // namespace foedus::gleaner
