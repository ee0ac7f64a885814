// The Master-Tree against std::map, one transaction at a time: it has the rows that were put, in
// order, whatever the keys and payloads.
#include <map>
#include <optional>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/scan/cursor.h"
#include "tests/storage/rig.h"

namespace foedus::testing::model_test {
namespace {

namespace masstree = storage::masstree;
using storage::WriteMode;
using Model = std::map<std::string, std::string, std::less<>>;

std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* const given = std::getenv("FOEDUS_TEST_SEED");
    const std::uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 10) : 20240601;
    std::printf("seed (FOEDUS_TEST_SEED): %llu\n", static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return value;
}

// Returns keys that share slices, end in zeroes, and are prefixes of one another.
std::string crowded_key(base::Random* random) {
  static const std::string stems[] = {"", "12345678", "12345678abcdefgh",
                                      "12345678abcdefghABCDEFGH", std::string(8, '\0'),
                                      std::string(16, '\0'), std::string(8, '\xff'),
                                      std::string(24, '\xff')};
  std::string key = stems[random->below(8)];
  const std::uint64_t length = random->below(4) == 0 ? random->below(40) : random->below(10);
  for (std::uint64_t i = 0; i < length; ++i) {
    const char letters[] = {'\0', '\0', 'a', 'b', '\xff', static_cast<char>(random->below(256))};
    key.push_back(letters[random->below(6)]);
  }
  if (random->below(200) == 0) key.append(1024 - key.size(), static_cast<char>(random->below(256)));
  return key;
}

std::string payload_of(base::Random* random) {
  std::uint64_t bytes = random->below(40);
  if (random->below(8) == 0) bytes = random->below(1500);
  if (random->below(200) == 0) bytes = random->below(200'000);
  std::string payload(bytes, '\0');
  for (char& c : payload) c = static_cast<char>(random->below(256));
  return payload;
}

class MasstreeModelTest : public ::testing::Test {
 protected:
  Rig rig_{StorageKind::kMasstree};
  RigSession& session_ = rig_.session(0);
  Model model_;
  masstree::Cursor cursor_;

  void expect_ok(const Status& status) { ASSERT_TRUE(status.is_ok()) << status.message(); }

  std::optional<std::string> read(std::string_view key) {
    std::string whole;
    const occ::ReadOutcome found = storage::read_whole(
        [&](occ::ReadRange* range) {
          const Status status = masstree::get(session_.ctx(), rig_.control(), key, range);
          EXPECT_TRUE(status.is_ok() || status.code() == ErrorCode::kNotFound) << status.message();
          return status.is_ok() ? occ::ReadOutcome::kPresent : occ::ReadOutcome::kAbsent;
        },
        &whole);
    if (found != occ::ReadOutcome::kPresent) return std::nullopt;
    return whole;
  }

  // Makes one random write to tree and model.
  void write_once(base::Random* random, const std::string& key) {
    occ::TxnContext& ctx = session_.ctx();
    const auto at = model_.find(key);
    const bool present = at != model_.end();
    const std::uint64_t choice = random->below(10);
    if (choice < 5) {
      const std::string payload = payload_of(random);
      const auto mode = static_cast<WriteMode>(random->below(3));
      const Status status = masstree::write_whole(ctx, rig_.control(), mode, key, payload);
      ErrorCode expected = ErrorCode::kOk;
      if (mode == WriteMode::kInsert && present) expected = ErrorCode::kAlreadyExists;
      if (mode == WriteMode::kUpdate && !present) expected = ErrorCode::kNotFound;
      ASSERT_EQ(status.code(), expected) << status.message();
      if (expected == ErrorCode::kOk) model_[key] = payload;
    } else if (choice < 7) {
      const Status status = masstree::erase(ctx, rig_.control(), key);
      ASSERT_EQ(status.code(), present ? ErrorCode::kOk : ErrorCode::kNotFound) << status.message();
      if (present) model_.erase(at);
    } else if (choice < 9) {
      const std::string part(random->below(20) + 1, static_cast<char>(random->below(256)));
      const auto offset = static_cast<std::uint32_t>(random->below(60));
      const Status status = storage::write_at(ctx, rig_.control(), key, offset, part);
      const bool fits = present && offset + part.size() <= at->second.size();
      ASSERT_EQ(status.code(), fits      ? ErrorCode::kOk
                               : present ? ErrorCode::kInvalidArgument
                                         : ErrorCode::kNotFound)
          << status.message();
      if (fits) at->second.replace(offset, part.size(), part);
    } else {
      const auto delta = static_cast<std::int64_t>(random->next());
      const auto offset = static_cast<std::uint32_t>(random->below(20));
      const Status status = storage::increment(ctx, rig_.control(), key, offset, delta);
      const bool fits = present && offset + 8 <= at->second.size();
      ASSERT_EQ(status.is_ok(), fits) << status.message();
      if (!fits) return;
      std::uint64_t value;
      std::memcpy(&value, at->second.data() + offset, 8);
      value += static_cast<std::uint64_t>(delta);
      std::memcpy(at->second.data() + offset, &value, 8);
    }
  }

  // Scans tree and model; both bounds may be empty.
  void scan_once(const std::string& low, const std::string& high, bool reverse) {
    std::vector<std::pair<std::string, std::string>> expected;
    auto begin = model_.lower_bound(low);
    const auto end = high.empty() ? model_.end() : model_.lower_bound(high);
    if (high.empty() || low < high) expected.assign(begin, end);
    if (reverse) std::reverse(expected.begin(), expected.end());
    cursor_.open(session_.ctx(), rig_.control(), low, high, reverse);
    for (std::size_t i = 0;; ++i) {
      expect_ok(cursor_.next());
      if (cursor_.at_end()) {
        ASSERT_EQ(i, expected.size());
        break;
      }
      ASSERT_LT(i, expected.size()) << "extra key";
      ASSERT_EQ(cursor_.key(), expected[i].first) << "at " << i;
      ASSERT_EQ(cursor_.payload(), expected[i].second) << "at " << i;
    }
    cursor_.close();
  }
};

// Goal: every operation has the result of std::map, within and across transactions, committed and
// rolled back. Method: random operations on keys that collide in every way.
TEST_F(MasstreeModelTest, answers_as_a_map_does) {
  base::Random random(seed());
  for (int round = 0; round < 1500; ++round) {
    const Model before = model_;
    session_.begin();
    const std::uint64_t operations = 1 + random.below(20);
    for (std::uint64_t i = 0; i < operations; ++i) {
      const std::string key = crowded_key(&random);
      ASSERT_NO_FATAL_FAILURE(write_once(&random, key)) << "round " << round;
      const auto at = model_.find(key);
      const auto found = read(key);
      ASSERT_EQ(found.has_value(), at != model_.end()) << "round " << round;
      ASSERT_EQ(found.value_or(""), at != model_.end() ? at->second : "") << "round " << round;
    }
    if (round % 10 == 0) {
      const bool unbounded = random.below(3) == 0;
      ASSERT_NO_FATAL_FAILURE(scan_once(crowded_key(&random),
                                        unbounded ? "" : crowded_key(&random),
                                        random.below(2) == 0))
          << "round " << round;
    }
    if (random.below(10) == 0) {
      session_.rollback();
      model_ = before;
    } else {
      const Status status = session_.commit();
      ASSERT_TRUE(status.is_ok()) << status.message() << " round " << round;
    }
    if (round % 50 == 0) rig_.tick();
    if (round % 100 == 0) {
      const masstree::Statistics tree = masstree::verify_tree(rig_.pool(), rig_.control());
      ASSERT_EQ(tree.records, model_.size());
    }
  }
  session_.begin();
  scan_once("", "", false);
  scan_once("", "", true);
  expect_ok(session_.commit());
  const masstree::Statistics tree = masstree::verify_tree(rig_.pool(), rig_.control());
  EXPECT_EQ(tree.records, model_.size());
  EXPECT_GT(tree.layers, 3u);
}

// Goal: interior pages of several levels, in any order of insertion. Method: many integer keys.
TEST_F(MasstreeModelTest, finds_integer_keys_inserted_in_any_order) {
  base::Random random(seed() + 1);
  for (int order = 0; order < 3; ++order) {
    Rig rig(StorageKind::kMasstree);
    constexpr std::uint64_t kKeys = 60'000;
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const std::uint64_t number = order == 0   ? i
                                   : order == 1 ? kKeys - 1 - i
                                                : (i * 2654435761u) % kKeys;
      char key[8];
      masstree::put_slice(number, key);
      RigSession& session = rig.session(0);
      session.begin();
      expect_ok(masstree::write_whole(session.ctx(), rig.control(), WriteMode::kPut, {key, 8},
                                      std::to_string(number)));
      expect_ok(session.commit());
      if (i % 1000 == 0) rig.tick();
    }
    const masstree::Statistics tree = masstree::verify_tree(rig.pool(), rig.control());
    EXPECT_GE(tree.records, order == 2 ? 1u : kKeys);
    if (order < 2) {
      // Keys in order fill pages completely.
      EXPECT_LT(tree.border_pages, kKeys / 64 + kKeys / 640) << order;
    }
    RigSession& session = rig.session(0);
    session.begin();
    masstree::Cursor cursor;
    cursor.open(session.ctx(), rig.control(), "", "", order == 1);
    std::uint64_t records = 0;
    std::string last;
    for (;; ++records) {
      expect_ok(cursor.next());
      if (cursor.at_end()) break;
      ASSERT_TRUE(records == 0 || (last < cursor.key()) == (order != 1));
      last = cursor.key();
    }
    EXPECT_EQ(records, tree.records);
    expect_ok(session.commit());
  }
}

// Goal: dropping a storage frees every page, those of layers and chains included.
TEST_F(MasstreeModelTest, a_dropped_storage_gives_back_all_pages) {
  base::Random random(seed() + 2);
  session_.begin();
  for (int i = 0; i < 3000; ++i) {
    expect_ok(masstree::write_whole(session_.ctx(), rig_.control(), WriteMode::kPut,
                                    crowded_key(&random), payload_of(&random)));
  }
  expect_ok(session_.commit());
  EXPECT_GT(rig_.control()->volatile_pages.load_relaxed(), 100u);
  masstree::drop(&rig_.pool(), &session_.pages(), rig_.control());
  EXPECT_EQ(rig_.control()->volatile_pages.load_relaxed(), 0u);
}

}  // namespace
}  // namespace foedus::testing::model_test
