#pragma once
// One hash storage and sessions, with short calls for tests.

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/hash/storage.h"
#include "tests/storage/storages.h"

namespace foedus::storage::hash {

class HashTest : public ::testing::Test {
 protected:
  explicit HashTest(const StoragesOptions& options = {}) : all_(options) {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kHash;
    meta.fan_out_bits = 2;
    control_ = all_.make(meta);
  }
  void TearDown() override { verify_trie(all_.pool(), control_); }

  std::optional<std::string> get(std::uint32_t session, std::string_view key) {
    const WholeRead read = read_whole(
        [&](occ::ReadRange* range) { return hash::get(all_.ctx(session), control_, key, range); });
    EXPECT_TRUE(read.status.is_ok() || read.status.code() == ErrorCode::kNotFound)
        << read.status.message();
    return read.status.is_ok() ? std::optional(read.payload) : std::nullopt;
  }
  Status put(std::uint32_t session, std::string_view key, std::string_view payload,
             WriteMode mode = WriteMode::kPut) {
    return write_whole(all_.ctx(session), control_, mode, key, payload);
  }
  // Puts a row in a transaction of its own.
  void put_now(std::uint32_t session, std::string_view key, std::string_view payload) {
    all_.session(session).begin();
    EXPECT_TRUE(put(session, key, payload).is_ok());
    EXPECT_TRUE(all_.session(session).commit().is_ok());
  }
  void erase_now(std::uint32_t session, std::string_view key) {
    all_.session(session).begin();
    EXPECT_TRUE(erase(all_.ctx(session), control_, key).is_ok());
    EXPECT_TRUE(all_.session(session).commit().is_ok());
  }
  std::optional<std::string> get_now(std::string_view key) {
    all_.session(0).begin();
    const std::optional<std::string> payload = get(0, key);
    EXPECT_TRUE(all_.session(0).commit().is_ok());
    return payload;
  }
  Statistics statistics() { return verify_trie(all_.pool(), control_); }

  Storages all_;
  occ::StorageControl* control_ = nullptr;
};

inline std::string key_number(std::uint64_t i) { return "key" + std::to_string(i); }

// Returns the seed of the environment, or one that differs from run to run.
inline std::uint64_t test_seed() {
  const char* const given = std::getenv("FOEDUS_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : base::system_seed();
}

}  // namespace foedus::storage::hash
