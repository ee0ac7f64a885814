// Master-Trees of which parts are cold, after any mix of transactions, gleans and drops.
// ctest-labels: concurrency

#include <map>
#include <set>

#include "foedus-core/base/clock.h"
#include "foedus-core/storage/masstree/masstree_install.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/masstree_cold_fixture.h"

namespace foedus::storage::masstree {
namespace {

// Goal: every transaction that commits has seen what was true when it did, and its own writes over
// it; in the end the storage equals a map. Method: sessions take turns in one thread, so that
// transactions and scans last over several gleans; snapshots are composed, and installed then or
// later. Keys share slices, end in zeroes, and are prefixes of one another.
class MasstreeColdModelTest : public MasstreeColdTest {
 protected:
  static constexpr std::uint32_t kSessions = 4;
  using Value = std::optional<std::string>;
  using Values = std::map<std::string, Value, std::less<>>;

  explicit MasstreeColdModelTest(Gleaned::Install install = SimpleInstall::install)
      : MasstreeColdTest(std::move(install)) {}

  struct Open {
    bool is_open = false;
    Values own;
    Values seen;  // of others' keys
    Cursor cursor;
    bool is_scanning = false;
    bool reverse = false;
    std::string position;  // all keys of the range before it have been passed
    std::string end;       // in the direction of the scan
  };

  void make_keys(unsigned dense) {
    static const std::string stems[] = {"",
                                        "12345678",
                                        "12345678abcdefgh",
                                        std::string(8, '\0'),
                                        std::string(16, '\0'),
                                        std::string(16, '\xff')};
    for (unsigned i = 0; i < 400; ++i) {
      std::string key = stems[random_.below(6)];
      for (std::uint64_t bytes = random_.below(12); bytes != 0; --bytes) {
        const char letters[] = {'\0', '\0', 'a', 'b', '\xff'};
        key.push_back(letters[random_.below(5)]);
      }
      if (!key.empty()) keys_.insert(key);
    }
    for (unsigned i = 0; i < dense; ++i) keys_.insert(i % 2 == 0 ? key_of(i) : deep_key(i));
    all_keys_.assign(keys_.begin(), keys_.end());
  }
  const std::string& random_key() {
    const std::uint64_t few = std::min<std::uint64_t>(150, all_keys_.size());
    const std::uint64_t i = random_.below(random_.below(3) == 0 ? all_keys_.size() : few);
    return all_keys_[i * 7919 % all_keys_.size()];
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
  // True: the transaction is over.
  bool is_doomed(std::uint32_t who, Open* open, const Status& status) {
    if (status.code() != ErrorCode::kConflict) return false;
    all_.session(who).rollback();
    open->is_open = false;
    return true;
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
    if (is_doomed(who, open, status)) return;
    if (status.code() == ErrorCode::kNotFound) see_presence(open, key, false);
    if (status.code() == ErrorCode::kAlreadyExists) see_presence(open, key, true);
    ASSERT_TRUE(status.is_ok() || status.code() == ErrorCode::kNotFound ||
                status.code() == ErrorCode::kAlreadyExists)
        << status.message();
  }
  void read_one(std::uint32_t who, Open* open) {
    const std::string key = random_key();
    const WholeRead got = read(who, key);
    if (is_doomed(who, open, got.status)) return;
    ASSERT_TRUE(got.status.is_ok() || got.status.code() == ErrorCode::kNotFound)
        << got.status.message();
    see(open, key, got.status.is_ok() ? Value(got.payload) : std::nullopt);
  }

  // A few steps of a scan, with other operations between them.
  void scan_some(std::uint32_t who, Open* open) {
    if (!open->is_scanning) begin_scan(who, open);
    for (std::uint64_t steps = random_.below(30); steps != 0 && open->is_scanning; --steps) {
      const Status status = open->cursor.next();
      if (is_doomed(who, open, status)) return;
      ASSERT_TRUE(status.is_ok()) << status.message();
      const bool at_end = open->cursor.at_end();
      const std::string key(open->cursor.key());
      pass(open, at_end ? open->end : key, at_end);
      if (HasFatalFailure()) return;
      if (!at_end) {
        ASSERT_EQ(keys_.count(key), 1u) << key;
        see(open, key, std::string(open->cursor.payload()));
      }
      open->is_scanning = !at_end;
    }
  }
  void begin_scan(std::uint32_t who, Open* open) {
    std::string low = random_key();
    std::string high = random_key();
    if (high < low) std::swap(low, high);
    open->reverse = random_.below(2) == 0;
    open->cursor.open(ctx(who), all_.control(), low, high, open->reverse);
    open->is_scanning = true;
    open->position = open->reverse ? high : low;
    open->end = open->reverse ? low : high;
  }
  // No key from position on to `to` is there. Forward: [position, to); in reverse: (to, position),
  // and at the end [to, position).
  void pass(Open* open, const std::string& to, bool at_end) {
    auto begin = keys_.lower_bound(open->reverse ? to : open->position);
    const auto end = keys_.lower_bound(open->reverse ? open->position : to);
    if (open->reverse && !at_end && begin != keys_.end() && *begin == to) ++begin;
    const bool is_forward = open->reverse ? to < open->position : open->position <= to;
    ASSERT_TRUE(is_forward || at_end);
    for (; is_forward && begin != end; ++begin) see(open, *begin, std::nullopt);
    open->position = to;
    if (!open->reverse) open->position.push_back('\0');
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
      open->own.clear();
      open->seen.clear();
      open->is_open = true;
      open->is_scanning = false;
    }
    const std::uint64_t action = random_.below(1000);
    SCOPED_TRACE(action < 380 ? "write" : action < 650 ? "read" : "scan or commit");
    if (action < 380) {
      write_one(who, open);
    } else if (action < 650) {
      read_one(who, open);
    } else if (action < 750) {
      scan_some(who, open);
    } else if (action < 970) {
      commit_one(who, open);
    } else if (action < 975) {
      all_.session(who).rollback();
      open->is_open = false;
    } else if (action < 983) {
      all_.compose();
    } else if (action < 991) {
      all_.install();
    } else {
      all_.glean();
    }
  }
  void check_all() {
    begin(3);
    auto rows = scan(3, "", "");
    auto row = rows.begin();
    for (const auto& [key, value] : model_) {
      if (!value.has_value()) continue;
      ASSERT_TRUE(row != rows.end()) << key;
      ASSERT_EQ(row->first, key);
      ASSERT_EQ(row->second, *value) << key;
      ++row;
    }
    ASSERT_TRUE(row == rows.end()) << row->first;
    for (const std::string& key : all_keys_) ASSERT_EQ(get(3, key), committed(key)) << key;
    expect_commit(3);
  }
  void run(std::uint64_t seed, unsigned steps, unsigned dense) {
    random_ = base::Random(seed);
    make_keys(dense);
    for (unsigned i = 0; i < dense; ++i) {
      const std::string& key = all_keys_[i];
      put_alone(0, key, payload_of(i));
      model_[key] = payload_of(i);
    }
    for (unsigned i = 0; i < steps && !HasFatalFailure(); ++i) {
      SCOPED_TRACE(i);
      step();
    }
    for (std::uint32_t who = 0; who < kSessions; ++who) {
      if (open_[who].is_open) all_.session(who).rollback();
    }
    if (HasFatalFailure()) return;
    EXPECT_GT(commits_, steps / 20);
    check_all();
    glean_all();
    check_all();
  }

  base::Random random_{1};
  std::set<std::string, std::less<>> keys_;
  std::vector<std::string> all_keys_;
  Values model_;
  Open open_[kSessions];
  unsigned commits_ = 0;
};

// The same with installations that exchange runs of pages.
class MasstreeInstalledModelTest : public MasstreeColdModelTest {
 protected:
  MasstreeInstalledModelTest() : MasstreeColdModelTest(install) {}
};

TEST_F(MasstreeColdModelTest, EqualsAMapAfterAnything) { run(testing::test_seed(1), 12'000, 0); }
TEST_F(MasstreeColdModelTest, EqualsAMapAfterAnythingElse) {
  run(testing::test_seed(1) + 1, 12'000, 0);
}
TEST_F(MasstreeColdModelTest, EqualsAMapAfterALoad) {
  run(testing::test_seed(1) + 2, 12'000, 6000);
}

TEST_F(MasstreeInstalledModelTest, EqualsAMapAfterAnything) {
  run(testing::test_seed(1) + 3, 12'000, 0);
}
TEST_F(MasstreeInstalledModelTest, EqualsAMapAfterALoad) {
  run(testing::test_seed(1) + 4, 12'000, 6000);
}

}  // namespace
}  // namespace foedus::storage::masstree
