// Sequential storages in snapshots: every append is read back once and in serial order, and a glean
// writes new records and one more page.
#include "gleaner/compose/sequential/composer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/base/test_seed.h"
#include "tests/gleaner/compose/sequential_rig.h"

namespace foedus::gleaner::sequential_composer_test {
namespace {

using log::LogRecordType;
using storage::sequential::SequentialRunsPage;
using storage::sequential::SequentialSnapshotPage;

#define ASSERT_OK(expression)                        \
  do {                                               \
    const Status status = (expression);              \
    ASSERT_TRUE(status.is_ok()) << status.message(); \
  } while (false)

// Makes appends of a few sessions in a few epochs, with many ties.
void append_randomly(SequentialRig* rig, std::mt19937_64* random, std::uint64_t first_epoch) {
  const std::uint64_t count = 1 + (*random)() % 300;
  for (std::uint64_t i = 0; i < count; ++i) {
    const page::Tid tid(Epoch(first_epoch + (*random)() % 3),
                        static_cast<std::uint32_t>(1 + (*random)() % 20));
    const std::uint64_t bytes =
        (*random)() % 10 == 0 ? (*random)() % (kMaxSequentialPayloadBytes + 1) : (*random)() % 90;
    rig->append(tid, static_cast<std::uint32_t>((*random)() % 5),
                std::string(bytes, static_cast<char>((*random)())));
  }
}

TEST(SequentialComposerTest, records_come_back_by_tid_session_and_append) {
  SequentialRig rig;
  const page::Tid early(Epoch(5), 1);
  const page::Tid late(Epoch(5), 2);
  rig.append(late, 0, "e");
  rig.append(early, 2, "c");
  rig.append(early, 2, "d");
  rig.append(early, 1, "a");
  rig.append(early, 1, "b");
  ASSERT_OK(rig.glean());
  std::string order;
  for (const auto& record : rig.read_all()) order += record.payload;
  EXPECT_EQ(order, "abcde");
  rig.expect_equal_to_model();
  EXPECT_EQ(rig.appended(), 2u);
  EXPECT_EQ(rig.root(), page::SnapshotPageId(page::SnapshotNumber{1}, 0, 2));
}

TEST(SequentialComposerTest, payloads_have_zero_to_the_most_bytes) {
  SequentialRig rig;
  for (std::uint32_t i = 0; i <= kMaxSequentialPayloadBytes; i += 256) {
    rig.append(page::Tid(Epoch(5), i + 1), 3, std::string(i, 'p'));
  }
  rig.append(page::Tid(Epoch(6), 1), 3, "");
  ASSERT_OK(rig.glean());
  rig.expect_equal_to_model();
}

// Goal: a page that is exactly full is not followed by an empty one. Method: payloads that fill it.
TEST(SequentialComposerTest, a_full_page_is_full_to_the_byte) {
  constexpr std::uint32_t kRest =
      SequentialSnapshotPage::kDataBytes -
      storage::sequential::SequentialSnapshotRecord::size_of(kMaxSequentialPayloadBytes) - 24;
  SequentialRig rig;
  for (std::uint32_t page = 0; page < 2; ++page) {
    rig.append(page::Tid(Epoch(5), page * 2 + 1), 0, std::string(kMaxSequentialPayloadBytes, 'a'));
    rig.append(page::Tid(Epoch(5), page * 2 + 2), 0, std::string(kRest, 'b'));
  }
  ASSERT_OK(rig.glean());
  EXPECT_EQ(rig.last_run().page_count, 2u);
  const auto first = rig.last_run().first_page;
  EXPECT_EQ(rig.pages().as<SequentialSnapshotPage>(first)->data_end,
            SequentialSnapshotPage::kDataBytes);
  rig.expect_equal_to_model();
}

TEST(SequentialComposerTest, random_appends_over_several_snapshots_equal_the_model) {
  std::mt19937_64 random(testing::test_seed(1411));
  SequentialRig rig;
  for (std::uint64_t glean = 0; glean < 20; ++glean) {
    append_randomly(&rig, &random, 1 + glean * 3);
    ASSERT_OK(rig.glean());
    EXPECT_EQ(rig.appended(), rig.last_run().page_count + 1);
    rig.expect_equal_to_model();
    if (HasFatalFailure()) return;
  }
}

// Goal: S6. Method: two full runs pages and a half, with one small run for each glean. At every
// step all full runs pages and all pages of records keep their ids, and only the newest runs page
// is read.
TEST(SequentialComposerTest, full_runs_pages_are_never_written_again) {
  SequentialRig rig;
  std::vector<page::SnapshotPageId> before;
  constexpr std::uint32_t kGleans = SequentialRunsPage::kRuns * 5 / 2;
  for (std::uint32_t glean = 0; glean < kGleans; ++glean) {
    rig.append(page::Tid(Epoch(1 + glean), 1), glean % 7, "record " + std::to_string(glean));
    const std::uint64_t reads = rig.pages().reads();
    ASSERT_OK(rig.glean());
    ASSERT_EQ(rig.pages().reads() - reads, glean == 0 ? 0u : 1u);
    ASSERT_EQ(rig.appended(), 2u);
    const auto now = rig.runs_pages();
    ASSERT_EQ(now.size(), glean / SequentialRunsPage::kRuns + 1);
    ASSERT_EQ(now.back(), rig.root());
    for (std::size_t i = 0; i + 1 < now.size(); ++i) ASSERT_EQ(now[i], before[i]);
    before = now;
  }
  rig.expect_equal_to_model();
  const auto* const oldest = rig.pages().as<SequentialRunsPage>(before[0]);
  EXPECT_EQ(oldest->runs[0].first_page, page::SnapshotPageId(page::SnapshotNumber{1}, 0, 1));
  EXPECT_EQ(oldest->run_count, SequentialRunsPage::kRuns);
}

TEST(SequentialComposerTest, the_same_input_gives_the_same_bytes) {
  const std::uint64_t seed = testing::test_seed(1412);
  std::string bytes[2];
  for (std::string& all : bytes) {
    std::mt19937_64 random(seed);
    SequentialRig rig;
    for (std::uint64_t glean = 0; glean < 3; ++glean) {
      append_randomly(&rig, &random, 1 + glean * 3);
      ASSERT_OK(rig.glean());
      all += rig.pages().file_bytes(page::SnapshotNumber{rig.snapshot()}, 0);
    }
  }
  EXPECT_FALSE(bytes[0].empty());
  EXPECT_TRUE(bytes[0] == bytes[1]);
}

TEST(SequentialComposerTest, nothing_logged_gives_the_root_before) {
  SequentialRig rig;
  ASSERT_OK(rig.glean());
  EXPECT_TRUE(rig.root().is_null());
  EXPECT_TRUE(rig.read_all().empty());

  rig.append(page::Tid(Epoch(5), 1), 0, "one");
  ASSERT_OK(rig.glean());
  const page::SnapshotPageId root = rig.root();
  const std::uint64_t reads = rig.pages().reads();
  ASSERT_OK(rig.glean());
  EXPECT_EQ(rig.root(), root);
  EXPECT_EQ(rig.appended(), 0u);
  EXPECT_EQ(rig.pages().reads(), reads);
  rig.expect_equal_to_model();
}

TEST(SequentialComposerTest, the_range_says_nothing) {
  SequentialRig rig;
  rig.append(page::Tid(Epoch(5), 1), 0, "one");
  ASSERT_OK(rig.glean({0, 0}));
  rig.expect_equal_to_model();
}

Status glean_with(LogRecordType type, page::Tid tid, std::string_view key, std::size_t bytes,
                  std::uint32_t offset) {
  SequentialRig rig;
  rig.append(page::Tid(Epoch(5), 1), 0, "before");
  EXPECT_TRUE(rig.glean().is_ok());
  rig.append(page::Tid(Epoch(6), 1), 0, "good");
  rig.stream().add(type, tid, key, std::string(bytes, 'b'), offset, 77);
  return rig.glean();
}

void expect_corruption(const Status& status, std::string_view words) {
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_EQ(status.storage(), "history");
  EXPECT_NE(status.message().find("session 77"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

TEST(SequentialComposerTest, what_no_append_can_have_logged_is_corruption) {
  const page::Tid tid(Epoch(6), 2);
  EXPECT_TRUE(glean_with(LogRecordType::kAppend, tid, "", 3072, 0).is_ok());
  expect_corruption(glean_with(LogRecordType::kAppend, tid, "", 3073, 0), "3073 bytes");
  expect_corruption(glean_with(LogRecordType::kAppend, tid, "key", 8, 0), "a key of 3 bytes");
  expect_corruption(glean_with(LogRecordType::kAppend, tid, "", 8, 4), "at offset 4");
  expect_corruption(glean_with(LogRecordType::kPut, tid, "", 8, 0), "of type 1");
  expect_corruption(glean_with(LogRecordType::kErase, tid, "", 0, 0), "of type 2");
  expect_corruption(glean_with(LogRecordType::kWriteAt, tid, "", 8, 0), "of type 3");
  expect_corruption(glean_with(LogRecordType::kIncrement, tid, "", 8, 0), "of type 4");
  expect_corruption(glean_with(LogRecordType::kAppend, page::Tid(Epoch(5), 9), "", 8, 0),
                    "up to 5");
}

TEST(SequentialComposerTest, a_root_that_is_not_of_the_storage_is_corruption) {
  SequentialRig rig;
  rig.append(page::Tid(Epoch(5), 1), 0, "one");
  ASSERT_OK(rig.glean());
  const page::SnapshotPageId root = rig.root();

  rig.append(page::Tid(Epoch(6), 1), 0, "two");
  rig.set_root(rig.last_run().first_page);  // a page of records
  EXPECT_EQ(rig.glean().code(), ErrorCode::kCorruption);
  rig.set_root(root);
  rig.meta().id = page::StorageId{10};
  const Status status = rig.glean();
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_NE(status.message().find(std::to_string(root.word())), std::string::npos);
  rig.meta().id = page::StorageId{9};
  rig.pages().corrupt(root, 4000);
  EXPECT_EQ(rig.glean().code(), ErrorCode::kCorruption);
}

TEST(SequentialComposerTest, errors_of_stream_reader_and_writer_are_passed_on) {
  SequentialRig rig;
  rig.append(page::Tid(Epoch(5), 1), 0, "one");
  ASSERT_OK(rig.glean());
  for (std::uint32_t i = 1; i < 10; ++i) {
    rig.append(page::Tid(Epoch(6), i), 0, std::string(1000, 'x'));
  }
  for (const std::size_t record : {0, 1, 8}) {
    rig.stream().fail_at(record);
    EXPECT_EQ(rig.glean().code(), ErrorCode::kIoError) << record;
  }
  rig.stream().fail_at(~std::size_t{0});
  rig.pages().fail_read_after(0);
  EXPECT_EQ(rig.glean().code(), ErrorCode::kIoError);
  for (const std::uint32_t appends : {0u, 1u, 2u, 3u}) {
    rig.fail_append_after(appends);
    EXPECT_EQ(rig.glean().code(), ErrorCode::kOutOfSpace) << appends;
  }
  rig.fail_append_after(~std::uint32_t{0});
  ASSERT_OK(rig.glean());
  rig.expect_equal_to_model();
}

// Goal: a reader of wrong lengths stops. Method: each field in turn is made wrong.
TEST(SequentialSnapshotOrderTest, wrong_lengths_are_found_out) {
  SequentialRig rig;
  rig.append(page::Tid(Epoch(5), 1), 0, "one");
  rig.append(page::Tid(Epoch(5), 2), 0, "the second one");
  ASSERT_OK(rig.glean());
  alignas(page::kPageBytes) char bytes[page::kPageBytes];
  auto& page = *reinterpret_cast<SequentialSnapshotPage*>(bytes);
  const auto restore = [&] {
    std::memcpy(bytes, static_cast<const void*>(rig.pages().at(rig.last_run().first_page)),
                sizeof(bytes));
  };
  restore();
  EXPECT_TRUE(has_whole_records(page));
  for (const std::uint32_t end : {0u, 8u, 32u, 64u, 80u, 4024u, 4032u, ~0u}) {
    page.data_end = end;
    EXPECT_FALSE(has_whole_records(page)) << end;
  }
  restore();
  for (const std::uint32_t length : {9u, 17u, 4000u, ~0u}) {
    page.record_at(0)->payload_bytes = length;
    EXPECT_FALSE(has_whole_records(page)) << length;
  }
  restore();
  page.record_count = 3;
  EXPECT_FALSE(has_whole_records(page));
}

// Goal: a reader of a chain that leads nowhere stops. Method: a runs page that names itself.
TEST(SequentialSnapshotOrderTest, a_chain_that_does_not_count_down_is_corruption) {
  SequentialRig rig;
  rig.append(page::Tid(Epoch(5), 1), 0, "one");
  ASSERT_OK(rig.glean());
  alignas(page::kPageBytes) char bytes[page::kPageBytes];
  auto& page = *reinterpret_cast<SequentialRunsPage*>(bytes);
  std::memcpy(bytes, static_cast<const void*>(rig.pages().at(rig.root())), sizeof(bytes));
  const auto chain = [&] {
    return storage::sequential::runs_pages_of(rig.root(), rig.meta().id, [&](page::SnapshotPageId) {
      return Result<const SequentialRunsPage*>(&page);
    });
  };
  EXPECT_EQ(chain()->size(), 1u);
  page.full_page = rig.root();
  EXPECT_EQ(chain().code(), ErrorCode::kCorruption);
  page.header.kind_word = 5;
  EXPECT_EQ(chain().code(), ErrorCode::kCorruption);
  page.run_count = SequentialRunsPage::kRuns;
  EXPECT_EQ(chain().code(), ErrorCode::kCorruption);
  page.header.kind_word = ~std::uint64_t{0};
  EXPECT_EQ(chain().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace foedus::gleaner::sequential_composer_test
