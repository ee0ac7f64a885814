// ctest-labels: crash
// Snapshot files are written once, whole, and are durable when finish() says so.
#include "tests/snapshot/snapshot_rig.h"

namespace foedus::snapshot::snapshot_writer_test {
namespace {

constexpr SnapshotNumber kOne{1};

TEST(SnapshotWriterTest, pages_are_read_back_with_every_size_of_buffer_and_file) {
  for (const std::size_t buffer_pages : {1u, 2u, 3u, 8u, 256u}) {
    for (const std::uint32_t pages : {0u, 1u, 2u, 7u, 8u, 17u}) {
      FailingDevice device;
      ASSERT_OK(write_file(&device, 1, 2, pages, buffer_pages * kPageBytes));
      EXPECT_EQ(device.size_of("snapshot-00000001-2"), (pages + 1) * kPageBytes);
      SnapshotFiles files(&device);
      for (std::uint32_t i = 1; i <= pages; ++i) {
        ASSERT_OK(read_and_compare(&files, SnapshotPageId(kOne, 2, i)));
      }
    }
  }
}

TEST(SnapshotWriterTest, ids_count_from_one_and_are_told_before) {
  FailingDevice device;
  const auto writer = SnapshotWriter::create(&device, SnapshotNumber{5}, 3);
  ASSERT_OK(writer);
  Pages page(1);
  fill(page.at(0), 1);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    const SnapshotPageId expected(SnapshotNumber{5}, 3, i);
    EXPECT_EQ((*writer)->pages(), i - 1);
    EXPECT_EQ((*writer)->next_id(), expected);
    const auto id = (*writer)->append(page.at(0));
    ASSERT_OK(id);
    EXPECT_EQ(*id, expected);
  }
  EXPECT_EQ(page.at(0)->page_id, 1u) << "the caller's page was changed";
  EXPECT_EQ((*writer)->path(), "/failing/snapshot-00000005-3");
}

TEST(SnapshotWriterTest, writes_are_as_large_as_the_buffer) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 31, 8 * kPageBytes));
  EXPECT_EQ(device.calls(Call::kWrite), 4u);
  EXPECT_EQ(device.calls(Call::kSync), 1u);
}

// Goal: a crash after finish() and a synced directory loses no page. Method: drop all unsynced.
TEST(SnapshotWriterTest, a_finished_file_is_durable) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 9));
  ASSERT_OK(device.sync_directory());
  device.crash_power(FailingDevice::kDropAll);
  SnapshotFiles files(&device);
  for (std::uint32_t i = 1; i <= 9; ++i) {
    ASSERT_OK(read_and_compare(&files, SnapshotPageId(kOne, 0, i)));
  }
}

TEST(SnapshotWriterTest, a_leftover_of_the_same_name_is_removed) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 9));
  ASSERT_OK(device.sync_directory());
  ASSERT_OK(write_file(&device, 1, 0, 2));
  EXPECT_EQ(device.size_of("snapshot-00000001-0"), 3 * kPageBytes);
  SnapshotFiles files(&device);
  EXPECT_EQ(read_and_compare(&files, SnapshotPageId(kOne, 0, 3)).code(), ErrorCode::kCorruption);
}

TEST(SnapshotWriterTest, a_leftover_that_cannot_be_removed_is_an_error) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 9));
  device.fail(Call::kRemove, 0, EIO);
  EXPECT_EQ(SnapshotWriter::create(&device, kOne, 0).code(), ErrorCode::kIoError);
}

// Goal: F3, a file that a manifest may name is never replaced.
TEST(SnapshotWriterTest, a_file_of_a_snapshot_that_exists_is_refused_and_not_touched) {
  FailingDevice device;
  ASSERT_OK(make_snapshot(&device, 1));
  ASSERT_OK(make_snapshot(&device, 2));
  for (const std::uint32_t number : {1u, 2u}) {
    const auto writer = SnapshotWriter::create(&device, SnapshotNumber{number}, 0);
    EXPECT_EQ(writer.code(), ErrorCode::kAlreadyExists);
    EXPECT_NE(writer.status().message().find("manifest-00000002"), std::string::npos);
  }
  ASSERT_OK(check_snapshot(&device, manifest_of(2)));
}

TEST(SnapshotWriterTest, a_failed_sync_is_an_error) {
  FailingDevice device;
  device.fail(Call::kSync, 0, EIO);
  EXPECT_EQ(write_file(&device, 1, 0, 3).code(), ErrorCode::kIoError);
}

// Goal: F6. Method: the second write fails once; all later calls would work.
TEST(SnapshotWriterTest, the_first_error_is_final) {
  FailingDevice device;
  const auto writer = SnapshotWriter::create(&device, kOne, 0, 2 * kPageBytes);
  ASSERT_OK(writer);
  device.fail(Call::kWrite, 1, EIO);
  EXPECT_EQ(append_pages(writer->get(), 9).code(), ErrorCode::kIoError);
  EXPECT_EQ(append_pages(writer->get(), 1).code(), ErrorCode::kIoError);
  EXPECT_EQ((*writer)->finish().code(), ErrorCode::kIoError);
  EXPECT_EQ(device.calls(Call::kSync), 0u);
}

TEST(SnapshotWriterTest, an_error_of_the_last_write_is_returned) {
  FailingDevice device;
  const auto writer = SnapshotWriter::create(&device, kOne, 0, 8 * kPageBytes);
  ASSERT_OK(writer);
  device.fail(Call::kWrite, 0, EIO);
  ASSERT_OK(append_pages(writer->get(), 3));
  EXPECT_EQ((*writer)->finish().code(), ErrorCode::kIoError);
}

// Goal: with every size of the device either the file is whole, or the error names the reason.
TEST(SnapshotWriterTest, a_full_disk_is_out_of_space) {
  for (std::uint64_t room = 0; room <= 11; ++room) {
    FailingDevice device;
    device.set_capacity(room * kPageBytes);
    const Status status = write_file(&device, 1, 0, 9, 3 * kPageBytes);
    EXPECT_EQ(status.code(), room < 10 ? ErrorCode::kOutOfSpace : ErrorCode::kOk) << room;
  }
}

TEST(SnapshotWriterTest, a_file_takes_no_more_pages_than_its_limit) {
  FailingDevice device;
  const auto writer = SnapshotWriter::create(&device, kOne, 0, 2 * kPageBytes, 6);
  ASSERT_OK(writer);
  ASSERT_OK(append_pages(writer->get(), 5));
  EXPECT_TRUE((*writer)->next_id().is_null());
  Pages page(1);
  fill(page.at(0), 1);
  const auto id = (*writer)->append(page.at(0));
  EXPECT_EQ(id.code(), ErrorCode::kTooLarge);
  EXPECT_NE(id.status().message().find("snapshot-00000001-0"), std::string::npos);
  EXPECT_EQ((*writer)->finish().code(), ErrorCode::kTooLarge);
}

TEST(SnapshotWriterTest, a_number_of_nine_digits_is_too_large) {
  FailingDevice device;
  EXPECT_EQ(SnapshotWriter::create(&device, SnapshotNumber{100'000'000}, 0).code(),
            ErrorCode::kTooLarge);
  ASSERT_OK(SnapshotWriter::create(&device, SnapshotNumber{99'999'999}, 0));
  EXPECT_TRUE(device.exists("snapshot-99999999-0"));
}

TEST(SnapshotWriterDeathTest, a_page_that_is_locked_is_a_bug) {
  FailingDevice device;
  const auto writer = SnapshotWriter::create(&device, kOne, 0);
  ASSERT_OK(writer);
  Pages page(1);
  fill(page.at(0), 1);
  page.at(0)->lock.store_relaxed(1);
  EXPECT_DEATH([[maybe_unused]] const auto id = (*writer)->append(page.at(0)), "lock");
}

TEST(SnapshotNamesTest, only_what_was_given_is_parsed) {
  EXPECT_EQ(snapshot_name(SnapshotNumber{42}, 7), "snapshot-00000042-7");
  EXPECT_EQ(manifest_name(SnapshotNumber{42}), "manifest-00000042");
  const auto parsed = parse_snapshot_name("snapshot-00000042-63");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->snapshot, SnapshotNumber{42});
  EXPECT_EQ(parsed->soc, 63u);
  EXPECT_EQ(parse_manifest_name("manifest-99999999"), SnapshotNumber{99'999'999});
  for (const char* const name :
       {"", "snapshot-", "snapshot-00000042", "snapshot-00000042-", "snapshot-00000042-64",
        "snapshot-00000042-07", "snapshot-00000042-7x", "snapshot-00000042-7-", "snapshot-42-7",
        "snapshot-0000004x-7", "snapshot-00000000-7", "snapshot-000000042-7", "log-0-00000001",
        "snapshot-00000042-99999999999", "Snapshot-00000042-7", "snapshot-00000042--7"}) {
    EXPECT_FALSE(parse_snapshot_name(name).has_value()) << name;
  }
  for (const char* const name : {"", "manifest-", "manifest-new", "manifest-00000000",
                                 "manifest-0000042", "manifest-000000042", "manifest-0000004x",
                                 "manifest-00000042 ", "manifest-+0000042"}) {
    EXPECT_FALSE(parse_manifest_name(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace foedus::snapshot::snapshot_writer_test
