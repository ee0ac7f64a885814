// Records that composers of arrays refuse (G8), and errors that they pass on.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "gleaner/compose/array/composer.h"
#include "tests/gleaner/compose/array_rig.h"

namespace foedus::gleaner::array_errors_test {
namespace {

using log::LogRecordType;

constexpr std::uint64_t kRecords = 100'000;
constexpr std::uint32_t kPayloadBytes = 100;

// Composes a good record followed by the bad one.
Status glean_with(LogRecordType type, std::uint64_t index, std::size_t bytes,
                  std::uint32_t offset) {
  ArrayRig rig(kRecords, kPayloadBytes);
  rig.write(0, "good");
  rig.stream().add(type, rig.next_tid(), index, std::string(bytes, 'b'), offset);
  return rig.glean();
}

void expect_corruption(const Status& status, std::uint64_t index, std::string_view words) {
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_EQ(status.storage(), "accounts");
  EXPECT_EQ(status.key_preview(),
            std::string_view(reinterpret_cast<const char*>(&index), sizeof(index)));
  EXPECT_NE(status.message().find("index " + std::to_string(index)), std::string::npos);
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

TEST(ArrayErrorsTest, an_index_beyond_the_records_is_corruption) {
  EXPECT_TRUE(glean_with(LogRecordType::kPut, kRecords - 1, kPayloadBytes, 0).is_ok());
  expect_corruption(glean_with(LogRecordType::kPut, kRecords, kPayloadBytes, 0), kRecords,
                    "the array has 100000");
  const std::uint64_t huge = ~std::uint64_t{0};
  expect_corruption(glean_with(LogRecordType::kPut, huge, kPayloadBytes, 0), huge, "the array");
}

TEST(ArrayErrorsTest, bytes_beyond_the_payload_are_corruption) {
  EXPECT_TRUE(glean_with(LogRecordType::kWriteAt, 7, 10, 90).is_ok());
  EXPECT_TRUE(glean_with(LogRecordType::kWriteAt, 7, 0, 100).is_ok());
  EXPECT_TRUE(glean_with(LogRecordType::kIncrement, 7, 8, 92).is_ok());
  expect_corruption(glean_with(LogRecordType::kPut, 7, 101, 0), 7, "0 + 101");
  expect_corruption(glean_with(LogRecordType::kPut, 7, 100, 1), 7, "1 + 100");
  expect_corruption(glean_with(LogRecordType::kWriteAt, 7, 10, 91), 7, "91 + 10");
  expect_corruption(glean_with(LogRecordType::kWriteAt, 7, 10, 0xfffffff8u), 7, "4294967288");
  expect_corruption(glean_with(LogRecordType::kIncrement, 7, 8, 93), 7, "93 + 8");
  expect_corruption(glean_with(LogRecordType::kIncrement, 7, 4, 0), 7, "4 bytes");
}

TEST(ArrayErrorsTest, erasures_and_appends_are_corruption) {
  expect_corruption(glean_with(LogRecordType::kErase, 9, 0, 0), 9, "type 2");
  expect_corruption(glean_with(LogRecordType::kAppend, 9, 8, 0), 9, "type 5");
  expect_corruption(glean_with(LogRecordType::kCreateStorage, 9, 16, 0), 9, "type 6");
}

TEST(ArrayErrorsTest, a_log_that_was_gleaned_before_is_corruption) {
  ArrayRig rig(kRecords, kPayloadBytes);
  rig.increment(3, 1, 0);
  rig.increment(3, 1, 0);
  ASSERT_TRUE(rig.glean().is_ok());
  const std::uint64_t index = 3;
  rig.stream().add(LogRecordType::kIncrement, page::Tid(Epoch(7), 1), index, std::string(8, '\1'));
  expect_corruption(rig.glean(), 3, "is below the record's");
}

// Two records of one transaction have one TID.
TEST(ArrayErrorsTest, records_of_one_transaction_are_folded_in_their_order) {
  ArrayRig rig(kRecords, kPayloadBytes);
  const std::uint64_t index = 3;
  const page::Tid tid(Epoch(8), 1);
  rig.stream().add(LogRecordType::kPut, tid, index, std::string(kPayloadBytes, 'a'));
  rig.stream().add(LogRecordType::kWriteAt, tid, index, "bcd", 1);
  rig.stream().add(LogRecordType::kWriteAt, tid, index, "X", 2);
  ASSERT_TRUE(rig.glean().is_ok());
  EXPECT_EQ(rig.read(3).payload.substr(0, 5), "abXda");
  EXPECT_EQ(rig.read(3).tid, tid.word());
}

TEST(ArrayErrorsTest, a_page_that_is_not_what_its_parent_names_is_corruption) {
  ArrayRig rig(kRecords, kPayloadBytes);
  rig.write(0, "old");
  ASSERT_TRUE(rig.glean().is_ok());
  const auto path = rig.path_to(0);
  for (const page::SnapshotPageId wrong_root : {path[1], path[2]}) {
    rig.write(0, "new");
    Composition composition = rig.composition(1);
    composition.previous_root = wrong_root;
    rig.stream().rewind();
    const auto result = compose_array(composition, {}, &rig.stream());
    EXPECT_EQ(result.code(), ErrorCode::kCorruption);
    EXPECT_EQ(result.status().storage(), "accounts");
    EXPECT_NE(result.status().message().find(std::to_string(wrong_root.word())), std::string::npos);
  }
}

TEST(ArrayErrorsTest, errors_of_stream_reader_and_writer_are_passed_on) {
  ArrayRig rig(kRecords, kPayloadBytes);
  for (std::uint64_t index = 0; index < kRecords; index += 20'000) rig.write(index, "old");
  ASSERT_TRUE(rig.glean().is_ok());
  for (std::uint64_t index = 0; index < kRecords; index += 20'000) rig.write(index, "new");
  const page::SnapshotPageId root = rig.root();

  rig.stream().fail_at(3);
  EXPECT_EQ(rig.glean().code(), ErrorCode::kIoError);
  rig.stream().fail_at(~std::size_t{0});
  for (const std::uint32_t calls : {0u, 1u, 2u, 4u}) {
    rig.pages().fail_read_after(calls);
    EXPECT_EQ(rig.glean().code(), ErrorCode::kIoError) << calls;
    rig.fail_append_after(calls);
    EXPECT_EQ(rig.glean().code(), ErrorCode::kOutOfSpace) << calls;
    rig.fail_append_after(~std::uint32_t{0});
  }
  EXPECT_EQ(rig.root(), root);
  ASSERT_TRUE(rig.glean().is_ok());
  rig.expect_equal_to_model(17);
}

}  // namespace
}  // namespace foedus::gleaner::array_errors_test
