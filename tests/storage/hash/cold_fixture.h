#pragma once
// A hash storage that gleans when a test asks for it, with short calls for tests.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/storage/hash/install/install.h"
#include "foedus-core/storage/hash/storage.h"
#include "gleaner/compose/hash/composer.h"
#include "tests/storage/gleaned.h"

namespace foedus::storage::hash {

class HashColdTest : public ::testing::Test {
 protected:
  static constexpr unsigned kRows = 4000;

  explicit HashColdTest(std::uint32_t fan_out_bits = 2)
      : all_(
            meta_of(fan_out_bits),
            [this](const gleaner::Composition& composition, gleaner::RecordStream* records) {
              return compose(composition, records);
            },
            install) {}
  void TearDown() override {
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (all_.session(i).ctx().is_open()) all_.session(i).rollback();
    }
    verify_trie(all_.all().pool(), all_.control());
  }

  static std::string key_of(std::uint64_t i) { return "key" + std::to_string(i); }
  static std::string payload_of(std::uint64_t i) {
    return std::string(20 + i % 60, static_cast<char>('a' + i % 26));
  }

  void begin(std::uint32_t session) { all_.session(session).begin(); }
  Status commit(std::uint32_t session) { return all_.session(session).commit(); }
  WholeRead read(std::uint32_t session, std::string_view key) {
    return read_whole([&](occ::ReadRange* range) {
      return hash::get(all_.session(session).ctx(), all_.control(), key, range);
    });
  }
  std::optional<std::string> get(std::uint32_t session, std::string_view key) {
    const WholeRead got = read(session, key);
    EXPECT_TRUE(got.status.is_ok() || got.status.code() == ErrorCode::kNotFound)
        << got.status.message();
    return got.status.is_ok() ? std::optional(got.payload) : std::nullopt;
  }
  Status put(std::uint32_t session, std::string_view key, std::string_view payload,
             WriteMode mode = WriteMode::kPut) {
    return write_whole(all_.session(session).ctx(), all_.control(), mode, key, payload);
  }
  Status erase(std::uint32_t session, std::string_view key) {
    return hash::erase(all_.session(session).ctx(), all_.control(), key);
  }
  // The calls with _alone run in a transaction of their own.
  void put_alone(std::uint32_t session, std::string_view key, std::string_view payload) {
    begin(session);
    ASSERT_TRUE(put(session, key, payload).is_ok());
    const Status status = commit(session);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  void erase_alone(std::uint32_t session, std::string_view key) {
    begin(session);
    ASSERT_TRUE(erase(session, key).is_ok());
    const Status status = commit(session);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  std::optional<std::string> get_alone(std::uint32_t session, std::string_view key) {
    begin(session);
    const std::optional<std::string> payload = get(session, key);
    const Status status = commit(session);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return payload;
  }
  void load(unsigned rows = kRows) {
    begin(0);
    for (unsigned i = 0; i < rows; ++i) ASSERT_TRUE(put(0, key_of(i), payload_of(i)).is_ok());
    const Status status = commit(0);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  void check(std::uint32_t session, unsigned rows = kRows) {
    for (unsigned i = 0; i < rows; ++i) ASSERT_EQ(get_alone(session, key_of(i)), payload_of(i));
  }
  // Lets the next snapshots be composed in two partitions, the second from `position` on; 0: in
  // one.
  void set_boundary(std::uint64_t position) { boundary_ = position; }
  std::uint64_t volatile_pages() { return all_.control()->volatile_pages.load_relaxed(); }

  Gleaned all_;

 private:
  static storage_meta::StorageMeta meta_of(std::uint32_t fan_out_bits) {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kHash;
    meta.fan_out_bits = fan_out_bits;
    return meta;
  }
  Result<page::SnapshotPageId> compose(const gleaner::Composition& composition,
                                       gleaner::RecordStream* records) {
    std::vector<gleaner::PositionRange> ranges(1);
    if (boundary_ != 0) ranges = {{0, boundary_ - 1}, {boundary_, ranges[0].last}};
    std::vector<gleaner::Subtree> subtrees;
    for (const gleaner::PositionRange& range : ranges) {
      static_cast<gleaner::ListStream*>(records)->rewind(range);
      FOEDUS_TRY(const auto some, gleaner::compose_hash(composition, range, records));
      subtrees.insert(subtrees.end(), some.begin(), some.end());
    }
    return gleaner::join_hash(composition, subtrees);
  }

  std::uint64_t boundary_ = 0;
};

}  // namespace foedus::storage::hash
