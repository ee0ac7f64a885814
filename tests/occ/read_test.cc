// ctest-labels: concurrency
// Optimistic reads beside a writer, and reads of own writes over a record.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_record.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/base/overflow.h"
#include "tests/storage/storages.h"

namespace foedus::occ::read_test {
namespace {

// Goal: a reader never sees half a record. Method: a writer fills the payload with one number after
// another, as commit does, beside readers of all of it. The writer pauses for up to a microsecond
// or two, so that some reads fit between its writes: a reader that never gets there sleeps.
TEST(OptimisticReadTest, no_payload_is_torn) {
  struct Record {
    page::RecordHeader header;
    std::uint64_t words[37] = {};
  };
  Record record;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::uint64_t words[37];
    for (std::uint64_t value = 1; !stop.load(); ++value) {
      const page::Tid before(record.header.tid.load_relaxed());
      record.header.tid.store_relaxed(before.with(page::Tid::kBeingWritten).word());
      base::fence_writer();
      for (std::uint64_t& word : words) word = value;
      base::racy_write(record.words, words, sizeof(words));
      record.header.tid.store_release(page::Tid(Epoch(value), 1).word());
      for (std::uint64_t pauses = value % 64; pauses != 0; --pauses) base::cpu_pause();
    }
  });
  page::Tid last;
  for (int i = 0; i < 20'000; ++i) {
    std::uint64_t words[37];
    page::Tid observed;
    if (!optimistic_read(record.header, &observed, [&](page::Tid) {
          base::racy_read(words, record.words, sizeof(words));
        })) {
      continue;
    }
    for (const std::uint64_t word : words) ASSERT_EQ(word, observed.epoch().number());
    ASSERT_GE(observed.version(), last.version());
    last = observed;
  }
  stop.store(true);
  writer.join();
}

// A writer changes the record while the payload is copied, or is still writing at the end of the
// copy.
TEST(OptimisticReadTest, a_copy_under_two_tids_is_made_again) {
  const page::Tid before(Epoch(3), 1);
  const page::Tid behind(Epoch(3), 2);
  for (const page::Tid during : {behind, before.with(page::Tid::kBeingWritten)}) {
    page::RecordHeader header;
    header.tid.store_relaxed(before.word());
    page::Tid observed;
    unsigned copies = 0;
    EXPECT_EQ(optimistic_read(header, &observed,
                              [&](page::Tid) {
                                if (copies++ == 0) header.tid.store_relaxed(during.word());
                              }),
              during == behind);
    EXPECT_EQ(copies, during == behind ? 2u : 1u);
    if (during == behind) {
      EXPECT_EQ(observed, behind);
    }
  }
}

TEST(OptimisticReadTest, a_mark_that_stays_is_given_up) {
  page::RecordHeader header;
  header.tid.store_relaxed(page::Tid::kBeingWritten);
  page::Tid observed;
  EXPECT_FALSE(optimistic_tid(header, &observed));
  EXPECT_FALSE(optimistic_read(header, &observed, [](page::Tid) {}));
}

// One record outside of all storages, read and written by calls of the context.
class OverlayTest : public ::testing::Test {
 protected:
  OverlayTest() { all_.session(0).begin(); }
  ~OverlayTest() override { all_.session(0).rollback(); }

  TxnContext& ctx() { return all_.ctx(); }
  void write(log::LogRecordType type, std::uint32_t offset, std::string_view payload) {
    const Status status = ctx().write(type, &control_, &record_.header, 0, "key", offset, payload,
                                      Precondition::kNone);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  void add(std::uint32_t offset, std::uint64_t delta) {
    write(log::LogRecordType::kIncrement, offset,
          {reinterpret_cast<const char*>(&delta), sizeof(delta)});
  }
  // Returns bytes [offset, offset + bytes) of the payload, or "-" if the record is absent.
  std::string read(std::uint32_t offset = 0, std::uint32_t bytes = 1000) {
    std::string out(bytes, '?');
    ReadRange range;
    range.out = out.data();
    range.out_bytes = bytes;
    range.offset = offset;
    const ReadOutcome found =
        read_record(ctx(), &control_, &record_.header, &range, [&](ReadRange* wanted) {
          wanted->payload_bytes = base_bytes_;
          const std::uint32_t count = wanted->wanted_of(base_bytes_);
          if (count != 0) base::racy_read(wanted->out, record_.payload + wanted->offset, count);
        });
    if (found == ReadOutcome::kAbsent) return "-";
    EXPECT_EQ(found, ReadOutcome::kPresent);
    out.resize(range.wanted_of(range.payload_bytes));
    return out;
  }
  void set_base(std::string_view payload) {
    std::memcpy(record_.payload, payload.data(), payload.size());
    base_bytes_ = static_cast<std::uint32_t>(payload.size());
  }

  storage::Storages all_;
  StorageControl control_{storage_meta::StorageMeta{.id = page::StorageId{77}, .name = "none"}};
  // The record has a page, as every record does (P8).
  struct alignas(page::kPageBytes) {
    page::PageHeader page;
    page::RecordHeader header;
    char payload[64];
  } record_{};
  std::uint32_t base_bytes_ = 0;
};

TEST_F(OverlayTest, parts_lie_over_what_is_there) {
  set_base("0123456789");
  EXPECT_EQ(read(), "0123456789");
  write(log::LogRecordType::kWriteAt, 3, "abc");
  write(log::LogRecordType::kWriteAt, 5, "XY");
  EXPECT_EQ(read(), "012abXY789");
  EXPECT_EQ(read(4, 2), "bX");
  EXPECT_EQ(read(6, 100), "Y789");
  EXPECT_EQ(read(10, 5), "");
}

TEST_F(OverlayTest, a_put_hides_what_is_below_and_an_erase_hides_the_put) {
  set_base("0123456789");
  write(log::LogRecordType::kWriteAt, 0, "zz");
  write(log::LogRecordType::kPut, 0, "short");
  EXPECT_EQ(read(), "short");
  EXPECT_TRUE(ctx().sets().reads().is_empty());
  write(log::LogRecordType::kWriteAt, 4, "T");
  EXPECT_EQ(read(1, 10), "horT");
  write(log::LogRecordType::kErase, 0, "");
  EXPECT_EQ(read(), "-");
  write(log::LogRecordType::kPut, 0, "again");
  EXPECT_EQ(read(), "again");
}

TEST_F(OverlayTest, a_deleted_record_is_there_once_it_was_put) {
  record_.header.tid.store_relaxed(page::Tid::kDeleted);
  EXPECT_EQ(read(), "-");
  write(log::LogRecordType::kPut, 0, "new");
  EXPECT_EQ(read(), "new");
}

// Goal: increments of which a read covers any part are right, carries included. Method: every range
// of a payload over which increments overlap writes.
TEST_F(OverlayTest, increments_carry_into_every_part_of_a_range) {
  std::string expected(32, '\xff');
  set_base(expected);
  const auto bump = [&](std::uint32_t at, std::uint64_t delta) {
    std::uint64_t value;
    std::memcpy(&value, &expected[at], sizeof(value));
    value += delta;
    std::memcpy(&expected[at], &value, sizeof(value));
  };
  add(4, 2);
  bump(4, 2);
  write(log::LogRecordType::kWriteAt, 9, "abcdefgh");
  expected.replace(9, 8, "abcdefgh");
  add(13, 0xffff'ffff);
  bump(13, 0xffff'ffff);
  add(24, 1);
  bump(24, 1);
  for (std::uint32_t begin = 0; begin <= 32; ++begin) {
    for (std::uint32_t bytes = 0; begin + bytes <= 32; ++bytes) {
      ASSERT_EQ(read(begin, bytes), expected.substr(begin, bytes)) << begin << " " << bytes;
    }
  }
}

// Goal: a chain holds any payload, returns any part of it, and leaves no page behind.
TEST_F(OverlayTest, chains_hold_payloads_of_any_size) {
  base::Random random(5);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4016},
                                  std::size_t{4017}, std::size_t{8032}, std::size_t{1'000'000}}) {
    std::string payload(bytes, '\0');
    for (char& byte : payload) byte = static_cast<char>(random.next());
    const Result<std::uint64_t> id = storage::write_overflow(ctx(), &control_, payload);
    ASSERT_TRUE(id.is_ok()) << id.status().message();
    EXPECT_EQ(control_.volatile_pages.load_relaxed(), page::OverflowPage::pages_of(bytes));
    for (int i = 0; i < 20; ++i) {
      std::string out(random.below(bytes + 10), '?');
      ReadRange range;
      range.out = out.data();
      range.out_bytes = static_cast<std::uint32_t>(out.size());
      range.offset = static_cast<std::uint32_t>(random.below(bytes + 5));
      storage::read_overflow(all_.pool(), *id, &range);
      ASSERT_EQ(range.payload_bytes, bytes);
      out.resize(range.wanted_of(range.payload_bytes));
      const std::size_t begin = std::min<std::size_t>(range.offset, bytes);
      ASSERT_EQ(out, payload.substr(begin, out.size()));
    }
    storage::release_overflow(ctx(), &control_, *id);
    EXPECT_EQ(control_.volatile_pages.load_relaxed(), 0u);
  }
}

// Goal: a failed read of a version that was replaced meanwhile is forgotten, so a later conflict is
// no error of the device. Method: the record names a chain in an impossible page; after the
// reader's first load of the TID another session replaces the version.
TEST_F(OverlayTest, a_page_that_failed_of_a_replaced_version_is_no_failure) {
  struct Case {
    std::uint64_t flags;   // of the new version
    std::uint32_t length;  // its length field
    ReadOutcome expected;
    bool fails;
  };
  const page::Tid before(Epoch(3), 1);
  const page::Tid behind(Epoch(3), 2);
  for (const Case& one :
       {Case{0, 4, ReadOutcome::kPresent, false},
        Case{page::Tid::kDeleted, storage::kSnapshotOverflowLength, ReadOutcome::kAbsent, false},
        Case{page::Tid::kMoved, storage::kSnapshotOverflowLength, ReadOutcome::kMoved, false},
        Case{0, storage::kSnapshotOverflowLength, ReadOutcome::kConflict, true}}) {
    record_.header.tid.store_relaxed(before.word());
    unsigned looks = 0;
    const auto load_length = [&] {
      if (++looks == 1) record_.header.tid.store_relaxed(behind.word() | one.flags);
      return looks <= 2 ? storage::kSnapshotOverflowLength : one.length;
    };
    ReadRange range;
    EXPECT_EQ(storage::read_payload(ctx(), &control_, &record_.header, record_.payload, &range,
                                    load_length),
              one.expected);
    EXPECT_EQ(ctx().cold_pages().has_failed(), one.fails);
  }
}

// Goal: a chain for which pages are missing keeps none. Method: a chain that is larger than the
// pool.
TEST(OverflowTest, a_chain_that_does_not_fit_is_given_back) {
  storage::Storages all({.sessions = 1, .pool_bytes = 2u << 20});
  StorageControl control{storage_meta::StorageMeta{.id = page::StorageId{7}, .name = "none"}};
  all.session(0).begin();
  const Result<std::uint64_t> id =
      storage::write_overflow(all.ctx(), &control, std::string(3u << 20, 'x'));
  EXPECT_EQ(id.code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(control.volatile_pages.load_relaxed(), 0u);
  const std::string small(1u << 20, 'x');
  const Result<std::uint64_t> fits = storage::write_overflow(all.ctx(), &control, small);
  EXPECT_TRUE(fits.is_ok());
  storage::release_overflow(all.ctx(), &control, *fits);
  all.session(0).rollback();
}

}  // namespace
}  // namespace foedus::occ::read_test
