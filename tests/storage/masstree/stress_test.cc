// ctest-labels: concurrency
// ctest-timeout: 300
// Threads on one Master-Tree: transfers keep a sum, inserts and erasures keep pairs of keys
// together, payloads carry their key and a checksum; the tree is checked at the end.
#include <atomic>
#include <thread>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/system/clock.h"
#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::stress_test {
namespace {

constexpr unsigned kThreads = 3;
constexpr unsigned kAccounts = 200;
constexpr std::int64_t kCents = 1000;

std::uint64_t rounds() {
  const char* const given = std::getenv("FOEDUS_STRESS_ROUNDS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 4000;
}

std::string account_of(std::uint64_t number) {
  return "account-" + key_of(static_cast<unsigned>(number));
}

// Returns {checksum of the rest, key, filling of a random size}.
std::string sealed(std::string_view key, std::size_t filling) {
  std::string payload(4, '\0');
  payload.append(key);
  payload.push_back('|');
  payload.append(filling, static_cast<char>('a' + filling % 26));
  const std::uint32_t sum = base::crc32c(payload.data() + 4, payload.size() - 4);
  std::memcpy(payload.data(), &sum, 4);
  return payload;
}

bool is_sealed(std::string_view key, std::string_view payload) {
  if (payload.size() < 5 + key.size() || payload.substr(4, key.size()) != key) return false;
  std::uint32_t sum;
  std::memcpy(&sum, payload.data(), 4);
  return sum == base::crc32c(payload.data() + 4, payload.size() - 4);
}

class MasstreeStressTest : public ::testing::Test {
 protected:
  Rig rig_{StorageKind::kMasstree, kThreads + 1, 512u << 20};
  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> conflicts_{0};
  std::atomic<bool> stop_{false};

  // Runs body(session, random) until it commits.
  template <typename Body>
  void transact(RigSession& session, base::Random* random, Body&& body) {
    for (;;) {
      session.begin();
      Status status = body(random);
      if (status.is_ok()) {
        status = session.commit();
      } else {
        const bool conflict = status.code() == ErrorCode::kConflict;
        if (!conflict) {
          // The error may come from an inconsistent view (no opacity).
          ASSERT_FALSE(txn::verify(&session.ctx()).is_ok()) << status.message();
        }
        session.rollback();
        status = Status::conflict(ConflictReason::kRecordChanged);
      }
      if (status.is_ok()) {
        commits_.fetch_add(1);
        return;
      }
      ASSERT_EQ(status.code(), ErrorCode::kConflict) << status.message();
      conflicts_.fetch_add(1);
      std::this_thread::yield();
    }
  }

  Status move_cents(RigSession& session, base::Random* random) {
    const std::string from = account_of(random->below(kAccounts));
    const std::string to = account_of(random->below(kAccounts));
    std::int64_t cents[2];
    const std::string* const keys[] = {&from, &to};
    if (from == to) return {};
    for (int i = 0; i < 2; ++i) {
      occ::ReadRange range{reinterpret_cast<char*>(&cents[i]), 8, 0, 0};
      if (random->below(8) == 0) {
        FOEDUS_CHECK(masstree::get_for_update(session.ctx(), rig_.control(), *keys[i], &range));
      } else {
        FOEDUS_CHECK(masstree::get(session.ctx(), rig_.control(), *keys[i], &range));
      }
    }
    const auto amount = static_cast<std::int64_t>(random->below(50));
    FOEDUS_CHECK(storage::increment(session.ctx(), rig_.control(), from, 0, -amount));
    const std::int64_t after = cents[1] + amount;
    return storage::write_at(session.ctx(), rig_.control(), to, 0,
                             {reinterpret_cast<const char*>(&after), 8});
  }

  Status sum_accounts(RigSession& session, std::int64_t* sum) {
    masstree::Cursor cursor;
    cursor.open(session.ctx(), rig_.control(), account_of(0), account_of(kAccounts),
                commits_.load() % 2 == 0);
    *sum = 0;
    for (;;) {
      FOEDUS_CHECK(cursor.next());
      if (cursor.at_end()) return {};
      std::int64_t cents;
      std::memcpy(&cents, cursor.payload().data(), 8);
      *sum += cents;
    }
  }

  // Toggles a pair of keys, so that both are present or neither.
  Status toggle_pair(RigSession& session, base::Random* random, std::string_view key) {
    const std::string twin = std::string(key) + "twin";
    char byte;
    occ::ReadRange range{&byte, 1, 0, 0};
    const Status there = masstree::get(session.ctx(), rig_.control(), key, &range);
    if (there.is_ok()) {
      FOEDUS_CHECK(masstree::erase(session.ctx(), rig_.control(), key));
      return masstree::erase(session.ctx(), rig_.control(), twin);
    }
    if (there.code() != ErrorCode::kNotFound) return there;
    const std::size_t filling = random->below(20) == 0 ? random->below(5000) : random->below(200);
    FOEDUS_CHECK(masstree::write_whole(session.ctx(), rig_.control(), WriteMode::kInsert, key,
                                       sealed(key, filling)));
    return masstree::write_whole(session.ctx(), rig_.control(), WriteMode::kInsert, twin,
                                 sealed(twin, filling / 2));
  }

  // Checks that every row of a range is sealed and has its twin.
  Status scan_pairs(RigSession& session, std::string_view low, std::string_view high,
                    bool* sound) {
    masstree::Cursor cursor;
    cursor.open(session.ctx(), rig_.control(), low, high, false);
    std::string waiting;
    *sound = true;
    for (;;) {
      FOEDUS_CHECK(cursor.next());
      if (cursor.at_end()) break;
      if (!is_sealed(cursor.key(), cursor.payload())) *sound = false;
      if (waiting.empty()) {
        waiting = cursor.key();
      } else {
        if (cursor.key() != waiting + "twin") *sound = false;
        waiting.clear();
      }
    }
    if (!waiting.empty()) *sound = false;
    return {};
  }

  Status resize(RigSession& session, base::Random* random, std::string_view key) {
    return masstree::write_whole(session.ctx(), rig_.control(), WriteMode::kPut, key,
                                 sealed(key, random->below(1600)));
  }

  void work(unsigned thread) {
    RigSession& session = rig_.session(thread);
    base::Random random(thread * 7919 + 1);
    for (std::uint64_t i = 0; i < rounds() && !HasFailure(); ++i) {
      const std::uint64_t choice = random.below(20);
      const std::string pair = "pair-" + key_of(static_cast<unsigned>(random.below(3000)));
      if (choice < 8) {
        transact(session, &random, [&](base::Random* r) { return move_cents(session, r); });
      } else if (choice < 16) {
        transact(session, &random,
                 [&](base::Random* r) { return toggle_pair(session, r, pair); });
      } else if (choice < 18) {
        const std::string own = "size-" + key_of(static_cast<unsigned>(random.below(300)));
        transact(session, &random, [&](base::Random* r) { return resize(session, r, own); });
      } else if (choice < 19) {
        std::int64_t sum = 0;
        transact(session, &random, [&](base::Random*) { return sum_accounts(session, &sum); });
        ASSERT_EQ(sum, kAccounts * kCents);
      } else {
        bool sound = false;
        const std::string high = pair.substr(0, pair.size() - 1) + "z";
        transact(session, &random,
                 [&](base::Random*) { return scan_pairs(session, pair, high, &sound); });
        ASSERT_TRUE(sound);
      }
    }
  }
};

TEST_F(MasstreeStressTest, threads_keep_sums_and_pairs) {
  RigSession& loader = rig_.session(kThreads);
  loader.begin();
  for (unsigned i = 0; i < kAccounts; ++i) {
    std::string payload(16, '\0');
    std::memcpy(payload.data(), &kCents, 8);
    ASSERT_TRUE(masstree::write_whole(loader.ctx(), rig_.control(), WriteMode::kPut,
                                      account_of(i), payload)
                    .is_ok());
  }
  ASSERT_TRUE(loader.commit().is_ok());

  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { work(i); });
  std::thread clock([this] {
    while (!stop_.load()) {
      rig_.tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop_.store(true);
  clock.join();

  const masstree::Statistics tree = masstree::verify_tree(rig_.pool(), rig_.control());
  std::printf("%llu commits, %llu conflicts, %llu records, %llu border pages, %llu layers\n",
              static_cast<unsigned long long>(commits_.load()),
              static_cast<unsigned long long>(conflicts_.load()),
              static_cast<unsigned long long>(tree.records),
              static_cast<unsigned long long>(tree.border_pages),
              static_cast<unsigned long long>(tree.layers));
  std::int64_t sum = 0;
  loader.begin();
  ASSERT_TRUE(sum_accounts(loader, &sum).is_ok());
  EXPECT_EQ(sum, kAccounts * kCents);
  bool sound = false;
  ASSERT_TRUE(scan_pairs(loader, "pair-", "pair-z", &sound).is_ok());
  EXPECT_TRUE(sound);
  ASSERT_TRUE(loader.commit().is_ok());
}

// Goal: no insert is lost. Method: threads insert one rising sequence and falling ones, beside
// scans.
TEST_F(MasstreeStressTest, concurrent_inserts_lose_nothing) {
  std::vector<std::thread> threads;
  const std::uint64_t count = rounds() * 2;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread, count] {
      RigSession& session = rig_.session(thread);
      base::Random random(thread + 1);
      for (std::uint64_t i = 0; i < count && !HasFailure(); ++i) {
        const std::uint64_t number = thread % 2 == 0 ? i * kThreads + thread
                                                     : 10'000'000 - i * kThreads - thread;
        const std::string key = key_of(static_cast<unsigned>(number));
        transact(session, &random, [&](base::Random*) {
          return masstree::write_whole(session.ctx(), rig_.control(), WriteMode::kInsert, key,
                                       sealed(key, 10));
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const masstree::Statistics tree = masstree::verify_tree(rig_.pool(), rig_.control());
  EXPECT_EQ(tree.records, count * kThreads);
}

}  // namespace
}  // namespace foedus::testing::stress_test
