// Hash storages of which parts are cold, after any mix of transactions, gleans and drops; large
// payloads in snapshots.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "foedus-core/base/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/hash/hash_cold_fixture.h"

namespace foedus::storage::hash {
namespace {

// Goal: every transaction that commits has seen what was true when it did, and its own writes over
// it; in the end the storage equals a map. Method: sessions take turns in one thread, so that
// transactions last over several gleans; snapshots are composed, and installed then or later.
class HashColdModelTest : public HashColdTest {
 protected:
  static constexpr std::uint32_t kSessions = 4;
  using Value = std::optional<std::string>;
  using Values = std::map<std::string, Value>;

  explicit HashColdModelTest(std::uint32_t fan_out_bits = 2) : HashColdTest(fan_out_bits) {}

  struct Open {
    bool is_open = false;
    Values own;
    Values seen;  // of others' keys
  };

  std::string random_key() {
    return key_of(random_.below(3) == 0 ? random_.below(4000) : random_.below(150));
  }
  std::string random_payload() {
    const std::uint64_t kind = random_.below(100);
    const std::size_t bytes = kind < 80   ? random_.below(120)
                              : kind < 98 ? random_.below(1300)
                                          : 1400 + random_.below(9000);
    return std::string(bytes, static_cast<char>('a' + random_.below(26)));
  }
  Value committed(const std::string& key) {
    const auto found = model_.find(key);
    return found == model_.end() ? std::nullopt : found->second;
  }
  // What the transaction has found. Its first look at a key must be true when it commits.
  void see(Open* open, const std::string& key, const Value& value) {
    const auto own = open->own.find(key);
    if (own != open->own.end()) {
      ASSERT_EQ(value, own->second) << key;
      return;
    }
    const auto [seen, is_first] = open->seen.emplace(key, value);
    if (!is_first && seen->second != value) seen->second = "torn";  // must not commit
  }
  void see_presence(Open* open, const std::string& key, bool is_present) {
    const auto own = open->own.find(key);
    if (own != open->own.end()) {
      ASSERT_EQ(is_present, own->second.has_value()) << key;
    } else if (!is_present) {
      see(open, key, std::nullopt);
    }
  }
  void write_one(std::uint32_t who, Open* open) {
    const std::string key = random_key();
    const std::string payload = random_payload();
    const std::uint64_t kind = random_.below(10);
    Status status;
    if (kind < 3) {
      status = erase(who, key);
      if (status.is_ok()) see_presence(open, key, true);
      if (status.is_ok()) open->own[key] = std::nullopt;
    } else {
      const WriteMode mode = kind < 6   ? WriteMode::kPut
                             : kind < 8 ? WriteMode::kInsert
                                        : WriteMode::kUpdate;
      status = put(who, key, payload, mode);
      if (status.is_ok() && mode == WriteMode::kInsert) see_presence(open, key, false);
      if (status.is_ok() && mode == WriteMode::kUpdate) see_presence(open, key, true);
      if (status.is_ok()) open->own[key] = payload;
    }
    if (status.code() == ErrorCode::kNotFound) see_presence(open, key, false);
    if (status.code() == ErrorCode::kAlreadyExists) see_presence(open, key, true);
    ASSERT_TRUE(status.is_ok() || status.code() == ErrorCode::kNotFound ||
                status.code() == ErrorCode::kAlreadyExists)
        << status.message();
  }
  void commit_one(std::uint32_t who, Open* open) {
    const Status status = commit(who);
    open->is_open = false;
    ASSERT_TRUE(status.is_ok() || status.code() == ErrorCode::kConflict) << status.message();
    if (!status.is_ok()) return;
    ++commits_;
    for (const auto& [key, value] : open->seen) ASSERT_EQ(value, committed(key)) << key;
    for (const auto& [key, value] : open->own) model_[key] = value;
  }
  void step() {
    const auto who = static_cast<std::uint32_t>(random_.below(kSessions));
    Open* const open = &open_[who];
    if (!open->is_open) {
      begin(who);
      *open = {.is_open = true, .own = {}, .seen = {}};
    }
    const std::uint64_t action = random_.below(1000);
    if (action < 380) {
      write_one(who, open);
    } else if (action < 800) {
      const std::string key = random_key();
      see(open, key, get(who, key));
    } else if (action < 970) {
      commit_one(who, open);
    } else if (action < 975) {
      all_.session(who).rollback();
      open->is_open = false;
    } else if (action < 983) {
      all_.compose();
    } else if (action < 991) {
      all_.install();
      all_.check_leads();
    } else {
      all_.glean();
      all_.check_leads();
    }
  }
  void run(std::uint64_t seed, unsigned steps) {
    random_ = base::Random(seed);
    for (unsigned i = 0; i < steps && !HasFatalFailure(); ++i) {
      SCOPED_TRACE(i);
      step();
    }
    for (std::uint32_t who = 0; who < kSessions; ++who) {
      if (open_[who].is_open) all_.session(who).rollback();
    }
    if (HasFatalFailure()) return;
    EXPECT_GT(commits_, steps / 40);
    std::printf("%u of %u installs left nothing of earlier snapshots\n", all_.clean_installs(),
                all_.installs());
    verify_trie(all_.all().pool(), all_.control());
    for (const auto& [key, value] : model_) ASSERT_EQ(get_alone(3, key), value) << key;
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
    for (const auto& [key, value] : model_) ASSERT_EQ(get_alone(3, key), value) << key;
  }

  base::Random random_{1};
  Values model_;
  Open open_[kSessions];
  unsigned commits_ = 0;
};

class ManyLevels : public HashColdModelTest {
 protected:
  ManyLevels() : HashColdModelTest(10) {}
};

TEST_F(HashColdModelTest, EqualsAMapAfterAnything) { run(testing::test_seed(1), 12'000); }
TEST_F(HashColdModelTest, EqualsAMapAfterAnythingElse) { run(testing::test_seed(1) + 1, 12'000); }
TEST_F(HashColdModelTest, EqualsAMapAfterALoad) {
  load(4000);
  for (unsigned i = 0; i < 4000; ++i) model_[key_of(i)] = payload_of(i);
  run(testing::test_seed(1) + 2, 12'000);
}
TEST_F(ManyLevels, EqualsAMapAfterAnything) { run(testing::test_seed(1) + 3, 12'000); }

TEST_F(HashColdTest, LargePayloadsAreReadWrittenAndErasedInSnapshots) {
  const std::string large(10'000, 'L');
  const std::string larger(30'000, 'M');
  load(200);
  for (unsigned i = 0; i < 5; ++i) put_alone(0, "large" + std::to_string(i), large);
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(1, "large0"), large);
  EXPECT_EQ(volatile_pages(), 0u);
  begin(1);  // make all of them volatile: their chains stay where they are
  for (unsigned i = 0; i < 200; ++i) ASSERT_TRUE(put(1, key_of(i), "x").is_ok());
  ASSERT_EQ(get(1, "large1"), large);
  ASSERT_TRUE(commit(1).is_ok());
  const std::uint64_t pages = volatile_pages();
  EXPECT_EQ(get_alone(1, "large1"), large);
  begin(2);
  ASSERT_TRUE(write_at(all_.session(2).ctx(), all_.control(), "large1", 9'000, "part").is_ok());
  ASSERT_TRUE(put(2, "large2", larger).is_ok());
  ASSERT_TRUE(put(2, "large3", "short").is_ok());
  ASSERT_TRUE(erase(2, "large4").is_ok());
  ASSERT_TRUE(commit(2).is_ok());
  EXPECT_EQ(volatile_pages(), pages + 3 + 8);
  std::string changed = large;
  changed.replace(9'000, 4, "part");
  for (unsigned round = 0; round < 2; ++round) {
    EXPECT_EQ(get_alone(3, "large0"), large);
    EXPECT_EQ(get_alone(3, "large1"), changed);
    EXPECT_EQ(get_alone(3, "large2"), larger);
    EXPECT_EQ(get_alone(3, "large3"), "short");
    EXPECT_EQ(get_alone(3, "large4"), std::nullopt);
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
  }
}

}  // namespace
}  // namespace foedus::storage::hash
