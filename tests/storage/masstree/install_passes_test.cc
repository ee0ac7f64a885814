// What an installation of a Master-Tree passes over, and what it leaves to the thread that called.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "foedus-core/base/sync_point.h"
#include "tests/storage/masstree/masstree_install_fixture.h"

namespace foedus::storage::masstree {
namespace {

class InstallPassesTest : public MasstreeInstallTest {
 protected:
  explicit InstallPassesTest(std::uint32_t installers = 1) : MasstreeInstallTest(installers) {}
};

// Goal: a volatile page is passed over only if all pages of the snapshot that have its keys are
// unchanged (O18). Method: volatile interior pages, made by splits, have other fences than those of
// the snapshot, and pages below them are dropped; rows that no volatile page has change here and
// there, so that each time one border page of the snapshot does, with those above it.
TEST_F(InstallPassesTest, all_pages_of_its_keys_are_unchanged) {
  constexpr std::uint64_t kRows = 40'000;
  ASSERT_NO_FATAL_FAILURE(load(0, kRows));
  all_.compose();
  // The first row of each interior page's keys, or so, is hot.
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
    const occ::InstallCounts counts = all_.install(0);
    EXPECT_TRUE(counts.has_passed_over);
    EXPECT_FALSE(counts.may_need_earlier);
    ASSERT_NO_FATAL_FAILURE(all_.check_leads()) << i;
  }
}

class InstallDividedTest : public InstallPassesTest {
 protected:
  static constexpr std::uint64_t kRows = 60'000;
  InstallDividedTest() : InstallPassesTest(2) {}

  // One thread alone comes here.
  static void hook(const char* place) {
    if (std::string_view(place) == "masstree:install_left") ++left_;
    if (std::string_view(place) == "masstree:install_looked" && --at_looks_ == 0) at_look_();
  }
  static inline unsigned left_ = 0;
  static inline int at_looks_ = 0;
  static inline std::function<void()> at_look_;
};

// Goal: pages that have keys of two children of the page that threads share are left to the caller
// (O19). Method: while a thread is at a child, rows all over the first half are erased, so that
// children become one, and then pages below them.
TEST_F(InstallDividedTest, pages_of_two_children_are_left_to_the_caller) {
  all_.crew().set_mode(InstallCrew::Mode::kLastFirst);
  ASSERT_NO_FATAL_FAILURE(load(0, kRows));
  all_.compose();
  at_looks_ = 30;  // below the first child
  at_look_ = [this] {
    for (std::uint64_t i = 0; i < kRows / 2; ++i) {
      if (i % 1'000 == 0) all_.all().pass_epochs();
      if (i % 2'000 != 7) erase(key_of(i));
    }
  };
  base::set_sync_point_hook(&hook);
  const occ::InstallCounts counts = all_.install();
  base::set_sync_point_hook(nullptr);
  EXPECT_FALSE(counts.may_need_earlier);
  EXPECT_EQ(all_.crew().runs(), 1u);
  EXPECT_GE(left_, 1u);
  ASSERT_NO_FATAL_FAILURE(all_.check_leads());
  check();
  verify_tree(all_.all().pool(), all_.control());
  EXPECT_EQ(glean_and_check().pages_kept, 0u);
}

}  // namespace
}  // namespace foedus::storage::masstree
