// A database whose large files lie in several directories: each command reads all of them.

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/testing/test_database.h"
#include "tools/foedus_cli/commands.h"

namespace foedus::cli {
namespace {

TEST(SeveralDirectoriesTest, every_command_reads_all_and_says_which_is_left_out) {
  const testing::TestDirectory root;
  Options options = testing::small_options(root.path() + "/main");
  options.dirs = {root.path() + "/a", root.path() + "/b"};
  options.socs = 2;
  {
    Database db = testing::must(Database::open(options));
    const Masstree tree = testing::must(db.open_masstree("t"));
    testing::must(db.transact([&](Txn& txn) { return txn.put(tree, key(1u), "first"); }));
    testing::must(db.glean());
    testing::must(db.transact([&](Txn& txn) { return txn.put(tree, key(2u), "second"); }));
    testing::must(db.close());
  }
  for (const Verb verb : {Verb::kInfo, Verb::kVerify, Verb::kLog, Verb::kSnapshots}) {
    Command command;
    command.verb = verb;
    command.dir = options.dir;
    command.dirs = {options.dirs[1], options.dirs[0]};
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(run(command, &out, &err), ExitStatus::kFine) << out.str() << err.str();
    command.dirs.pop_back();
    EXPECT_EQ(run(command, &out, &err), ExitStatus::kCannotRead);
    EXPECT_NE(err.str().find("option dirs leaves out " + options.dirs[0]), std::string::npos)
        << err.str();
  }
}

}  // namespace
}  // namespace foedus::cli
