// Installations of a hash storage whose snapshot has another shape, whose pages change between two
// steps, or that lack pages or reads: no row is lost, and the result says whether a pointer may
// still lead to earlier snapshots (O16).

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "foedus-core/storage/hash/layout/function.h"
#include "tests/storage/hash/cold_fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash::install_test {
namespace {

using testing::AtSyncPoint;

// Five rows fill a page.
const std::string kFifth(700, 'f');
const std::string kLarge(9'000, 'l');

class HashInstallTest : public HashColdTest {
 protected:
  // Returns the `number`-th key whose hash begins with these bits.
  static std::string key_at(unsigned bits, std::uint64_t prefix, unsigned number) {
    for (std::uint64_t i = 0;; ++i) {
      const std::string key = key_of(i);
      if (hash_of(key) >> (64 - bits) == prefix && number-- == 0) return key;
    }
  }
  void put(const std::string& key, const std::string& payload) {
    put_alone(0, key, payload);
    rows_[key] = payload;
  }
  void erase(const std::string& key) {
    erase_alone(0, key);
    rows_.erase(key);
  }
  // Puts keys [begin, end) of that prefix.
  void fill(unsigned bits, std::uint64_t prefix, unsigned begin, unsigned end,
            const std::string& payload = kFifth) {
    for (unsigned i = begin; i < end; ++i) put(key_at(bits, prefix, i), payload);
  }
  void clear(unsigned bits, std::uint64_t prefix, unsigned begin, unsigned end) {
    for (unsigned i = begin; i < end; ++i) erase(key_at(bits, prefix, i));
  }
  // Makes one bin for each two bits, all of them cold.
  void load_four_bins() {
    for (std::uint64_t prefix = 0; prefix < 4; ++prefix) fill(2, prefix, 0, 5);
    all_.glean();
    ASSERT_EQ(volatile_pages(), 0u);
  }
  void heat(std::uint64_t prefix) { put(key_at(2, prefix, 0), "hot"); }
  void check_rows() {
    for (const auto& [key, payload] : rows_) ASSERT_EQ(get_alone(1, key), payload) << key;
  }
  // Checks that no page stays volatile at rest.
  void expect_all_goes() {
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
    check_rows();
  }
  // Installs, and runs `act` when `place` is reached for the `time`-th time.
  template <typename Act>
  void at(const char* place, unsigned time, Act&& act, bool expects_earlier) {
    unsigned times = 0;
    const AtSyncPoint hook(
        place,
        [&] {
          if (++times == time) act();
        },
        true);
    EXPECT_EQ(all_.install().may_need_earlier, expects_earlier);
    EXPECT_GE(times, time) << place;
  }
  // Takes all free pages of the pool, until they are given back.
  std::vector<page::PageHeader*> take_all_pages() {
    std::vector<page::PageHeader*> pages;
    for (;;) {
      page::PageHeader* const page = installer_pages().allocate();
      if (page == nullptr) return pages;
      pages.push_back(page);
    }
  }
  void give_back(const std::vector<page::PageHeader*>& pages) {
    for (page::PageHeader* const page : pages) installer_pages().release(page);
  }
  page::SessionPages& installer_pages() { return all_.session(4).pages(); }

  std::map<std::string, std::string> rows_;
};

// ---- snapshots whose pages are other ones

TEST_F(HashInstallTest, a_cold_bin_is_found_in_the_file_that_it_moved_to) {
  load_four_bins();
  heat(3);
  all_.compose_anew();
  heat(3);
  EXPECT_FALSE(all_.install().may_need_earlier);
  EXPECT_EQ(volatile_pages(), 2u);
  all_.check_leads();
  all_.remove_old_files();
  check_rows();
}

// Method: erasures in one half and then in the other, each beside an unread bin, leave two small
// bins for which a snapshot from scratch has no page.
TEST_F(HashInstallTest, a_cold_interior_page_that_the_new_snapshot_has_not_is_made_volatile) {
  fill(8, 0, 0, 3);
  fill(8, 1, 0, 3);
  fill(1, 1, 0, 2);
  all_.glean();
  for (const std::uint64_t half : {0u, 1u}) {
    clear(8, half, 1, 3);
    all_.glean();
  }
  put(key_at(1, 1, 0), "hot");
  all_.compose_anew();
  put(key_at(1, 1, 0), "hotter");
  const std::uint64_t before = volatile_pages();
  EXPECT_FALSE(all_.install().may_need_earlier);
  EXPECT_GT(volatile_pages(), before + 2);  // the interior page and its bins
  all_.check_leads();
  all_.remove_old_files();
  check_rows();
  expect_all_goes();
}

TEST_F(HashInstallTest, what_the_snapshot_has_no_page_for_stays) {
  fill(1, 1, 0, 5);
  all_.compose();
  fill(8, 0, 0, 8);
  all_.install();
  check_rows();
  EXPECT_GE(volatile_pages(), 4u);
  expect_all_goes();
}

// The snapshot has a bin where the storage has an interior page by now.
TEST_F(HashInstallTest, a_bin_that_became_an_interior_page_meanwhile_stays) {
  fill(7, 0, 0, 4);
  fill(7, 1, 0, 5);
  all_.compose();
  fill(7, 0, 4, 8);
  for (const ErrorCode code : {ErrorCode::kIoError, ErrorCode::kCorruption}) {
    EXPECT_GT(all_.install_with_errors(code), 1u);
    check_rows();
  }
  expect_all_goes();
}

// ---- pages that change between the installer's steps

TEST_F(HashInstallTest, a_cold_bin_that_is_written_behind_the_look_keeps_what_was_written) {
  load_four_bins();
  heat(3);
  all_.compose_anew();
  heat(3);
  at(
      "hash:install_looked", 2, [&] { heat(0); }, false);
  all_.check_leads();
  all_.remove_old_files();
  check_rows();
  expect_all_goes();
}

TEST_F(HashInstallTest, a_bin_that_spreads_behind_the_look_stays) {
  for (const std::uint64_t boundary : {std::uint64_t{0}, std::uint64_t{1} << 61}) {
    load_four_bins();
    heat(0);
    set_boundary(boundary);
    all_.compose();
    at(
        "hash:install_looked", 2, [&] { fill(2, 0, 5, 12); }, true);
    check_rows();
    clear(2, 0, 5, 12);
    set_boundary(0);
    expect_all_goes();
  }
}

TEST_F(HashInstallTest, a_bin_that_spreads_before_its_names_were_looked_at_is_reported) {
  load_four_bins();
  heat(0);
  all_.compose();
  at(
      "hash:installed", 2, [&] { fill(2, 0, 5, 12); }, true);
  check_rows();
  expect_all_goes();
}

// Method: rows of one bin are erased, so that the next insert rebuilds it and merges its buddy.
TEST_F(HashInstallTest, bins_that_merge_behind_the_look_stay) {
  constexpr std::uint64_t kThreeQuarters = std::uint64_t{3} << 61;  // divides the second bin
  for (const std::uint64_t boundary : {std::uint64_t{0}, kThreeQuarters}) {
    load_four_bins();
    heat(0);
    heat(1);
    set_boundary(boundary);
    all_.compose();
    clear(2, 0, 0, 5);
    clear(2, 1, 1, 5);
    all_.all().pass_epochs();
    const std::uint64_t before = volatile_pages();
    std::uint64_t after = 0;
    const auto merge = [&] {
      for (unsigned i = 5; i < 8 && volatile_pages() == before; ++i) {
        put(key_at(2, 0, i), std::string(300, 'm'));
      }
      after = volatile_pages();
    };
    at("hash:install_child", 2, merge, true);
    EXPECT_EQ(after, before - 1);
    check_rows();
    for (unsigned i = 5; i < 8; ++i) {
      if (rows_.contains(key_at(2, 0, i))) erase(key_at(2, 0, i));
    }
    set_boundary(0);
    expect_all_goes();
  }
}

// The interior page itself is replaced by the bin into which both were merged.
TEST_F(HashInstallTest, an_interior_page_that_goes_behind_the_look_is_looked_for_again) {
  fill(8, 0, 0, 4);
  fill(8, 1, 0, 2);
  all_.compose();
  clear(8, 0, 0, 4);
  clear(8, 1, 1, 2);
  all_.all().pass_epochs();
  const std::uint64_t before = volatile_pages();
  std::uint64_t after = 0;
  const auto merge = [&] {
    for (unsigned i = 4; i < 8 && volatile_pages() == before; ++i) {
      put(key_at(8, 0, i), std::string(300, 'm'));
    }
    after = volatile_pages();
  };
  at("hash:install_looked", 2, merge, false);
  EXPECT_EQ(after, before - 2);
  check_rows();
  expect_all_goes();
}

// ---- pages that are copied

class HashInstallCopyTest : public HashInstallTest {
 protected:
  // Makes a cold bin that the snapshot has divided, and a hot one.
  void divide() {
    load_four_bins();
    heat(3);
    set_boundary(std::uint64_t{1} << 61);
    all_.compose();
    heat(3);
  }
};

TEST_F(HashInstallCopyTest, without_pages_an_old_bin_stays_cold_and_is_reported) {
  divide();
  const std::vector<page::PageHeader*> pages = take_all_pages();
  EXPECT_TRUE(all_.install().may_need_earlier);
  EXPECT_EQ(volatile_pages(), 2u);
  check_rows();
  give_back(pages);
  EXPECT_FALSE(all_.install().may_need_earlier);
  EXPECT_EQ(volatile_pages(), 3u);
  all_.check_leads();
  check_rows();
}

TEST_F(HashInstallCopyTest, an_old_bin_that_a_session_makes_volatile_first_is_reported) {
  divide();
  at(
      "hash:install_looked", 2, [&] { heat(0); }, true);
  EXPECT_EQ(volatile_pages(), 3u);
  check_rows();
  expect_all_goes();
}

TEST_F(HashInstallCopyTest, an_old_bin_that_cannot_be_read_is_made_up_for) {
  divide();
  EXPECT_GT(all_.install_with_errors(ErrorCode::kIoError), 1u);
  all_.check_leads();
  check_rows();
}

// A page of another storage, of other bits, or of another kind is refused, not made volatile.
TEST_F(HashInstallCopyTest, another_page_in_place_of_an_old_bin_is_refused) {
  divide();
  const std::uint64_t before = volatile_pages();
  const auto forget = [&] {
    for (std::uint32_t i = 1; i < 3; ++i) all_.all().cache()->forget(page::SnapshotNumber{i});
  };
  const auto expect_refused = [&] {
    for (unsigned read = 0; read < 2; ++read) {  // the root of the snapshot, the old bin
      forget();
      all_.pages().forge_read_after(read);
      EXPECT_EQ(all_.try_install(~std::uint64_t{0}, false).code(), ErrorCode::kCorruption);
      all_.pages().read_well();
      EXPECT_EQ(volatile_pages(), before);
    }
  };
  expect_refused();
  all_.pages().forge = [](page::PageHeader* page) { page->flags ^= 1; };
  expect_refused();
  all_.pages().forge = [](page::PageHeader* page) { page->kind = page::PageKind::kArrayBorder; };
  expect_refused();
  forget();
  EXPECT_FALSE(all_.install().may_need_earlier);
  check_rows();
}

// Goal: a page of the snapshot that lost a pointer does not lose rows that an earlier one still
// has.
TEST_F(HashInstallTest, what_a_damaged_page_of_the_snapshot_has_not_stays_where_it_was) {
  load_four_bins();
  heat(3);
  all_.compose_anew();
  heat(3);
  all_.pages().forge = [](page::PageHeader* page) {
    auto* const root = reinterpret_cast<HashInteriorPage*>(page);
    ASSERT_EQ(root->owner_of(0), 0u);
    root->pointers[0].store({});
  };
  all_.pages().forge_read_after(0);
  EXPECT_TRUE(all_.install().may_need_earlier);
  check_rows();
}

// ---- payloads that are named in files of earlier snapshots

class HashInstallNamesTest : public HashInstallTest {
 protected:
  // Makes a hot bin with a large row whose payload is in a snapshot.
  void load_named() {
    put(large_, kLarge);
    fill(2, 0, 1, 3);
    all_.glean();
    heat(0);
  }
  void expect_old_files_may_go() {
    EXPECT_FALSE(all_.install().may_need_earlier);
    all_.check_leads();
    all_.remove_old_files();
    check_rows();
  }

  const std::string large_ = key_at(2, 0, 3);
};

TEST_F(HashInstallNamesTest, a_payload_is_found_in_the_file_that_it_moved_to) {
  load_named();
  all_.compose_anew();
  heat(0);
  expect_old_files_may_go();
}

TEST_F(HashInstallNamesTest, a_record_in_use_keeps_its_name_and_is_reported) {
  load_named();
  all_.compose_anew();
  heat(0);
  begin(2);
  occ::ReadRange range;
  ASSERT_TRUE(get_for_update(all_.session(2).ctx(), all_.control(), large_, &range).is_ok());
  EXPECT_TRUE(all_.install().may_need_earlier);
  all_.session(2).rollback();
  check_rows();
  expect_old_files_may_go();
}

TEST_F(HashInstallNamesTest, an_erased_row_needs_no_name) {
  load_named();
  erase(large_);
  all_.compose_anew();
  heat(0);
  expect_old_files_may_go();
}

// A row that got smaller leaves its old id at an unused place of the bin.
TEST_F(HashInstallNamesTest, a_row_that_moved_within_its_bin_needs_no_name_where_it_was) {
  load_named();
  put(large_, std::string(100, 's'));
  all_.compose_anew();
  heat(0);
  expect_old_files_may_go();
  erase(large_);
  all_.compose_anew();
  heat(0);
  expect_old_files_may_go();
}

// The installer cannot know then whether an unvisited copy has the old id.
TEST_F(HashInstallNamesTest, a_row_that_moved_in_a_bin_that_grows_meanwhile_is_reported) {
  load_named();
  put(large_, std::string(100, 's'));
  all_.compose_anew();
  heat(0);
  at(
      "hash:install_named", 1, [&] { put(key_at(2, 0, 4), "new"); }, true);
  check_rows();
  expect_old_files_may_go();
}

// All keys have one hash (wyhash's first factor is 0), so their bin is a chain of pages.
TEST_F(HashInstallNamesTest, payloads_in_long_chains_of_pages_get_their_new_names) {
  std::string stem(8, '\0');
  std::memcpy(stem.data(), &internal::kMix2, 8);
  const auto key = [&](unsigned i) { return stem + std::to_string(10'000'000 + i); };
  ASSERT_EQ(hash_of(key(1)), hash_of(key(2)));
  for (unsigned i = 0; i < 20; ++i) put(key(i), i % 6 == 0 ? kLarge : kFifth);
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  check_rows();
  put(key(7), "hot");
  erase(key(18));
  all_.compose_anew();
  put(key(7), "hotter");
  expect_old_files_may_go();
  EXPECT_GT(volatile_pages(), 8u);
}

}  // namespace
}  // namespace foedus::storage::hash::install_test
