// Damage to snapshot files is named, with file and page.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "tests/base/test_seed.h"
#include "tests/tools/foedus/damage_rig.h"

namespace foedus::cli::verify_damage_test {
namespace {

using page::PageKind;

class VerifyDamageTest : public DamageTest {};

constexpr PageKind kKinds[] = {
    PageKind::kArrayInterior, PageKind::kArrayBorder,      PageKind::kHashInterior,
    PageKind::kHashBin,       PageKind::kMasstreeInterior, PageKind::kMasstreeBorder,
    PageKind::kSequential,    PageKind::kSequentialHeads,  PageKind::kOverflow};

TEST_F(VerifyDamageTest, a_bit_that_flipped_is_a_wrong_checksum_in_each_kind_of_page) {
  for (const PageKind kind : kKinds) {
    const DamagedCopy copy(rig_->dir());
    const std::uint64_t page =
        copy.find(kFile, [&](PageBytes& block) { return is_of(block, kind); });
    ASSERT_NE(page, 0u) << static_cast<int>(kind);
    copy.flip(kFile, page * page::kPageBytes + 2'000);
    expect_damage(copy, page, "its checksum is wrong");
  }
}

TEST_F(VerifyDamageTest, two_pages_that_changed_places_are_named) {
  const DamagedCopy copy(rig_->dir());
  // Two pages, of which none leads to the other.
  const std::uint64_t one =
      copy.find(kFile, [](PageBytes& block) { return is_of(block, PageKind::kArrayBorder); });
  const std::uint64_t two = copy.find(kFile, [one](PageBytes& block) {
    return is_of(block, PageKind::kArrayBorder) &&
           page::SnapshotPageId(block.header()->page_id).page() > one;
  });
  const auto of_one = copy.read(kFile, one);
  const auto of_two = copy.read(kFile, two);
  copy.write(kFile, one, of_two.get());
  copy.write(kFile, two, of_one.get());
  const std::string text = "it says that it is page ";
  expect_damage(copy, one, text + std::to_string(two) + " of snapshot-00000001-0");
  expect_damage(copy, two, text + std::to_string(one) + " of snapshot-00000001-0");
}

TEST_F(VerifyDamageTest, a_file_that_ends_early_is_named) {
  const DamagedCopy copy(rig_->dir());
  const std::uint64_t pages = copy.pages_of(kFile);
  std::filesystem::resize_file(copy.path_of(kFile), (pages - 2) * page::kPageBytes + 100);
  expect_damage(copy, pages - 1, "the file ends before or in it");
  EXPECT_TRUE(verify(copy).says(std::string("problem: ") + kFile + ": it has "));
}

TEST_F(VerifyDamageTest, a_file_that_is_longer_harms_nobody) {
  const DamagedCopy copy(rig_->dir());
  std::filesystem::resize_file(copy.path_of(kFile), (copy.pages_of(kFile) + 1) * page::kPageBytes);
  const Answer answer = verify(copy);
  EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.out;
  EXPECT_TRUE(answer.says(std::string("warning: ") + kFile)) << answer.out;
}

TEST_F(VerifyDamageTest, a_file_that_is_lost_is_named) {
  const DamagedCopy copy(rig_->dir());
  std::filesystem::remove(copy.path_of(kFile));
  const Answer answer = verify(copy);
  EXPECT_EQ(answer.status, ExitStatus::kDamaged);
  EXPECT_TRUE(answer.says("snapshot-00000001-0: it is missing, and manifest-00000001 lists it"))
      << answer.out;
}

TEST_F(VerifyDamageTest, a_file_that_is_another_one_by_its_first_page_is_named) {
  for (const std::uint64_t offset : {0, 8, 16, 20, 3'000}) {
    const DamagedCopy copy(rig_->dir());
    copy.flip(kFile, offset);
    expect_damage(copy, 0, "");
  }
}

TEST_F(VerifyDamageTest, a_damaged_manifest_is_named) {
  const DamagedCopy copy(rig_->dir());
  copy.flip(kManifest, 100);
  const Answer answer = verify(copy);
  EXPECT_EQ(answer.status, ExitStatus::kDamaged);
  EXPECT_TRUE(answer.says(std::string("problem: ") + kManifest)) << answer.out;
  EXPECT_EQ(ask(Verb::kSnapshots, copy.dir()).status, ExitStatus::kDamaged);
  EXPECT_EQ(ask(Verb::kInfo, copy.dir()).status, ExitStatus::kDamaged);
  EXPECT_EQ(ask(Verb::kLog, copy.dir()).status, ExitStatus::kFine);
}

// Goal: a wrong count, which would make the gleaner remove or move the wrong pages, is reported.
TEST_F(VerifyDamageTest, wrong_counts_of_live_pages_are_named) {
  const DamagedCopy copy(rig_->dir());
  std::ifstream in(copy.path_of(kManifest), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  snapshot::Manifest manifest = snapshot::parse_manifest(bytes, kManifest).value();
  manifest.storages.front().live.front().pages -= 1;
  manifest.files.front().live_pages -= 1;
  copy.write_bytes(kManifest, 0, snapshot::encode_manifest(manifest).value());
  const Answer answer = verify(copy);
  EXPECT_EQ(answer.status, ExitStatus::kDamaged);
  EXPECT_TRUE(answer.says("its root leads to pages snapshot-00000001-0: ")) << answer.out;
}

TEST_F(VerifyDamageTest, a_manifest_of_another_version_is_refused) {
  const DamagedCopy copy(rig_->dir());
  std::string bytes(std::filesystem::file_size(copy.path_of(kManifest)), '\0');
  std::ifstream(copy.path_of(kManifest), std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes[8] = 9;
  const std::uint32_t crc = snapshot::checksum_of(bytes.data(), bytes.size());
  std::memcpy(bytes.data() + snapshot::kChecksumOffset, &crc, sizeof(crc));
  copy.write_bytes(kManifest, 0, bytes);
  for (const Verb verb : {Verb::kVerify, Verb::kSnapshots, Verb::kInfo}) {
    const Answer answer = ask(verb, copy.dir());
    EXPECT_EQ(answer.status, ExitStatus::kCannotRead) << answer.out;
    EXPECT_NE(answer.err.find("version 9"), answer.err.npos) << answer.err;
  }
}

TEST_F(VerifyDamageTest, a_file_of_no_manifest_is_a_warning) {
  const DamagedCopy copy(rig_->dir());
  std::filesystem::copy_file(copy.path_of(kFile), copy.path_of("snapshot-00000002-0"));
  const Answer answer = verify(copy);
  EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.out;
  EXPECT_TRUE(answer.says("warning: snapshot-00000002-0: no manifest lists it")) << answer.out;
}

// Goal: a page that the database refuses is reported. Method: a fault that only the database's own
// check of pages finds.
TEST_F(VerifyDamageTest, a_page_that_the_database_would_refuse_is_named) {
  struct Forged {
    PageKind kind;
    const char* what;
    void (*forge)(PageBytes& block);
  };
  const Forged pages[] = {
      {PageKind::kOverflow, "would refuse it: it was born with other keys",
       [](PageBytes& block) { block.header()->birth_version += 1; }},
      {PageKind::kArrayInterior, "would refuse it: it says that records were purged from it",
       [](PageBytes& block) { block.header()->purged_tid = page::Tid(Epoch(1), 1).word(); }},
      {PageKind::kMasstreeBorder, "would refuse it: it has flags",
       [](PageBytes& block) { block.header()->flags = 1; }},
      {PageKind::kHashBin, "would refuse it: a record with an impossible lock or TID",
       [](PageBytes& block) {
         auto& bin = *block.as<storage::hash::HashBinPage>();
         bin.record(bin.slot(0))->lock.store_relaxed(1);
       }}};
  for (const Forged& forged : pages) {
    const DamagedCopy copy(rig_->dir());
    const std::uint64_t page =
        copy.find(kFile, [&](PageBytes& block) { return is_of(block, forged.kind); });
    const auto block = copy.read(kFile, page);
    forged.forge(*block);
    copy.write(kFile, page, block.get());
    expect_damage(copy, page, forged.what);
  }
}

// Goal: a walk ends and trusts no byte of a page (W2, W3). Method: random bytes in random pages,
// several at once, with the right checksums. The findings are not compared; after each page is
// restored the copy is fine again.
TEST_F(VerifyDamageTest, no_bytes_of_a_page_can_mislead_the_walk) {
  CliRig rig;
  rig.write(0, 1'500);
  rig.glean();
  base::Random random(testing::test_seed(1));
  const DamagedCopy copy(rig.dir());
  const std::uint64_t pages = copy.pages_of(kFile);
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t page = 1 + random.below(pages - 1);
    const auto intact = copy.read(kFile, page);
    auto damaged = std::make_unique<PageBytes>(*intact);
    for (std::uint64_t j = 0; j <= random.below(4); ++j) {
      const std::uint64_t begin = random.below(2) == 0 ? 16 : 64;
      const std::uint64_t offset =
          begin + random.below(random.below(2) == 0 ? 128 : page::kPageBytes - begin);
      damaged->bytes[offset] = static_cast<char>(random.below(256));
    }
    copy.write(kFile, page, damaged.get());
    const Answer answer = verify(copy);
    EXPECT_NE(answer.status, ExitStatus::kCannotRead) << answer.err;
    copy.write(kFile, page, intact.get());
  }
  EXPECT_EQ(verify(copy).status, ExitStatus::kFine);
}

}  // namespace
}  // namespace foedus::cli::verify_damage_test
