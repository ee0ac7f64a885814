// The commands get, put, append, erase and scan.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/tools/foedus/data_rig.h"

namespace foedus::cli::records_test {
namespace {

class RecordsTest : public ::testing::Test {
 protected:
  void expect_error(const Reply& reply, const std::string& text) {
    EXPECT_EQ(reply.status, ExitStatus::kCannotRead) << reply.out;
    EXPECT_NE(reply.err.find(text), reply.err.npos) << reply.err;
    EXPECT_EQ(reply.out, "");
  }

  testing::TestDirectory directory_;
  DataRig rig_{directory_.path() + "/db"};
};

TEST_F(RecordsTest, a_record_is_put_got_and_erased) {
  EXPECT_EQ(rig_.put("tree", "k", "v", "masstree").status, ExitStatus::kFine);
  EXPECT_EQ(rig_.put("tree", "k", "w").status, ExitStatus::kFine);
  EXPECT_EQ(rig_.get("tree", "k").out, "w\n");
  EXPECT_EQ(rig_.erase("tree", "k").status, ExitStatus::kFine);
  for (const Reply& reply : {rig_.get("tree", "k"), rig_.erase("tree", "k")}) {
    EXPECT_EQ(static_cast<int>(reply.status), 1);
    EXPECT_EQ(reply.out, "");
    EXPECT_EQ(reply.err, "foedus: not found: key \"k\" in storage \"tree\"\n");
  }
}

TEST_F(RecordsTest, nothing_is_made_without_create) {
  expect_error(rig_.get("tree", "k"), rig_.dir());
  expect_error(rig_.put("tree", "k", "v"), rig_.dir());
  expect_error(rig_.put("tree", "k", "v", "heap"), "a kind is masstree, hash");
  EXPECT_FALSE(std::filesystem::exists(rig_.dir()));
  EXPECT_EQ(rig_.put("tree", "k", "v", "masstree").status, ExitStatus::kFine);
  expect_error(rig_.put("other", "k", "v"), "no storage \"other\"; there are \"tree\"");
  expect_error(rig_.get("other", "k"), "no storage \"other\"");
  expect_error(rig_.put("tree", "k", "v", "hash"), "tree");  // of another kind
  EXPECT_EQ(rig_.get("tree", "k").out, "v\n");
}

TEST_F(RecordsTest, an_open_database_is_refused) {
  EXPECT_EQ(rig_.put("tree", "k", "v", "masstree").status, ExitStatus::kFine);
  const Database open = testing::must(Database::open(testing::small_options(rig_.dir())));
  expect_error(rig_.get("tree", "k"), "is in use by this process");
  expect_error(rig_.put("tree", "k", "v", "masstree"), "is in use by this process");
}

TEST_F(RecordsTest, any_bytes_are_put_and_got) {
  EXPECT_EQ(rig_.put("t\\xff", "a\\x00\\\\", "\\xffü\n", "masstree").status, ExitStatus::kFine);
  EXPECT_EQ(rig_.get("t\\xff", "a\\x00\\\\").out, "\\xffü\\x0a\n");
  DataCommand get = rig_.command(DataVerb::kGet);
  get.storage = "t\\xff";
  get.key = "0x61005c";
  get.form = ByteForm::kHex;
  EXPECT_EQ(reply_to(get).out, "0xffc3bc0a\n");
  get.is_raw = true;
  EXPECT_EQ(reply_to(get).out, "\xffü\n");
  get.key = "0x6100zz";
  expect_error(reply_to(get), "not a hexadecimal digit");
  expect_error(rig_.get("t\\xff", "\\a"), "after a backslash");
}

TEST_F(RecordsTest, a_value_comes_from_a_file_or_the_input) {
  DataCommand put = rig_.command(DataVerb::kPut);
  put.storage = "tree";
  put.key = "k";
  put.create = "masstree";
  const std::string bytes("from\0\xff\n", 7);
  put.value_file = "-";
  EXPECT_EQ(reply_to(put, bytes).status, ExitStatus::kFine);
  EXPECT_EQ(rig_.get("tree", "k").out, "from\\x00\\xff\\x0a\n");
  put.value_file = directory_.path() + "/value";
  expect_error(reply_to(put), "cannot open the file");
  std::ofstream(put.value_file) << "in a file";
  EXPECT_EQ(reply_to(put).status, ExitStatus::kFine);
  EXPECT_EQ(rig_.get("tree", "k").out, "in a file\n");
  put.value = "twice";
  expect_error(reply_to(put), "a value is given as the last argument, or in the file");
}

TEST_F(RecordsTest, each_kind_has_its_operations) {
  EXPECT_EQ(rig_.put("a", "3", "abcd", "array:5:4").status, ExitStatus::kFine);
  EXPECT_EQ(rig_.get("a", "3").out, "abcd\n");
  EXPECT_EQ(rig_.get("a", "0").out, "\\x00\\x00\\x00\\x00\n");
  expect_error(rig_.get("a", "5"), "index 5");
  expect_error(rig_.get("a", "x"), "a decimal number");
  expect_error(rig_.put("a", "1", "abc"), "payload");
  expect_error(rig_.erase("a", "1"), "cannot be erased");
  expect_error(rig_.append("a", "abcd"), "use put");

  EXPECT_EQ(rig_.append("s", "one", "sequential").status, ExitStatus::kFine);
  EXPECT_EQ(rig_.append("s", "two").status, ExitStatus::kFine);
  EXPECT_EQ(rig_.scan("s").out, "one\ntwo\n");
  expect_error(rig_.get("s", "0"), "use append and scan");
  expect_error(rig_.put("s", "0", "x"), "use append and scan");

  EXPECT_EQ(rig_.put("h", "k", "v", "hash").status, ExitStatus::kFine);
  EXPECT_EQ(rig_.get("h", "k").out, "v\n");
  EXPECT_EQ(rig_.scan("h").out, "k\tv\n");
}

TEST_F(RecordsTest, scans_have_bounds_limits_and_directions) {
  for (const std::string key : {"a", "ab", "ac", "b", "\\xff", "\\xff\\x01"}) {
    ASSERT_EQ(rig_.put("t", key, "1", "masstree").status, ExitStatus::kFine);
  }
  EXPECT_EQ(rig_.scan("t").out, "a\t1\nab\t1\nac\t1\nb\t1\n\\xff\t1\n\\xff\\x01\t1\n");
  EXPECT_EQ(rig_.scan("t", {.prefix = "a"}).out, "a\t1\nab\t1\nac\t1\n");
  EXPECT_EQ(rig_.scan("t", {.prefix = "\\xff"}).out, "\\xff\t1\n\\xff\\x01\t1\n");
  EXPECT_EQ(rig_.scan("t", {.low = "ab", .high = "b"}).out, "ab\t1\nac\t1\n");
  EXPECT_EQ(rig_.scan("t", {.high = ""}).out, "");
  EXPECT_EQ(rig_.scan("t", {.high = "c", .limit = 2, .is_reverse = true}).out, "b\t1\nac\t1\n");
  EXPECT_EQ(rig_.scan("t", {.limit = 0}).out, "");
  expect_error(rig_.scan("t", {.prefix = "a", .low = "b"}), "either a prefix, or");
  expect_error(rig_.scan("t", {.prefix = std::string(2000, 'x')}), "too_large");

  DataCommand scan = rig_.command(DataVerb::kScan);
  scan.storage = "t";
  scan.range.prefix = "a";
  scan.has_keys_only = true;
  EXPECT_EQ(reply_to(scan).out, "a\nab\nac\n");
}

TEST_F(RecordsTest, scans_of_arrays_have_indexes) {
  ASSERT_EQ(rig_.put("a", "150", "xy", "array:200:2").status, ExitStatus::kFine);
  EXPECT_EQ(rig_.scan("a", {.low = "149", .high = "151"}).out, "149\t\\x00\\x00\n150\txy\n");
  EXPECT_EQ(rig_.scan("a", {.low = "100", .limit = 51, .is_reverse = true}).out.substr(0, 13),
            "199\t\\x00\\x00\n");
  const Reply whole = rig_.scan("a");
  EXPECT_EQ(std::count(whole.out.begin(), whole.out.end(), '\n'), 200);
  EXPECT_EQ(rig_.scan("a", {.low = "200"}).out, "");
  EXPECT_EQ(rig_.scan("a", {.low = "5", .high = "3"}).out, "");
  expect_error(rig_.scan("a", {.prefix = "1"}), "bounds and no prefix");
  expect_error(rig_.scan("a", {.low = "one"}), "a decimal number");
  EXPECT_EQ(rig_.append("s", "one", "sequential").status, ExitStatus::kFine);
  expect_error(rig_.scan("s", {.is_reverse = true}), "no reverse order");
}

TEST_F(RecordsTest, options_have_names) {
  EXPECT_EQ(rig_.put("t", "k", "v", "masstree").status, ExitStatus::kFine);
  DataCommand get = rig_.command(DataVerb::kGet);
  get.storage = "t";
  get.key = "k";
  for (const auto& [option, text] :
       {std::pair("memory", "an option is NAME=VALUE"), std::pair("memory=1", "no option"),
        std::pair("memory_bytes=much", "option memory_bytes is a number"),
        std::pair("memory_bytes=1", "memory_bytes"), std::pair("dir=x", "is DIR or --dir")}) {
    get.options = {option};
    expect_error(reply_to(get), text);
  }
  get.options = {"memory_bytes=128MiB", "pages.huge_pages=off"};
  EXPECT_EQ(reply_to(get).out, "v\n");
}

TEST_F(RecordsTest, an_output_that_cannot_be_written_is_an_error) {
  EXPECT_EQ(rig_.put("t", "k", "v", "masstree").status, ExitStatus::kFine);
  DataCommand scan = rig_.command(DataVerb::kScan);
  scan.storage = "t";
  std::ofstream full("/dev/full");
  full.setf(std::ios::unitbuf);
  std::ostringstream err;
  Console console{nullptr, &full, &err};
  EXPECT_EQ(run(scan, &console), ExitStatus::kCannotRead);
  EXPECT_NE(err.str().find("the output cannot be written"), std::string::npos) << err.str();
  EXPECT_EQ(rig_.get("t", "k").out, "v\n");  // the database was closed
}

}  // namespace
}  // namespace foedus::cli::records_test
