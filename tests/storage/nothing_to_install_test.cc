// A storage of which nothing was ever dropped leads to no snapshot, so one is installed without
// a look at its pages; one of which something was dropped is looked at, whatever is dropped.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "foedus-core/storage/array/array_storage.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/storage/hash/hash_storage.h"
#include "foedus-core/storage/masstree/masstree_storage.h"
#include "foedus-core/storage/sequential/sequential_storage.h"
#include "gleaner/partition_composer.h"
#include "tests/storage/gleaned.h"

namespace foedus::storage {
namespace {

constexpr std::uint64_t kRows = 3'000;
constexpr std::uint32_t kPayloadBytes = 100;

storage_meta::StorageMeta meta_of(StorageKind kind) {
  storage_meta::StorageMeta meta;
  meta.kind = kind;
  if (kind == StorageKind::kArray) {
    meta.records = kRows;
    meta.payload_bytes = kPayloadBytes;
  }
  if (kind == StorageKind::kHash) meta.fan_out_bits = 2;
  return meta;
}

Result<page::SnapshotPageId> compose_all(const gleaner::Composition& composition,
                                         gleaner::RecordStream* records) {
  FOEDUS_TRY(const std::vector<gleaner::Subtree> subtrees,
             gleaner::compose(composition, {}, records));
  return gleaner::join(composition, subtrees);
}

class NothingToInstall : public ::testing::TestWithParam<StorageKind> {
 protected:
  NothingToInstall() : all_(meta_of(GetParam()), compose_all, install) {}

  static std::string key_of(std::uint64_t i) { return "key " + std::to_string(i); }
  static std::string payload_of(std::uint64_t i) {
    std::string payload = std::to_string(i);
    payload.resize(kPayloadBytes, '.');
    return payload;
  }

  void put(std::uint64_t first, std::uint64_t end) {
    occ::TxnContext& ctx = all_.session(0).ctx();
    all_.session(0).begin();
    for (std::uint64_t i = first; i < end; ++i) {
      Status status;
      switch (GetParam()) {
        case StorageKind::kArray:
          status = array::write_at(ctx, all_.control(), i, 0, payload_of(i));
          break;
        case StorageKind::kHash:
          status = hash::write_whole(ctx, all_.control(), hash::WriteMode::kPut, key_of(i),
                                     payload_of(i));
          break;
        default:
          status = masstree::write_whole(ctx, all_.control(), masstree::WriteMode::kPut, key_of(i),
                                         payload_of(i));
      }
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
    ASSERT_TRUE(all_.session(0).commit().is_ok());
  }
  std::uint64_t volatile_pages() { return all_.control()->volatile_pages.load_relaxed(); }

  Gleaned all_;
};

INSTANTIATE_TEST_SUITE_P(All, NothingToInstall,
                         ::testing::Values(StorageKind::kArray, StorageKind::kHash,
                                           StorageKind::kMasstree),
                         [](const auto& kind) {
                           return kind.param == StorageKind::kArray  ? "Array"
                                  : kind.param == StorageKind::kHash ? "Hash"
                                                                     : "Masstree";
                         });

TEST_P(NothingToInstall, what_is_volatile_alone_is_not_looked_at) {
  for (std::uint64_t glean = 0; glean < 3; ++glean) {
    put(glean, kRows);
    all_.compose();
    const std::uint64_t reads = all_.pages().reads();
    const occ::InstallCounts counts = all_.install(0);
    EXPECT_EQ(all_.pages().reads(), reads);
    EXPECT_EQ(counts.pages_kept, volatile_pages());
    EXPECT_EQ(counts.pages_dropped, 0u);
    EXPECT_FALSE(counts.may_need_earlier);
    all_.check_leads();
  }
  // And all of it can be dropped afterwards.
  EXPECT_EQ(all_.install().pages_kept, 0u);
  all_.check_leads();
}

// Goal: O16. Method: all is dropped, some of it is made volatile again, and each page is written to
// another file: the first snapshot's are gone when the second one was installed.
TEST_P(NothingToInstall, what_leads_to_a_snapshot_leads_to_the_next_one) {
  put(0, kRows);
  EXPECT_GT(all_.glean().pages_dropped, 0u);
  put(0, 10);
  EXPECT_GT(volatile_pages(), 0u);
  all_.compose_anew();
  EXPECT_FALSE(all_.install(0).may_need_earlier);
  all_.check_leads();
  all_.remove_old_files();
  put(0, kRows);
  all_.compose();
  EXPECT_FALSE(all_.install(0).may_need_earlier);
  all_.check_leads();
}

// Volatile pages of a sequential storage are dropped even if an installation is to drop none.
TEST(NothingToInstallSequential, pages_of_a_sequential_storage_go) {
  Gleaned all(meta_of(StorageKind::kSequential), compose_all, install);
  for (std::uint64_t i = 0; i < 10; ++i) {
    all.session(0).begin();
    for (int row = 0; row < 100; ++row) {
      const std::string payload(kPayloadBytes, static_cast<char>('a' + i));
      ASSERT_TRUE(sequential::append(all.session(0).ctx(), all.control(), payload).is_ok());
    }
    ASSERT_TRUE(all.session(0).commit().is_ok());
  }
  all.compose();
  EXPECT_GT(all.install(0).pages_dropped, 0u);
}

}  // namespace
}  // namespace foedus::storage
