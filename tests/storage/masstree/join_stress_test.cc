// ctest-labels: concurrency
// ctest-timeout: 300
// Threads move rows from key to key, so that pages are joined, split and shared without end, while
// scans in both directions count the rows and add up their numbers.
#include <atomic>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "tests/storage/masstree/fixture.h"

namespace foedus::testing::join_stress_test {
namespace {

constexpr unsigned kThreads = 3;
constexpr std::uint64_t kRows = 900;
constexpr std::uint64_t kKeys = 4000;

std::uint64_t rounds() {
  const char* const given = std::getenv("FOEDUS_STRESS_ROUNDS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 4000;
}

// Returns a key; every 16th shares its slice with others.
std::string name_of(std::uint64_t number) {
  const std::string key = key_of(static_cast<unsigned>(number));
  return number % 16 == 0 ? key_of(static_cast<unsigned>(number / 160)) + key : key;
}

class MasstreeJoinStressTest : public ::testing::Test {
 protected:
  Rig rig_{StorageKind::kMasstree, kThreads + 1, 512u << 20};
  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> conflicts_{0};
  std::atomic<bool> stop_{false};

  Status put_row(RigSession& session, std::uint64_t number, std::uint64_t value,
                 base::Random* random) {
    std::string payload(8 + random->below(200), 'x');
    std::memcpy(payload.data(), &value, 8);
    return masstree::write_whole(session.ctx(), rig_.control(), WriteMode::kInsert,
                                 name_of(number), payload);
  }

  Status move_row(RigSession& session, base::Random* random) {
    const std::string from = name_of(random->below(kKeys));
    const std::uint64_t to = random->below(kKeys);
    std::uint64_t value = 0;
    occ::ReadRange range{reinterpret_cast<char*>(&value), 8, 0, 0};
    Status status = masstree::get(session.ctx(), rig_.control(), from, &range);
    if (status.code() == ErrorCode::kNotFound) return {};
    FOEDUS_CHECK(status);
    status = put_row(session, to, value, random);
    if (status.code() == ErrorCode::kAlreadyExists) return {};
    FOEDUS_CHECK(status);
    return masstree::erase(session.ctx(), rig_.control(), from);
  }

  Status count_rows(RigSession& session, bool reverse, std::uint64_t* rows, std::uint64_t* sum) {
    masstree::Cursor cursor;
    cursor.open(session.ctx(), rig_.control(), "", "", reverse);
    *rows = 0;
    *sum = 0;
    for (;; ++*rows) {
      FOEDUS_CHECK(cursor.next());
      if (cursor.at_end()) return {};
      std::uint64_t value;
      std::memcpy(&value, cursor.payload().data(), 8);
      *sum += value;
    }
  }

  // Runs body() until it commits, or `tries` times.
  template <typename Body>
  bool transact(RigSession& session, unsigned tries, Body&& body) {
    for (unsigned i = 0; i < tries; ++i) {
      session.begin();
      Status status = body();
      if (status.is_ok()) {
        status = session.commit();
      } else {
        // The error may come from an inconsistent view (no opacity).
        const bool conflict = status.code() == ErrorCode::kConflict;
        EXPECT_TRUE(conflict || !txn::verify(&session.ctx()).is_ok()) << status.message();
        session.rollback();
        status = Status::conflict(ConflictReason::kRecordChanged);
      }
      if (status.is_ok()) {
        commits_.fetch_add(1);
        return true;
      }
      EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
      conflicts_.fetch_add(1);
    }
    return false;
  }

  void work(unsigned thread) {
    RigSession& session = rig_.session(thread);
    base::Random random(thread * 7919 + 1);
    for (std::uint64_t i = 0; i < rounds() && !HasFailure(); ++i) {
      if (random.below(20) != 0) {
        transact(session, ~0u, [&] { return move_row(session, &random); });
        continue;
      }
      std::uint64_t rows = 0;
      std::uint64_t sum = 0;
      const bool reverse = random.below(2) == 0;
      if (transact(session, 8, [&] { return count_rows(session, reverse, &rows, &sum); })) {
        ASSERT_EQ(rows, kRows);
        ASSERT_EQ(sum, kRows * (kRows - 1) / 2);
      }
    }
  }
};

TEST_F(MasstreeJoinStressTest, threads_that_move_rows_keep_their_number_and_sum) {
  RigSession& loader = rig_.session(kThreads);
  base::Random random(5);
  loader.begin();
  for (std::uint64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(put_row(loader, i * 4 + 1, i, &random).is_ok());
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
  std::printf("%llu commits, %llu conflicts, %llu border pages\n",
              static_cast<unsigned long long>(commits_.load()),
              static_cast<unsigned long long>(conflicts_.load()),
              static_cast<unsigned long long>(tree.border_pages));
  EXPECT_EQ(tree.records, kRows);
  std::uint64_t rows = 0;
  std::uint64_t sum = 0;
  loader.begin();
  ASSERT_TRUE(count_rows(loader, true, &rows, &sum).is_ok());
  ASSERT_TRUE(loader.commit().is_ok());
  EXPECT_EQ(sum, kRows * (kRows - 1) / 2);
}

}  // namespace
}  // namespace foedus::testing::join_stress_test
