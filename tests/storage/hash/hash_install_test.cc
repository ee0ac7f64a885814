// Installations of a hash storage whose snapshot has another shape, whose pages change between two
// steps, or that cannot have what they need: no row is lost, and what may still lead to earlier
// snapshots is told (O16).

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "foedus-core/storage/hash/hash_function.h"
#include "tests/storage/hash/hash_cold_fixture.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::storage::hash {
namespace {

using testing::AtSyncPoint;

// Five rows fill a page.
const std::string kFifth(700, 'f');
const std::string kLarge(9'000, 'l');

class HashInstallTest : public HashColdTest {
 protected:
  // The one of this number among keys whose hash begins with these bits.
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
  // Keys [begin, end) of that prefix.
  void fill(unsigned bits, std::uint64_t prefix, unsigned begin, unsigned end,
            const std::string& payload = kFifth) {
    for (unsigned i = begin; i < end; ++i) put(key_at(bits, prefix, i), payload);
  }
  void clear(unsigned bits, std::uint64_t prefix, unsigned begin, unsigned end) {
    for (unsigned i = begin; i < end; ++i) erase(key_at(bits, prefix, i));
  }
  // One bin for each two bits, all of them cold; and one of them hot.
  void load_four_bins() {
    for (std::uint64_t prefix = 0; prefix < 4; ++prefix) fill(2, prefix, 0, 5);
    all_.glean();
    ASSERT_EQ(volatile_pages(), 0u);
  }
  void heat(std::uint64_t prefix) { put(key_at(2, prefix, 0), "hot"); }
  void check_rows() {
    for (const auto& [key, payload] : rows_) ASSERT_EQ(get_alone(1, key), payload) << key;
  }
  // Afterwards nothing is left of what went on before.
  void expect_all_goes() {
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
    check_rows();
  }
  // Who comes to `place` for this time, counted from one, does it.
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
  // Pages that nobody can have until they are given back.
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

// ---- payloads that are named in files of earlier snapshots

class HashInstallNamesTest : public HashInstallTest {
 protected:
  // A large row in a bin that is hot, and the same in a new file.
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

TEST_F(HashInstallNamesTest, APayloadIsFoundInTheFileThatItMovedTo) {
  load_named();
  all_.compose_anew();
  heat(0);
  expect_old_files_may_go();
}

TEST_F(HashInstallNamesTest, ARecordInUseKeepsItsNameAndIsReported) {
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

TEST_F(HashInstallNamesTest, AnErasedRowNeedsNoName) {
  load_named();
  erase(large_);
  all_.compose_anew();
  heat(0);
  expect_old_files_may_go();
}

// A row that got smaller leaves its name behind, at a place of the bin that nobody reads.
TEST_F(HashInstallNamesTest, ARowThatMovedWithinItsBinNeedsNoNameWhereItWas) {
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

// Whether there is a copy that has the name, and was not looked at, nobody knows then.
TEST_F(HashInstallNamesTest, ARowThatMovedInABinThatGrowsMeanwhileIsReported) {
  load_named();
  put(large_, std::string(100, 's'));
  all_.compose_anew();
  heat(0);
  at("hash:install_named", 1, [&] { put(key_at(2, 0, 4), "new"); }, true);
  check_rows();
  expect_old_files_may_go();
}

// All keys have one hash (wyhash's first factor is 0), so their bin is a chain of pages.
TEST_F(HashInstallNamesTest, PayloadsInLongChainsOfPagesGetTheirNewNames) {
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
}  // namespace foedus::storage::hash
