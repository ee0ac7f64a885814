// Files of an open database that another program removes. kNotFound is the status for a missing key
// or storage: no call may return it for a file. Method: a database with log segments and snapshots
// loses one file after another, and at last all with their directory; then each call that may use
// the files is made, until the log cannot go on.
#include <errno.h>

#include <filesystem>

#include "tests/testing/test_database.h"

namespace foedus::vanished_files_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;

Options options_of_small_segments() {
  Options options = small_options("");
  options.log.segment_bytes = 1u << 20;
  options.glean.log_bytes = 0;
  options.glean.interval_us = 0;
  return options;
}

// Makes some segments of log and two snapshots, the newest of which does not cover all commits.
void fill(TestDatabase& db, const Masstree& tree) {
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 40; ++i) {
      must(db->transact([&](Txn& txn) {
        return txn.put(tree, key(round, i), std::string(50'000, 'x'));
      }));
    }
    if (round < 2) must(db->glean());
  }
  must(db->wait_durable());
}

// Returns the results of calls after `vanish` was called with the directory.
template <typename Vanish>
void expect_no_key_is_missing(const std::string& what, Vanish&& vanish) {
  TestDatabase db(options_of_small_segments());
  const Masstree tree = must(db->open_masstree("tree"));
  fill(db, tree);
  vanish(db.options().dir);
  const auto check = [&](const char* call, const Status& status) {
    EXPECT_NE(status.code(), ErrorCode::kNotFound)
        << call << " without " << what << ": " << status.message();
    if (status.is_ok()) return;
    EXPECT_NE(status.message().find(db.options().dir), std::string::npos)
        << call << " without " << what << ": " << status.message();
  };
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Status put = db->transact(
        [&](Txn& txn) { return txn.put(tree, key(9u, i), std::string(50'000, 'y')); },
        {.durability = Durability::kSync});
    check("transact()", put);
    if (!put.is_ok()) break;
  }
  check("glean()", db->glean().status());
  check("glean()", db->glean().status());
  check("wait_durable()", db->wait_durable());
  check("open_hash()", db->open_hash("new").status());
  check("close()", db->close());
}

TEST(VanishedFilesTest, no_call_takes_a_file_that_vanished_for_a_key_that_is_not_there) {
  std::vector<std::string> names;
  expect_no_key_is_missing("nothing", [&](const std::string& dir) {
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
      names.push_back(entry.path().filename());
    }
  });
  ASSERT_GT(names.size(), 5u);
  for (const std::string& name : names) {
    expect_no_key_is_missing(
        name, [&](const std::string& dir) { std::filesystem::remove(dir + "/" + name); });
  }
  expect_no_key_is_missing("all files", [&](const std::string& dir) {
    for (const std::string& name : names) std::filesystem::remove(dir + "/" + name);
  });
  expect_no_key_is_missing("directory",
                           [](const std::string& dir) { std::filesystem::remove_all(dir); });
}

// The log's savepoint is written when a segment is full: commits that wait for the device get the
// failure and the name of the missing file.
TEST(VanishedFilesTest, a_synchronous_commit_names_the_file_of_the_log_that_vanished) {
  TestDatabase db(options_of_small_segments());
  const Masstree tree = must(db->open_masstree("tree"));
  std::filesystem::remove(db.options().dir + "/savepoint");
  Status status;
  for (std::uint32_t i = 0; status.is_ok() && i < 1000; ++i) {
    status = db->transact(
        [&](Txn& txn) { return txn.put(tree, key(i), std::string(50'000, 'x')); },
        {.durability = Durability::kSync});
  }
  const std::string text =
      db.options().dir +
      "/savepoint has vanished: No such file or directory (errno 2); let no other program remove "
      "files of an open database";
  for (const Status& failed : {status, db->wait_durable(), db->close()}) {
    EXPECT_EQ(failed.code(), ErrorCode::kIoError) << failed.message();
    EXPECT_EQ(failed.error_number(), ENOENT);
    EXPECT_NE(failed.message().find(text), std::string::npos) << failed.message();
  }
}

// Without a segment no glean succeeds, so no memory is freed: a transaction without pages gets that
// reason.
TEST(VanishedFilesTest, a_memory_that_no_glean_gives_back_names_the_file_that_it_needs) {
  Options options = options_of_small_segments();
  options.memory_bytes = 64u << 20;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  std::string vanished;
  Status status;
  for (std::uint32_t i = 0; status.is_ok() && i < 5000; ++i) {
    status = db->transact([&](Txn& txn) { return txn.put(tree, key(i), std::string(50'000, 'x')); },
                          {.durability = Durability::kSync});
    if (i != 10) continue;
    vanished = db.options().dir + "/log-0-00000001";
    ASSERT_TRUE(std::filesystem::remove(vanished));
  }
  EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory);
  EXPECT_NE(status.message().find("; the last glean failed: io_error: " + vanished +
                                  " has vanished: No such file or directory"),
            std::string::npos)
      << status.message();
}

// A file that open() needs and does not find is damage.
TEST(VanishedFilesTest, a_directory_without_a_segment_of_its_log_is_damaged) {
  TestDatabase db(options_of_small_segments());
  const Masstree tree = must(db->open_masstree("tree"));
  fill(db, tree);
  must(db->close());
  for (const auto& entry : std::filesystem::directory_iterator(db.options().dir)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("log-")) {
      std::filesystem::remove(entry.path());
      break;
    }
  }
  const Status opened = Database::open(db.options()).status();
  EXPECT_EQ(opened.code(), ErrorCode::kCorruption) << opened.message();
  EXPECT_NE(opened.message().find(db.options().dir + "/log-"), std::string::npos)
      << opened.message();
}

}  // namespace
}  // namespace foedus::vanished_files_test
