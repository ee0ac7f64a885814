// The command shell, as a script; its completion.

#include <gtest/gtest.h>

#include "tests/tools/foedus/data_rig.h"
#include "tools/foedus/shell/shell.h"
#include "tools/foedus/shell/words.h"

namespace foedus::cli::shell_test {
namespace {

class ShellTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::must(Database::open(testing::small_options(rig_.dir()))); }

  testing::TestDirectory directory_;
  DataRig rig_{directory_.path() + "/db"};
};

TEST_F(ShellTest, each_command_is_a_transaction) {
  const Reply reply = rig_.shell(
      "# a comment\n\ncreate tree masstree\nput k v\nput \"a b\" \"c \\\"d\\\"\"\nget \"a b\"\n"
      "get none\nerase k\nerase k\nscan\ncreate a array:3:2\nput 1 xy\nscan --low 1 --limit 1\n"
      "create s sequential\nappend one\nappend two\nscan\nuse tree\nscan --prefix a --reverse "
      "--keys-only\nstorages\n");
  EXPECT_EQ(reply.status, ExitStatus::kFine) << reply.err;
  EXPECT_EQ(reply.out,
            "c \"d\"\nnot found\nnot found\na b\tc \"d\"\n1\txy\none\ntwo\na b\n"
            "a\tarray:3:2\ns\tsequential\ntree\tmasstree\n");
  EXPECT_EQ(rig_.get("tree", "a b").out, "c \"d\"\n");
}

TEST_F(ShellTest, transactions_commit_and_roll_back) {
  Reply reply = rig_.shell(
      "create tree masstree\nput a 1\nbegin\nput b 2\nerase a\nget b\nscan\nrollback\nscan\n"
      "begin\nput c 3\ncommit\nscan\nbegin\nput d 4\n");
  EXPECT_EQ(reply.status, ExitStatus::kFine);
  EXPECT_EQ(reply.out, "2\nb\t2\na\t1\na\t1\nc\t3\n");
  EXPECT_EQ(reply.err, "foedus: the open transaction was rolled back\n");
  EXPECT_EQ(rig_.scan("tree").out, "a\t1\nc\t3\n");
  for (const auto& [script, text] :
       {std::pair("commit\n", "there is no transaction"), std::pair("rollback\n", "there is no"),
        std::pair("begin\nbegin\n", "a transaction is open")}) {
    reply = rig_.shell(script);
    EXPECT_EQ(reply.status, ExitStatus::kCannotRead);
    EXPECT_NE(reply.err.find(text), reply.err.npos) << reply.err;
  }
}

TEST_F(ShellTest, a_script_ends_at_its_first_error) {
  const Reply reply =
      rig_.shell("create tree masstree\nput a 1\nbegin\nput b 2\nput\nput c 3\ncommit\n");
  EXPECT_EQ(reply.status, ExitStatus::kCannotRead);
  EXPECT_EQ(reply.err, "foedus: line 5: invalid_argument: the command is: put KEY VALUE\n");
  EXPECT_EQ(rig_.scan("tree").out, "a\t1\n");
  for (const auto& [script, text] :
       {std::pair("jump\n", "no command \"jump\""), std::pair("get k\n", "no storage is chosen"),
        std::pair("use none\n", "no storage \"none\""), std::pair("use \"tree\n", "not closed"),
        std::pair("use tree\nscan --limit\n", "a value is missing"),
        std::pair("use tree\nscan --limit x\n", "decimal number"),
        std::pair("use tree\nscan --sort\n", "no option \"--sort\""),
        std::pair("use tree\nput \\q v\n", "after a backslash"),
        std::pair("create x heap\n", "a kind is")}) {
    EXPECT_NE(rig_.shell(script).err.find(text), std::string::npos) << rig_.shell(script).err;
  }
}

TEST_F(ShellTest, an_open_transaction_sees_a_conflict_of_none) {
  const Reply reply = rig_.shell("create tree masstree\nbegin\nput a 1\nglean\ncommit\nget a\n");
  EXPECT_EQ(reply.status, ExitStatus::kFine) << reply.err;
  EXPECT_TRUE(reply.out.ends_with("\n1\n")) << reply.out;
}

TEST_F(ShellTest, quit_help_stats_and_explain_work) {
  const Reply reply = rig_.shell("help\nstats\nexplain busy\nquit\njump\n");
  EXPECT_EQ(reply.status, ExitStatus::kFine) << reply.err;
  for (const char* const text : {"rollback", "current_epoch: ", "error 11, busy"}) {
    EXPECT_NE(reply.out.find(text), reply.out.npos) << reply.out;
  }
}

TEST_F(ShellTest, a_person_goes_on_after_an_error) {
  Console console;
  std::istringstream in("jump\nstorages\n");
  std::ostringstream out;
  std::ostringstream err;
  console = {&in, &out, &err};
  Database db = testing::must(Database::open(testing::small_options(rig_.dir())));
  Shell shell(&db, ByteForm::kText, &console);
  EXPECT_EQ(shell.prompt(), "foedus> ");
  EXPECT_FALSE(shell.run("jump").is_ok());
  testing::must(shell.run("create tr\\xffee masstree"));
  testing::must(shell.run("begin"));
  EXPECT_EQ(shell.prompt(), "foedus(tr\\xffee)*> ");
  EXPECT_EQ(shell.complete("use "), std::vector<std::string>{"tr\\xffee"});
  EXPECT_EQ(shell.complete("").size(), 16u);
  EXPECT_EQ(shell.complete("scan ").size(), 6u);
  EXPECT_TRUE(shell.complete("get ").empty());
  EXPECT_TRUE(shell.end());
  EXPECT_FALSE(shell.end());
}

TEST_F(ShellTest, words_are_split_at_blanks_outside_of_quotes) {
  const auto words = [](std::string_view line) { return testing::must(split_words(line)); };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words("  put a\tb \r"), (Words{"put", "a", "b"}));
  EXPECT_EQ(words("put \"\" \"a b\"c"), (Words{"put", "", "a bc"}));
  EXPECT_EQ(words("put \\\\ \\x41 \"\\\"\" #"), (Words{"put", "\\\\", "\\x41", "\\x22", "#"}));
  EXPECT_EQ(words("# put"), Words{});
  EXPECT_EQ(split_words("put \"a").code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace foedus::cli::shell_test
