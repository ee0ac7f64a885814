// ctest-labels: concurrency
// ctest-timeout: 300
// Threads move rows from key to key, so that bins are merged and spread without end.
#include <atomic>
#include <thread>

#include "tests/storage/hash/fixture.h"

namespace foedus::storage::hash::merge_stress_test {
namespace {

constexpr unsigned kThreads = 3;
constexpr std::uint64_t kRows = 900;
constexpr std::uint64_t kKeys = 4000;

std::uint64_t rounds() {
  const char* const given = std::getenv("FOEDUS_STRESS_ROUNDS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 4000;
}

class HashMergeStressTest : public HashTest {
 protected:
  Status move_row(std::uint32_t session, base::Random* random) {
    const std::string from = key_number(random->below(kKeys));
    const std::string to = key_number(random->below(kKeys));
    std::uint64_t value = 0;
    occ::ReadRange range{reinterpret_cast<char*>(&value), 8, 0, 0};
    Status status = hash::get(all_.ctx(session), control_, from, &range);
    if (status.code() == ErrorCode::kNotFound) return {};
    FOEDUS_CHECK(status);
    status = put(session, to, row_of(value, random), WriteMode::kInsert);
    if (status.code() == ErrorCode::kAlreadyExists) return {};
    FOEDUS_CHECK(status);
    return erase(all_.ctx(session), control_, from);
  }

  static std::string row_of(std::uint64_t value, base::Random* random) {
    std::string row(8 + random->below(300), 'x');
    std::memcpy(row.data(), &value, 8);
    return row;
  }

  void work(std::uint32_t thread) {
    base::Random random(thread * 7919 + 1);
    Storages::Session& session = all_.session(thread);
    for (std::uint64_t i = 0; i < rounds() && !HasFailure(); ++i) {
      for (bool done = false; !done && !HasFailure();) {
        session.begin();
        Status status = move_row(thread, &random);
        if (status.is_ok()) {
          status = session.commit();
          done = status.is_ok();
        } else {
          // The error may come from an inconsistent view (no opacity).
          const bool conflict = status.code() == ErrorCode::kConflict;
          ASSERT_TRUE(conflict || !txn::verify(&session.ctx()).is_ok()) << status.message();
          session.rollback();
        }
      }
    }
  }
};

TEST_F(HashMergeStressTest, threads_that_move_rows_keep_their_number_and_sum) {
  base::Random random(5);
  for (std::uint64_t i = 0; i < kRows; ++i) put_now(3, key_number(i * 4), row_of(i, &random));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { work(i); });
  std::thread clock([&] {
    while (!stop.load()) {
      all_.pass_epochs();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop.store(true);
  clock.join();

  EXPECT_EQ(statistics().records, kRows);
  std::uint64_t rows = 0;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const std::optional<std::string> row = get_now(key_number(i));
    if (!row) continue;
    std::uint64_t value;
    std::memcpy(&value, row->data(), 8);
    sum += value;
    ++rows;
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(sum, kRows * (kRows - 1) / 2);
}

}  // namespace
}  // namespace foedus::storage::hash::merge_stress_test
