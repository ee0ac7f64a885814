// ctest-labels: crash
// Starts on a directory when a call of the device fails, and on rare states of the log: an error is
// returned with its number and loses no data, and each rare state is handled.
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/log/segments/records.h"
#include "foedus-core/log/segments/writer.h"
#include "tests/log/log_harness.h"
#include "tests/testing/mend_segment.h"

namespace foedus::log::testing::log_examine_test {
namespace {

constexpr std::uint64_t kLargeSegment = 16u << 20;

// Makes a log of two loggers that was not closed, with frames across the end of a read, and a
// segment that no savepoint counts.
History make_large_log(FailingDevice* device) {
  History all;
  {
    LogRun run(device, 2, kLargeSegment);
    EXPECT_TRUE(run.open_and_start().is_ok());
    for (std::uint32_t soc = 0; soc < 2; ++soc) run.session(soc, 8u << 20);
    for (std::uint64_t i = 0; i < 16; ++i) {
      const auto epoch = run.sessions[i % 4 == 0 ? 1 : 0]->commit(i, 400'000 + i * 1'000);
      EXPECT_TRUE(epoch.is_ok() && run.wait(*epoch).is_ok());
    }
    all = run.history(1);
    device->crash_power(FailingDevice::kDropAll);
  }
  SegmentHeader header{};
  header.number = 9;
  EXPECT_TRUE(SegmentWriter::create(device, header, 64u << 10).is_ok());
  return all;
}

Status start_and_read(FailingDevice* device, History* found) {
  LogRun run(device, 2, kLargeSegment);
  FOEDUS_CHECK(run.open());
  FOEDUS_CHECK(read_all(*run.log, found));
  return run.start();
}

// Method: each call that changes nothing fails once, from open to the first segment; then the open
// is repeated without a failure.
TEST(LogExamineTest, an_error_of_any_call_that_looks_is_handed_on_and_costs_nothing) {
  FailingDevice made;
  const History expected = make_large_log(&made);
  for (const Call kind : {Call::kOpen, Call::kRead, Call::kSize, Call::kList}) {
    for (std::uint64_t skip = 0;; ++skip) {
      SCOPED_TRACE("call kind " + std::to_string(static_cast<int>(kind)) + " skip " +
                   std::to_string(skip));
      const auto device = made.copy();
      const std::uint64_t before = device->calls(kind);
      device->fail(kind, skip, EIO);
      History found;
      const Status status = start_and_read(device.get(), &found);
      if (device->calls(kind) - before <= skip) {
        EXPECT_GT(skip, 0u);
        ASSERT_OK(status);
        break;
      }
      ASSERT_EQ(status.code(), ErrorCode::kIoError) << status.message();
      EXPECT_EQ(status.error_number(), EIO);
      device->clear_faults();
      found.clear();
      ASSERT_OK(start_and_read(device.get(), &found));
      ASSERT_EQ(found, expected);
    }
  }
}

// The directory has no log yet, and a failure to list it must not make it look new.
TEST(LogExamineTest, a_directory_that_cannot_be_listed_is_no_new_one) {
  for (const Call kind : {Call::kOpen, Call::kList}) {
    FailingDevice device;
    device.fail(kind, 0, EIO);
    LogRun run(&device);
    EXPECT_EQ(run.open().error_number(), EIO);
  }
}

TEST(LogExamineTest, options_out_of_their_range_are_refused) {
  FailingDevice device;
  for (const auto& [socs, segment_bytes] :
       {std::pair{0u, 1u << 20}, std::pair{kMaxSocs + 1, 1u << 20}, std::pair{1u, 65'535u}}) {
    LogRun run(&device, socs, segment_bytes);
    EXPECT_EQ(run.open().code(), ErrorCode::kInvalidArgument);
  }
  LogRun run(&device, kMaxSocs, 64u << 10);
  ASSERT_OK(run.open());
}

TEST(LogExamineTest, a_reader_that_gives_up_ends_the_reading_with_its_error) {
  FailingDevice device;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    for (std::uint64_t i = 0; i < 3; ++i) ASSERT_OK(run.session(0)->commit(i, 10));
    ASSERT_OK(run.close());
  }
  LogRun run(&device);
  ASSERT_OK(run.open());
  int records = 0;
  const Status status = run.log->read_segment(
      0, [&](std::uint32_t, std::uint64_t, const LogRecord&) -> Status {
        return ++records == 2 ? Status::error(ErrorCode::kClosed, "enough") : Status();
      });
  EXPECT_EQ(status.code(), ErrorCode::kClosed);
  EXPECT_EQ(records, 2);
}

// The records may follow one another in a piece of one frame.
TEST(LogExamineTest, records_of_later_epochs_than_the_cut_are_left_out) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  TestSession* const session = run.session(0);
  run.runtime.starve("foedus-log-0");
  const auto first = session->commit(1, 10);
  ASSERT_OK(first);
  run.runtime.run_for(50'000);
  const auto second = session->commit(2, 10);
  ASSERT_OK(second);
  ASSERT_LT(*first, *second);
  run.runtime.starve("");
  ASSERT_OK(run.wait(*second));
  const LogSegment segment = run.log->segments().at(0);
  for (const auto& [cut, expected] : {std::pair{*first, 1}, std::pair{*second, 2}}) {
    const auto records = run.log->open_segment(segment, cut);
    ASSERT_OK(records);
    int count = 0;
    for (std::uint32_t number;; ++count) {
      const auto record = (*records)->next(&number);
      ASSERT_OK(record);
      if (*record == nullptr) break;
    }
    EXPECT_EQ(count, expected);
  }
}

// Goal: a glean that finds the log damaged while it runs fails with the name of the file.
TEST(LogExamineTest, a_segment_that_is_damaged_while_the_log_runs_is_refused_by_name) {
  FailingDevice device;
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  const auto epoch = run.commit_durably(run.session(0), 1, 10);
  ASSERT_OK(epoch);
  const LogSegment segment = run.log->segments().at(0);
  const auto read = [&] {
    int records = 0;
    const Status status = run.log->read(
        segment, *epoch, [&](std::uint32_t, std::uint64_t, const LogRecord&) -> Status {
          ++records;
          return {};
        });
    EXPECT_EQ(run.log->open_segment(segment, *epoch).is_ok(), status.is_ok());
    EXPECT_EQ(records, status.is_ok() ? 1 : 0);
    return status;
  };
  ASSERT_OK(read());
  const auto give_up = [](std::uint32_t, std::uint64_t, const LogRecord&) -> Status {
    return ErrorCode::kClosed;
  };
  EXPECT_EQ(run.log->read(segment, *epoch, give_up).code(), ErrorCode::kClosed);
  for (const Call kind : {Call::kOpen, Call::kRead}) {
    device.fail(kind, 0, EIO, true);
    EXPECT_EQ(read().error_number(), EIO);
    device.clear_faults();
  }
  const std::string why = kFirst + ": no valid header at offset 0";
  device.flip_bit(kFirst, 20, 1);
  Status status = read();
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  device.flip_bit(kFirst, 20, 1);
  ASSERT_OK(read());
  device.set_size(kFirst, kBlockBytes - 1);
  status = read();
  EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
}

// Method: a savepoint counts as many segments as there are numbers, all of them removed.
TEST(LogExamineTest, a_log_without_numbers_for_segments_does_not_start) {
  FailingDevice device;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.close());
  }
  auto savepoint = read_savepoint(&device);
  ASSERT_OK(savepoint);
  savepoint->loggers[0].oldest = kSegmentNumberMax + 1;
  savepoint->loggers[0].newest = kSegmentNumberMax;
  ASSERT_OK(write_savepoint(&device, &*savepoint));
  device.drop_file(kFirst);
  LogRun run(&device);
  ASSERT_OK(run.open());
  const Status status = run.start();
  EXPECT_EQ(status.code(), ErrorCode::kIoError);
  EXPECT_NE(status.message().find("no segment number is left for logger 0"), std::string::npos)
      << status.message();
}

TEST(LogExamineTest, an_empty_segment_of_a_soc_that_cannot_be_is_a_leftover) {
  FailingDevice device;
  ASSERT_OK(device.open("log-64-00000001", device::Access::kCreate).status());
  {
    LogRun run(&device);
    EXPECT_EQ(run.open().code(), ErrorCode::kCorruption);  // there is no savepoint
  }
  device.drop_file("log-64-00000001");
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.close());
  }
  ASSERT_OK(device.open("log-64-00000001", device::Access::kCreate).status());
  LogRun run(&device);
  ASSERT_OK(run.open_and_start());
  EXPECT_FALSE(device.exists("log-64-00000001"));
}

// Method: a segment that no savepoint counts holds a frame, but its header is damaged.
TEST(LogExamineTest, a_leftover_with_a_damaged_header_is_none_that_holds_data) {
  FailingDevice device;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
    ASSERT_OK(run.close());
  }
  const std::vector<char> bytes = device.bytes_of(kFirst);
  ASSERT_OK(device.open(kSecond, device::Access::kCreate));
  device.overwrite(kSecond, 0, std::string(bytes.data(), bytes.size()));
  LogRun refused(&device);
  EXPECT_NE(refused.open().message().find("savepoint does not count it"), std::string::npos);
  device.flip_bit(kSecond, offsetof(SegmentHeader, mark_epoch), 0);
  LogRun run(&device);
  ASSERT_OK(run.open());
}

// Goal: the savepoint's anchor is a promise of one segment only. Method: a short segment that could
// not be sealed comes before a long one.
TEST(LogExamineTest, the_anchor_of_a_segment_is_not_that_of_the_one_before_it) {
  bool was_left_unsealed = false;
  for (std::uint64_t skip = 0; skip < 12; ++skip) {
    FailingDevice device;
    History all;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      TestSession* const session = run.session(0);
      const auto first = run.commit_durably(session, 1, 10);
      ASSERT_OK(first);
      run.log->roll_segments();
      ASSERT_OK(run.commit_durably(session, 2, 10));
      run.log->roll_segments();
      device.fail(Call::kWrite, skip, EIO);
      ASSERT_OK(run.commit_durably(session, 3, 30'000));
      run.runtime.run_for(50'000);
      device.clear_faults();
      ASSERT_OK(run.log->remove_segments_up_to(*first));  // writes the anchor of the newest one
      was_left_unsealed |= !run.messages.empty() &&
                           run.messages.back().find("cannot seal") != std::string::npos;
      all = run.history(1);
      device.crash_power(FailingDevice::kDropAll);
    }
    LogRun run(&device);
    ASSERT_OK(run.open());
    History found;
    ASSERT_OK(read_all(*run.log, &found));
    ASSERT_EQ((found[{1, 0}].back()), (all[{1, 0}].back())) << skip;
  }
  EXPECT_TRUE(was_left_unsealed);
}

// ---- tails

// Goal: a record of which only the beginning is in the segment belongs to no durable commit, and a
// part of a filler is ignored. Method: records, and the filler at the end of the ring, are larger
// than a frame; power fails at each call, and all writes survive.
TEST(LogExamineTest, what_the_crash_cut_in_two_is_passed_over) {
  std::uint64_t cut = 0;
  for (std::uint64_t skip = 0;; ++skip) {
    SCOPED_TRACE("skip " + std::to_string(skip));
    FailingDevice device;
    History all;
    bool was_lost = false;
    {
      LogRun run(&device, 1, kLargeSegment);
      ASSERT_OK(run.open_and_start());
      TestSession* const session = run.session(0, 8u << 20);
      device.lose_power_after(skip);
      for (std::uint64_t i = 0; i < 6; ++i) {
        const auto epoch = session->commit(i, 1'400'000);
        if (!epoch.is_ok() || !run.wait(*epoch).is_ok()) break;
      }
      was_lost = device.has_lost_power();
      all = run.history(1);
      device.crash_power(FailingDevice::kKeepAll);
    }
    LogRun run(&device);
    ASSERT_OK(run.open());
    History found;
    ASSERT_OK(read_all(*run.log, &found));
    const Epoch until = run.log->durable_epoch_found();
    ASSERT_EQ(found, cut_at(all, until));
    if (found != all) ++cut;
    if (!was_lost) break;
  }
  EXPECT_GT(cut, 3u);
}

// Goal: a last frame whose table of pieces lacks a sector is cut, too. Method: a last frame of
// enough sessions that its table does not end in the sector of its header.
TEST(LogExamineTest, a_last_frame_that_lacks_a_part_of_its_table_is_cut) {
  FailingDevice device;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
    Epoch last;
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto epoch = run.session(0)->commit(10 + i, 8);
      ASSERT_OK(epoch);
      last = *epoch;
    }
    ASSERT_OK(run.wait(last));
    device.crash_power(FailingDevice::kDropAll);
  }
  constexpr std::uint64_t kLast = 2 * kBlockBytes;
  const auto header = load<FrameHeader>(device, kFirst, kLast);
  ASSERT_EQ(header.piece_count, 40u);
  device.overwrite(kFirst, kLast + 512, std::string(512, '\0'));
  LogRun run(&device);
  ASSERT_OK(run.open());
  History found;
  ASSERT_OK(read_all(*run.log, &found));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.begin()->second.size(), 1u);
}

// Goal: bytes that were never written as a frame are not a damaged frame, and neither is a frame
// that lacks its first word, as persistent memory leaves it. Method: the place of the next frame
// holds a header of another incarnation, one whose magic is damaged, and one without a first word.
TEST(LogExamineTest, bytes_that_share_no_more_than_the_offset_are_no_frame) {
  struct Case {
    std::uint64_t incarnation;
    std::uint32_t magic;
    ErrorCode code;
  };
  for (const Case& one : {Case{7, kFrameMagic ^ 1, ErrorCode::kOk},
                          Case{1, kFrameMagic ^ 1, ErrorCode::kCorruption},
                          Case{1, 1, ErrorCode::kCorruption}, Case{1, 0, ErrorCode::kOk}}) {
    FailingDevice device;
    {
      LogRun run(&device);
      ASSERT_OK(run.open_and_start());
      ASSERT_OK(run.commit_durably(run.session(0), 1, 10));
      device.crash_power(FailingDevice::kDropAll);
    }
    FrameHeader header{};
    header.offset = 2 * kBlockBytes;
    header.incarnation = one.incarnation;
    header.magic = one.magic;
    device.overwrite(kFirst, header.offset,
                     std::string(reinterpret_cast<const char*>(&header), sizeof(header)));
    LogRun run(&device);
    const Status status = run.open();
    EXPECT_EQ(status.code(), one.code) << status.message();
  }
}

// Goal: a seal that recovery makes names the oldest epoch also if a later frame has it. Method: the
// logger sees a small record of one epoch together with a large one of the next, whose frame comes
// first. A frame of a newer epoch follows.
TEST(LogExamineTest, the_oldest_epoch_of_a_tail_may_stand_in_a_later_frame) {
  FailingDevice device;
  std::uint64_t small_epoch = 0;
  {
    LogRun run(&device);
    ASSERT_OK(run.open_and_start());
    run.runtime.run_for(30'000);
    TestSession* const small = run.session(0);
    TestSession* const large = run.session(0);
    run.runtime.starve("foedus-log-0");
    const auto first = small->commit(1, 10);
    ASSERT_OK(first);
    small_epoch = first->number();
    run.runtime.run_for(30'000);
    const auto last = large->commit(2, 9'000);
    ASSERT_OK(last);
    ASSERT_LT(*first, *last);
    run.runtime.starve("");
    ASSERT_OK(run.wait(*last));
    ASSERT_OK(run.commit_durably(small, 3, 10));
    device.crash_power(FailingDevice::kDropAll);
  }
  const auto header = load<FrameHeader>(device, kFirst, kBlockBytes);
  ASSERT_GT(header.oldest_epoch, small_epoch);
  LogRun run(&device);
  ASSERT_OK(run.open());
  ASSERT_OK(run.log->make_cut_durable());
  const auto seal = load<SegmentSeal>(device, kFirst, kSlotBytes);
  EXPECT_EQ(seal.oldest_epoch, small_epoch);
}

// Goal: new epochs begin above those of records that a torn frame cuts off, in the tail of any
// logger. Method: a session fills its ring within one epoch, so that its records are written before
// any mark of that epoch; the first frame of these is torn.
TEST(LogExamineTest, epochs_after_a_torn_frame_of_any_logger_are_not_used_again) {
  FailingDevice device;
  Epoch epoch;
  {
    LogRun run(&device, 2);
    ASSERT_OK(run.open_and_start());
    TestSession* const session = run.session(0);
    ASSERT_OK(run.commit_durably(session, 1, 10));
    for (std::uint64_t i = 0; i < 100; ++i) {
      const auto committed = session->commit(i, 4'000);
      ASSERT_OK(committed);
      epoch = *committed;
    }
    ASSERT_LT(run.clock->published(), epoch);
    device.crash_power(FailingDevice::kDropAll);
  }
  const std::vector<char> all = device.bytes_of(kFirst);
  std::string bytes(all.data(), all.size());
  std::vector<std::size_t> torn;
  ::foedus::testing::mend_segment(&bytes, [&](std::size_t begin, std::size_t) {
    using ::foedus::testing::load_at;
    using ::foedus::testing::store_at;
    const auto newest =
        load_at<std::uint64_t>(bytes, begin + offsetof(FrameHeader, newest_epoch));
    if (newest == epoch.number()) torn.push_back(begin);
    store_at(&bytes, begin + offsetof(FrameHeader, synced_bytes), std::uint64_t{kBlockBytes});
  });
  ASSERT_GE(torn.size(), 2u);
  bytes.replace(torn[0], torn[1] - torn[0], torn[1] - torn[0], '\0');
  device.overwrite(kFirst, 0, bytes);
  LogRun run(&device, 2);
  ASSERT_OK(run.open());
  EXPECT_LT(run.log->durable_epoch_found(), epoch);
  EXPECT_GT(run.log->first_new_epoch(), epoch);
}

}  // namespace
}  // namespace foedus::log::testing::log_examine_test
