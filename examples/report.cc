// A report beside writers: sums up all accounts while other threads move money between them.
//
// snapshot() reads the state at one point of time, from pages that the log gleaner makes of the
// log. It never conflicts with a writer, however long it takes, and no writer waits for it.

#include <foedus/foedus.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t kAccounts = 1'000;

// Moves money from one account to another until `stop`. An array is addressed by number, and has
// all its records from the start.
void write(foedus::Database& db, foedus::Array accounts, std::uint64_t seed,
           const std::atomic<bool>& stop) {
  for (std::uint64_t i = seed; !stop.load(std::memory_order_relaxed); i = i * 25'214'903'917 + 11) {
    const std::uint64_t from = (i >> 16) % kAccounts, to = (i >> 32) % kAccounts;
    const foedus::Status status = db.transact([&](foedus::Txn& txn) -> foedus::Status {
      FOEDUS_CHECK(txn.increment(accounts, from, 0, -1));
      return txn.increment(accounts, to, 0, 1);
    });
    if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

foedus::Result<std::int64_t> sum_up(foedus::Database& db, foedus::Array accounts,
                                    const foedus::SnapshotOptions& options = {}) {
  return db.snapshot(
      [&](foedus::Txn& txn) -> foedus::Result<std::int64_t> {
        std::int64_t sum = 0;
        for (std::uint64_t i = 0; i < kAccounts; ++i) {
          FOEDUS_TRY(const auto cents, txn.get_as<std::int64_t>(accounts, i));
          sum += cents;
        }
        return sum;
      },
      options);
}

foedus::Status run(const std::string& dir) {
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir}));
  FOEDUS_TRY(auto accounts, db.open_array("accounts", kAccounts, sizeof(std::int64_t)));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    for (std::uint64_t i = 0; i < kAccounts; ++i) {
      FOEDUS_CHECK(txn.put(accounts, i, std::int64_t{100}));
    }
    return {};
  }));

  std::atomic<bool> stop = false;
  std::vector<std::thread> writers;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    writers.emplace_back([&, seed] { write(db, accounts, seed, stop); });
  }
  foedus::Status status;
  for (int report = 0; report < 3 && status.is_ok(); ++report) {
    // Has all commits up to this call, and waits until the gleaner has made such a snapshot.
    const auto sum = sum_up(db, accounts);
    status = sum.status();
    if (sum) std::printf("report: %lld\n", static_cast<long long>(*sum));
  }
  // If an older state will do, the newest snapshot that exists is read at once.
  const auto older = sum_up(db, accounts, {.newest_existing = true});
  if (older) std::printf("at once: %lld\n", static_cast<long long>(*older));
  stop = true;
  for (std::thread& writer : writers) writer.join();
  FOEDUS_CHECK(older);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const foedus::Status status = run(argc > 1 ? argv[1] : "report");
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.is_ok() ? 0 : 1;
}

// prints:
//   report: 100000
//   report: 100000
//   report: 100000
//   at once: 100000
