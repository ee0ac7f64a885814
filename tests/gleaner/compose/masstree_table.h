#pragma once
// MasstreeTable: a table with users' writes and one glean after another, whose snapshots must match
// a std::map.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/storage/masstree/layout/page.h"
#include "gleaner/compose/masstree/composer.h"
#include "tests/gleaner/compose/list_stream.h"
#include "tests/gleaner/compose/masstree_walk.h"
#include "tests/gleaner/compose/memory_pages.h"
#include "tests/gleaner/live_walk.h"

namespace foedus::gleaner {

class MasstreeTable {
 public:
  explicit MasstreeTable(std::uint64_t first_epoch = 1) : epoch_(first_epoch) {
    meta.id = page::StorageId{1};
    meta.kind = StorageKind::kMasstree;
    meta.name = "orders";
    start_epoch();
  }

  // ---- changes since the last glean

  page::Tid next_tid() { return page::Tid(Epoch(epoch_), ++ordinal_); }
  void log(log::LogRecordType type, std::string_view key, std::string_view payload,
           std::uint32_t offset = 0) {
    stream->add(type, next_tid(), key, payload, offset);
  }
  void put(const std::string& key, const std::string& payload) {
    log(log::LogRecordType::kPut, key, payload);
    model[key] = payload;
  }
  void erase(const std::string& key) {
    log(log::LogRecordType::kErase, key, {});
    ASSERT_EQ(model.erase(key), 1u);
  }
  void write_at(const std::string& key, std::uint32_t offset, const std::string& part) {
    log(log::LogRecordType::kWriteAt, key, part, offset);
    model.at(key).replace(offset, part.size(), part);
  }
  void increment(const std::string& key, std::uint32_t offset, std::uint64_t delta) {
    log(log::LogRecordType::kIncrement, key, {reinterpret_cast<const char*>(&delta), 8}, offset);
    std::uint64_t value;
    std::memcpy(&value, model.at(key).data() + offset, 8);
    value += delta;
    std::memcpy(model.at(key).data() + offset, &value, 8);
  }

  // ---- gleaning

  // Makes one more snapshot. `boundaries` are the starts of all ranges but the first.
  Status glean(const std::vector<std::uint64_t>& boundaries = {},
               const std::vector<std::uint64_t>& fences = {}) {
    ++snapshot;
    MemoryWriter writer(&pages, snapshot);
    if (fail_append_after != ~0u) writer.fail_append_after(fail_append_after);
    Composition composition{&meta, root, &pages, &writer, live_.begin()};
    const std::uint64_t reads_before = pages.reads();
    std::vector<Subtree> subtrees;
    for (std::size_t i = 0; i <= boundaries.size(); ++i) {
      const PositionRange range{i == 0 ? 0 : boundaries[i - 1],
                                i == boundaries.size() ? ~std::uint64_t{0} : boundaries[i] - 1};
      stream->rewind(range);
      FOEDUS_TRY(const std::vector<Subtree> part,
                 compose_masstree(composition, range, stream.get(), fences));
      EXPECT_FALSE(part.empty());
      EXPECT_EQ(part.front().range.begin, range.begin);
      EXPECT_EQ(part.back().range.last, range.last);
      subtrees.insert(subtrees.end(), part.begin(), part.end());
    }
    reads = pages.reads() - reads_before;
    FOEDUS_TRY(root, join_masstree(composition, subtrees));
    written = writer.count();
    pages.finish();
    live_.expect_counted(pages, root);
    return {};
  }
  void start_epoch() {
    ++epoch_;
    ordinal_ = 0;
    stream = std::make_unique<ListStream>(StorageKind::kMasstree);
  }

  void glean_only() {
    const Status status = glean();
    ASSERT_TRUE(status.is_ok()) << status.message();
    start_epoch();
  }
  // Gleans, and expects that the tree equals the model and every key is found.
  void glean_and_check(const std::vector<std::uint64_t>& boundaries = {},
                       const std::vector<std::uint64_t>& fences = {}) {
    const Status status = glean(boundaries, fences);
    ASSERT_TRUE(status.is_ok()) << status.message();
    start_epoch();
    seen = std::make_unique<MasstreeWalk>(pages);
    seen->walk(root);
    ASSERT_EQ(seen->found.size(), model.size());
    ASSERT_TRUE(seen->found == model);
    for (const auto& [key, payload] : model) {
      const std::optional<std::string> found = seen->find(root, key);
      ASSERT_TRUE(found.has_value()) << key;
      ASSERT_TRUE(*found == payload) << key;
      for (const std::string& absent : {key + '\0', key + 'x', key.substr(0, key.size() / 2)}) {
        if (model.count(absent) != 0) continue;
        ASSERT_FALSE(seen->find(root, absent).has_value()) << absent;
      }
    }
  }
  LiveCheck<MemoryPages>& live() { return live_; }
  std::string bytes_of_last() const { return pages.file_bytes(page::SnapshotNumber{snapshot}, 0); }

  storage_meta::StorageMeta meta;
  MemoryPages pages;
  page::SnapshotPageId root;
  std::unique_ptr<ListStream> stream;
  std::map<std::string, std::string> model;
  std::unique_ptr<MasstreeWalk> seen;
  std::uint32_t snapshot = 0;
  std::uint64_t reads = 0;    // by the last glean
  std::uint32_t written = 0;  // by the last glean
  std::uint32_t fail_append_after = ~0u;

 private:
  LiveCheck<MemoryPages> live_;
  std::uint64_t epoch_;
  std::uint32_t ordinal_ = 0;
};

// Returns a key of 8 bytes that sorts as its number.
inline std::string key_of(std::uint64_t number) {
  char bytes[8];
  storage::masstree::put_slice(number, bytes);
  return {bytes, 8};
}

inline std::string payload_of(std::size_t bytes, std::uint64_t seed) {
  std::string payload(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) {
    payload[i] = static_cast<char>((seed * 31 + i * 7 + i / 251) & 0xff);
  }
  return payload;
}

}  // namespace foedus::gleaner
