// Snapshots that several reducers and composers made, each in its own file, are whole as well.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "foedus-core/engine/closed_directory.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "gleaner/compose/array/composer.h"
#include "gleaner/compose/hash/composer.h"
#include "gleaner/glean.h"
#include "tests/tools/foedus/cli_rig.h"

namespace foedus::cli::verify_partitioned_test {
namespace {

constexpr std::uint32_t kReducers = 3;

// Returns where the second and the third partition begin; `round` changes it, so that old pages are
// divided.
std::vector<std::uint64_t> boundaries_of(const storage_meta::StorageMeta& meta,
                                         std::uint32_t round) {
  std::vector<std::uint64_t> boundaries;
  for (std::uint64_t i = 1; i < kReducers; ++i) {
    const std::uint64_t hash = ~std::uint64_t{0} / kReducers * i + (std::uint64_t{round} << 58);
    const std::string slice = std::to_string(3 * i - 1 + round % 3) + "5";
    switch (meta.kind) {
      case StorageKind::kArray:
        boundaries.push_back(gleaner::align_array_boundary(meta, kArrayRecords / 2 * i));
        break;
      case StorageKind::kHash:
        boundaries.push_back(gleaner::align_hash_boundary(meta, hash));
        break;
      case StorageKind::kMasstree:
        boundaries.push_back(storage::masstree::slice_of(slice));
        break;
      case StorageKind::kSequential:
        boundaries.push_back(~std::uint64_t{0});  // the first partition has all
        break;
    }
  }
  return boundaries;
}

void glean_partitioned(const std::string& dir, std::uint32_t round) {
  const auto directory = testing::must(engine::ClosedDirectory::open({dir}, kReducers, {}));
  engine::GleanOrder order = directory->order();
  order.mappers = 1;
  order.reducer_bytes = 1u << 20;
  std::vector<gleaner::StoragePartitions> partitions;
  for (const storage_meta::StorageMeta& meta : order.storages) {
    partitions.push_back({meta.id, meta.kind, boundaries_of(meta, round)});
  }
  gleaner::Glean glean(order);
  testing::must(glean.sort(testing::must(
      gleaner::PartitionTable::make(kReducers, std::move(partitions), order.next_storage_id))));
  GleanReport report;
  const auto manifest = glean.compose(&report);
  ASSERT_TRUE(manifest.is_ok()) << manifest.status().message();
}

TEST(VerifyPartitionedTest, roots_over_the_files_of_several_composers_are_fine) {
  CliRig rig;
  for (std::uint32_t round = 0; round < 5; ++round) {
    rig.write(round, 4'000 + 2'000 * round);
    glean_partitioned(rig.dir(), round);
    const Answer answer = ask(Verb::kVerify, rig.dir());
    ASSERT_EQ(answer.status, ExitStatus::kFine) << answer.out << answer.err;
    const Model& model = rig.model();
    for (const std::string& text :
         {"\"tree\": masstree; " + std::to_string(model.tree.size()) + " records",
          "at first; " + std::to_string(model.hash.size()) + " records",
          "\"list\": sequential; " + std::to_string(model.appended) + " records",
          "bytes; " + std::to_string(model.array.size()) + " records written to"}) {
      EXPECT_TRUE(answer.says(text)) << text << '\n' << answer.out;
    }
  }
}

}  // namespace
}  // namespace foedus::cli::verify_partitioned_test
