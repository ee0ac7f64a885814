// Output of info, log and snapshots; damage to the log; refusals and their exit status.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/segments/format.h"
#include "tests/tools/foedus/damage_rig.h"

namespace foedus::cli::commands_test {
namespace {

constexpr char kSegment[] = "log-0-00000001";

Command log_of(const std::string& dir) {
  Command command;
  command.verb = Verb::kLog;
  command.directories.dir = dir;
  return command;
}

std::ptrdiff_t lines_of(const Answer& answer) {
  return std::count(answer.out.begin(), answer.out.end(), '\n');
}

class CommandsTest : public ::testing::Test {
 protected:
  void write_and_glean() {
    rig_.write(0, 600);
    rig_.glean();
  }
  const std::string& dir() const { return rig_.dir(); }

  CliRig rig_;
};

TEST_F(CommandsTest, info_says_what_is_in_the_snapshot_and_what_is_not) {
  rig_.write(0, 600);
  EXPECT_TRUE(ask(Verb::kInfo, dir()).says("no snapshot yet\n"));
  rig_.glean();
  Answer answer = ask(Verb::kInfo, dir());
  EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.err;
  EXPECT_TRUE(answer.says("closed cleanly")) << answer.out;
  EXPECT_TRUE(answer.says("in no snapshot yet: 0 records, 0 bytes of log")) << answer.out;
  EXPECT_TRUE(answer.says("storage 1 \"tree\": masstree; 600 records")) << answer.out;
  EXPECT_TRUE(answer.says("storage 5 \"empty \\x22one\\x22\\xff\": masstree; 0 records"))
      << answer.out;
  {
    Database db = testing::must(Database::open(testing::small_options(dir())));
    const Masstree late = testing::must(db.open_masstree("late"));
    testing::must(db.transact([&](Txn& txn) { return txn.put(late, "k", "v"); }));
    testing::must(db.drop_storage("hash"));
    testing::must(db.close());
  }
  answer = ask(Verb::kInfo, dir());
  EXPECT_TRUE(answer.says("in no snapshot yet: 3 records")) << answer.out;
  EXPECT_TRUE(answer.says("\"late\": masstree; in no snapshot yet")) << answer.out;
  EXPECT_FALSE(answer.says("\"hash\"")) << answer.out;
}

TEST_F(CommandsTest, info_without_counts_reads_no_page) {
  write_and_glean();
  const DamagedCopy copy(dir());
  copy.flip(kFile, page::kPageBytes + 500);
  Command command;
  command.directories.dir = copy.dir();
  EXPECT_EQ(ask(command).status, ExitStatus::kDamaged);
  command.skips_pages = true;
  const Answer answer = ask(command);
  EXPECT_EQ(answer.status, ExitStatus::kFine);
  EXPECT_TRUE(answer.says("storage 1 \"tree\": masstree\n")) << answer.out;
}

TEST_F(CommandsTest, snapshots_are_listed_from_the_oldest_to_the_newest) {
  write_and_glean();
  rig_.write(1, 800);
  rig_.glean();
  const Answer answer = ask(Verb::kSnapshots, dir());
  EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.err;
  EXPECT_EQ(answer.out.rfind("snapshot ", 0), 0u);
  EXPECT_TRUE(answer.says("snapshot 1: epochs up to ")) << answer.out;
  EXPECT_TRUE(answer.says("\nsnapshot ")) << answer.out;
  EXPECT_TRUE(answer.says("5 storages: tree hash array list")) << answer.out;
}

TEST_F(CommandsTest, log_records_are_found_by_storage_and_epoch) {
  write_and_glean();
  Command command = log_of(dir());
  const std::ptrdiff_t all = lines_of(ask(command));
  EXPECT_EQ(all, 600 + 600 + 200 + 150 + 5);
  command.storage = "list";
  EXPECT_EQ(lines_of(ask(command)), 150 + 1);
  EXPECT_TRUE(ask(command).says(" append storage 4 (list)"));
  command.storage = "3";
  EXPECT_EQ(lines_of(ask(command)), 200 + 1);
  EXPECT_TRUE(ask(command).says("put storage 3 (array) key [0] 8 bytes payload 100 bytes"))
      << ask(command).out;
  command.limit = 7;
  EXPECT_EQ(lines_of(ask(command)), 7);
  command = log_of(dir());
  // The epochs depend on the machine's speed, so the test searches the first one with records.
  std::ptrdiff_t before = 0;
  for (command.to_epoch = 1; before == 0 && command.to_epoch < 100'000; ++command.to_epoch) {
    before = lines_of(ask(command));
  }
  command.from_epoch = command.to_epoch;
  command.to_epoch = ~std::uint64_t{0};
  EXPECT_GT(before, 0);
  EXPECT_EQ(before + lines_of(ask(command)), all);
  command.storage = "nobody";
  EXPECT_EQ(ask(command).status, ExitStatus::kCannotRead);
}

TEST_F(CommandsTest, a_summary_of_the_log_counts_by_storage_and_type) {
  write_and_glean();
  Command command = log_of(dir());
  command.is_summary = true;
  const Answer answer = ask(command);
  EXPECT_TRUE(answer.says("storage 4 (list) append: 150 records, ")) << answer.out;
  EXPECT_TRUE(answer.says("storage 1 (tree) put: 600 records, ")) << answer.out;
  EXPECT_TRUE(answer.says("storage 2 (hash) create: 1 record, ")) << answer.out;
}

// ---- damage to the log

TEST_F(CommandsTest, damage_to_the_log_is_named_with_its_segment) {
  rig_.write(0, 600);
  for (const std::uint64_t offset : {30u, 2'060u, 4'200u, 30'000u}) {
    const DamagedCopy copy(dir());
    copy.flip(kSegment, offset);
    const Answer answer = ask(Verb::kVerify, copy.dir());
    EXPECT_EQ(answer.status, ExitStatus::kDamaged) << offset << answer.out;
    EXPECT_TRUE(answer.says(kSegment)) << offset << answer.out;
  }
  const DamagedCopy copy(dir());
  std::filesystem::remove(copy.path_of(kSegment));
  const Answer answer = ask(Verb::kVerify, copy.dir());
  EXPECT_EQ(answer.status, ExitStatus::kDamaged);
  EXPECT_TRUE(answer.says("log-0-00000001 is missing")) << answer.out;
}

TEST_F(CommandsTest, a_seal_of_other_epochs_than_the_frames_have_is_named) {
  rig_.write(0, 600);
  const DamagedCopy copy(dir());
  log::SegmentBlock block;
  std::ifstream(copy.path_of(kSegment), std::ios::binary).read(block.bytes(), log::kBlockBytes);
  log::SegmentSeal seal = block.seal();
  seal.newest_epoch += 1;
  block.set_seal(seal);
  copy.write_bytes(kSegment, 0, {block.bytes(), log::kBlockBytes});
  const Answer answer = ask(Verb::kVerify, copy.dir());
  EXPECT_EQ(answer.status, ExitStatus::kDamaged) << answer.out;
  EXPECT_TRUE(answer.says(std::string(kSegment) + ": its seal says that it has epochs"))
      << answer.out;
}

// Goal: a log that ends before a snapshot, and would use epochs again, is reported. Method:
// savepoint and segments of an earlier time beside a later snapshot.
TEST_F(CommandsTest, a_log_that_ends_before_a_snapshot_is_named) {
  rig_.write(0, 100);
  const DamagedCopy before(dir());
  rig_.write(1, 100);
  rig_.glean();
  const DamagedCopy copy(dir());
  for (const auto& entry : std::filesystem::directory_iterator(copy.dir())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("log-") || name == "savepoint") std::filesystem::remove(entry.path());
  }
  for (const std::string name : {"savepoint", kSegment}) {
    std::filesystem::copy_file(before.path_of(name), copy.path_of(name));
  }
  const Answer answer = ask(Verb::kVerify, copy.dir());
  EXPECT_EQ(answer.status, ExitStatus::kDamaged) << answer.out;
  EXPECT_TRUE(answer.says("it covers epochs up to ")) << answer.out;
}

// The log was not closed, so the newest record of the snapshot is compared with it.
TEST_F(CommandsTest, a_log_of_before_a_crash_that_ends_before_a_snapshot_is_named) {
  testing::TestDatabase database;
  const Masstree tree = testing::must(database->open_masstree("tree"));
  testing::must(database->wait_durable());
  const DamagedCopy before(database.options().dir);
  testing::must(database->transact([&](Txn& txn) { return txn.put(tree, "key", "payload"); }));
  testing::must(database->glean());
  for (const auto& entry : std::filesystem::directory_iterator(database.options().dir)) {
    const std::string name = entry.path().filename();
    const bool is_of_snapshot = name.starts_with("manifest-") || name.starts_with("snapshot-");
    if (is_of_snapshot) std::filesystem::copy_file(entry.path(), before.path_of(name));
  }
  const Answer answer = ask(Verb::kVerify, before.dir());
  EXPECT_EQ(answer.status, ExitStatus::kDamaged) << answer.out << answer.err;
  EXPECT_TRUE(answer.says("it has a record of epoch ")) << answer.out;
}

// Goal: a database that open() refuses is reported. Method: the manifest because of which segments
// were removed is missing, and with it all commits that it covered.
TEST_F(CommandsTest, a_manifest_that_the_log_needs_is_named) {
  write_and_glean();
  rig_.write(1, 100);  // removes the segments that the snapshot covers
  const DamagedCopy copy(dir());
  for (const auto& entry : std::filesystem::directory_iterator(copy.dir())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("manifest-")) std::filesystem::remove(entry.path());
  }
  EXPECT_EQ(Database::open(testing::small_options(copy.dir())).code(), ErrorCode::kCorruption);
  for (const Verb verb : {Verb::kVerify, Verb::kInfo}) {
    const Answer answer = ask(verb, copy.dir());
    EXPECT_EQ(answer.status, ExitStatus::kDamaged) << answer.out << answer.err;
    EXPECT_TRUE(answer.says("problem: the directory: a manifest is missing: ")) << answer.out;
  }
}

TEST_F(CommandsTest, a_log_that_is_missing_is_named) {
  write_and_glean();
  const DamagedCopy copy(dir());
  for (const auto& entry : std::filesystem::directory_iterator(copy.dir())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("log-") || name == "savepoint") std::filesystem::remove(entry.path());
  }
  for (const Verb verb : {Verb::kVerify, Verb::kInfo}) {
    const Answer answer = ask(verb, copy.dir());
    EXPECT_EQ(answer.status, ExitStatus::kDamaged) << answer.out << answer.err;
    EXPECT_TRUE(answer.says("problem: the directory: the log is missing")) << answer.out;
  }
}

TEST_F(CommandsTest, a_segment_that_no_savepoint_counts_is_a_warning) {
  rig_.write(0, 100);
  const DamagedCopy copy(dir());
  std::ofstream(copy.path_of("log-0-00000077")) << "";
  const Answer answer = ask(Verb::kVerify, copy.dir());
  EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.out;
  EXPECT_TRUE(answer.says("warning: log-0-00000077: ")) << answer.out;
}

TEST_F(CommandsTest, log_and_info_say_what_they_could_read_of_a_damaged_log) {
  rig_.write(0, 600);
  const DamagedCopy copy(dir());
  log::SegmentBlock block;
  std::ifstream(copy.path_of(kSegment), std::ios::binary).read(block.bytes(), log::kBlockBytes);
  copy.flip(kSegment, block.seal().valid_bytes - log::kBlockBytes + 20);  // in the last frame
  Answer answer = ask(Verb::kLog, copy.dir());
  EXPECT_EQ(answer.status, ExitStatus::kDamaged);
  EXPECT_GE(lines_of(answer), 5 + 1);  // each storage has a frame of its own before
  EXPECT_TRUE(answer.says(" create storage 5 ")) << answer.out;
  EXPECT_TRUE(answer.says("problem: log-0-00000001: ")) << answer.out;
  answer = ask(Verb::kInfo, copy.dir());
  EXPECT_EQ(answer.status, ExitStatus::kDamaged);
  EXPECT_TRUE(answer.says("\"tree\": masstree")) << answer.out;
}

// ---- refused directories

TEST_F(CommandsTest, an_open_database_is_refused_by_name) {
  testing::TestDatabase database;
  for (const Verb verb : {Verb::kInfo, Verb::kVerify, Verb::kLog, Verb::kSnapshots}) {
    const Answer answer = ask(verb, database.options().dir);
    EXPECT_EQ(answer.status, ExitStatus::kCannotRead);
    EXPECT_NE(answer.err.find(database.options().dir + " is in use by this process"),
              answer.err.npos)
        << answer.err;
    EXPECT_TRUE(answer.out.empty()) << answer.out;
  }
}

TEST_F(CommandsTest, a_directory_without_a_database_is_refused_and_left_as_it_is) {
  const testing::TestDirectory directory;
  std::ofstream(directory.path() + "/letter.txt") << "text";
  const auto before = contents_of(directory.path());
  for (const std::string& dir :
       {directory.path(), directory.path() + "/none", directory.path() + "/letter.txt"}) {
    for (const Verb verb : {Verb::kInfo, Verb::kVerify, Verb::kLog, Verb::kSnapshots}) {
      const Answer answer = ask(verb, dir);
      EXPECT_EQ(answer.status, ExitStatus::kCannotRead) << dir;
      EXPECT_NE(answer.err.find(dir), answer.err.npos) << answer.err;
    }
  }
  EXPECT_TRUE(contents_of(directory.path()) == before);
}

TEST_F(CommandsTest, a_log_of_another_version_is_refused) {
  rig_.write(0, 10);
  const DamagedCopy copy(dir());
  std::string slot(log::kSlotBytes, '\0');
  std::ifstream(copy.path_of(kSegment), std::ios::binary).read(slot.data(), log::kSlotBytes);
  slot[8] = 9;
  std::memset(slot.data() + 12, 0, 4);
  const std::uint32_t crc = base::crc32c(slot.data(), slot.size());
  std::memcpy(slot.data() + 12, &crc, sizeof(crc));
  copy.write_bytes(kSegment, 0, slot);
  for (const Verb verb : {Verb::kInfo, Verb::kVerify, Verb::kLog}) {
    const Answer answer = ask(verb, copy.dir());
    EXPECT_EQ(answer.status, ExitStatus::kCannotRead) << answer.out;
    EXPECT_NE(answer.err.find("log-0-00000001 has format version 9"), answer.err.npos)
        << answer.err;
  }
}

TEST_F(CommandsTest, progress_ends_with_all_pages) {
  rig_.write(0, 3'000);
  rig_.glean();
  Command command;
  command.verb = Verb::kVerify;
  command.directories.dir = dir();
  std::uint64_t calls = 0;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  command.progress = [&](std::uint64_t pages, std::uint64_t of) {
    EXPECT_GE(pages, done);
    done = pages;
    total = of;
    calls += 1;
  };
  EXPECT_EQ(ask(command).status, ExitStatus::kFine);
  EXPECT_GT(calls, 2u);
  EXPECT_EQ(done, total);
  EXPECT_GT(done, 300u);
}

}  // namespace
}  // namespace foedus::cli::commands_test
