// ctest-labels: concurrency
// Snapshot pages are read as they were written, or with an error that names file, page and reason.
#include <cstring>
#include <string_view>
#include <thread>

#include "foedus-core/snapshot/files/format.h"
#include "tests/snapshot/snapshot_rig.h"

namespace foedus::snapshot::snapshot_reader_test {
namespace {

constexpr SnapshotNumber kOne{1};
const std::string kName = "snapshot-00000001-0";

SnapshotPageId page_of(std::uint32_t page) { return {kOne, 0, page}; }

bool says(const Status& status, std::string_view words) {
  return status.message().find(words) != std::string::npos;
}

// Goal: damage is found at its place, and only there. Method: a file of two pages, each byte of it
// flipped in one bit; every page is read by a reader that opens the file again.
TEST(SnapshotReaderTest, a_flipped_bit_in_any_byte_is_detected_and_named) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  for (std::uint64_t offset = 0; offset < 3 * kPageBytes; ++offset) {
    const auto damaged = static_cast<std::uint32_t>(offset / kPageBytes);
    const unsigned bit = static_cast<unsigned>(offset * 5 % 8);
    device.flip_bit(kName, offset, bit);
    SnapshotFiles files(&device);
    for (std::uint32_t page = 1; page <= 2; ++page) {
      const Status status = read_and_compare(&files, page_of(page));
      const bool is_hit = damaged == 0 || damaged == page;
      ASSERT_EQ(status.code(), is_hit ? ErrorCode::kCorruption : ErrorCode::kOk) << offset;
      if (!is_hit) continue;
      ASSERT_TRUE(says(status, "/failing/" + kName + ", page " + std::to_string(damaged)))
          << status.message();
    }
    device.flip_bit(kName, offset, bit);
  }
}

TEST(SnapshotReaderTest, every_truncated_length_is_detected) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  for (std::uint64_t bytes = 3 * kPageBytes; bytes-- > 0;) {
    device.set_size(kName, bytes);
    SnapshotFiles files(&device);
    const Status status = read_and_compare(&files, page_of(2));
    ASSERT_EQ(status.code(), ErrorCode::kCorruption) << bytes;
    const char* const words = bytes < kPageBytes ? "page 0: the file ends in it"
                                                 : "page 2: the file ends before or in it";
    ASSERT_TRUE(says(status, words)) << bytes << ": " << status.message();
    const bool has_first = bytes >= 2 * kPageBytes;
    ASSERT_EQ(read_and_compare(&files, page_of(1)).code(),
              has_first ? ErrorCode::kOk : ErrorCode::kCorruption)
        << bytes;
  }
}

// Goal: a page in the wrong place is refused although its checksum is right. Method: a faulty
// device writes page 1 over page 2.
TEST(SnapshotReaderTest, a_page_of_another_place_is_refused) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  const std::vector<char> bytes = device.bytes_of(kName);
  device.overwrite(kName, 2 * kPageBytes, {bytes.data() + kPageBytes, kPageBytes});
  SnapshotFiles files(&device);
  const Status status = read_and_compare(&files, page_of(2));
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_TRUE(says(status, "page 2: it says that it is page 1 of snapshot-00000001-0"))
      << status.message();
}

TEST(SnapshotReaderTest, a_file_of_another_name_is_refused) {
  for (const char* const name : {"snapshot-00000001-1", "snapshot-00000002-0"}) {
    FailingDevice device;
    ASSERT_OK(write_file(&device, 1, 0, 2));
    ASSERT_OK(device.rename(kName, name));
    SnapshotFiles files(&device);
    const auto parsed = parse_snapshot_name(name);
    const Status status =
        read_and_compare(&files, SnapshotPageId(parsed->snapshot, parsed->soc, 1));
    EXPECT_EQ(status.code(), ErrorCode::kCorruption);
    EXPECT_TRUE(says(status, "it says that this is snapshot-00000001-0")) << status.message();
  }
}

// Returns the error for a file with another byte in page 0 and a right checksum.
Status read_with_page_0(std::size_t offset, char byte) {
  FailingDevice device;
  FOEDUS_CHECK(write_file(&device, 1, 0, 2));
  std::string page_0(device.bytes_of(kName).data(), kPageBytes);
  page_0[offset] = byte;
  const std::uint32_t crc = checksum_of(page_0.data(), page_0.size());
  std::memcpy(page_0.data() + kChecksumOffset, &crc, sizeof(crc));
  device.overwrite(kName, 0, page_0);
  SnapshotFiles files(&device);
  return read_and_compare(&files, page_of(1));
}

TEST(SnapshotReaderTest, a_file_of_another_version_is_refused_by_name) {
  const Status status = read_with_page_0(offsetof(SnapshotFileHeader, version), 2);
  EXPECT_EQ(status.code(), ErrorCode::kWrongVersion);
  EXPECT_TRUE(says(status, kName + " has format version 2")) << status.message();
}

TEST(SnapshotReaderTest, a_file_of_something_else_is_refused) {
  const Status status = read_with_page_0(offsetof(SnapshotFileHeader, magic) + 7, 'x');
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_TRUE(says(status, kName + ", page 0: not of a snapshot file")) << status.message();
}

TEST(SnapshotReaderTest, a_page_that_breaks_a_rule_is_refused_in_its_words) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  SnapshotFiles files(&device, [](const page::PageHeader& page) -> page::BrokenRule {
    return page.page_id == page_of(2).word() ? "a rule" : nullptr;
  });
  ASSERT_OK(read_and_compare(&files, page_of(1)));
  const Status status = read_and_compare(&files, page_of(2));
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_TRUE(says(status, "/failing/" + kName + ", page 2: a rule")) << status.message();
}

TEST(SnapshotReaderTest, lines_come_to_their_places_and_nothing_else_does) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  SnapshotFiles files(&device);
  page::PageBytes whole;
  ASSERT_OK(files.read(page_of(2), whole.header()));
  page::PageBytes lines;
  std::memset(lines.bytes, 'x', sizeof(lines.bytes));
  constexpr page::LineMask kWanted = 0x8000'0000'0000'0c05u;
  ASSERT_OK(files.read_lines(page_of(2), kWanted, lines.bytes));
  for (std::uint32_t i = 0; i < page::kPageBytes; ++i) {
    const bool is_wanted = (kWanted >> (i / page::kLineBytes) & 1) != 0;
    ASSERT_EQ(lines.bytes[i], is_wanted ? whole.bytes[i] : 'x') << i;
  }
}

TEST(SnapshotReaderTest, lines_of_another_place_or_of_none_are_refused) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  device.flip_bit(kName, 2 * kPageBytes, 3);  // in the id of page 2
  SnapshotFiles files(&device);
  page::PageBytes lines;
  EXPECT_EQ(files.read_lines(page_of(2), 0b11, lines.bytes).code(), ErrorCode::kCorruption);
  ASSERT_OK(files.read_lines(page_of(2), 0b10, lines.bytes));
  EXPECT_EQ(files.read_lines(page_of(0), 0b11, lines.bytes).code(), ErrorCode::kCorruption);
  const Status behind = files.read_lines(page_of(3), 0b10, lines.bytes);
  EXPECT_EQ(behind.code(), ErrorCode::kCorruption);
  EXPECT_TRUE(says(behind, "page 3: the file ends before or in it")) << behind.message();
}

TEST(SnapshotReaderTest, a_missing_file_is_corruption) {
  FailingDevice device;
  SnapshotFiles files(&device);
  const Status status = read_and_compare(&files, page_of(1));
  EXPECT_EQ(status.code(), ErrorCode::kCorruption);
  EXPECT_TRUE(says(status, "/failing/" + kName + " is missing")) << status.message();
  files.will_read(page_of(1));  // a hint without a result
}

TEST(SnapshotReaderTest, an_id_that_no_page_can_have_is_corruption) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  SnapshotFiles files(&device);
  Pages page(1);
  const SnapshotPageId of_none[] = {SnapshotPageId(), page_of(0), SnapshotPageId(kOne, 64, 1),
                                    SnapshotPageId(SnapshotNumber{0}, 0, 1),
                                    SnapshotPageId(SnapshotNumber{100'000'000}, 0, 1)};
  for (const SnapshotPageId id : of_none) {
    Status status = files.read(id, page.at(0));
    EXPECT_EQ(status.code(), ErrorCode::kCorruption) << id.word();
    EXPECT_TRUE(says(status, "there cannot be a page")) << status.message();
    page::PageHeader* const place = page.at(0);
    EXPECT_FALSE(files.make_reads()->add(id, &place, 1, 0)) << id.word();
  }
  for (const SnapshotPageId id : {page_of(3), page_of(SnapshotPageId::kPageMax)}) {
    EXPECT_EQ(files.read(id, page.at(0)).code(), ErrorCode::kCorruption) << id.word();
  }
}

TEST(SnapshotReaderTest, an_error_of_the_device_is_passed_on_and_does_not_stick) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  for (const auto& [call, skip] : {std::pair{Call::kOpen, 0u}, {Call::kRead, 0u},
                                   {Call::kRead, 1u}}) {
    SnapshotFiles files(&device);
    device.fail(call, skip, EIO);
    EXPECT_EQ(read_and_compare(&files, page_of(1)).code(), ErrorCode::kIoError);
    EXPECT_TRUE(read_and_compare(&files, page_of(1)).is_ok());
  }
}

// Returns the good pages of one read, a bit for each; ~0: the read was refused.
std::uint32_t good_of(PageReads* reads, SnapshotPageId first,
                      const std::vector<page::PageHeader*>& places) {
  constexpr std::uint32_t kTag = 7;
  if (!reads->add(first, places.data(), static_cast<std::uint32_t>(places.size()), kTag)) {
    return ~0u;
  }
  reads->send();
  std::uint32_t tag = 0;
  std::uint32_t good = 0;
  EXPECT_TRUE(reads->next(true, &tag, &good));
  EXPECT_EQ(tag, kTag);
  EXPECT_FALSE(reads->next(true, &tag, &good));
  return good;
}

TEST(SnapshotReaderTest, pages_in_flight_are_checked_one_by_one) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 8));
  SnapshotFiles files(&device);
  const std::unique_ptr<PageReads> reads = files.make_reads();
  Pages pages(8);
  std::vector<page::PageHeader*> places;  // the last one first
  for (std::uint32_t i = 0; i < 6; ++i) places.push_back(pages.at(7 - i));
  EXPECT_EQ(good_of(reads.get(), page_of(3), places), 0x3fu);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(is_filled(places[i], page_of(3 + i)));
  EXPECT_EQ(good_of(reads.get(), page_of(5), places), 0x0fu);  // the file ends
  device.flip_bit(kName, 5 * kPageBytes + 99, 0);
  EXPECT_EQ(good_of(reads.get(), page_of(3), places), 0x3bu);
  device.fail(Call::kRead, 0, EIO);
  EXPECT_EQ(good_of(reads.get(), page_of(6), places), 0u);
  EXPECT_EQ(good_of(reads.get(), page_of(6), places), 0x07u);
  EXPECT_EQ(good_of(reads.get(), SnapshotPageId(SnapshotNumber{77}, 0, 1), places), ~0u);
}

// Beyond the end of the file the old contents of a frame may look like a good page.
TEST(SnapshotReaderTest, pages_in_flight_behind_the_end_of_a_file_are_not_good) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 8));
  SnapshotFiles files(&device);
  const std::unique_ptr<PageReads> reads = files.make_reads();
  Pages pages(6);
  std::vector<page::PageHeader*> places;
  for (std::uint32_t i = 0; i < 6; ++i) places.push_back(pages.at(i));
  EXPECT_EQ(good_of(reads.get(), page_of(3), places), 0x3fu);
  device.set_size(kName, 7 * kPageBytes + 99);
  EXPECT_EQ(good_of(reads.get(), page_of(3), places), 0x0fu);
}

// A snapshot is removed while an unneeded page of it is in flight.
TEST(SnapshotReaderTest, a_file_that_is_closed_gives_what_was_in_flight) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  SnapshotFiles files(&device);
  const std::unique_ptr<PageReads> reads = files.make_reads();
  Pages page(1);
  page::PageHeader* const place = page.at(0);
  ASSERT_TRUE(reads->add(page_of(1), &place, 1, 0));
  reads->send();
  files.close(kOne, 0);
  std::uint32_t tag = 0;
  std::uint32_t good = 0;
  EXPECT_TRUE(reads->next(true, &tag, &good));
  EXPECT_EQ(good, 1u);
}

TEST(SnapshotReaderTest, a_file_is_opened_once_until_it_is_closed) {
  FailingDevice device;
  ASSERT_OK(write_file(&device, 1, 0, 2));
  SnapshotFiles files(&device);
  files.close(kOne, 0);  // not open yet
  for (int i = 0; i < 3; ++i) ASSERT_OK(read_and_compare(&files, page_of(2)));
  EXPECT_EQ(device.calls(Call::kOpen), 1u);
  files.close(kOne, 0);
  ASSERT_OK(read_and_compare(&files, page_of(2)));
  EXPECT_EQ(device.calls(Call::kOpen), 2u);
  files.close(kOne, 0);
  device.drop_file(kName);
  EXPECT_EQ(read_and_compare(&files, page_of(2)).code(), ErrorCode::kCorruption);
}

// Goal: any number of files can be open, also if names share a bucket. Method: more files than
// buckets.
TEST(SnapshotReaderTest, many_files_are_told_apart) {
  FailingDevice device;
  for (std::uint32_t snapshot = 1; snapshot <= 150; ++snapshot) {
    for (std::uint32_t soc = 0; soc < 4; ++soc) ASSERT_OK(write_file(&device, snapshot, soc, 1));
  }
  SnapshotFiles files(&device);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t snapshot = 1; snapshot <= 150; ++snapshot) {
      for (std::uint32_t soc = 0; soc < 4; ++soc) {
        ASSERT_OK(read_and_compare(&files, {SnapshotNumber{snapshot}, soc, 1}));
      }
    }
  }
  EXPECT_EQ(device.calls(Call::kOpen), 600u);
}

// Goal: threads that read and open at once see whole files. Method: four threads walk 24 files in
// different orders; under ThreadSanitizer this also checks the orders of the words.
TEST(SnapshotReaderTest, many_threads_read_while_files_are_opened) {
  FailingDevice device;
  for (std::uint32_t snapshot = 1; snapshot <= 24; ++snapshot) {
    ASSERT_OK(write_file(&device, snapshot, 0, 3));
  }
  SnapshotFiles files(&device);
  std::vector<std::thread> threads;
  std::vector<Status> statuses(4);
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&files, &statuses, t] {
      constexpr std::uint32_t kStrides[] = {1, 5, 7, 11};
      for (std::uint32_t i = 0; i < 96 && statuses[t].is_ok(); ++i) {
        const SnapshotNumber snapshot{1 + i * kStrides[t] % 24};
        statuses[t] = read_and_compare(&files, {snapshot, 0, 1 + i % 3});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(device.calls(Call::kOpen), 24u);
}

}  // namespace
}  // namespace foedus::snapshot::snapshot_reader_test
