// Reads of several pages at a time have the results of single reads, errors included.
#include "foedus-core/snapshot/page_run_reader.h"

#include "tests/snapshot/snapshot_rig.h"

namespace foedus::snapshot::page_run_reader_test {
namespace {

constexpr std::uint32_t kPages = 100;
const std::string kName = "snapshot-00000001-0";

SnapshotPageId page_of(std::uint32_t page, std::uint32_t soc = 0) {
  return {SnapshotNumber{1}, soc, page};
}

class PageRunReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t soc = 0; soc < 2; ++soc) ASSERT_OK(write_file(&device_, 1, soc, kPages));
    ASSERT_OK(read_and_compare(&files_, page_of(1)));  // opens the file
    ASSERT_OK(read_and_compare(&files_, page_of(1, 1)));
  }
  std::uint64_t reads() const { return device_.calls(Call::kRead); }

  FailingDevice device_;
  SnapshotFiles files_{&device_};
  PageRunReader reader_{&files_};
};

TEST_F(PageRunReaderTest, pages_in_order_take_few_reads) {
  const std::uint64_t before = reads();
  for (std::uint32_t page = 1; page <= kPages; ++page) {
    ASSERT_OK(read_and_compare(&reader_, page_of(page)));
  }
  // The reads are of one, two, four, eight, and then sixteen pages.
  EXPECT_EQ(reads() - before, 4 + (kPages - 15 + 15) / 16);
}

TEST_F(PageRunReaderTest, a_run_goes_on_over_small_gaps) {
  const std::uint64_t before = reads();
  std::uint32_t wanted = 0;
  for (std::uint32_t page = 1; page <= kPages; page += page % 7 == 0 ? 3 : 1, ++wanted) {
    ASSERT_OK(read_and_compare(&reader_, page_of(page)));
  }
  EXPECT_LT(reads() - before, wanted / 5);
}

TEST_F(PageRunReaderTest, pages_in_no_order_are_read_one_by_one) {
  const std::uint64_t before = reads();
  std::uint32_t wanted = 0;
  for (std::uint32_t page = kPages; page >= 1; --page, ++wanted) {
    ASSERT_OK(read_and_compare(&reader_, page_of(page)));
  }
  for (std::uint32_t page = 1; page <= kPages; page += 5, ++wanted) {
    ASSERT_OK(read_and_compare(&reader_, page_of(page)));
  }
  EXPECT_EQ(reads() - before, wanted);
}

TEST_F(PageRunReaderTest, any_order_gives_the_pages_that_were_asked_for) {
  base::Random random(1);
  std::uint32_t page = 1;
  for (int i = 0; i < 5'000; ++i) {
    page = random.below(8) == 0 ? 1 + static_cast<std::uint32_t>(random.below(kPages))
                                : page % kPages + 1;
    ASSERT_OK(read_and_compare(&reader_, page_of(page, random.below(16) == 0 ? 1 : 0)));
  }
}

TEST_F(PageRunReaderTest, files_that_follow_each_other_are_two) {
  ASSERT_OK(read_and_compare(&reader_, page_of(kPages - 1)));
  ASSERT_OK(read_and_compare(&reader_, page_of(kPages)));
  ASSERT_OK(read_and_compare(&reader_, page_of(1, 1)));
  ASSERT_OK(read_and_compare(&reader_, page_of(2, 1)));
  EXPECT_EQ(read_and_compare(&reader_, page_of(kPages + 1)).code(), ErrorCode::kCorruption);
}

// Goal: an error of a page is returned when that page is requested, and for no other page. Method:
// each page of a run in turn is damaged in one bit.
TEST_F(PageRunReaderTest, a_damaged_page_is_an_error_of_its_own) {
  for (std::uint32_t damaged = 1; damaged <= 40; ++damaged) {
    device_.flip_bit(kName, damaged * kPageBytes + 1'000, 3);
    PageRunReader reader(&files_);
    for (std::uint32_t page = 1; page <= 40; ++page) {
      const Status status = read_and_compare(&reader, page_of(page));
      ASSERT_EQ(status.code(), page == damaged ? ErrorCode::kCorruption : ErrorCode::kOk)
          << damaged << ' ' << page;
      if (page != damaged) continue;
      EXPECT_NE(status.message().find("page " + std::to_string(page) + ": its checksum"),
                std::string::npos)
          << status.message();
    }
    device_.flip_bit(kName, damaged * kPageBytes + 1'000, 3);
  }
}

// A block that cannot be read fails every read that includes it.
TEST_F(PageRunReaderTest, an_error_of_a_later_page_is_none_of_this_one) {
  for (std::uint32_t page = 1; page <= 3; ++page) {
    ASSERT_OK(read_and_compare(&reader_, page_of(page)));
  }
  device_.fail(Call::kRead, 0, EIO);
  ASSERT_OK(read_and_compare(&reader_, page_of(4)));
  device_.fail(Call::kRead, 0, EIO, true);
  EXPECT_EQ(read_and_compare(&reader_, page_of(5)).code(), ErrorCode::kIoError);
  device_.clear_faults();
  for (std::uint32_t page = 5; page <= kPages; ++page) {
    ASSERT_OK(read_and_compare(&reader_, page_of(page)));
  }
}

TEST_F(PageRunReaderTest, a_page_that_breaks_a_rule_is_refused_wherever_it_stands) {
  SnapshotFiles files(&device_, [](const page::PageHeader& page) -> page::BrokenRule {
    return page.page_id == page_of(9).word() ? "a rule" : nullptr;
  });
  PageRunReader reader(&files);
  for (std::uint32_t page = 1; page <= 20; ++page) {
    const Status status = read_and_compare(&reader, page_of(page));
    EXPECT_EQ(status.code(), page == 9 ? ErrorCode::kCorruption : ErrorCode::kOk) << page;
  }
}

}  // namespace
}  // namespace foedus::snapshot::page_run_reader_test
