#pragma once
// A Master-Tree that gleans when a test asks for it, with short calls for tests.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/storage/masstree/scan/cursor.h"
#include "foedus-core/storage/masstree/search/cold.h"
#include "foedus-core/storage/masstree/storage.h"
#include "tests/storage/gleaned.h"
#include "tests/storage/masstree/fixture.h"
#include "tests/storage/masstree/simple_install.h"

namespace foedus::storage::masstree {

using testing::AtSyncPoint;

class MasstreeColdTest : public ::testing::Test {
 protected:
  static constexpr unsigned kRows = 20'000;  // two levels of interior pages
  // The cache holds all pages of all snapshots of a test, so no epoch passes in a scan.
  static constexpr std::uint64_t kCacheBytes = 16u << 20;
  using Row = std::pair<std::string, std::string>;

  explicit MasstreeColdTest(Gleaned::Install install = SimpleInstall::install)
      : all_(meta_of(), compose_all, std::move(install), 4, {.cache_bytes = kCacheBytes}) {}
  void TearDown() override {
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (all_.session(i).ctx().is_open()) all_.session(i).rollback();
    }
    verify_tree(all_.all().pool(), all_.control());
  }

  // Returns keys of one slice, in the order of their numbers.
  static std::string key_of(std::uint64_t i) {
    std::string key(8, '\0');
    put_slice(i * 16, key.data());
    return key;
  }
  // Returns keys of which 50 each share a layer.
  static std::string deep_key(std::uint64_t i) { return key_of(i / 50) + "-" + key_of(i % 50); }
  static std::string payload_of(std::uint64_t i) {
    return std::string(20 + i % 60, static_cast<char>('a' + i % 26));
  }

  occ::TxnContext& ctx(std::uint32_t session) { return all_.session(session).ctx(); }
  void begin(std::uint32_t session) { all_.session(session).begin(); }
  Status commit(std::uint32_t session) { return all_.session(session).commit(); }
  void expect_commit(std::uint32_t session) {
    const Status status = commit(session);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  void expect_conflict(std::uint32_t session, ConflictReason reason) {
    const Status status = commit(session);
    EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
    EXPECT_EQ(status.conflict_reason(), reason) << status.message();
  }

  WholeRead read(std::uint32_t session, std::string_view key) {
    return read_whole([&](occ::ReadRange* range) {
      return masstree::get(ctx(session), all_.control(), key, range);
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
    return write_whole(ctx(session), all_.control(), mode, key, payload);
  }
  Status erase(std::uint32_t session, std::string_view key) {
    return masstree::erase(ctx(session), all_.control(), key);
  }
  std::vector<Row> scan(std::uint32_t session, std::string_view low, std::string_view high,
                        bool reverse = false) {
    Cursor cursor;
    cursor.open(ctx(session), all_.control(), low, high, reverse);
    std::vector<Row> rows;
    for (;;) {
      const Status status = cursor.next();
      EXPECT_TRUE(status.is_ok()) << status.message();
      if (!status.is_ok() || cursor.at_end()) return rows;
      rows.emplace_back(cursor.key(), cursor.payload());
    }
  }
  // The calls with _alone run in a transaction of their own.
  void put_alone(std::uint32_t session, std::string_view key, std::string_view payload) {
    begin(session);
    const Status put_status = put(session, key, payload);
    ASSERT_TRUE(put_status.is_ok()) << put_status.message();
    expect_commit(session);
  }
  void erase_alone(std::uint32_t session, std::string_view key) {
    begin(session);
    ASSERT_TRUE(erase(session, key).is_ok());
    expect_commit(session);
  }
  std::optional<std::string> get_alone(std::uint32_t session, std::string_view key) {
    begin(session);
    const std::optional<std::string> payload = get(session, key);
    expect_commit(session);
    return payload;
  }
  template <typename KeyOf>
  void load(unsigned rows, KeyOf&& key) {
    for (unsigned i = 0; i < rows;) {
      begin(0);
      for (const unsigned end = std::min(rows, i + 1000); i < end; ++i) {
        ASSERT_TRUE(put(0, key(i), payload_of(i)).is_ok());
      }
      expect_commit(0);
    }
  }
  template <typename KeyOf>
  void check(std::uint32_t session, unsigned rows, KeyOf&& key) {
    for (unsigned i = 0; i < rows;) {
      all_.all().pass_epochs();  // so that the cache can reuse its frames
      begin(session);
      for (const unsigned end = std::min(rows, i + 1000); i < end; ++i) {
        ASSERT_EQ(get(session, key(i)), payload_of(i)) << i;
      }
      expect_commit(session);
    }
  }
  std::uint64_t volatile_pages() { return all_.control()->volatile_pages.load_relaxed(); }
  // Gleans, and checks that no page stays volatile.
  void glean_all() {
    EXPECT_EQ(all_.glean().pages_kept, 0u);
    EXPECT_EQ(volatile_pages(), 0u);
  }

  // Gleans while copies exist that no session can reach yet.
  void glean_all_but_copies() { EXPECT_EQ(all_.glean().pages_kept, 0u); }

  Gleaned all_;

 private:
  static storage_meta::StorageMeta meta_of() {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kMasstree;
    return meta;
  }
};

}  // namespace foedus::storage::masstree
