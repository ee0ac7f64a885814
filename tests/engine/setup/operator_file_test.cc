// ctest-labels: concurrency
// Messages in the file LOG (E58, E59).
#include "foedus-core/engine/setup/operator_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::operator_file_test {
namespace {

namespace fs = std::filesystem;
using engine::OperatorFile;
using testing::must;

constexpr std::uint64_t kBytesMax = 4u << 20;

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(read(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Options options_with_log(const std::string& dir) {
  Options options = testing::small_options(dir);
  options.operator_log_bytes = Options().operator_log_bytes;
  return options;
}

// ---- the task

class OperatorFileTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_.path() + "/LOG"; }

  const testing::TestDirectory directory_;
  testing::ManualRuntime runtime_{1};
  OperatorFile file_{&runtime_};
};

TEST_F(OperatorFileTest, a_line_has_time_level_thread_and_no_control_characters) {
  file_.say(LogLevel::kInfo, "before the file was there");
  EXPECT_FALSE(fs::exists(path()));
  file_.start(directory_.path(), kBytesMax);
  file_.say(LogLevel::kWarning, "two\nlines\x7f");
  file_.say(LogLevel::kError, "the last");
  file_.stop();
  file_.say(LogLevel::kError, "too late");
  const std::vector<std::string> lines = lines_of(path());
  ASSERT_EQ(lines.size(), 3u);
  const std::string stamp = R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} )";
  const std::string thread = " " + std::to_string(base::thread_id()) + R"( \S+ )";
  EXPECT_TRUE(std::regex_match(lines[0], std::regex(stamp + "I" + thread + "before the .*")))
      << lines[0];
  EXPECT_TRUE(std::regex_match(lines[1], std::regex(stamp + "W" + thread + "two\\?lines\\?")))
      << lines[1];
  EXPECT_TRUE(std::regex_match(lines[2], std::regex(stamp + "E" + thread + "the last")))
      << lines[2];
}

// Method: a runtime that steps no task while lines come.
TEST_F(OperatorFileTest, lines_that_come_too_fast_are_counted) {
  file_.start(directory_.path(), kBytesMax);
  const std::string message(10'000, 'x');
  for (int i = 0; i < 40; ++i) file_.say(LogLevel::kInfo, message);
  file_.stop();
  const std::vector<std::string> lines = lines_of(path());
  ASSERT_GT(lines.size(), 20u);
  ASSERT_LT(lines.size(), 40u);
  const std::string lost = std::to_string(41 - lines.size()) + " lines came too fast";
  EXPECT_NE(lines.back().find(lost), std::string::npos) << lines.back();
}

TEST_F(OperatorFileTest, a_child_of_fork_writes_nothing) {
  file_.start(directory_.path(), kBytesMax);
  file_.say(LogLevel::kInfo, "of the parent");
  const pid_t child = ::fork();
  if (child == 0) {
    file_.say(LogLevel::kInfo, "of the child");
    file_.abandon();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  file_.stop();
  EXPECT_EQ(lines_of(path()).size(), 1u);
}

TEST(OperatorFileThreadsTest, lines_of_several_threads_are_whole) {
  const testing::TestDirectory directory;
  const auto runtime = base::make_thread_runtime();
  OperatorFile file(runtime.get());
  file.start(directory.path(), kBytesMax);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) file.say(LogLevel::kInfo, "begin middle end");
    });
  }
  for (std::thread& thread : threads) thread.join();
  file.stop();
  const std::vector<std::string> lines = lines_of(directory.path() + "/LOG");
  EXPECT_EQ(lines.size(), 600u);
  EXPECT_TRUE(std::ranges::all_of(lines, [](const std::string& line) {
    return line.starts_with("20") && line.ends_with(" begin middle end");
  }));
}

// ---- a database

// Goal: each open begins a file, whose first lines say what was opened.
TEST(OperatorFileDatabaseTest, the_file_begins_with_version_options_and_machine) {
  const testing::TestDirectory directory;
  for (int run = 0; run < 2; ++run) {
    const Database db = must(Database::open(options_with_log(directory.path())));
    EXPECT_FALSE(db.effective_options().options.log_sink) << "the user has set none";
  }
  for (const char* name : {"/LOG", "/LOG.1"}) {
    const std::string text = read(directory.path() + name);
    EXPECT_LT(text.find(" foedus "), text.find('\n')) << "the version comes first";
    for (const char* part :
         {" foedus ", "formats: {\"log\":", " options: {\"dir\":\"", "\"memory_bytes\":268435456,",
          "\"durability\":\"async\",", "\"glean\":{\"log_bytes\":", " machine: {\"processors\":"}) {
      EXPECT_NE(text.find(part), std::string::npos) << name << ": " << part << "\n" << text;
    }
    EXPECT_EQ(text.find('?'), std::string::npos) << "a byte that is not printed\n" << text;
  }
}

TEST(OperatorFileDatabaseTest, a_sink_or_the_option_leaves_the_file_out) {
  const testing::TestDirectory directory;
  Options options = options_with_log(directory.path());
  options.log_sink = [](LogLevel, std::string_view) {};
  must(must(Database::open(options)).close());
  options.log_sink = {};
  options.operator_log_bytes = 0;
  must(must(Database::open(options)).close());
  EXPECT_FALSE(fs::exists(directory.path() + "/LOG"));
  options.operator_log_bytes = 100;
  EXPECT_EQ(Database::open(options).code(), ErrorCode::kInvalidArgument);
  const testing::TestDirectory empty;
  options = options_with_log(empty.path());
  options.log.kind = Logging::kNone;
  must(must(Database::open(options)).close());
  EXPECT_FALSE(fs::exists(empty.path() + "/LOG"));
}

// Goal: an open() that refuses a directory leaves it as it was (E7).
TEST(OperatorFileDatabaseTest, a_refused_open_makes_no_file) {
  const testing::TestDirectory directory;
  std::ofstream(directory.path() + "/manifest-00000001") << "no manifest";
  const auto opened = Database::open(options_with_log(directory.path()));
  EXPECT_FALSE(opened.is_ok());
  EXPECT_FALSE(fs::exists(directory.path() + "/LOG"));
}

TEST(OperatorFileDatabaseTest, a_database_works_beside_an_entry_in_place_of_the_file) {
  const testing::TestDirectory directory;
  fs::create_directory(directory.path() + "/LOG");
  ::testing::internal::CaptureStderr();
  Database db = must(Database::open(options_with_log(directory.path())));
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("/LOG is no regular file"), std::string::npos) << told;
  const Masstree tree = must(db.open_masstree("tree"));
  must(db.transact([&](Txn& txn) { return txn.put(tree, "k", "v"); },
                   {.durability = Durability::kSync}));
  must(db.close());
}

// Goal: a restored backup, which has a LOG since it was opened, still takes the next backup.
TEST(OperatorFileDatabaseTest, a_backup_goes_into_a_directory_with_the_file) {
  const testing::TestDirectory directory;
  const testing::TestDirectory to;
  std::ofstream(to.path() + "/LOG") << "old";
  std::ofstream(to.path() + "/LOG.3") << "old";
  Database db = must(Database::open(options_with_log(directory.path())));
  const Masstree tree = must(db.open_masstree("tree"));
  must(db.transact([&](Txn& txn) { return txn.put(tree, "k", "v"); }));
  must(db.backup(to.path()));
  EXPECT_EQ(read(to.path() + "/LOG"), "old");
  must(db.close());
}

}  // namespace
}  // namespace foedus::operator_file_test
