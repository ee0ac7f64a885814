// ctest-labels: memory
// The file LOG: how it moves on, and what lies in its place (V35, V36).
#include "foedus-core/device/posix/text_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "tests/testing/test_database.h"

namespace foedus::text_log_test {
namespace {

namespace fs = std::filesystem;
using device::TextLog;

class TextLogTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string read(const std::string& name) const {
    std::ifstream file(at(name));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void write(const std::string& path, const std::string& text) const {
    std::ofstream(path) << text;
  }
  std::unique_ptr<TextLog> open(std::uint64_t bytes_max = 1 << 20) const {
    return TextLog::open(directory_.path(), bytes_max);
  }

  const testing::TestDirectory directory_;
  const testing::TestDirectory outside_;
};

TEST_F(TextLogTest, each_open_begins_a_file_and_the_oldest_is_dropped) {
  for (int run = 1; run <= 6; ++run) open()->append("run " + std::to_string(run) + "\n");
  EXPECT_EQ(read("LOG"), "run 6\n");
  EXPECT_EQ(read("LOG.1"), "run 5\n");
  EXPECT_EQ(read("LOG.2"), "run 4\n");
  EXPECT_EQ(read("LOG.3"), "run 3\n");
  EXPECT_FALSE(fs::exists(at("LOG.4")));
}

TEST_F(TextLogTest, a_full_file_is_followed_by_a_new_one_with_whole_lines) {
  const auto log = open(13);
  for (const char* line : {"first\n", "second\n", "third\n", "a line of more than thirteen\n"}) {
    log->append(line);
  }
  EXPECT_EQ(read("LOG"), "a line of more than thirteen\n");
  EXPECT_EQ(read("LOG.1"), "third\n");
  EXPECT_EQ(read("LOG.2"), "first\nsecond\n");
}

TEST_F(TextLogTest, a_link_in_place_of_the_file_is_not_followed) {
  write(outside_.path() + "/secret", "as it was");
  fs::create_symlink(outside_.path() + "/secret", at("LOG"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(open(), nullptr);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("/LOG is no regular file"),
            std::string::npos);
  EXPECT_TRUE(fs::is_symlink(at("LOG")));
  std::ifstream file(outside_.path() + "/secret");
  std::string word;
  std::getline(file, word);
  EXPECT_EQ(word, "as it was");
}

TEST_F(TextLogTest, a_hard_link_moves_aside_and_is_not_written) {
  write(outside_.path() + "/secret", "as it was");
  fs::create_hard_link(outside_.path() + "/secret", at("LOG"));
  open()->append("new\n");
  EXPECT_EQ(read("LOG"), "new\n");
  EXPECT_EQ(read("LOG.1"), "as it was");
}

TEST_F(TextLogTest, a_folder_or_pipe_in_place_of_the_file_stays) {
  ::testing::internal::CaptureStderr();
  fs::create_directory(at("LOG"));
  EXPECT_EQ(open(), nullptr);
  EXPECT_TRUE(fs::is_directory(at("LOG")));
  fs::remove(at("LOG"));
  ASSERT_EQ(::mkfifo(at("LOG").c_str(), 0644), 0);
  EXPECT_EQ(open(), nullptr);
  EXPECT_TRUE(fs::is_fifo(at("LOG")));
  ::testing::internal::GetCapturedStderr();
}

// Goal: a folder among the earlier files is never removed, and keeps no file from being written.
TEST_F(TextLogTest, a_folder_in_place_of_an_earlier_file_is_kept) {
  fs::create_directory(at("LOG.1"));
  write(at("LOG.1") + "/row", "kept");
  for (int run = 1; run <= 5; ++run) open()->append("run " + std::to_string(run) + "\n");
  EXPECT_EQ(read("LOG"), "run 5\n");
  EXPECT_EQ(read("LOG.1"), "run 4\n");
  EXPECT_EQ(read("LOG.3/row"), "kept");
}

TEST_F(TextLogTest, a_link_in_place_of_an_earlier_file_is_replaced) {
  write(outside_.path() + "/secret", "as it was");
  fs::create_symlink(outside_.path() + "/secret", at("LOG.1"));
  open()->append("one\n");
  open()->append("two\n");
  EXPECT_EQ(read("LOG.1"), "one\n");
  EXPECT_TRUE(fs::is_symlink(at("LOG.2")));
}

// Method: the process may write 4096 bytes to a file, so that text beyond fails.
TEST_F(TextLogTest, text_that_cannot_be_written_is_dropped_and_told_once) {
  const auto log = open(1 << 20);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limited{4'096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  ::testing::internal::CaptureStderr();
  log->append(std::string(3'000, 'x') + "\n");
  log->append(std::string(3'000, 'y') + "\n");
  log->append(std::string(3'000, 'z') + "\n");
  log->append("short\n");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("/LOG is too large"), std::string::npos) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1);
  EXPECT_EQ(read("LOG"), std::string(3'000, 'x') + "\nshort\n");
}

TEST_F(TextLogTest, names_of_its_files_are_known) {
  for (const char* name : {"LOG", "LOG.1", "LOG.3"}) EXPECT_TRUE(TextLog::is_name(name)) << name;
  for (const char* name : {"LOG.0", "LOG.4", "LOG.", "log", "", "LOG.old"}) {
    EXPECT_FALSE(TextLog::is_name(name)) << name;
  }
}

}  // namespace
}  // namespace foedus::text_log_test
