// What a snapshot has not changed since the last one that was installed is passed over by the next
// installation (O18), unless pages are to be dropped.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/storage/array/array_storage.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/storage/hash/hash_storage.h"
#include "foedus-core/storage/masstree/masstree_storage.h"
#include "gleaner/partition_composer.h"
#include "tests/storage/gleaned.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage {
namespace {

constexpr std::uint64_t kRows = 20'000;
constexpr std::uint32_t kPayloadBytes = 100;

storage_meta::StorageMeta meta_of(StorageKind kind) {
  storage_meta::StorageMeta meta;
  meta.kind = kind;
  if (kind == StorageKind::kArray) {
    meta.records = kRows;
    meta.payload_bytes = kPayloadBytes;
  }
  if (kind == StorageKind::kHash) meta.fan_out_bits = 8;
  return meta;
}

Result<page::SnapshotPageId> compose_all(const gleaner::Composition& composition,
                                         gleaner::RecordStream* records) {
  FOEDUS_TRY(const std::vector<gleaner::Subtree> subtrees,
             gleaner::compose(composition, {}, records));
  return gleaner::join(composition, subtrees);
}

class Unchanged : public ::testing::TestWithParam<StorageKind> {
 protected:
  Unchanged() : all_(meta_of(GetParam()), compose_all, install) {}

  static std::string key_of(std::uint64_t i) {
    std::string digits = std::to_string(i);
    return std::string(8 - digits.size(), '0') + digits;
  }
  // Each `step`-th row of [first, end).
  void put(std::uint64_t first, std::uint64_t end, std::uint64_t step = 1) {
    occ::TxnContext& ctx = all_.session(0).ctx();
    for (std::uint64_t i = first; i < end; i += step) {
      const std::string payload(kPayloadBytes, static_cast<char>('a' + ++puts_ % 26));
      all_.session(0).begin();
      Status status;
      switch (GetParam()) {
        case StorageKind::kArray:
          status = array::write_at(ctx, all_.control(), i, 0, payload);
          break;
        case StorageKind::kHash:
          status = hash::write_whole(ctx, all_.control(), hash::WriteMode::kPut, key_of(i), payload);
          break;
        default:
          status = masstree::write_whole(ctx, all_.control(), masstree::WriteMode::kPut, key_of(i),
                                         payload);
      }
      ASSERT_TRUE(status.is_ok()) << status.message();
      ASSERT_TRUE(all_.session(0).commit().is_ok());
    }
  }
  // All rows are in a snapshot, and pages all over are volatile again.
  void make_volatile_again() {
    put(0, kRows);
    EXPECT_GT(all_.glean().pages_dropped, 0u);
    put(0, kRows, 50);
  }
  // How many volatile pages an installation looks at that drops none.
  unsigned looked_at() {
    const std::string place = GetParam() == StorageKind::kArray  ? "array:installed"
                              : GetParam() == StorageKind::kHash ? "hash:installed"
                                                                 : "masstree:install_looked";
    const testing::AtSyncPoint looks(place, [] {}, true);
    const occ::InstallCounts counts = all_.install(0);
    EXPECT_FALSE(counts.may_need_earlier);
    EXPECT_EQ(counts.pages_kept, volatile_pages());
    all_.check_leads();
    return looks.runs();
  }
  std::uint64_t volatile_pages() { return all_.control()->volatile_pages.load_relaxed(); }

  Gleaned all_;
  std::uint64_t puts_ = 0;
};

INSTANTIATE_TEST_SUITE_P(All, Unchanged,
                         ::testing::Values(StorageKind::kArray, StorageKind::kHash,
                                           StorageKind::kMasstree),
                         [](const auto& kind) {
                           return kind.param == StorageKind::kArray  ? "Array"
                                  : kind.param == StorageKind::kHash ? "Hash"
                                                                     : "Masstree";
                         });

TEST_P(Unchanged, what_has_changed_is_looked_at) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  put(5'000, 5'003);
  all_.compose();
  const unsigned looks = looked_at();
  EXPECT_GE(looks, 1u);
  EXPECT_LE(looks, 12u);
  put(9'000, 9'003);
  all_.compose();
  EXPECT_LE(looked_at(), 12u);
}

TEST_P(Unchanged, nothing_is_looked_at_if_nothing_has_changed) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  EXPECT_LE(looked_at(), 1u);
}

// Two snapshots are made, and the second one is installed: what only the first one changed leads to
// pages that are older still.
TEST_P(Unchanged, what_changed_since_the_last_installation_is_looked_at) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  put(0, kRows, 50);
  all_.compose();
  put(5'000, 5'003);
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
}

// What was made volatile leads, beside, to pages that were not: these move to another file.
TEST_P(Unchanged, pages_in_another_file_are_led_to) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  all_.compose_anew();
  EXPECT_GT(looked_at(), 200u);
  all_.remove_old_files();
  put(0, kRows, 7);
}

TEST_P(Unchanged, all_is_looked_at_where_pages_are_dropped) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  put(5'000, 5'003);
  all_.compose();
  EXPECT_EQ(all_.install().pages_kept, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  all_.check_leads();
}

// Enough is dropped somewhere on the way: what is behind has its pointers changed all the same.
TEST_P(Unchanged, what_has_changed_is_looked_at_behind_the_last_page_to_drop) {
  make_volatile_again();
  all_.compose();
  EXPECT_GT(looked_at(), 200u);
  for (int round = 0; round < 5; ++round) {
    put(kRows / 2, kRows, 33);
    put(kRows - 3, kRows);
    all_.compose();
    const occ::InstallCounts counts = all_.install(20);
    EXPECT_FALSE(counts.may_need_earlier);
    EXPECT_GE(counts.pages_dropped, 20u);
    all_.check_leads();
  }
}

}  // namespace
}  // namespace foedus::storage
