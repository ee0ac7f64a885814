#pragma once
// SequentialCold: a sequential storage with gleans on demand, and calls that its tests share.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/storage/sequential/sequential_cursor.h"
#include "foedus-core/storage/sequential/sequential_install.h"
#include "foedus-core/storage/sequential/sequential_storage.h"
#include "tests/storage/gleaned.h"

namespace foedus::storage::sequential {

class SequentialCold : public Gleaned {
 public:
  using Rows = std::vector<std::string>;

  explicit SequentialCold(std::uint32_t sessions = 4) : SequentialCold(sessions, Memory()) {}
  SequentialCold(std::uint32_t sessions, const Memory& memory)
      : Gleaned(sequential_meta(), compose_all, sequential::install, sessions, memory) {}

  Status append(std::uint32_t who, std::string_view payload) {
    return sequential::append(session(who).ctx(), control(), payload);
  }
  void append_now(std::uint32_t who, std::string_view payload) {
    session(who).begin();
    ASSERT_TRUE(append(who, payload).is_ok());
    const Status status = session(who).commit();
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  // Scans in the open transaction of session `who`.
  Status scan(std::uint32_t who, Rows* rows) {
    rows->clear();
    Cursor cursor;
    Status status = cursor.open(session(who).ctx(), control());
    while (status.is_ok() && !cursor.at_end()) {
      rows->emplace_back(cursor.payload());
      status = cursor.next();
    }
    return status;
  }
  Rows scan(std::uint32_t who) {
    Rows rows;
    const Status status = scan(who, &rows);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return rows;
  }
  Rows scan_now(std::uint32_t who = 3) {
    session(who).begin();
    Rows rows = scan(who);
    const Status status = session(who).commit();
    EXPECT_TRUE(status.is_ok()) << status.message();
    return rows;
  }
  std::uint64_t volatile_pages() { return control()->volatile_pages.load_relaxed(); }

 private:
  static storage_meta::StorageMeta sequential_meta() {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kSequential;
    return meta;
  }
};

// A fixture in which sessions 0 to 2 append, with a model of the rows.
class SequentialColdTest : public ::testing::Test {
 protected:
  // Appends rows by three sessions, over several pages each, in an order that is that of time.
  void load(int count = 300) {
    all_.all().pass_epochs();
    for (int i = 0; i < count; ++i) {
      expected_.push_back(std::to_string(expected_.size()) + std::string(i % 150, '.'));
      all_.append_now(i % 3, expected_.back());
      if (i % 3 == 2) all_.all().pass_epochs();
    }
  }
  void append_expected(std::uint32_t who, std::string_view payload) {
    all_.all().pass_epochs();
    all_.append_now(who, payload);
    expected_.emplace_back(payload);
  }
  // Checks that all rows are in the snapshot and no transaction is open.
  void expect_at_rest() {
    EXPECT_EQ(all_.glean().pages_kept, 0u);
    EXPECT_EQ(all_.volatile_pages(), 0u);
    EXPECT_TRUE(all_.control()->root.load().volatile_page.is_null());
    EXPECT_EQ(all_.scan_now(), expected_);
    EXPECT_EQ(all_.volatile_pages(), 0u);  // scanning makes none
  }

  SequentialCold all_;
  SequentialCold::Rows expected_;
};

}  // namespace foedus::storage::sequential
