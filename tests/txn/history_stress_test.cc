// ctest-labels: concurrency
// ctest-timeout: 300
// Random transactions of many threads over all storages: points, ranges, missing keys, inserts that
// split pages and make layers. Values carry their key and a checksum; the recorded history must
// have no cycle. FOEDUS_STRESS_THREADS, FOEDUS_STRESS_SOCS and FOEDUS_STRESS_ROUNDS (transactions
// of a thread) replace the numbers of a case, FOEDUS_TEST_SEED the seed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "tests/testing/history.h"
#include "tests/testing/test_database.h"

namespace foedus::history_stress_test {
namespace {

using testing::HistoryTxn;
using testing::must;
using testing::TestDatabase;
using testing::Version;

struct Value {
  std::uint64_t key;
  Version version;
  std::uint64_t checksum;

  static Value of(std::uint64_t key, Version version) {
    return {key, version, key * 31 + version * 17 + 5};
  }
  bool is_sane(std::uint64_t expected_key) const {
    return key == expected_key && checksum == key * 31 + version * 17 + 5;
  }
};

// Registers are numbered; the number names the storage of a register.
constexpr std::uint64_t kTreeKeys = 300;
constexpr std::uint64_t kHashKeys = 100;
constexpr std::uint64_t kArrayKeys = 20;
constexpr std::uint64_t kLayerKeys = 60;  // long keys that share slices

// The version of writes that are undone.
constexpr Version kUndone = ~Version{0};

constexpr std::uint64_t kHashBegin = kTreeKeys;
constexpr std::uint64_t kArrayBegin = kHashBegin + kHashKeys;
constexpr std::uint64_t kLayerBegin = kArrayBegin + kArrayKeys;
constexpr std::uint64_t kKeys = kLayerBegin + kLayerKeys;

struct Stress {
  explicit Stress(Options options) : db(std::move(options)) {
    tree = must(db->open_masstree("tree"));
    hash = must(db->open_hash("hash", {.records_expected = 1}));
    array = must(db->open_array("array", kArrayKeys, sizeof(Value)));
  }

  // Keys of one slice, and longer ones in layers.
  static Key tree_key(std::uint64_t number) {
    const BigEndian<std::uint64_t> slice = big_endian<std::uint64_t>(number);
    if (number < kTreeKeys) return key(slice);
    Key long_key;
    const std::string text = "shared_prefix_of_all_" + std::to_string(number % 7);
    long_key.append_raw(text.data(), text.size());
    return long_key.append(slice);
  }

  // Reads a register; kNotFound becomes version 0.
  Status read(Txn& txn, std::uint64_t number, Version* version) {
    Value value{};
    Status status;
    const auto bytes = std::as_writable_bytes(std::span<Value, 1>(&value, 1));
    if (number >= kArrayBegin && number < kLayerBegin) {
      status = txn.get(array, number - kArrayBegin, bytes);
      if (status.is_ok() && value.version == 0) {
        *version = 0;
        return {};
      }
    } else {
      const bool in_hash = number >= kHashBegin && number < kArrayBegin;
      const KeyedStorage& storage = in_hash ? static_cast<const KeyedStorage&>(hash) : tree;
      const Result<std::size_t> size =
          txn.get(storage, in_hash ? key(number) : tree_key(number), bytes);
      status = size.status();
    }
    *version = 0;
    if (status.code() == ErrorCode::kNotFound) return {};
    FOEDUS_CHECK(status);
    EXPECT_TRUE(value.is_sane(number)) << number;
    *version = value.version;
    return {};
  }

  Status write(Txn& txn, std::uint64_t number, Version version) {
    const Value value = Value::of(number, version);
    if (number >= kArrayBegin && number < kLayerBegin) {
      return txn.put(array, number - kArrayBegin, value);
    }
    if (number >= kHashBegin && number < kArrayBegin) return txn.put(hash, key(number), value);
    return txn.put(tree, tree_key(number), value);
  }

  // Reads all tree registers of [begin, end); those that the scan does not return are absent.
  Status scan(Txn& txn, std::uint64_t begin, std::uint64_t end, bool reverse, HistoryTxn* history) {
    std::vector<Version> seen(end - begin, 0);
    Scan rows =
        txn.scan(tree, tree_key(begin), key(big_endian<std::uint64_t>(end)), {.reverse = reverse});
    for (const Row& row : rows) {
      const auto value = view_as<Value>(row.payload);
      EXPECT_TRUE(value.key >= begin && value.key < end) << value.key;
      EXPECT_TRUE(value.is_sane(value.key));
      seen[value.key - begin] = value.version;
    }
    if (auto failure = rows.failure()) return *failure;
    for (std::uint64_t i = begin; i < end; ++i) history->reads.push_back({i, seen[i - begin]});
    return {};
  }

  TestDatabase db;
  Masstree tree;
  Hash hash;
  Array array;
};

// Writes some registers, inserts others, and undoes that: no other transaction may see it. That an
// insert found no row counts as a read of the transaction.
Status undo_some(Stress* stress, Txn& txn, base::Random* random, HistoryTxn* history) {
  FOEDUS_TRY(const Savepoint point, txn.savepoint());
  for (std::uint64_t i = random->below(4); i != 0; --i) {
    const std::uint64_t number = random->below(kKeys);
    if (number >= kTreeKeys || random->below(2) == 0) {
      FOEDUS_CHECK(stress->write(txn, number, kUndone));
      continue;
    }
    Status status = txn.insert(stress->tree, Stress::tree_key(number), Value::of(number, kUndone));
    if (status.code() == ErrorCode::kAlreadyExists) continue;
    FOEDUS_CHECK(status);
    history->reads.push_back({number, 0});
  }
  return txn.rollback_to(point);
}

Status random_txn(Stress* stress, Txn& txn, base::Random* random, std::atomic<Version>* versions,
                  HistoryTxn* history) {
  *history = HistoryTxn();
  if (random->below(4) == 0) FOEDUS_CHECK(undo_some(stress, txn, random, history));
  if (random->below(4) == 0) {
    const std::uint64_t begin = random->below(kTreeKeys - 10);
    FOEDUS_CHECK(
        stress->scan(txn, begin, begin + 1 + random->below(10), random->below(2) == 0, history));
  }
  std::map<std::uint64_t, Version> own;
  const std::uint64_t operations = 1 + random->below(5);
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint64_t number = random->below(kKeys);
    Version version = 0;
    FOEDUS_CHECK(stress->read(txn, number, &version));
    if (own.contains(number)) {
      EXPECT_EQ(version, own[number]) << "own write not read";
      continue;
    }
    if (random->below(2) == 0) {
      history->reads.push_back({number, version});
      continue;
    }
    const Version after = versions->fetch_add(1);
    FOEDUS_CHECK(stress->write(txn, number, after));
    own[number] = after;
    history->writes.push_back({number, version, after});
  }
  return {};
}

std::uint64_t given(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

constexpr std::chrono::milliseconds kPause(5);

struct Plan {
  std::uint32_t threads;
  std::uint32_t socs;
  std::uint64_t rounds;      // transactions of a thread, at least
  std::uint32_t gleans = 0;  // at least, one after another: they install and drop pages
};

Options options_of(const Plan& plan) {
  Options options = testing::small_options("");
  options.socs = plan.socs;
  options.sessions_max = std::max(options.sessions_max, plan.threads + 8);
  if (plan.gleans == 0) return options;
  options.pages.volatile_percent = 0;
  options.glean.memory_bytes = 16u << 20;
  return options;
}

void run_stress(Plan plan) {
  const std::uint64_t seed = given("FOEDUS_TEST_SEED", base::system_seed());
  plan.threads = static_cast<std::uint32_t>(given("FOEDUS_STRESS_THREADS", plan.threads));
  plan.socs = static_cast<std::uint32_t>(given("FOEDUS_STRESS_SOCS", plan.socs));
  plan.rounds = given("FOEDUS_STRESS_ROUNDS", plan.rounds);
  std::printf("FOEDUS_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));

  Stress stress(options_of(plan));
  std::atomic<Version> versions{1};
  std::atomic<std::uint32_t> gleans{0};
  std::atomic<bool> is_over{plan.gleans == 0};
  std::thread gleaner([&] {
    while (!is_over) {
      must(stress.db->glean());
      ++gleans;
    }
  });
  std::mutex mutex;
  std::vector<HistoryTxn> all;
  std::vector<std::thread> workers;
  for (std::uint32_t t = 0; t < plan.threads; ++t) {
    workers.emplace_back([&, t] {
      base::Random random(seed + t * 7919);
      std::vector<HistoryTxn> mine;
      for (std::uint64_t i = 0; i < plan.rounds || gleans < plan.gleans; ++i) {
        HistoryTxn history;
        const Status status = stress.db->transact([&](Txn& txn) -> Status {
          return random_txn(&stress, txn, &random, &versions, &history);
        });
        ASSERT_TRUE(status.is_ok()) << status.message();
        mine.push_back(std::move(history));
        // The gleans need processors, too, most of all once all threads wait for them.
        if (plan.gleans != 0) std::this_thread::sleep_for(i < plan.rounds ? kPause : 20 * kPause);
      }
      const std::lock_guard lock(mutex);
      for (HistoryTxn& history : mine) all.push_back(std::move(history));
    });
  }
  for (std::thread& worker : workers) worker.join();
  is_over = true;
  gleaner.join();
  std::printf("%zu transactions, %u gleans\n", all.size(), gleans.load());
  EXPECT_EQ(testing::check_serializable(all), "");
  EXPECT_GE(all.size(), plan.threads * plan.rounds);
}

TEST(HistoryStressTest, two_threads) { run_stress({2, 1, 4000}); }
TEST(HistoryStressTest, four_threads_of_two_socs) { run_stress({4, 2, 2000}); }
TEST(HistoryStressTest, sixteen_threads_of_four_socs) { run_stress({16, 4, 500}); }

// A glean beside 64 threads takes seconds under ThreadSanitizer.
#if defined(FOEDUS_TSAN)
constexpr std::uint64_t kRoundsOfMany = 50;
constexpr std::uint32_t kGleansOfMany = 1;
#else
constexpr std::uint64_t kRoundsOfMany = 150;
constexpr std::uint32_t kGleansOfMany = 4;
#endif

// There are more threads than processors, so nearly every step of a protocol is interrupted by the
// scheduler at some time.
TEST(HistoryStressTest, sixty_four_threads_of_eight_socs) { run_stress({64, 8, kRoundsOfMany}); }
TEST(HistoryStressTest, sixty_four_threads_of_eight_socs_beside_gleans) {
  run_stress({64, 8, kRoundsOfMany, kGleansOfMany});
}

}  // namespace
}  // namespace foedus::history_stress_test
