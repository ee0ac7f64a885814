// Snapshot pages with a forged checksum. Goal: whatever value one byte of a page gets, each reader
// ends, with kCorruption or with all rows except that of the byte. Method: a byte of a page of any
// kind is changed and the checksum recomputed. Then recovery gleans on top of it, points and scans
// read it, writes make it volatile, it is gleaned and reclaimed, and verified.
// ctest-labels: crash
// ctest-timeout: 300
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <sstream>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/page_check.h"
#include "gleaner/reclaim/reclaim.h"
#include "tests/hostile/isolated_run.h"
#include "tests/hostile/small_database.h"
#include "tools/foedus/verify/snapshot.h"

namespace foedus::hostile::forged_pages_test {
namespace {

using page::PageBytes;
using page::PageHeader;
using page::PageKind;
using testing::FailingDevice;
using testing::must;

// A byte that is changed.
struct Damage {
  std::string file;
  std::uint64_t page;
  std::uint32_t offset;
  char value;

  std::string in_words() const {
    return file + ", page " + std::to_string(page) + ", byte " + std::to_string(offset) + " = " +
           std::to_string(static_cast<unsigned char>(value));
  }
};

std::unique_ptr<PageBytes> page_of(const FailingDevice& device, const std::string& file,
                                   std::uint64_t page) {
  auto block = std::make_unique<PageBytes>();
  const std::vector<char> all = device.bytes_of(file);
  std::memcpy(block->bytes, all.data() + page * page::kPageBytes, page::kPageBytes);
  return block;
}

void forge(FailingDevice* device, const Damage& damage) {
  const auto block = page_of(*device, damage.file, damage.page);
  block->bytes[damage.offset] = damage.value;
  block->header()->crc32c = snapshot::checksum_of(block->bytes, sizeof(block->bytes));
  device->overwrite(damage.file, damage.page * page::kPageBytes,
                    std::string(block->bytes, sizeof(block->bytes)));
}

std::uint64_t differing_rows(const Contents& found, const Contents& expected) {
  std::uint64_t rows = 0;
  const auto compare = [&rows](const auto& have, const auto& want) {
    for (const auto& [key, payload] : want) {
      const auto at = have.find(key);
      rows += at == have.end() || at->second != payload ? 1 : 0;
    }
  };
  compare(found.tree, expected.tree);
  compare(found.hash, expected.hash);
  compare(found.array, expected.array);
  if (found.list.size() != expected.list.size()) return rows + 1000;
  for (std::size_t i = 0; i < found.list.size(); ++i) rows += found.list[i] != expected.list[i];
  return rows;
}

class ForgedPagesTest : public ::testing::Test {
 protected:
  // Makes two snapshots, the second of pages of both, and a log that the second does not cover.
  static void SetUpTestSuite() {
    device_ = std::make_unique<FailingDevice>();
    SmallDatabase database(device_.get());
    must(database.open());
    must(database.write(0, 500, &expected_));
    must(database.glean());
    must(database.write(480, 60, &expected_));
    must(database.glean());
    must(database.write(530, 20, &expected_));
    must(database.close());
    must(find_pages());
  }
  static void TearDownTestSuite() { device_.reset(); }

  static Status find_pages() {
    FOEDUS_TRY(manifest_, snapshot::read_newest_manifest(device_.get()));
    for (const snapshot::ManifestFile& file : manifest_.files) {
      for (std::uint64_t page = 1; page <= file.pages; ++page) {
        pages_.emplace_back(snapshot::snapshot_name(file.snapshot, file.soc), page);
      }
    }
    return {};
  }

  // Uses the damaged database and returns a complaint, or an empty string.
  static std::string use(const Damage& damage) {
    const auto device = device_->copy();
    forge(device.get(), damage);
    std::string wrong;
    const auto look = [&](const char* what, const Status& status) {
      const bool is_named = status.is_ok() || status.code() == ErrorCode::kCorruption;
      if (!is_named) wrong += std::string(what) + ": " + status.message() + "\n";
      return status.is_ok();
    };
    {
      const auto copy = device->copy();
      cli::Findings findings;
      cli::verify_snapshot(copy.get(), manifest_, &findings, {});
      gleaner::ReclaimCounts counts;
      look("reclaim",
           gleaner::reclaim(copy.get(), manifest_, manifest_.files, &counts).status());
    }
    SmallDatabase database(device.get());
    if (!look("open", database.open())) return wrong;
    bool is_whole = true;
    const auto read = [&](const char* what, Isolation isolation, bool reverse) {
      Contents found;
      const bool is_read = look(what, database.read(isolation, reverse, expected_, &found));
      if (is_read && differing_rows(found, expected_) > 1) {
        wrong += std::string(what) + ": several rows are others\n";
      }
      is_whole = is_whole && is_read;
    };
    read("snapshot", Isolation::kSnapshot, false);
    read("snapshot in reverse", Isolation::kSnapshot, true);
    read("serializable", Isolation::kSerializable, false);
    read("serializable in reverse", Isolation::kSerializable, true);
    look("touch", database.touch(expected_));
    look("glean", database.glean());
    Contents found;
    look("read again", database.read(Isolation::kSerializable, false, expected_, &found));
    look("close", database.close());
    return wrong;
  }

  static std::vector<char> values_for(char byte, base::Random* random) {
    std::vector<char> values = {static_cast<char>(byte + 1), static_cast<char>(~byte),
                                static_cast<char>(byte ^ (1 << random->below(8))),
                                static_cast<char>(random->below(256))};
    std::erase(values, byte);
    return values;
  }

  inline static std::unique_ptr<FailingDevice> device_;
  inline static Contents expected_;
  inline static snapshot::Manifest manifest_;
  inline static std::vector<std::pair<std::string, std::uint64_t>> pages_;
};

TEST_F(ForgedPagesTest, the_pages_as_they_were_written_break_no_rule_and_are_of_all_kinds) {
  std::set<PageKind> kinds;
  for (const auto& [file, page] : pages_) {
    const auto block = page_of(*device_, file, page);
    kinds.insert(block->header()->kind);
    const char* const broken = storage::broken_rule(*block->header(), manifest_.covered);
    EXPECT_EQ(broken, nullptr) << file << ", page " << page << ": " << broken;
  }
  EXPECT_EQ(kinds.size(), 9u);
  EXPECT_EQ(use({pages_.front().first, 1, 0,
                 page_of(*device_, pages_.front().first, 1)->bytes[0]}),
            "");
}

// Goal: each reader of pages checks their rules. Method: each page of the newest snapshot in turn
// breaks a rule that no other check would notice; a move of it is refused, and so is a glean on it,
// or else a read.
TEST_F(ForgedPagesTest, of_which_one_breaks_a_rule_are_refused_by_whoever_reads_them) {
  const auto is_refused = [](const Status& status) {
    EXPECT_NE(status.message().find("records were purged from it"), std::string::npos)
        << status.message();
    return status.code() == ErrorCode::kCorruption;
  };
  const std::string newest = pages_.back().first;
  std::uint64_t by_gleans = 0;
  std::uint64_t by_reads = 0;
  for (const auto& [file, page] : pages_) {
    if (file != newest) continue;
    const auto device = device_->copy();
    forge(device.get(), {file, page, offsetof(PageHeader, purged_tid), 16});
    const auto copy = device->copy();
    gleaner::ReclaimCounts counts;
    EXPECT_TRUE(is_refused(
        gleaner::reclaim(copy.get(), manifest_, manifest_.files, &counts).status()));
    SmallDatabase database(device.get());
    const Status opened = database.open();  // gleans
    if (!opened.is_ok()) {
      by_gleans += is_refused(opened) ? 1 : 0;
      continue;
    }
    Contents found;
    by_reads +=
        is_refused(database.read(Isolation::kSnapshot, false, expected_, &found)) ? 1 : 0;
  }
  std::printf("%lu refused by gleans, %lu by reads\n", by_gleans, by_reads);
  EXPECT_GT(by_gleans, 0u);
  EXPECT_GT(by_reads, 0u);
}

// A border page ends before its place does: once it was volatile, a scan would search the page of
// the missing slices for ever.
TEST_F(ForgedPagesTest, a_border_page_of_too_few_slices_is_refused_before_it_is_volatile) {
  const Damage damage{"snapshot-00000002-1", 5, offsetof(storage::masstree::TreePage, last) + 4,
                      58};
  const auto block = page_of(*device_, damage.file, damage.page);
  ASSERT_EQ(block->header()->kind, PageKind::kMasstreeBorder);
  EXPECT_EQ(run_isolated([&] { return use(damage); }), "");
}

// FOEDUS_CASE="snapshot-00000001-0 5 76 58" runs one case of the next test, in this process.
TEST_F(ForgedPagesTest, a_case_that_is_asked_for_ends) {
  const char* const text = std::getenv("FOEDUS_CASE");
  if (text == nullptr) GTEST_SKIP() << "none is asked for";
  std::istringstream words(text);
  Damage damage{};
  unsigned value = 0;
  words >> damage.file >> damage.page >> damage.offset >> value;
  damage.value = static_cast<char>(value);
  EXPECT_EQ(use(damage), "");
}

// Most damage is refused when it is read; other damaged pages are used by all calls.
TEST_F(ForgedPagesTest, one_byte_that_was_changed_is_refused_by_name_or_costs_its_row_at_most) {
  constexpr std::uint64_t kRefused = 4'000;  // cases for each one that is refused and used anyway
  const std::uint64_t stride = stride_or(9'973);
  std::uint64_t cases = 0;
  std::uint64_t refused = 0;
  std::uint64_t used = 0;
  std::uint64_t failures = 0;
  base::Random random(7);
  std::uint64_t turn = 0;
  for (const auto& [file, page] : pages_) {
    const auto block = page_of(*device_, file, page);
    for (std::uint32_t offset = 0; offset < page::kPageBytes; ++offset) {
      const bool is_checksum = offset / 4 == snapshot::kChecksumOffset / 4;
      if (is_checksum) continue;
      const char before = block->bytes[offset];
      for (const char value : values_for(before, &random)) {
        if (++turn % stride != 0) continue;
        block->bytes[offset] = value;
        const bool is_refused =
            offset < sizeof(page::PageHeader::page_id) ||
            storage::broken_rule(*block->header(), manifest_.covered) != nullptr;
        block->bytes[offset] = before;
        ++cases;
        refused += is_refused ? 1 : 0;
        if (is_refused && stride == 1 && refused % kRefused != 0) continue;
        const Damage damage{file, page, offset, value};
        ++used;
        const std::string wrong = run_isolated([&] { return use(damage); });
        if (wrong.empty()) continue;
        ADD_FAILURE() << damage.in_words() << ", kind "
                      << static_cast<unsigned>(block->header()->kind)
                      << (is_refused ? ", refused" : "") << ": " << wrong;
        if (++failures == 40) return;
      }
    }
  }
  std::printf("%zu pages, %lu cases, %lu refused where they are read, %lu used by everything\n",
              pages_.size(), cases, refused, used);
}

}  // namespace
}  // namespace foedus::hostile::forged_pages_test
