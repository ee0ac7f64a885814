// The commands glean, backup, changes, stats and explain.

#include <gtest/gtest.h>

#include <string>

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

TEST(WholesTest, changes_are_printed_from_a_position_on) {
  const testing::TestDirectory directory;
  const DataRig rig(directory.path());
  DataCommand changes = rig.command(DataVerb::kChanges);
  EXPECT_EQ(reply_to(changes).status, ExitStatus::kCannotRead);
  {
    Options options = testing::small_options(rig.dir());
    options.log.change_bytes = 1u << 20;
    Database db = testing::must(Database::open(options));
    const Array array = testing::must(db.open_array("array", 4, 16));
    const Sequential list = testing::must(db.open_sequential("list"));
    const Masstree tree = testing::must(db.open_masstree("tree"));
    testing::must(db.transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(txn.write_at(array, 3, 2, "xy"));
      FOEDUS_CHECK(txn.increment(array, 2, 8, 7));
      FOEDUS_CHECK(txn.append(list, "one"));
      return txn.put(tree, "\xff", "v");
    }));
    testing::must(db.transact([&](Txn& txn) { return txn.erase(tree, "\xff"); }));
    testing::must(db.drop_storage("list"));
  }
  const Reply all = reply_to(changes);
  EXPECT_EQ(all.status, ExitStatus::kFine) << all.err;
  for (const char* const wanted :
       {"\"create_storage\",\"storage\":\"array\",\"kind\":\"array\",\"records\":4,\"payload_"
        "bytes\":16}",
        "\"write_at\",\"storage\":\"array\",\"index\":3,\"offset\":2,\"value\":\"xy\"}",
        "\"increment\",\"storage\":\"array\",\"index\":2,\"offset\":8,\"add\":7}",
        "\"append\",\"storage\":\"list\",\"value\":\"one\"}",
        "\"put\",\"storage\":\"tree\",\"key\":{\"hex\":\"ff\"},\"value\":\"v\"}",
        "\"erase\",\"storage\":\"tree\",\"key\":{\"hex\":\"ff\"}}",
        "\"drop_storage\",\"storage\":\"list\"}\n{\"position\":"}) {
    EXPECT_NE(all.out.find(wanted), all.out.npos) << wanted << '\n' << all.out;
  }
  // In parts: each call goes on at the position of the one before.
  changes.changes_max = 1;
  std::string joined;
  for (int part = 0; part < 20; ++part) {
    const Reply reply = reply_to(changes);
    const std::size_t end = reply.out.rfind("{\"position\":");
    ASSERT_NE(end, reply.out.npos) << reply.err;
    joined += reply.out.substr(0, end);
    changes.after = std::stoull(reply.out.substr(end + 12));
  }
  EXPECT_EQ(joined, all.out.substr(0, all.out.rfind("{\"position\":")));
  EXPECT_TRUE(reply_to(changes).out.starts_with("{\"position\":"));
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
