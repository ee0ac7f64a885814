// ctest-labels: memory
// StagingBuffer: staged pages are read from the buffer, the newest version of a page wins, readers
// and writers do not wait for a flush, and an error loses no acknowledged page.
#include "foedus-core/device/staging/buffer.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/at_sync_point.h"
#include "tests/testing/staged_pages.h"

namespace foedus::device::staging_buffer_test {
namespace {

using testing::AtSyncPoint;
using testing::Call;
using testing::CallSeen;
using testing::FailingDevice;
using testing::file_name;
using testing::kStagedPages;
using testing::must;
using testing::one_partition;
using testing::page_of;
using testing::small;
using testing::SpreadDisk;
using testing::Staged;

using StagingBufferTest = testing::StagedFilesTest;

// ---- writes, reads and order -------------------------------------------------------------------

TEST_F(StagingBufferTest, what_is_written_is_read_while_it_is_staged_and_is_in_its_file_then) {
  for (const StagingSpread spread :
       {StagingSpread::kEven, StagingSpread::kSingle, StagingSpread::kLess}) {
    SpreadDisk fresh;
    make_files(&fresh);
    Staged staged(&fresh, small(spread));
    must(staged.open());
    must(staged.write(1, 3));
    EXPECT_EQ(staged.staged(1, 3), 1);
    EXPECT_EQ(staged.staged(1, 4), 0);
    EXPECT_EQ(staged.staged(2, 3), 0);
    EXPECT_EQ(staged.written(1, 3), 0) << "a bucket that is not full is not written";
    EXPECT_EQ(staged.write_some(50, 7), 50u);
    must(staged->flush());
    EXPECT_EQ(staged.difference(), "");
    EXPECT_FALSE(staged.target(1)->has_staged());
    EXPECT_EQ(staged.staged(1, 3), 0) << "nothing is staged any more";
    const StagingStatistics seen = staged->statistics();
    EXPECT_GT(seen.flushes, 4u);
    EXPECT_LE(seen.flushed_pages, seen.written_pages);
  }
}

TEST_F(StagingBufferTest, pages_of_one_file_go_where_the_spread_says) {
  const auto partitions_of = [&](StagingSpread spread) {
    SpreadDisk fresh;
    make_files(&fresh);
    StagingOptions options{.partitions = 8, .buckets = 2, .slots = 64, .flushers = 2};
    options.spread = spread;
    Staged staged(&fresh, options);
    must(staged.open());
    std::string bytes(256 * kBlockBytes, 'x');
    std::set<std::string> names;
    fresh.a().set_observer([&](const CallSeen& call) {
      if (call.kind == Call::kWrite) names.insert(call.name);
    });
    must(staged->write(staged.target(1), 0, bytes.data(), 256));
    fresh.a().set_observer({});
    return names.size();
  };
  EXPECT_EQ(partitions_of(StagingSpread::kEven), 8u);
  EXPECT_EQ(partitions_of(StagingSpread::kSingle), 1u);
  EXPECT_EQ(partitions_of(StagingSpread::kLess), 2u);
}

// V29 holds for versions in one bucket, and in two.
TEST_F(StagingBufferTest, the_newest_version_of_a_page_wins) {
  Staged staged(&disk, one_partition(3));
  must(staged.open());
  for (int i = 0; i < 3; ++i) must(staged.write(1, 5));
  EXPECT_EQ(staged.staged(1, 5), 3);
  must(staged.write(1, 6));  // the first bucket is full
  must(staged.write(1, 5));
  EXPECT_EQ(staged.staged(1, 5), 5);
  must(staged->flush());
  EXPECT_EQ(staged.written(1, 5), 5);
  EXPECT_EQ(staged.written(1, 6), 4);
  EXPECT_EQ(staged->statistics().flushed_pages, 2u) << "older versions are not written";
}

TEST_F(StagingBufferTest, the_newest_version_of_a_page_wins_through_recovery) {
  for (std::uint64_t writes = 1; writes < 12; ++writes) {
    SCOPED_TRACE(writes);
    SpreadDisk fresh;
    make_files(&fresh);
    Staged staged(&fresh, one_partition(4));
    must(staged.open());
    // The SSD accepts no write, so that all versions stay in their buckets.
    fresh.b().fail(Call::kSync, 0, EIO, true);
    for (std::uint64_t i = 0; i < writes; ++i) must(staged.write(1, i % 2));
    fresh.a().crash_process();
    fresh.b().crash_process();
    Staged again(&fresh, one_partition(4));
    must(again.open());
    EXPECT_EQ(staged.difference(), "");
  }
}

// Neighbouring pages are one write, and each file has one sync.
TEST_F(StagingBufferTest, a_bucket_is_one_batch) {
  StagingOptions options = one_partition(2);
  options.slots = 16;
  Staged staged(&disk, options);
  must(staged.open());
  std::vector<std::pair<std::string, std::uint64_t>> writes;
  std::uint64_t syncs = 0;
  disk.b().set_observer([&](const CallSeen& call) {
    if (call.kind == Call::kWrite) writes.emplace_back(call.name, call.bytes->size());
    if (call.kind == Call::kSync) ++syncs;
  });
  must(staged.write(2, 6, 2));
  must(staged.write(1, 2));  // a page of file 2 has the next number
  must(staged.write(2, 3, 3));
  must(staged.write(2, 10));
  must(staged->flush());
  EXPECT_EQ(staged.difference(), "");
  using Seen = std::pair<std::string, std::uint64_t>;
  const std::vector<Seen> wanted = {Seen(file_name(1), kBlockBytes),
                                    Seen(file_name(2), 5 * kBlockBytes),
                                    Seen(file_name(2), kBlockBytes)};
  EXPECT_EQ(writes, wanted);
  EXPECT_EQ(syncs, 2u);
}

// Method: the observer runs in the flusher, within a write to the file.
TEST_F(StagingBufferTest, readers_and_writers_go_on_while_a_bucket_is_flushed) {
  Staged staged(&disk, one_partition(2));
  must(staged.open());
  bool was_seen = false;
  disk.b().set_observer([&](const CallSeen& call) {
    if (call.kind != Call::kWrite || was_seen) return;
    was_seen = true;
    EXPECT_EQ(staged.staged(1, 0), 1);
    must(staged.write(1, 0));  // to the other bucket
    EXPECT_EQ(staged.staged(1, 0), 2);
  });
  must(staged.write(1, 0, 4));
  must(staged->flush());
  EXPECT_TRUE(was_seen);
  EXPECT_EQ(staged.written(1, 0), 1);
  EXPECT_EQ(staged.staged(1, 0), 2) << "the newer version has not been flushed with the older one";
  must(staged->flush());
  EXPECT_EQ(staged.difference(), "");
}

// Method: when a writer has found no bucket, the full one is flushed, and another writer opens it.
TEST_F(StagingBufferTest, a_writer_goes_on_in_the_bucket_that_another_one_has_opened) {
  Staged staged(&disk, one_partition(1));
  must(staged.open());
  must(staged.write(1, 0, 4));
  AtSyncPoint at("staging:no_bucket", [&] {
    must(staged->flush());
    must(staged.write(2, 7));
  });
  must(staged.write(1, 5));
  EXPECT_EQ(at.runs(), 1u);
  must(staged->flush());
  EXPECT_EQ(staged.difference(), "");
}

// V31. Method: after a reader has searched the index and before its read, the bucket is flushed and
// another page written to the slot.
TEST_F(StagingBufferTest, a_reader_notices_that_the_slot_is_of_another_page) {
  Staged staged(&disk, one_partition(1));
  must(staged.open());
  must(staged.write(1, 0));
  bool has_changed = false;
  disk.a().set_observer([&](const CallSeen& call) {
    if (call.kind != Call::kRead || has_changed) return;
    has_changed = true;
    must(staged->flush());
    must(staged.write(2, 7));
  });
  EXPECT_EQ(staged.staged(1, 0), 0);
  EXPECT_TRUE(has_changed);
  EXPECT_EQ(staged.written(1, 0), 1);
  EXPECT_EQ(staged.staged(2, 7), 2);
}

// ---- errors ------------------------------------------------------------------------------------

constexpr Call kFailing[] = {Call::kOpen, Call::kCreate,      Call::kRead,
                             Call::kWrite, Call::kSync,       Call::kPreallocate,
                             Call::kList,  Call::kSyncDirectory};

// An acknowledged page is in its file once the error is over, and after a power failure.
TEST_F(StagingBufferTest, an_error_at_any_call_loses_nothing_that_was_acknowledged) {
  for (const Call call : kFailing) {
    for (const bool of_memory : {false, true}) {
      for (std::uint64_t skip = 0; skip < 24 && !HasFailure(); ++skip) {
        SCOPED_TRACE(std::to_string(static_cast<int>(call)) + " after " + std::to_string(skip) +
                     (of_memory ? " of memory" : " of the SSD"));
        const auto copy = disk.copy();
        FailingDevice& failing = of_memory ? copy->a() : copy->b();
        copy->a().reread_after_failed_sync(skip % 3 == 0 ? FailingDevice::kDropAll : skip);
        copy->b().reread_after_failed_sync(skip % 3 == 0 ? FailingDevice::kDropAll : skip);
        Staged staged(copy.get(), small());
        failing.fail(call, skip, EIO);
        if (staged.open().is_ok()) {
          for (std::uint64_t i = 0; i < 3; ++i) static_cast<void>(staged.write_some(8, 41 + i));
          failing.clear_faults();
          if (skip % 2 == 0) {
            must(staged->flush());
            EXPECT_EQ(staged.difference(), "");
          }
        }
        failing.clear_faults();
        copy->crash_power(FailingDevice::kDropAll);
        Staged again(copy.get(), small());
        must(again.open());
        EXPECT_EQ(Staged::difference_of(copy.get(), staged.acknowledged(), staged.tried()), "");
      }
    }
  }
}

TEST_F(StagingBufferTest, a_full_ssd_is_said_with_the_name_of_the_file) {
  Staged staged(&disk, one_partition(2));
  must(staged.open());
  disk.b().set_capacity(disk.b().used_bytes());
  Status refused;
  std::uint64_t pages = 0;
  while (refused.is_ok() && pages < 20) refused = staged.write(1, pages++ % kStagedPages);
  EXPECT_EQ(refused.code(), ErrorCode::kOutOfSpace);
  EXPECT_NE(refused.message().find(file_name(1)), std::string::npos) << refused.message();
  EXPECT_EQ(pages, 9u) << "both buckets are full";
  for (std::uint64_t page = 0; page < 8; ++page) {
    EXPECT_EQ(staged.staged(1, page), static_cast<std::int64_t>(page + 1));
  }
  EXPECT_EQ(staged.write(1, 0).code(), ErrorCode::kOutOfSpace);
  EXPECT_EQ(staged->flush().code(), ErrorCode::kOutOfSpace);
  disk.b().set_capacity(FailingDevice::kUnlimited);
  must(staged.write(1, 0));
  must(staged->flush());
  EXPECT_EQ(staged.difference(), "");
}

TEST_F(StagingBufferTest, a_full_memory_is_an_error_of_open) {
  disk.a().set_capacity(disk.a().used_bytes() + 3 * kBlockBytes);
  Staged staged(&disk, small());
  EXPECT_EQ(staged.open().code(), ErrorCode::kOutOfSpace);
  disk.a().set_capacity(FailingDevice::kUnlimited);
  Staged again(&disk, small());
  must(again.open());
}

// V30. Method: the sync of one partition's flush fails, between another's writes and its sync.
TEST_F(StagingBufferTest, a_failed_sync_gives_up_what_other_threads_have_written) {
  CountedSyncs syncs;
  const auto file = must(disk.b().open(file_name(1), Access::kReadWrite));
  const std::uint64_t before = syncs.failed();
  must(file->write_at(0, "mine", 4));
  disk.b().fail(Call::kSync, 0, EIO);
  EXPECT_EQ(syncs.sync(file.get(), syncs.failed()).code(), ErrorCode::kIoError);
  const Status mine = syncs.sync(file.get(), before);
  EXPECT_EQ(mine.code(), ErrorCode::kIoError);
  EXPECT_NE(mine.message().find(file_name(1)), std::string::npos);
  must(syncs.sync(file.get(), syncs.failed()));
}

TEST_F(StagingBufferTest, a_sync_covers_what_was_written_before_it_and_no_more) {
  CountedSyncs syncs;
  const auto file = must(disk.b().open(file_name(1), Access::kReadWrite));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t before = syncs.failed();
    must(file->write_at(i * kBlockBytes, "mine", 4));
    must(syncs.sync(file.get(), before));
    EXPECT_EQ(disk.b().calls(Call::kSync), i + 1);
  }
}

// Goal: slots of a failed write are older than the next write, for recovery, too. Method: the sync
// after the stores fails, so that the stores survive, with older versions in later slots.
TEST_F(StagingBufferTest, a_failed_write_is_older_than_the_next_one) {
  Staged staged(&disk, {.partitions = 1, .buckets = 2, .slots = 16, .flushers = 1});
  must(staged.open());
  must(staged.write(3, 0));
  disk.a().fail(Call::kSync, 0, EIO);
  EXPECT_EQ(staged.write(1, 0, 4).code(), ErrorCode::kIoError);
  must(staged.write(1, 3));
  for (const auto& place : disk.disks()) place->crash_process();
  recover(one_partition(2));
  EXPECT_EQ(Staged::in_file(&disk, 1, 3), page_of(1, 3, 3));
}

// A failed sync gives up all writes since the last one; the header of the area is older.
TEST_F(StagingBufferTest, an_error_of_the_first_write_leaves_an_area_that_is_found) {
  Staged staged(&disk, one_partition(2));
  must(staged.open());
  disk.a().fail(Call::kSync, 0, EIO);
  EXPECT_EQ(staged.write(1, 0).code(), ErrorCode::kIoError);
  must(staged.write(1, 0));
  disk.crash_power(FailingDevice::kDropAll);
  recover(one_partition(2));
  EXPECT_EQ(Staged::in_file(&disk, 1, 0), page_of(1, 0, 2));
}

// ---- files that are dropped --------------------------------------------------------------------

TEST_F(StagingBufferTest, what_was_dropped_is_not_written_any_more) {
  Staged staged(&disk, one_partition(2));
  must(staged.open());
  must(staged.write(1, 2));
  must(staged.write(2, 2));
  must(staged->drop(staged.target(1).get()));
  EXPECT_EQ(staged.written(1, 2), 0);
  EXPECT_EQ(staged.written(2, 2), 2) << "the bucket was flushed";
  EXPECT_EQ(staged.staged(1, 2), 0);
  disk.crash_power(FailingDevice::kDropAll);
  recover(one_partition(2));
  EXPECT_EQ(Staged::in_file(&disk, 1, 2), std::string(kBlockBytes, '\0'));
}

// The slots may hold whole pages, which recovery would write to the next file of that number.
TEST_F(StagingBufferTest, a_failed_write_is_dropped_too) {
  Staged staged(&disk, one_partition(2));
  must(staged.open());
  bool is_armed = true;
  disk.a().set_observer([&](const CallSeen& call) {
    // The first sync after the stores to slots fails: the stores survive, and the write has failed.
    if (call.kind != Call::kSync || !is_armed || staged.tried().empty()) return;
    is_armed = false;
    disk.a().fail(Call::kSync, 1, EIO);  // this one is of the bucket's word
  });
  EXPECT_EQ(staged.write(1, 2).code(), ErrorCode::kIoError);
  disk.a().set_observer({});
  must(staged->drop(staged.target(1).get()));
  for (const auto& place : disk.disks()) place->crash_process();
  recover(one_partition(2));
  EXPECT_EQ(Staged::in_file(&disk, 1, 2), std::string(kBlockBytes, '\0'));
}

// Pages of another file wait in the open bucket, and cannot be flushed.
TEST_F(StagingBufferTest, a_drop_of_a_file_with_nothing_staged_needs_no_flush) {
  Staged staged(&disk, one_partition(2));
  must(staged.open());
  must(staged.write(2, 2));
  disk.b().fail(Call::kWrite, 0, EIO, true);
  must(staged->drop(staged.target(1).get()));
  EXPECT_EQ(staged.staged(2, 2), 1);
  disk.b().clear_faults();
}

TEST_F(StagingBufferTest, a_drop_that_cannot_flush_says_so) {
  Staged staged(&disk, one_partition(2));
  must(staged.open());
  must(staged.write(1, 2));
  must(staged.write(2, 2));
  disk.b().fail(Call::kWrite, 0, EIO, true);
  EXPECT_EQ(staged->drop(staged.target(1).get()).code(), ErrorCode::kIoError);
  disk.b().clear_faults();
  must(staged->drop(staged.target(1).get()));
  EXPECT_EQ(staged.written(1, 2), 0);
}

}  // namespace
}  // namespace foedus::device::staging_buffer_test
