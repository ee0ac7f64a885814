#pragma once
// A small database in a directory of its own, which is removed at the end, and calls that most
// tests make.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "foedus/foedus.h"

namespace foedus::testing {

// A new directory, in memory if there is /dev/shm.
class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern =
        std::filesystem::is_directory("/dev/shm") ? "/dev/shm/foedus-XXXXXX" : "/tmp/foedus-XXXXXX";
    const char* const made = mkdtemp(pattern.data());
    EXPECT_NE(made, nullptr);
    path_ = pattern;
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Most tests recover the log, so closing the database makes no snapshot of it. Many look at the
// files of the database, so there is no LOG among these.
inline Options small_options(const std::string& dir) {
  Options options;
  options.dir = dir;
  options.memory_bytes = 256u << 20;
  options.log.buffer_bytes = 1u << 20;
  options.log.segment_bytes = 4u << 20;
  options.sessions_max = 32;
  options.epoch_interval_us = 1'000;
  options.glean.close_us = 0;
  options.operator_log_bytes = 0;
  return options;
}

// An open database in its own directory.
class TestDatabase {
 public:
  TestDatabase() : TestDatabase(small_options("")) {}
  explicit TestDatabase(Options options) : options_(std::move(options)) {
    options_.dir = directory_.path();
    open();
  }
  void open() {
    Result<Database> opened = Database::open(options_);
    ASSERT_TRUE(opened.is_ok()) << opened.status().message();
    database_ = std::make_unique<Database>(std::move(opened).value());
  }
  void reopen() {
    const Status closed = database_->close();
    EXPECT_TRUE(closed.is_ok()) << closed.message();
    database_.reset();
    open();
  }
  Database& operator*() { return *database_; }
  Database* operator->() { return database_.get(); }
  const Options& options() const { return options_; }

 private:
  TestDirectory directory_;
  Options options_;
  std::unique_ptr<Database> database_;
};

template <typename T>
T must(Result<T> result) {
  EXPECT_TRUE(result.is_ok()) << result.status().message();
  return std::move(result).value();
}
inline void must(const Status& status) { EXPECT_TRUE(status.is_ok()) << status.message(); }

}  // namespace foedus::testing
