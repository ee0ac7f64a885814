#pragma once
// The runs of `foedus bench`, named as those of RocksDB's db_bench.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/database.h"

namespace foedus::cli {

// What all runs share.
struct BenchSetup {
  std::uint64_t rows = 1'000'000;  // keys 0 .. rows - 1; operations of a run, of all threads
  std::uint32_t key_bytes = 16;    // a number in decimal digits, with zeroes before it; 4 .. 1,024
  std::uint32_t value_bytes = 100;
  std::uint32_t threads = 1;
  std::uint32_t batch = 1;  // operations of a transaction
  std::uint64_t seed = 1;
};
// Returns kInvalidArgument, which names the option, if a value is out of its range.
Status check(const BenchSetup& setup);

// The storage of the runs, by one of two handles.
struct BenchStorage {
  KeyedStorage rows;
  Masstree tree;  // none: a hash storage, which has no order to read in
};

struct BenchResult {
  std::string name;
  std::uint64_t operations = 0;  // of the threads that are measured
  std::uint64_t found = 0;       // reads and erasures that found their row
  std::uint64_t bytes = 0;       // of keys and values that were written or read
  std::uint64_t us = 0;
};

// Returns the names of all runs.
std::vector<std::string_view> bench_names();

// Shows how many operations are done. Any thread.
using BenchProgress = std::function<void(std::uint64_t operations)>;

// Makes a run. kInvalidArgument: there is none of that name, or it needs a Master-Tree. Other
// errors: those of transact().
Result<BenchResult> run_bench(Database* db, const BenchStorage& storage, std::string_view name,
                              const BenchSetup& setup, const BenchProgress& progress);

}  // namespace foedus::cli
