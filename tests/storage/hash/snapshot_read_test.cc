// Reads of hash storages in a snapshot, while the storage changes and its pages are made and
// dropped.

#include <map>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/hash/snapshot_read.h"
#include "tests/base/test_seed.h"
#include "tests/storage/hash/cold_fixture.h"

namespace foedus::storage::hash::snapshot_read_test {
namespace {

class HashSnapshotReadTest : public HashColdTest {
 protected:
  using Model = std::map<std::string, std::string>;
  static constexpr std::uint32_t kReader = 3;

  WholeRead get_at(page::SnapshotPageId root, std::string_view key) {
    return read_whole([&](occ::ReadRange* range) {
      return get_in_snapshot(all_.session(kReader).ctx(), all_.control(), root, key, range);
    });
  }
  void expect(page::SnapshotPageId root, const Model& model, unsigned rows) {
    for (unsigned i = 0; i < rows; i += 3) {
      const auto written = model.find(key_of(i));
      const WholeRead got = get_at(root, key_of(i));
      ASSERT_EQ(got.status.is_ok(), written != model.end()) << i;
      if (written == model.end()) {
        ASSERT_EQ(got.status.code(), ErrorCode::kNotFound);
      } else {
        ASSERT_EQ(got.payload, written->second);
      }
    }
  }
};

TEST_F(HashSnapshotReadTest, each_snapshot_is_the_state_at_its_epoch) {
  base::Random random(testing::test_seed(5));
  Model model;
  std::vector<std::pair<page::SnapshotPageId, Model>> snapshots{{{}, {}}};
  all_.session(kReader).begin({.isolation = Isolation::kSnapshot});
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 600; ++i) {
      const std::string key = key_of(random.below(kRows));
      if (random.below(4) == 0 && model.erase(key) != 0) {
        erase_alone(0, key);
      } else {
        const std::string payload(random.below(30) == 0 ? 9'000 : random.below(200), 'v');
        put_alone(0, key, payload);
        model[key] = payload;
      }
    }
    if (round % 2 == 0) {
      all_.glean();
    } else {
      all_.compose();
    }
    snapshots.emplace_back(all_.root(), model);
    for (const auto& [root, then] : snapshots) expect(root, then, kRows);
  }
  EXPECT_TRUE(all_.session(kReader).ctx().sets().pointers().is_empty());
  EXPECT_TRUE(all_.session(kReader).ctx().sets().pages().is_empty());
  EXPECT_TRUE(commit(kReader).is_ok());
}

TEST_F(HashSnapshotReadTest, a_page_that_cannot_be_read_is_an_error) {
  load(10);
  all_.compose();
  all_.session(kReader).begin({.isolation = Isolation::kSnapshot});
  all_.pages().fail_read_after(1);
  EXPECT_EQ(get_at(all_.root(), key_of(1)).status.code(), ErrorCode::kIoError);
  EXPECT_EQ(get_at(all_.root(), key_of(1)).payload, payload_of(1));
}

}  // namespace
}  // namespace foedus::storage::hash::snapshot_read_test
