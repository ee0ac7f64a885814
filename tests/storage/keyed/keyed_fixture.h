#pragma once
// One storage with keys, of the kind that is the test's parameter, and sessions.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "foedus-core/storage/kinds.h"
#include "tests/storage/storages.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::keyed {

struct Counts {
  std::uint64_t records = 0;  // present
  std::uint64_t deleted_records = 0;
  std::uint64_t overflow_pages = 0;
};

class KeyedTest : public ::testing::TestWithParam<StorageKind> {
 protected:
  explicit KeyedTest(const StoragesOptions& options = {}) : all_(options) {
    storage_meta::StorageMeta meta;
    meta.kind = GetParam();
    meta.fan_out_bits = 2;
    control_ = all_.make(meta);
  }
  void TearDown() override { verify(); }

  // Checks the rules of the storage's pages, and counts.
  Counts verify() {
    if (GetParam() == StorageKind::kHash) {
      const hash::Statistics counted = hash::verify_trie(all_.pool(), control_);
      return {counted.records, counted.deleted_records, counted.overflow_pages};
    }
    const masstree::Statistics counted = masstree::verify_tree(all_.pool(), control_);
    return {counted.records, counted.deleted_records, counted.overflow_pages};
  }

  occ::TxnContext& begin(std::uint32_t session) {
    all_.session(session).begin();
    return all_.ctx(session);
  }
  void expect_commit(std::uint32_t session) {
    const Status status = all_.session(session).commit();
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  void expect_conflict(std::uint32_t session, ConflictReason reason) {
    const Status status = all_.session(session).commit();
    EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
    EXPECT_EQ(status.conflict_reason(), reason) << status.message();
  }

  Status put(std::uint32_t session, std::string_view key, std::string_view payload,
             WriteMode mode = WriteMode::kPut) {
    return visit_keyed(GetParam(), [&](auto kind) {
      return kind.write_whole(all_.ctx(session), control_, mode, key, payload);
    });
  }
  Status write_at(std::uint32_t session, std::string_view key, std::uint32_t offset,
                  std::string_view part) {
    return storage::write_at(all_.ctx(session), control_, key, offset, part);
  }
  Status increment(std::uint32_t session, std::string_view key, std::uint32_t offset,
                   std::int64_t delta) {
    return storage::increment(all_.ctx(session), control_, key, offset, delta);
  }
  Status erase(std::uint32_t session, std::string_view key) {
    return visit_keyed(GetParam(),
                       [&](auto kind) { return kind.erase(all_.ctx(session), control_, key); });
  }
  Status get_range(std::uint32_t session, std::string_view key, occ::ReadRange* range) {
    return visit_keyed(
        GetParam(), [&](auto kind) { return kind.get(all_.ctx(session), control_, key, range); });
  }
  Status get_for_update(std::uint32_t session, std::string_view key) {
    occ::ReadRange nothing;
    return visit_keyed(GetParam(), [&](auto kind) {
      return kind.get_for_update(all_.ctx(session), control_, key, &nothing);
    });
  }
  std::optional<std::string> get(std::uint32_t session, std::string_view key) {
    const WholeRead read =
        read_whole([&](occ::ReadRange* range) { return get_range(session, key, range); });
    EXPECT_TRUE(read.status.is_ok() || read.status.code() == ErrorCode::kNotFound)
        << read.status.message();
    return read.status.is_ok() ? std::optional(read.payload) : std::nullopt;
  }

  // The calls with _now run in a transaction of their own.
  void put_now(std::uint32_t session, std::string_view key, std::string_view payload) {
    begin(session);
    EXPECT_TRUE(put(session, key, payload).is_ok());
    expect_commit(session);
  }
  void erase_now(std::uint32_t session, std::string_view key) {
    begin(session);
    EXPECT_TRUE(erase(session, key).is_ok());
    expect_commit(session);
  }
  std::optional<std::string> get_now(std::string_view key) {
    begin(0);
    const std::optional<std::string> payload = get(0, key);
    expect_commit(0);
    return payload;
  }

  Storages all_;
  occ::StorageControl* control_ = nullptr;
};

inline std::string name_of_kind(const ::testing::TestParamInfo<StorageKind>& info) {
  return std::string(to_string(info.param));
}

inline std::string key_number(std::uint64_t i) { return "key" + std::to_string(i); }

}  // namespace foedus::storage::keyed
