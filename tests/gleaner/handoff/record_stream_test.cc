// Positions and the order of records (G1, G2).
#include "gleaner/handoff/record_stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/storage/hash/layout/function.h"

namespace foedus::gleaner::record_stream_test {
namespace {

struct Words {
  std::unique_ptr<std::uint64_t[]> words;
  const log::LogRecord* get() const {
    return reinterpret_cast<const log::LogRecord*>(words.get());
  }
};

Words record_of(std::string_view key, std::uint64_t tid) {
  Words made{std::make_unique<std::uint64_t[]>(log::LogRecord::size_of(key.size(), 0) / 8)};
  auto* const record = reinterpret_cast<log::LogRecord*>(made.words.get());
  record->prepare(log::LogRecordType::kPut, page::StorageId{1}, key.size(), 0, 0);
  record->tid = tid;
  if (!key.empty()) std::memcpy(record->key_data(), key.data(), key.size());
  return made;
}

std::string index_key(std::uint64_t index) {
  return std::string(reinterpret_cast<const char*>(&index), sizeof(index));
}

TEST(RecordStreamTest, a_position_is_index_hash_first_slice_or_zero) {
  EXPECT_EQ(position_of(StorageKind::kArray, *record_of(index_key(77), 1).get()), 77u);
  const Words keyed = record_of("abc", 1);
  EXPECT_EQ(position_of(StorageKind::kHash, *keyed.get()), storage::hash::hash_of("abc"));
  EXPECT_EQ(position_of(StorageKind::kMasstree, *keyed.get()), 0x6162630000000000u);
  EXPECT_EQ(position_of(StorageKind::kMasstree, *record_of("abcdefghij", 1).get()),
            0x6162636465666768u);
  EXPECT_EQ(position_of(StorageKind::kSequential, *record_of("", 1).get()), 0u);
}

// All pairs of an ordered list must compare as their places in the list do.
TEST(RecordStreamTest, the_order_is_position_key_tid_session_sequence) {
  struct Given {
    std::uint64_t position;
    std::string key;
    std::uint64_t tid;
    std::uint32_t session;
    std::uint64_t sequence;
  };
  const std::vector<Given> given = {
      {1, "z", 900, 9, 9},    {2, "a", 900, 9, 9},         {2, std::string("a\0", 2), 1, 0, 0},
      {2, "ab", 500, 5, 5},   {2, "ab", 500, 5, 6},        {2, "ab", 500, 6, 1},
      {2, "ab", 501, 0, 0},   {2, "abcdefghi", 1, 0, 0},   {2, "abcdefgh\x80", 1, 0, 0},
      {2, "\xff", 1, 0, 0},   {~std::uint64_t{0}, "", 1, 0, 0}};
  std::vector<Words> memory;
  std::vector<StreamRecord> records;
  for (const Given& one : given) {
    memory.push_back(record_of(one.key, one.tid));
    records.push_back({one.position, memory.back().get(), one.session, one.sequence});
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (std::size_t j = 0; j < records.size(); ++j) {
      EXPECT_EQ(is_before(records[i], records[j]), i < j) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace foedus::gleaner::record_stream_test
