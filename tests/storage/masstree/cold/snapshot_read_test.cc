// Reads of Master-Trees in a snapshot equal a model of that moment, however the tree changes.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/masstree/scan/cursor.h"
#include "foedus-core/storage/masstree/search/snapshot_read.h"
#include "foedus-core/storage/masstree/storage.h"
#include "tests/base/test_seed.h"
#include "tests/storage/gleaned.h"

namespace foedus::storage::masstree::snapshot_read_test {
namespace {

using Model = std::map<std::string, std::string>;
using Rows = std::vector<std::pair<std::string, std::string>>;

storage_meta::StorageMeta meta() {
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kMasstree;
  return meta;
}

// Snapshots are not installed here: volatile pages stay, and must not be read.
Result<InstallCounts> never(const Installation&, page::SnapshotPageId) {
  return Status::error(ErrorCode::kNotSupported, "not asked for here");
}

Rows rows_of(const Model& model, std::string_view low, std::string_view high, bool reverse) {
  Rows rows;
  for (const auto& [key, payload] : model) {
    if (key >= low && (high.empty() || key < high)) rows.emplace_back(key, payload);
  }
  if (reverse) std::reverse(rows.begin(), rows.end());
  return rows;
}

class MasstreeSnapshotReadTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kReader = 3;

  // Puts a row into tree and model.
  void put(const std::string& key, const std::string& payload) {
    all_.session(0).begin();
    ASSERT_TRUE(
        write_whole(all_.session(0).ctx(), all_.control(), WriteMode::kPut, key, payload).is_ok());
    const Status status = all_.session(0).commit();
    ASSERT_TRUE(status.is_ok()) << status.message();
    model_[key] = payload;
  }
  void erase(const std::string& key) {
    if (model_.erase(key) == 0) return;
    all_.session(0).begin();
    ASSERT_TRUE(masstree::erase(all_.session(0).ctx(), all_.control(), key).is_ok());
    ASSERT_TRUE(all_.session(0).commit().is_ok());
  }
  // Makes the next snapshot, and notes the rows that must be in it.
  void glean() {
    all_.compose();
    snapshots_.emplace_back(all_.root(), model_);
  }

  WholeRead get(page::SnapshotPageId root, std::string_view key) {
    return read_whole([&](occ::ReadRange* range) {
      return get_in_snapshot(all_.session(kReader).ctx(), all_.control(), root, key, range);
    });
  }
  Rows scan(page::SnapshotPageId root, std::string_view low, std::string_view high, bool reverse) {
    Rows rows;
    cursor_.open_in_snapshot(all_.session(kReader).ctx(), all_.control(), root, low, high, reverse);
    for (;;) {
      const Status status = cursor_.next();
      EXPECT_TRUE(status.is_ok()) << status.message();
      if (!status.is_ok() || cursor_.at_end()) return rows;
      rows.emplace_back(cursor_.key(), cursor_.payload());
    }
  }
  // Checks every snapshot so far, by scans of ranges and point reads.
  void expect_all(const std::vector<std::string>& probes) {
    all_.session(kReader).begin({.isolation = Isolation::kSnapshot});
    for (const auto& [root, model] : snapshots_) {
      for (const bool reverse : {false, true}) {
        ASSERT_EQ(scan(root, "", "", reverse), rows_of(model, "", "", reverse));
        for (const std::string& low : probes) {
          const std::string& high = probes[random_.below(probes.size())];
          ASSERT_EQ(scan(root, low, "", reverse), rows_of(model, low, "", reverse)) << low;
          ASSERT_EQ(scan(root, "", low, reverse), rows_of(model, "", low, reverse)) << low;
          ASSERT_EQ(scan(root, low, high, reverse), rows_of(model, low, high, reverse))
              << low << " .. " << high << (reverse ? " in reverse" : "");
        }
      }
      for (const std::string& key : probes) {
        const WholeRead got = get(root, key);
        const auto expected = model.find(key);
        ASSERT_EQ(got.status.is_ok(), expected != model.end()) << key;
        if (expected == model.end()) {
          ASSERT_EQ(got.status.code(), ErrorCode::kNotFound) << key;
        } else {
          ASSERT_EQ(got.payload, expected->second) << key;
        }
      }
    }
    EXPECT_TRUE(all_.session(kReader).ctx().sets().reads().is_empty());
    EXPECT_TRUE(all_.session(kReader).ctx().sets().pointers().is_empty());
    EXPECT_TRUE(all_.session(kReader).ctx().sets().pages().is_empty());
    EXPECT_TRUE(all_.session(kReader).commit().is_ok());
  }

  Gleaned all_{meta(), compose_all, never};
  Model model_;
  std::vector<std::pair<page::SnapshotPageId, Model>> snapshots_;
  Cursor cursor_;
  base::Random random_{testing::test_seed(7)};
};

TEST_F(MasstreeSnapshotReadTest, before_the_first_snapshot_there_is_nothing) {
  put("a", "1");
  snapshots_.emplace_back(page::SnapshotPageId(), Model());
  expect_all({"", "a", "b"});
}

TEST_F(MasstreeSnapshotReadTest, each_snapshot_is_the_state_at_its_epoch) {
  std::vector<std::string> probes = {"", "zzz"};
  for (int i = 0; i < 3000; ++i) {
    std::string key = std::to_string(i * 7919 % 100'000);
    if (i % 50 == 0) probes.push_back(key);
    put(key, std::string(i % 90, 'p'));
  }
  glean();
  for (int i = 0; i < 500; ++i) put(std::to_string(i * 104'729 % 100'000), "second");
  for (const std::string& key : probes) erase(key);
  glean();
  for (int i = 0; i < 100; ++i) put("not gleaned" + std::to_string(i), "third");
  expect_all(probes);
}

TEST_F(MasstreeSnapshotReadTest, bounds_lead_into_layers) {
  const std::string a8(8, 'a');
  const std::string a16(16, 'a');
  const std::vector<std::string> keys = {"",
                                         "a",
                                         a8.substr(1),
                                         a8,
                                         a8 + '\0',
                                         a8 + "a",
                                         a8 + "b",
                                         a8 + "bcdefghijkl",
                                         a16,
                                         a16 + '\0',
                                         a16 + "x",
                                         a16 + a16,
                                         a16 + a16 + "q",
                                         "aaaaaaab",
                                         "aaaaaaabzzzzzzzzz",
                                         "b",
                                         std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
                                         a16 + "y"};
  for (std::size_t i = 0; i < keys.size(); ++i) put(keys[i], "row " + std::to_string(i));
  glean();
  std::vector<std::string> probes = keys;
  for (const std::string& key : keys) {
    probes.push_back(key + '\0');
    if (!key.empty()) probes.push_back(key.substr(0, key.size() - 1));
    probes.push_back(key + "\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  }
  expect_all(probes);
  erase(a16);
  erase(a8 + "b");
  erase("");
  glean();
  expect_all(probes);
}

TEST_F(MasstreeSnapshotReadTest, large_payloads_are_read) {
  put("small", "s");
  put("large", std::string(100'000, 'L'));
  put("larger", std::string(1'000'000, 'M'));
  glean();
  put("large", "not any more");
  expect_all({"small", "large", "larger", ""});
  all_.session(kReader).begin({.isolation = Isolation::kSnapshot});
  char part[4];
  occ::ReadRange range;
  range.out = part;
  range.out_bytes = sizeof(part);
  range.offset = 99'998;
  ASSERT_TRUE(
      get_in_snapshot(all_.session(kReader).ctx(), all_.control(), all_.root(), "large", &range)
          .is_ok());
  EXPECT_EQ(range.payload_bytes, 100'000u);
  EXPECT_EQ(std::string_view(part, 2), "LL");
  all_.session(kReader).rollback();
}

// Every read fails in turn: one that fails ahead of the scan is tried again when the page is
// needed.
TEST_F(MasstreeSnapshotReadTest, a_page_that_cannot_be_read_ends_the_scan) {
  for (int i = 0; i < 2000; ++i) put(std::to_string(i), std::string(50, 'x'));
  glean();
  all_.session(kReader).begin({.isolation = Isolation::kSnapshot});
  all_.pages().fail_read_after(3);
  cursor_.open_in_snapshot(all_.session(kReader).ctx(), all_.control(), all_.root(), "", "", false);
  Status status = cursor_.next();
  while (status.is_ok() && !cursor_.at_end()) {
    all_.pages().fail_read_after(0);
    status = cursor_.next();
  }
  EXPECT_EQ(status.code(), ErrorCode::kIoError);
  EXPECT_TRUE(cursor_.at_end());
  EXPECT_EQ(scan(all_.root(), "", "", false).size(), 2000u);
  all_.session(kReader).rollback();
}

// Goal: a scan whose root is another page of the tree gives no row of another state. Method: the
// outermost page below the root, at which each direction begins.
TEST_F(MasstreeSnapshotReadTest, a_page_below_the_root_is_refused_as_the_root) {
  for (int i = 0; i < 2000; ++i) put(std::to_string(i), std::string(50, 'x'));
  glean();
  occ::TxnContext& ctx = all_.session(kReader).ctx();
  all_.session(kReader).begin({.isolation = Isolation::kSnapshot});
  for (const bool reverse : {false, true}) {
    page::SnapshotPageId below;
    {
      const occ::ColdReads reads(&ctx.cold_pages());
      auto* const root = const_cast<page::PageHeader*>(ctx.cold_pages().page(all_.root()));
      ASSERT_NE(root, nullptr);
      ASSERT_NE(root->level, 0);
      InteriorPage* const interior = InteriorPage::of(TreePage::of(root));
      below = interior->child(reverse ? root->load_version().keys() : 0).load().snapshot_page;
    }
    cursor_.open_in_snapshot(ctx, all_.control(), below, "", "", reverse);
    EXPECT_EQ(cursor_.next().code(), ErrorCode::kCorruption) << reverse;
    EXPECT_TRUE(cursor_.at_end());
  }
  all_.session(kReader).rollback();
}

// Goal: no key, bound or shape of the tree is special. Method: random keys of few bytes, which make
// layers, random writes and erasures, and a snapshot at times; ranges between any two keys.
TEST_F(MasstreeSnapshotReadTest, random_trees_equal_their_model) {
  const auto random_key = [this] {
    std::string key(random_.below(28), 'a');
    for (char& byte : key) {
      if (random_.below(6) == 0) byte = static_cast<char>('a' + random_.below(3));
    }
    return key;
  };
  for (int round = 0; round < 4; ++round) {
    std::vector<std::string> probes;
    for (int i = 0; i < 400; ++i) {
      const std::string key = random_key();
      if (i % 16 == 0) probes.push_back(key);
      if (random_.below(3) == 0) {
        erase(key);
      } else {
        put(key, std::string(random_.below(40) == 0 ? 5'000 : random_.below(120), 'r'));
      }
    }
    glean();
    expect_all(probes);
  }
}

}  // namespace
}  // namespace foedus::storage::masstree::snapshot_read_test
