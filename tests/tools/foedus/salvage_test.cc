// Salvage of damaged snapshots: what is lost is what the damage covers, and is named.

#include <gtest/gtest.h>

#include <fstream>

#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"
#include "tests/tools/foedus/damage_rig.h"
#include "tests/tools/foedus/data_rig.h"
#include "tests/tools/foedus/salvage_rig.h"

namespace foedus::cli::salvage_test {
namespace {

using page::PageKind;

// All pages of the database are of its one snapshot. Each test damages a copy.
class SalvageTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<testing::TestDirectory>();
    rig_ = std::make_unique<SalvageRig>(directory_->path());
    rig_->open();
    rig_->write(400);
    rig_->glean();
    rig_->close();
  }
  static void TearDownTestSuite() {
    rig_.reset();
    directory_.reset();
  }
  static std::vector<std::string> files_of(const std::string& dir, std::string_view prefix) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(prefix)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  struct Place {
    std::string file;
    std::uint64_t page = 0;
    std::size_t rows = 0;  // in the page
    PageKind kind{};
  };
  // Returns the first page of a kind, of those that lead to no other one.
  static Place find(const DamagedCopy& copy, PageKind kind) {
    for (const std::string& file : files_of(copy.dir(), "snapshot-")) {
      for (std::uint64_t page = 1; page < copy.pages_of(file); ++page) {
        const auto block = copy.read(file, page);
        if (block->header()->kind != kind) continue;
        const auto rows = rows_in(block.get());
        if (rows != 0) return {file, page, rows, kind};
      }
    }
    ADD_FAILURE() << "no page of kind " << static_cast<int>(kind);
    return {};
  }
  // Returns the number of rows in a page; 1 for one that leads to others or is part of a row; 0 if
  // it does not suit.
  static std::size_t rows_in(PageBytes* block) {
    switch (block->header()->kind) {
      case PageKind::kMasstreeBorder: {
        const page::PageVersion version = block->header()->load_version();
        return version.layers() == 0 && block->header()->layer == 0 ? version.keys() : 0;
      }
      case PageKind::kHashBin: {
        auto& bin = *block->as<storage::hash::HashBinPage>();
        const bool is_alone = bin.next_page.load_relaxed() == 0 && bin.head == bin.header.page_id;
        return is_alone ? bin.load_count() : 0;
      }
      case PageKind::kArrayBorder:
        return storage::array::shape_of(40).records_per_page;
      case PageKind::kSequential:
        return block->as<storage::sequential::SequentialSnapshotPage>()->record_count;
      default:
        return 1;
    }
  }
  static std::size_t count_of_rows(const Rows& rows) {
    std::size_t count = 0;
    for (const auto& [storage, keyed] : rows.keyed) count += keyed.size();
    return count;
  }

  inline static std::unique_ptr<testing::TestDirectory> directory_;
  inline static std::unique_ptr<SalvageRig> rig_;
};

TEST_F(SalvageTest, without_damage_it_is_what_dump_writes_and_changes_nothing) {
  const DamagedCopy copy(rig_->dir());
  const auto before = contents_of(copy.dir());
  const testing::TestDirectory out;
  for (const char* const format : {"jsonl", "csv", "binary"}) {
    Command command;
    command.verb = Verb::kSalvage;
    command.directories.dir = copy.dir();
    command.format = format;
    command.file = out.path() + "/" + format;
    const Answer answer = ask(command);
    EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.out << answer.err;
    EXPECT_TRUE(answer.says("everything was readable")) << answer.out;
  }
  EXPECT_TRUE(contents_of(copy.dir()) == before);
  for (const char* const format : {"jsonl", "csv", "binary"}) {
    std::ifstream file(out.path() + "/" + format, std::ios::binary);
    std::ostringstream written;
    written << file.rdbuf();
    EXPECT_TRUE(written.str() == DataRig(copy.dir()).dump(format).out) << format;
  }
}

TEST_F(SalvageTest, storages_that_the_log_creates_and_drops_are_those_of_dump) {
  const testing::TestDirectory directory;
  Options options = testing::small_options(directory.path());
  for (const bool is_gleaned : {false, true}) {
    {
      Database db = testing::must(Database::open(options));
      const Masstree first = testing::must(db.open_masstree(is_gleaned ? "c" : "a"));
      const Hash second = testing::must(db.open_hash(is_gleaned ? "d" : "b"));
      testing::must(db.transact([&](Txn& txn) -> Status {
        FOEDUS_CHECK(txn.put(first, "key", "value"));
        return txn.put(second, "key", "value");
      }));
      testing::must(db.drop_storage(is_gleaned ? "a" : "b"));
      if (is_gleaned) testing::must(db.open_hash("a"));
      testing::must(db.close());
    }
    const Salvaged salvaged = salvage(directory.path());
    EXPECT_EQ(salvaged.lines(), "");
    EXPECT_TRUE(salvaged.dump == DataRig(directory.path()).dump("binary").out);
    Database db = testing::must(Database::open(options));
    testing::must(db.glean());
    testing::must(db.close());
  }
}

TEST_F(SalvageTest, a_page_that_is_damaged_costs_exactly_its_rows) {
  const Salvaged all = salvage(rig_->dir());
  for (const PageKind kind : {PageKind::kMasstreeBorder, PageKind::kHashBin, PageKind::kArrayBorder,
                              PageKind::kSequential, PageKind::kOverflow}) {
    const DamagedCopy copy(rig_->dir());
    const Place place = find(copy, kind);
    copy.flip(place.file, place.page * page::kPageBytes + 1'000);
    const Salvaged salvaged = salvage(copy.dir());
    ASSERT_TRUE(salvaged.status.is_ok()) << salvaged.status.message();
    EXPECT_TRUE(is_part_of(salvaged.rows, rig_->rows())) << static_cast<int>(kind);
    EXPECT_TRUE(is_in_order(salvaged.list, all.list)) << static_cast<int>(kind);
    EXPECT_EQ(count_of_rows(rig_->rows()) - count_of_rows(salvaged.rows), place.rows)
        << static_cast<int>(kind) << '\n'
        << salvaged.lines();
    ASSERT_EQ(salvaged.lost.size(), 1u) << salvaged.lines();
    EXPECT_TRUE(salvaged.says(place.file + ", page " + std::to_string(place.page) + ", storage "))
        << salvaged.lines();
    const DataRig loaded(copy.dir() + "/loaded");
    EXPECT_EQ(loaded.load(salvaged.dump).status, ExitStatus::kFine);
    if (kind != PageKind::kArrayBorder) {  // the records that are missing are zeroes now
      EXPECT_TRUE(rows_of(loaded.dump("binary").out) == salvaged.rows);
    }
  }
}

// A page above others costs what is below it, and no other storage.
TEST_F(SalvageTest, a_page_above_others_costs_what_is_below_it) {
  const std::pair<PageKind, std::string> kinds[] = {{PageKind::kMasstreeInterior, "tree"},
                                                    {PageKind::kHashInterior, "hash"},
                                                    {PageKind::kArrayInterior, "array"},
                                                    {PageKind::kSequentialHeads, "list"}};
  for (const auto& [kind, storage] : kinds) {
    const DamagedCopy copy(rig_->dir());
    const Place place = find(copy, kind);
    copy.flip(place.file, place.page * page::kPageBytes + 70);
    const Salvaged salvaged = salvage(copy.dir());
    EXPECT_TRUE(is_part_of(salvaged.rows, rig_->rows())) << storage;
    for (const auto& [name, rows] : rig_->rows().keyed) {
      const auto found = salvaged.rows.keyed.find(name);
      const std::size_t count = found == salvaged.rows.keyed.end() ? 0 : found->second.size();
      EXPECT_EQ(count == rows.size(), name != storage) << name;
    }
    EXPECT_EQ(salvaged.lost.size(), 1u) << salvaged.lines();
  }
}

// The right checksum alone does not make a page a good one.
TEST_F(SalvageTest, no_row_of_a_page_that_breaks_a_rule_is_written) {
  const DamagedCopy copy(rig_->dir());
  const Place place = find(copy, PageKind::kMasstreeBorder);
  const auto block = copy.read(place.file, place.page);
  auto& border = *block->as<storage::masstree::BorderPage>();
  border.group(0).slices[0] ^= 1;
  copy.write(place.file, place.page, block.get());
  const Salvaged salvaged = salvage(copy.dir());
  EXPECT_TRUE(is_part_of(salvaged.rows, rig_->rows()));
  EXPECT_EQ(count_of_rows(rig_->rows()) - count_of_rows(salvaged.rows), place.rows)
      << salvaged.lines();
}

TEST_F(SalvageTest, the_first_page_of_a_file_costs_no_row) {
  const DamagedCopy copy(rig_->dir());
  copy.flip(files_of(copy.dir(), "snapshot-").front(), 3'000);
  const Salvaged salvaged = salvage(copy.dir());
  EXPECT_TRUE(are_same(salvaged.rows, rig_->rows()));
  EXPECT_TRUE(salvaged.says("page 0: its checksum is wrong")) << salvaged.lines();
}

TEST_F(SalvageTest, a_file_that_is_cut_or_missing_costs_its_pages) {
  for (const std::string& name : files_of(rig_->dir(), "snapshot-")) {
    for (const bool is_cut : {true, false}) {
      const DamagedCopy copy(rig_->dir());
      if (is_cut) {
        std::filesystem::resize_file(copy.path_of(name),
                                     (copy.pages_of(name) - 3) * page::kPageBytes + 5);
      } else {
        std::filesystem::remove(copy.path_of(name));
      }
      const Salvaged salvaged = salvage(copy.dir());
      if (!salvaged.status.is_ok()) continue;  // it was the only one
      EXPECT_TRUE(is_part_of(salvaged.rows, rig_->rows()));
      EXPECT_TRUE(salvaged.says(name)) << salvaged.lines();
    }
  }
}

// Goal: what the log has of a row whose page is lost is no row, unless it is all of it.
TEST_F(SalvageTest, parts_of_a_row_whose_page_is_lost_make_no_row) {
  testing::TestDirectory directory;
  SalvageRig rig(directory.path());
  rig.open();
  rig.write(200);
  rig.glean();
  rig.write(60);
  rig.close();
  for (const PageKind kind :
       {PageKind::kMasstreeBorder, PageKind::kHashBin, PageKind::kArrayBorder,
        PageKind::kMasstreeInterior, PageKind::kHashInterior, PageKind::kArrayInterior}) {
    const DamagedCopy copy(rig.dir());
    const Place place = find(copy, kind);
    copy.flip(place.file, place.page * page::kPageBytes + 80);
    const Salvaged salvaged = salvage(copy.dir());
    EXPECT_TRUE(is_part_of(salvaged.rows, rig.rows())) << static_cast<int>(kind);
    EXPECT_TRUE(salvaged.rows.keyed.at("list") == rig.rows().keyed.at("list"));
    const bool is_leaf = kind == PageKind::kMasstreeBorder || kind == PageKind::kHashBin;
    if (!is_leaf) {
      EXPECT_TRUE(salvaged.says("the log has parts of it, and the rest is lost"))
          << salvaged.lines();
    }
  }
}

// Goal: with the newest manifest lost, the state is that of an older one, or a later one if the log
// is there.
TEST_F(SalvageTest, an_older_manifest_stands_in_for_a_damaged_one) {
  testing::TestDirectory directory;
  SalvageRig rig(directory.path());
  for (int round = 0; round < 2; ++round) {
    rig.open();
    rig.write(60);
    rig.glean();
    rig.close();
  }
  rig.open();
  rig.write(20);
  rig.close();
  const std::vector<std::string> manifests = files_of(rig.dir(), "manifest-");
  ASSERT_GE(manifests.size(), 2u);
  for (const std::string& name : files_of(rig.dir(), "snapshot-")) {
    const DamagedCopy without_file(rig.dir());
    std::filesystem::remove(without_file.path_of(name));
    const Salvaged salvaged = salvage(without_file.dir());
    EXPECT_TRUE(is_part_of(salvaged.rows, rig.rows_at(salvaged.whole))) << salvaged.lines();
    EXPECT_FALSE(salvaged.rows.keyed.empty());
    EXPECT_TRUE(salvaged.says(name + ": it is missing")) << salvaged.lines();
  }
  const DamagedCopy copy(rig.dir());
  copy.flip(manifests.back(), 100);
  const Salvaged salvaged = salvage(copy.dir());
  ASSERT_TRUE(salvaged.status.is_ok()) << salvaged.status.message();
  EXPECT_TRUE(are_same(salvaged.rows, rig.rows_at(salvaged.whole))) << salvaged.lines();
  EXPECT_TRUE(salvaged.says(manifests.back() + ": ")) << salvaged.lines();
  // Without a trace of the newest one, the savepoint tells.
  std::filesystem::remove(copy.path_of(manifests.back()));
  const Salvaged without = salvage(copy.dir());
  EXPECT_TRUE(are_same(without.rows, rig.rows_at(without.whole))) << without.lines();
  for (const std::string& name : manifests) std::filesystem::remove(copy.path_of(name));
  const Salvaged nothing = salvage(copy.dir());
  EXPECT_TRUE(nothing.rows == Rows() || nothing.rows == rig.rows_at(nothing.whole));
}

TEST_F(SalvageTest, usage_and_nothing_to_read_are_status_2) {
  const DamagedCopy copy(rig_->dir());
  const testing::TestDirectory out;
  Command command;
  command.verb = Verb::kSalvage;
  command.directories.dir = copy.dir();
  const auto expect_refused = [&](const std::string& file, std::string_view text) {
    command.file = file;
    const Answer answer = ask(command);
    EXPECT_EQ(answer.status, ExitStatus::kCannotRead) << answer.out;
    EXPECT_NE(answer.err.find(text), answer.err.npos) << answer.err;
  };
  expect_refused("", "--out");
  expect_refused(copy.dir() + "/dump", "must not lie in");
  command.storages = {"none"};
  expect_refused(out.path() + "/dump", "there is no storage \"none\"");
  command.storages = {};
  for (const std::string& name : files_of(copy.dir(), "snapshot-")) {
    std::filesystem::remove(copy.path_of(name));
  }
  expect_refused(out.path() + "/dump", "can be salvaged");
  EXPECT_FALSE(std::filesystem::exists(out.path() + "/dump"));
  command.storages = {"tree"};
  command.directories.dir = rig_->dir();
  command.file = out.path() + "/dump";
  command.is_json = true;
  const Answer answer = ask(command);
  EXPECT_EQ(answer.status, ExitStatus::kFine);
  EXPECT_TRUE(answer.says("\"ok\":true")) << answer.out;
}

TEST_F(SalvageTest, newest_says_that_it_is_inconsistent) {
  const testing::TestDirectory directory;
  SalvageRig rig(directory.path() + "/db");
  rig.open();
  rig.write(60);
  rig.close();
  std::filesystem::remove(rig.dir() + "/savepoint");
  Command command;
  command.verb = Verb::kSalvage;
  command.directories.dir = rig.dir();
  command.file = directory.path() + "/dump";
  const Answer refused = ask(command);
  EXPECT_EQ(refused.status, ExitStatus::kCannotRead) << refused.out;
  EXPECT_NE(refused.err.find("--newest takes what checks out"), refused.err.npos) << refused.err;
  command.is_newest = true;
  const Answer newest = ask(command);
  EXPECT_EQ(newest.status, ExitStatus::kDamaged) << newest.err;
  EXPECT_TRUE(newest.says("INCONSISTENT: ")) << newest.out;
  EXPECT_TRUE(rig.were_there(salvage(rig.dir(), true).rows));
  command.is_json = true;
  EXPECT_TRUE(ask(command).says("\"consistent\":false"));
}

}  // namespace
}  // namespace foedus::cli::salvage_test
