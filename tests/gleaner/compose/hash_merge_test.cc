// Merges of single records: sizes, equal hashes, several writes to one record, contradictions.

#include "gleaner/compose/hash/merge.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/gleaner/compose/hash_gleans.h"

namespace foedus::gleaner::hash_merge_test {
namespace {

using log::LogRecordType;

void glean(HashGleans* gleans) {
  const Status status = gleans->glean();
  ASSERT_TRUE(status.is_ok()) << status.message();
}

std::string patterned(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + i / 251 + bytes);
  return text;
}

TEST(ComposedHashTest, payloads_of_all_sizes_are_read_back) {
  HashGleans gleans;
  const std::size_t sizes[] = {0, 1, 8, 9, 1'400, 1'401, 4'016, 4'017, 100'000, 4u << 20};
  for (const std::size_t bytes : sizes) gleans.put(key_number(bytes), patterned(bytes));
  glean(&gleans);
  gleans.verify();
  // Each record gets another size.
  std::size_t before = 1'500;
  for (const std::size_t bytes : sizes) {
    gleans.put(key_number(bytes), patterned(before));
    before = bytes;
  }
  glean(&gleans);
  gleans.verify();
  for (const std::size_t bytes : sizes) gleans.erase(key_number(bytes));
  glean(&gleans);
  gleans.verify();
}

// Goal: a chain is not copied unless its record is written. Method: a write to its neighbour.
TEST(ComposedHashTest, chains_of_records_that_are_not_written_to_stay_where_they_are) {
  HashGleans gleans;
  gleans.put("large", patterned(1u << 20));
  gleans.put(equal_hash_key(1), "a neighbour of the next one");
  gleans.put(equal_hash_key(2), patterned(1u << 20));
  glean(&gleans);
  EXPECT_GT(gleans.written_, 500u);
  gleans.put(equal_hash_key(1), "changed");
  glean(&gleans);
  EXPECT_EQ(gleans.written_, 2u);
  gleans.verify();
}

TEST(ComposedHashTest, keys_of_all_sizes_are_read_back) {
  HashGleans gleans;
  for (std::size_t bytes = 0; bytes <= 1'024; ++bytes) {
    gleans.put(std::string(bytes, 'k'), patterned(bytes % 100));
  }
  gleans.put(std::string(1'024, 'x'), patterned(1'400));
  gleans.put(std::string(1'024, 'y'), patterned(1'400));
  glean(&gleans);
  gleans.verify();
}

// Goal: a bin that cannot be divided becomes a chain of pages. Method: keys with one hash, at all
// 63 bits below nine levels of interior pages; then fewer of them, until they fit one page and then
// one with others.
TEST(ComposedHashTest, keys_of_equal_hash_are_chained) {
  HashGleans gleans;
  ASSERT_EQ(storage::hash::hash_of(equal_hash_key(1)), storage::hash::hash_of(equal_hash_key(2)));
  for (int i = 0; i < 1'000; ++i) gleans.put(equal_hash_key(i), patterned(i % 40));
  for (int i = 0; i < 1'000; ++i) gleans.put(key_number(i), patterned(i % 40));
  gleans.put(equal_hash_key(5), patterned(5'000));
  gleans.put(equal_hash_key(900), patterned(9'000));
  glean(&gleans);
  const HashWalk::Seen chained = gleans.verify();
  EXPECT_GT(chained.chained, 10u);
  EXPECT_EQ(chained.bits_max, 63u);
  EXPECT_EQ(chained.interiors.size(), 9u);
  gleans.put(equal_hash_key(2'000), patterned(30));
  gleans.write_at(equal_hash_key(39), 5, "part");
  glean(&gleans);
  EXPECT_EQ(gleans.verify().chained, chained.chained);
  for (int i = 10; i < 1'000; ++i) gleans.erase(equal_hash_key(i));
  glean(&gleans);
  const HashWalk::Seen few = gleans.verify();
  EXPECT_EQ(few.chained, 0u);
  EXPECT_LT(few.bits_max, 21u);  // as deep as the bins beside it, which were not touched
  EXPECT_LE(few.interiors.size(), 2u);
}

TEST(ComposedHashTest, more_than_65535_keys_of_one_hash_are_counted_as_volatile_bins_count) {
  HashGleans gleans;
  for (int i = 0; i < 66'000; ++i) gleans.log(LogRecordType::kPut, equal_hash_key(i), "");
  glean(&gleans);
  HashWalk walk(&gleans.pages_, gleans.meta_);
  EXPECT_TRUE(walk.find(gleans.root_, equal_hash_key(65'999)).has_value());
}

TEST(ComposedHashTest, several_writes_to_one_record_are_one) {
  HashGleans gleans;
  gleans.put("a", "12345678");
  gleans.set_same_tid(true);
  gleans.write_at("a", 2, "xx");
  gleans.increment("a", 0, 1);
  gleans.set_same_tid(false);
  gleans.increment("a", 0, ~std::uint64_t{0});
  gleans.put("b", "goes again");
  gleans.set_same_tid(true);
  gleans.erase("b");
  gleans.set_same_tid(false);
  gleans.put("c", "first");
  gleans.erase("c");
  gleans.put("c", "second");
  gleans.put("large, then small", patterned(50'000));
  gleans.put("large, then small", "small");
  gleans.write_at("large, then small", 5, "");
  gleans.put("small, then large", "small");
  gleans.put("small, then large", patterned(50'000));
  glean(&gleans);
  gleans.verify();
  EXPECT_EQ(gleans.model_.size(), 4u);
  EXPECT_LT(gleans.written_, 20u);  // payloads that are replaced at once are not written
  gleans.erase("a");
  gleans.put("a", "again");
  gleans.erase("c");
  gleans.write_at("large, then small", 0, "SM");
  glean(&gleans);
  gleans.verify();
}

class HashContradictionTest : public ::testing::Test {
 protected:
  HashContradictionTest() {
    gleans_.put("there", "12345678");
    gleans_.put("large", patterned(2'000));
    EXPECT_TRUE(gleans_.glean().is_ok());
  }
  void expect_corruption(const std::string& key) {
    const page::SnapshotPageId root = gleans_.root_;
    const Status status = gleans_.glean();
    EXPECT_EQ(status.code(), ErrorCode::kCorruption) << status.message();
    EXPECT_EQ(status.storage(), "orders");
    EXPECT_EQ(status.key_preview(), key.substr(0, Status::kPreviewBytes));
    EXPECT_EQ(gleans_.root_, root);
  }

  HashGleans gleans_;
};

// The erasure may have superseded the put of the key on the way.
TEST_F(HashContradictionTest, is_not_an_erasure_of_a_missing_key) {
  gleans_.log(LogRecordType::kErase, "missing", {});
  EXPECT_TRUE(gleans_.glean().is_ok());
}
TEST_F(HashContradictionTest, a_second_erasure) {
  gleans_.erase("there");
  gleans_.log(LogRecordType::kErase, "there", {});
  expect_corruption("there");
}
TEST_F(HashContradictionTest, a_partial_write_to_a_missing_key) {
  gleans_.log(LogRecordType::kWriteAt, "missing", "x");
  expect_corruption("missing");
}
TEST_F(HashContradictionTest, a_partial_write_after_an_erasure) {
  gleans_.erase("there");
  gleans_.log(LogRecordType::kWriteAt, "there", "x");
  expect_corruption("there");
}
TEST_F(HashContradictionTest, a_partial_write_behind_the_end) {
  gleans_.log(LogRecordType::kWriteAt, "there", "xx", 7);
  expect_corruption("there");
}
TEST_F(HashContradictionTest, a_partial_write_far_behind_the_end) {
  gleans_.log(LogRecordType::kWriteAt, "there", "xx", ~std::uint32_t{0});
  expect_corruption("there");
}
TEST_F(HashContradictionTest, an_increment_behind_the_end) {
  gleans_.log(LogRecordType::kIncrement, "there", "12345678", 1);
  expect_corruption("there");
}
TEST_F(HashContradictionTest, an_increment_by_no_number) {
  gleans_.log(LogRecordType::kIncrement, "there", "1234");
  expect_corruption("there");
}
TEST_F(HashContradictionTest, a_partial_write_to_a_chain) {
  gleans_.log(LogRecordType::kWriteAt, "large", "x");
  expect_corruption("large");
}
TEST_F(HashContradictionTest, a_partial_write_to_a_payload_that_becomes_a_chain) {
  gleans_.put("there", patterned(2'000));
  gleans_.log(LogRecordType::kWriteAt, "there", "x");
  expect_corruption("there");
}
TEST_F(HashContradictionTest, a_record_of_an_epoch_that_the_snapshot_has) {
  gleans_.set_tid(page::Tid(gleans_.model_.at("there").tid));
  gleans_.log(LogRecordType::kPut, "there", "x");
  expect_corruption("there");
}
TEST_F(HashContradictionTest, a_key_over_its_limit) {
  gleans_.log(LogRecordType::kPut, std::string(1'025, 'k'), "x");
  expect_corruption(std::string(1'025, 'k'));
}
TEST_F(HashContradictionTest, a_payload_over_its_limit) {
  gleans_.log(LogRecordType::kPut, "huge", std::string((4u << 20) + 1, 'p'));
  expect_corruption("huge");
}
TEST_F(HashContradictionTest, a_record_of_another_kind_of_storage) {
  gleans_.log(LogRecordType::kAppend, "there", "x");
  expect_corruption("there");
}

// Goal: errors of devices are passed on, wherever they occur. Method: the n-th access fails.
TEST(HashErrorsTest, of_reader_writer_and_stream_are_passed_on) {
  HashGleans gleans;
  for (int i = 0; i < 3'000; ++i) gleans.put(key_number(i), "payload");
  for (int i = 0; i < 300; ++i) gleans.put(equal_hash_key(i), "payload");
  gleans.put("large", patterned(9'000));
  ASSERT_TRUE(gleans.glean().is_ok());
  const auto fill = [&gleans] {
    for (int i = 0; i < 300; ++i) gleans.put(equal_hash_key(i), "newer");
    gleans.put("large", patterned(9'000));
  };
  for (std::uint64_t n = 0; n < 14; ++n) {
    fill();
    gleans.pages_.fail_read_after(n);
    EXPECT_EQ(gleans.glean().code(), ErrorCode::kIoError) << n;
    gleans.pages_.fail_read_after(~std::uint64_t{0} / 2);
    gleans.snapshot_ += 1;
  }
  for (std::uint32_t n = 1; n < 12; ++n) {
    gleans.appends_before_failure_ = n;
    EXPECT_EQ(gleans.glean().code(), ErrorCode::kOutOfSpace) << n;
    gleans.appends_before_failure_ = 0;
    gleans.snapshot_ += 1;
  }
  gleans.stream_->fail_at(100);
  EXPECT_EQ(gleans.glean().code(), ErrorCode::kIoError);
}

}  // namespace
}  // namespace foedus::gleaner::hash_merge_test
