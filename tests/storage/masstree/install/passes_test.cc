// Pages that an installation of a Master-Tree skips, and pages that a thread leaves to the caller.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "foedus-core/base/system/sync_point.h"
#include "tests/storage/masstree/install/fixture.h"

namespace foedus::storage::masstree::passes_test {
namespace {

class InstallPassesTest : public MasstreeInstallTest {
 protected:
  explicit InstallPassesTest(std::uint32_t installers = 1) : MasstreeInstallTest(installers) {}
};

// Goal: a volatile page is skipped only if all pages of the snapshot that have its keys are
// unchanged (O18). Method: volatile interior pages, made by splits, have other fences than those of
// the snapshot, and pages below them are dropped. Then single rows change in the snapshot alone, so
// that each time one border page of the snapshot changes, with those above it.
TEST_F(InstallPassesTest, all_pages_of_its_keys_are_unchanged) {
  constexpr std::uint64_t kRows = 40'000;
  ASSERT_NO_FATAL_FAILURE(load(0, kRows));
  all_.compose();
  // About the first row of each interior page's keys is hot.
  for (std::uint64_t i = 0; i < kRows; i += 500) {
    ASSERT_NO_FATAL_FAILURE(put(key_of(i), payload_of(i)));
  }
  EXPECT_GT(all_.install().pages_dropped, 500u);
  all_.compose();
  EXPECT_FALSE(all_.install(0).may_need_earlier);
  EXPECT_GT(volatile_pages(), 80u);
  for (std::uint64_t i = 250; i < kRows; i += 1'000) {
    all_.put_beside(key_of(i), "beside");
    all_.compose();
    const InstallCounts counts = all_.install(0);
    EXPECT_TRUE(counts.has_passed_over);
    EXPECT_FALSE(counts.may_need_earlier);
    ASSERT_NO_FATAL_FAILURE(all_.check_leads()) << i;
  }
}

class InstallDividedTest : public InstallPassesTest {
 protected:
  static constexpr std::uint64_t kRows = 60'000;
  InstallDividedTest() : InstallPassesTest(2) {}
  ~InstallDividedTest() override { base::set_sync_point_hook(nullptr); }

  // Returns the first row after the keys of a child of the root.
  std::uint64_t end_of(unsigned child) {
    const page::VolatilePageId root = all_.control()->root.load_volatile();
    InteriorPage* const page = InteriorPage::of(TreePage::of(all_.all().pool().resolve(root)));
    EXPECT_EQ(page->header.level, 2u);
    const std::uint64_t separator = page->separator(child);
    std::uint64_t row = 0;
    while (slice_of(key_of(row)) < separator) ++row;
    return row;
  }
  static std::uint64_t slice_of(const std::string& key) {
    std::uint64_t slice = 0;
    for (const char byte : key) slice = slice << 8 | static_cast<unsigned char>(byte);
    return slice;
  }
  void erase_rows(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      if (i % 1'000 == 0) all_.all().pass_epochs();
      if (rows_.contains(key_of(i))) erase(key_of(i));
    }
  }
  // Only one thread calls the hook.
  static void hook(const char* place) {
    const bool is_shared = of_->all_.crew().is_running();
    if (std::string_view(place) == "masstree:install_left") ++left_;
    if (std::string_view(place) != "masstree:install_looked") return;
    if (!is_shared && left_ != 0) ++looked_afterwards_;
    if (--at_looks_ == 0) at_look_();
  }
  static inline InstallDividedTest* of_ = nullptr;
  static inline unsigned left_ = 0;
  static inline unsigned looked_afterwards_ = 0;
  static inline int at_looks_ = 0;
  static inline std::function<void()> at_look_;
};

// Goal: a page with keys of two children of the page whose children threads share is left to the
// caller (O19). Method: while a thread is at the first child, enough rows of the first two are
// erased that these become one page, which is too full for a third; then the pages on both sides of
// the boundary are joined.
TEST_F(InstallDividedTest, pages_of_two_children_are_left_to_the_caller) {
  all_.crew().set_mode(InstallCrew::Mode::kLastFirst);
  ASSERT_NO_FATAL_FAILURE(load(0, kRows));
  all_.compose();
  const std::uint64_t first = end_of(0);
  const std::uint64_t second = end_of(1);
  of_ = this;
  at_looks_ = 5;  // below the first child
  at_look_ = [&] {
    erase_rows(first + (second - first) / 2, second - (second - first) / 10);
    erase_rows(first / 10, first - first / 10);
    erase_rows(first - 200, first + 200);
    EXPECT_EQ(end_of(0), second);
  };
  base::set_sync_point_hook(&hook);
  const InstallCounts counts = all_.install();
  base::set_sync_point_hook(nullptr);
  EXPECT_FALSE(counts.may_need_earlier);
  EXPECT_EQ(all_.crew().runs(), 1u);
  EXPECT_GE(left_, 2u);
  EXPECT_GT(looked_afterwards_, 0u);
  ASSERT_NO_FATAL_FAILURE(all_.check_leads());
  check();
  verify_tree(all_.all().pool(), all_.control());
  EXPECT_EQ(glean_and_check().pages_kept, 0u);
}

}  // namespace
}  // namespace foedus::storage::masstree::passes_test
