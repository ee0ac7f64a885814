// Segments that stay for change streams are read for these alone: not by gleans, not by recovery.
#include <fstream>
#include <string>

#include "tests/engine/changes/change_model.h"

namespace foedus::engine::changes_log_test {
namespace {

using testing::ChangeModel;
using testing::must;
using testing::TestDatabase;

Options without_gleans() {
  Options options = testing::keeping_options();
  options.glean.log_bytes = 0;  // the test gleans
  options.glean.interval_us = 0;
  return options;
}

class ChangesLogTest : public ::testing::Test {
 protected:
  void put_rows(int count) {
    const Masstree tree = must(db_->open_masstree("tree"));
    for (int i = 0; i < count; ++i) {
      must(db_->transact([&](Txn& txn) {
        return txn.put(tree, "key " + std::to_string(i), std::string(1'000, 'p'));
      }));
    }
  }

  TestDatabase db_{without_gleans()};
};

TEST_F(ChangesLogTest, a_glean_reads_no_segment_again) {
  put_rows(3'000);
  EXPECT_EQ(db_->stats().log_bytes_kept, 0u);
  EXPECT_GE(must(db_->glean()).records_read, 3'000u);
  put_rows(10);
  EXPECT_LE(must(db_->glean()).records_read, 20u);
  EXPECT_GT(db_->stats().log_bytes_kept, 3'000u * 1'000);
  ChangeModel model;
  ChangeStream stream = must(db_->changes(Epoch()));
  must(model.take(&stream));
  EXPECT_EQ(model.rows("tree").size(), 3'000u);
}

// Changes the byte of a file at `offset`.
void flip(const std::string& path, std::streamoff offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  char byte = 0;
  ASSERT_TRUE(file.seekg(offset).get(byte));
  ASSERT_TRUE(file.seekp(offset).put(static_cast<char>(~byte)));
}

TEST_F(ChangesLogTest, recovery_reads_no_segment_again) {
  put_rows(3'000);
  must(db_->glean());
  put_rows(10);
  must(db_->close());
  flip(db_.options().dir + "/log-0-00000001", 9'000);
  db_.open();
  put_rows(1);
  ChangeStream stream = must(db_->changes(Epoch()));
  ChangeModel model;
  EXPECT_EQ(model.take(&stream).code(), ErrorCode::kCorruption);
}

TEST_F(ChangesLogTest, an_open_stream_keeps_what_it_has_not_read) {
  Options options = without_gleans();
  options.log.change_bytes = 1;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  const auto put_some = [&] {
    must(db->transact([&](Txn& txn) { return txn.put(tree, "key", "payload"); }));
    must(db->glean());
    must(db->glean());
  };
  ChangeModel model;
  {
    ChangeStream stream = must(db->changes(Epoch()));
    put_some();
    must(model.take(&stream));
    EXPECT_EQ(model.rows("tree").size(), 1u);
    while (db->stats().log_bytes_kept == 0) put_some();
  }
  const Epoch position = model.position();
  put_some();
  // Loggers begin new segments in their own time; each glean removes what is settled.
  while (db->changes(position).is_ok()) put_some();
  EXPECT_EQ(db->changes(position).status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace foedus::engine::changes_log_test
