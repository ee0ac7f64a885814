// The commands glean, backup, stats and explain.

#include <gtest/gtest.h>

#include "tests/tools/foedus/data_rig.h"

namespace foedus::cli::wholes_test {
namespace {

TEST(WholesTest, glean_makes_a_snapshot_and_reports) {
  const testing::TestDirectory directory;
  const DataRig rig(directory.path());
  {
    Database db = testing::must(Database::open(testing::small_options(rig.dir())));
    const Masstree tree = testing::must(db.open_masstree("tree"));
    testing::must(db.transact([&](Txn& txn) { return txn.put(tree, "k", "v"); }));
  }
  Reply reply = reply_to(rig.command(DataVerb::kGlean));
  EXPECT_EQ(reply.status, ExitStatus::kFine) << reply.err;
  EXPECT_TRUE(reply.out.starts_with("snapshot: ")) << reply.out;
  EXPECT_NE(reply.out.find("\ncovered_epoch: "), reply.out.npos) << reply.out;
  reply = reply_to(rig.command(DataVerb::kStats));
  EXPECT_NE(reply.out.find("\nstorage \"tree\": masstree, "), reply.out.npos) << reply.out;
  EXPECT_NE(reply.out.find("\nsnapshot 1: epochs up to "), reply.out.npos) << reply.out;
  DataCommand stats = rig.command(DataVerb::kStats);
  stats.is_json = true;
  reply = reply_to(stats);
  EXPECT_NE(reply.out.find("\"transaction_ns_p99\":0,"), reply.out.npos) << reply.out;
  EXPECT_NE(reply.out.find("\"storages\":[{\"name\":\"tree\",\"kind\":\"masstree\""),
            reply.out.npos)
      << reply.out;
}

TEST(WholesTest, a_backup_opens_as_a_database_with_the_same_records) {
  const testing::TestDirectory directory;
  const testing::TestDirectory to;
  const DataRig rig(directory.path());
  ASSERT_EQ(rig.put("tree", "k", "v", "masstree").status, ExitStatus::kFine);
  DataCommand backup = rig.command(DataVerb::kBackup);
  backup.file = to.path();
  Reply reply = reply_to(backup);
  EXPECT_EQ(reply.status, ExitStatus::kFine) << reply.err;
  EXPECT_TRUE(reply.out.starts_with("snapshot: ")) << reply.out;
  ASSERT_EQ(rig.put("tree", "k", "new").status, ExitStatus::kFine);
  backup.is_json = backup.is_comparing_all = true;
  backup.backup_files = "copy";
  reply = reply_to(backup);
  EXPECT_NE(reply.out.find("\"files_copied\":1"), reply.out.npos) << reply.out << reply.err;
  EXPECT_EQ(DataRig(to.path()).get("tree", "k").out, "new\n");

  backup.backup_files = "move";
  EXPECT_NE(reply_to(backup).err.find("--files is auto, link or copy"), std::string::npos);
  backup.backup_files = "";
  EXPECT_EQ(reply_to(backup).status, ExitStatus::kCannotRead);  // it was opened, as a database
}

TEST(WholesTest, glean_and_stats_make_no_database) {
  const testing::TestDirectory directory;
  for (const DataVerb verb :
       {DataVerb::kGlean, DataVerb::kBackup, DataVerb::kStats, DataVerb::kDump, DataVerb::kShell}) {
    const Reply reply = reply_to(command_on(verb, directory.path()));
    EXPECT_EQ(reply.status, ExitStatus::kCannotRead);
    EXPECT_NE(reply.err.find("no database in directory " + directory.path()), reply.err.npos)
        << reply.err;
  }
}

TEST(WholesTest, each_code_and_reason_is_explained_by_each_of_its_names) {
  DataCommand command;
  command.verb = DataVerb::kExplain;
  for (unsigned number = 0; to_string(static_cast<ErrorCode>(number)) != "unknown_error";
       ++number) {
    const std::string name(to_string(static_cast<ErrorCode>(number)));
    const std::string head = "error " + std::to_string(number) + ", " + name + "\n  Meaning: ";
    for (const std::string& asked : {name, std::to_string(number), "FOEDUS_" + name}) {
      command.error = asked;
      const Reply reply = reply_to(command);
      EXPECT_EQ(reply.status, ExitStatus::kFine) << asked;
      EXPECT_TRUE(reply.out.starts_with(head)) << asked << reply.out;
    }
  }
  for (unsigned number = 0; number < kConflictReasonCount; ++number) {
    command.error = to_string(static_cast<ConflictReason>(number));
    if (command.error == "unknown_reason") continue;
    EXPECT_TRUE(reply_to(command).out.starts_with("conflict reason " + std::to_string(number)))
        << command.error;
  }
  command.error = "ErrorCode::kAlreadyExists";
  EXPECT_TRUE(reply_to(command).out.starts_with("error 3, "));
  command.error = "weather";
  EXPECT_EQ(reply_to(command).status, ExitStatus::kCannotRead);
  EXPECT_NE(reply_to(command).err.find("there is no error \"weather\"; there are ok conflict"),
            std::string::npos);
  command.error = "";
  EXPECT_NE(reply_to(command).out.find("retry_bound"), std::string::npos);
}

}  // namespace
}  // namespace foedus::cli::wholes_test
