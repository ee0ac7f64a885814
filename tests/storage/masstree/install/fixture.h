#pragma once
// A Master-Tree that gleans when a test asks for it, with a model of its rows.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/storage/masstree/install/install.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "foedus-core/storage/masstree/storage.h"
#include "tests/storage/gleaned.h"
#include "tests/storage/masstree/contents.h"

namespace foedus::storage::masstree {

class MasstreeInstallTest : public ::testing::Test {
 protected:
  explicit MasstreeInstallTest(std::uint32_t installers = 1)
      : all_(meta_of(), compose_all, install, 4, {.installers = installers}) {}
  void TearDown() override {
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (all_.session(i).ctx().is_open()) all_.session(i).rollback();
    }
  }

  // Returns 8 digits: one slice.
  static std::string key_of(std::uint64_t i) {
    char text[24];
    std::snprintf(text, sizeof(text), "%08llu", static_cast<unsigned long long>(i));
    return text;
  }
  static std::string payload_of(std::uint64_t i) {
    return std::string(20 + i % 60, static_cast<char>('a' + i % 26));
  }

  void begin(std::uint32_t session) { all_.session(session).begin(); }
  Status commit(std::uint32_t session) { return all_.session(session).commit(); }
  Status write(std::uint32_t session, std::string_view key, std::string_view payload,
               WriteMode mode = WriteMode::kPut) {
    return write_whole(all_.session(session).ctx(), all_.control(), mode, key, payload);
  }
  // Puts a row, in a transaction of its own, and in rows_.
  void put(const std::string& key, const std::string& payload, std::uint32_t session = 0) {
    begin(session);
    ASSERT_TRUE(write(session, key, payload).is_ok());
    const Status status = commit(session);
    ASSERT_TRUE(status.is_ok()) << status.message();
    rows_[key] = payload;
  }
  void erase(const std::string& key, std::uint32_t session = 0) {
    begin(session);
    ASSERT_TRUE(masstree::erase(all_.session(session).ctx(), all_.control(), key).is_ok());
    const Status status = commit(session);
    ASSERT_TRUE(status.is_ok()) << status.message();
    rows_.erase(key);
  }
  // Puts keys [first, last) in a random order.
  void load(std::uint64_t first, std::uint64_t last) {
    std::uint64_t count = last - first;
    std::uint64_t step = 7919;
    while (count % step == 0) step += 2;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = first + i * step % count;
      ASSERT_NO_FATAL_FAILURE(put(key_of(at), payload_of(at)));
    }
  }

  std::uint64_t volatile_pages() { return all_.control()->volatile_pages.load_relaxed(); }
  // Checks that the tree has the rows of the model.
  void check() {
    const MasstreeContents contents(&all_);
    ASSERT_EQ(contents.rows.size(), rows_.size());
    ASSERT_TRUE(contents.rows == rows_);
  }
  InstallCounts glean_and_check() {
    const std::uint64_t before = MasstreeContents(&all_).volatile_pages();
    const InstallCounts counts = all_.glean();
    const MasstreeContents contents(&all_);
    EXPECT_TRUE(contents.rows == rows_);
    EXPECT_EQ(counts.pages_kept, contents.borders + contents.interiors);
    std::printf("volatile pages %llu -> %llu, %llu dropped, %llu cold\n",
                static_cast<unsigned long long>(before),
                static_cast<unsigned long long>(contents.volatile_pages()),
                static_cast<unsigned long long>(counts.pages_dropped),
                static_cast<unsigned long long>(contents.cold_pages));
    return counts;
  }

  Gleaned all_;
  std::map<std::string, std::string> rows_;

 private:
  static storage_meta::StorageMeta meta_of() {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kMasstree;
    return meta;
  }
};

}  // namespace foedus::storage::masstree
