// A database whose large files lie in several directories: each command reads all of them.

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/testing/test_database.h"
#include "tools/foedus/commands.h"

namespace foedus::cli::several_directories_test {
namespace {

TEST(SeveralDirectoriesTest, every_command_reads_all_and_says_which_is_left_out) {
  const testing::TestDirectory root;
  Options options = testing::small_options(root.path() + "/main");
  options.files.dirs = {root.path() + "/a", root.path() + "/b"};
  options.socs = 2;
  {
    Database db = testing::must(Database::open(options));
    const Masstree tree = testing::must(db.open_masstree("t"));
    testing::must(db.transact([&](Txn& txn) { return txn.put(tree, key(1u), "first"); }));
    testing::must(db.glean());
    testing::must(db.transact([&](Txn& txn) { return txn.put(tree, key(2u), "second"); }));
    testing::must(db.close());
  }
  for (const Verb verb :
       {Verb::kInfo, Verb::kVerify, Verb::kLog, Verb::kSnapshots, Verb::kSalvage}) {
    Command command;
    command.file = root.path() + "/dump";  // of kSalvage
    command.verb = verb;
    command.directories.dir = options.dir;
    command.directories.dirs = {options.files.dirs[1], options.files.dirs[0]};
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(run(command, &out, &err), ExitStatus::kFine) << out.str() << err.str();
    command.directories.dirs.pop_back();
    EXPECT_EQ(run(command, &out, &err), ExitStatus::kCannotRead);
    EXPECT_NE(err.str().find("option files.dirs leaves out " + options.files.dirs[0]),
              std::string::npos)
        << err.str();
  }
}

TEST(SeveralDirectoriesTest, info_tells_what_is_in_each_tier) {
  const testing::TestDirectory root;
  Options options = testing::small_options(root.path() + "/main");
  options.tiers.ssd_dirs = {root.path() + "/ssd"};
  options.tiers.nvm_bytes = 4u << 20;
  {
    Database db = testing::must(Database::open(options));
    const Masstree tree = testing::must(db.open_masstree("t"));
    const std::string row(1'000, 'r');
    for (unsigned i = 0; i < 80; ++i) {
      testing::must(db.transact([&](Txn& txn) -> Status {
        for (unsigned n = 0; n < 100; ++n) FOEDUS_CHECK(txn.put(tree, key(100 * i + n), row));
        return {};
      }));
    }
    testing::must(db.glean());
    testing::must(db.close());
  }
  Command command;
  command.directories = {options.dir, {}, options.tiers.ssd_dirs};
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run(command, &out, &err), ExitStatus::kFine) << err.str();
  // Nine extents: of fifteen, four are for pages on their way to the SSD, and an eighth is kept
  // free.
  EXPECT_NE(out.str().find("576 pages (2.2 MiB) on memory"), std::string::npos) << out.str();
  command.is_json = true;
  EXPECT_EQ(run(command, &out, &err), ExitStatus::kFine) << err.str();
  EXPECT_NE(out.str().find("\"nvm_pages\":576"), std::string::npos) << out.str();
  command.verb = Verb::kVerify;
  EXPECT_EQ(run(command, &out, &err), ExitStatus::kFine) << err.str();
}

}  // namespace
}  // namespace foedus::cli::several_directories_test
