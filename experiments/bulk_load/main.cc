// bulk_load: writes the same sorted rows into a new store in different ways, which take turns: a
// bulk load, transactions, and LMDB's MDB_APPEND. See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#ifdef FOEDUS_HAVE_LMDB
#include <lmdb.h>
#endif

#include "experiments/common/foedus_backend.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/progress.h"
#include "experiments/common/text.h"

DEFINE_uint64(rows, 1'000'000, "rows of each run, with ascending keys of 8 bytes");
DEFINE_uint32(row_bytes, 100, "payload of a row, 8 .. 1,000,000");
DEFINE_uint32(rounds, 3, "runs of each way, alternating");
DEFINE_uint32(rows_per_txn, 1'000, "rows of a transaction of the store");

namespace experiments::bulk_load {
namespace {

using Clock = std::chrono::steady_clock;

// The i-th row. Its first bytes are its number, so that no two are equal.
class Rows {
 public:
  Rows() : row_(FLAGS_row_bytes, 'r') {}
  std::string_view key(std::uint64_t i) {
    key_ = __builtin_bswap64(i);
    return {reinterpret_cast<const char*>(&key_), sizeof(key_)};
  }
  std::string_view row(std::uint64_t i) {
    std::memcpy(row_.data(), &i, sizeof(i));
    return row_;
  }

 private:
  std::uint64_t key_ = 0;
  std::string row_;
};

foedus::Status load(foedus::Database& db) {
  Rows rows;
  FOEDUS_TRY(foedus::BulkLoad load, db.load_masstree("rows"));
  for (std::uint64_t i = 0; i < FLAGS_rows; ++i) {
    FOEDUS_CHECK(load.add(rows.key(i), rows.row(i)));
  }
  return load.finish().status();
}

foedus::Status transactions(foedus::Database& db) {
  Rows rows;
  FOEDUS_TRY(const foedus::Masstree table, db.open_masstree("rows"));
  for (std::uint64_t first = 0; first < FLAGS_rows; first += FLAGS_rows_per_txn) {
    const std::uint64_t end = std::min(first + FLAGS_rows_per_txn, FLAGS_rows);
    FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
      for (std::uint64_t i = first; i < end; ++i) {
        FOEDUS_CHECK(txn.put(table, rows.key(i), rows.row(i)));
      }
      return {};
    }));
  }
  return db.wait_durable();
}

foedus::Status check_row(foedus::Database& db, std::uint64_t i) {
  FOEDUS_TRY(const foedus::Masstree table, db.open_masstree("rows"));
  FOEDUS_TRY(const std::string found,
             db.transact([&](foedus::Txn& txn) { return txn.get(table, Rows().key(i)); }));
  if (found == Rows().row(i)) return {};
  return failed(foedus::ErrorCode::kCorruption, "a row is another one");
}

// Runs one way in an empty store, and returns its rows a second.
foedus::Result<double> run_store(foedus::Status (*way)(foedus::Database&)) {
  FOEDUS_TRY(FoedusBackend backend, open_foedus_by_flags());
  const auto begin = Clock::now();
  FOEDUS_CHECK(way(backend.database()));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  FOEDUS_CHECK(check_row(backend.database(), FLAGS_rows - 1));
  FOEDUS_CHECK(backend.close());
  return static_cast<double>(FLAGS_rows) / seconds;
}

#ifdef FOEDUS_HAVE_LMDB
constexpr std::uint64_t kLmdbRowsPerTxn = 100'000;

foedus::Status checked(int error) {
  if (error == MDB_SUCCESS) return {};
  return failed(foedus::ErrorCode::kIoError, "LMDB: %s", mdb_strerror(error));
}

foedus::Status append_all(MDB_env* env) {
  Rows rows;
  for (std::uint64_t first = 0; first < FLAGS_rows; first += kLmdbRowsPerTxn) {
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    FOEDUS_CHECK(checked(mdb_txn_begin(env, nullptr, 0, &txn)));
    FOEDUS_CHECK(checked(mdb_dbi_open(txn, nullptr, 0, &dbi)));
    const std::uint64_t end = std::min(first + kLmdbRowsPerTxn, FLAGS_rows);
    for (std::uint64_t i = first; i < end; ++i) {
      const std::string_view key = rows.key(i), row = rows.row(i);
      MDB_val key_val{key.size(), const_cast<char*>(key.data())};
      MDB_val row_val{row.size(), const_cast<char*>(row.data())};
      FOEDUS_CHECK(checked(mdb_put(txn, dbi, &key_val, &row_val, MDB_APPEND)));
    }
    FOEDUS_CHECK(checked(mdb_txn_commit(txn)));
  }
  return checked(mdb_env_sync(env, 1));
}

foedus::Result<double> run_lmdb() {
  std::filesystem::create_directories(FLAGS_dir);
  MDB_env* env = nullptr;
  FOEDUS_CHECK(checked(mdb_env_create(&env)));
  const std::uint64_t bytes = FLAGS_rows * (FLAGS_row_bytes + 64) * 3 + (64u << 20);
  mdb_env_set_mapsize(env, bytes / 4096 * 4096);
  FOEDUS_CHECK(checked(mdb_env_open(env, FLAGS_dir.c_str(), 0, 0644)));
  const auto begin = Clock::now();
  FOEDUS_CHECK(append_all(env));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  mdb_env_close(env);
  return static_cast<double>(FLAGS_rows) / seconds;
}
#endif

foedus::Result<double> run_way(std::string_view way) {
  std::filesystem::remove_all(FLAGS_dir);
#ifdef FOEDUS_HAVE_LMDB
  if (way == "lmdb_append") return run_lmdb();
#endif
  return run_store(way == "load" ? load : transactions);
}

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(parse_command_line(argc, argv, "bulk_load --dir D [--rows N] [--row-bytes B]"));
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_dir.empty()) return failed(code, "--dir names a directory that this program may empty");
  if (FLAGS_rows == 0 || FLAGS_rounds == 0) return failed(code, "--rows and --rounds: 1 or more");
  if (FLAGS_row_bytes < 8 || FLAGS_row_bytes > 1'000'000) {
    return failed(code, "--row-bytes must be 8 .. 1000000");
  }
  if (FLAGS_rows_per_txn == 0) return failed(code, "--rows-per-txn must be 1 or more");
  if (std::filesystem::exists(FLAGS_dir) && !std::filesystem::is_empty(FLAGS_dir)) {
    return failed(code, "--dir: %s is not empty", FLAGS_dir.c_str());
  }
  std::vector<std::string> ways = {"load", "transactions"};
#ifdef FOEDUS_HAVE_LMDB
  ways.push_back("lmdb_append");
#endif
  std::map<std::string, std::vector<double>> rows_per_s;
  Progress progress("runs", FLAGS_rounds * ways.size());
  for (std::uint32_t round = 0; round < FLAGS_rounds; ++round) {
    for (const std::string& way : ways) {
      FOEDUS_TRY(const double rate, run_way(way));
      rows_per_s[way].push_back(rate);
      progress.add(1);
    }
  }
  std::filesystem::remove_all(FLAGS_dir);
  JsonObject line = begin_line("bulk_load");
  JsonObject rates;
  for (const std::string& way : ways) rates.add(way, spread_of(rows_per_s[way]));
  line.add("rows_per_s", rates);
  for (std::size_t i = 1; i < ways.size(); ++i) {
    std::vector<double> ratios;
    for (std::uint32_t round = 0; round < FLAGS_rounds; ++round) {
      ratios.push_back(rows_per_s["load"][round] / rows_per_s[ways[i]][round]);
    }
    line.add("load_to_" + ways[i], spread_of(std::move(ratios)));
  }
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments::bulk_load

int main(int argc, char** argv) {
  const foedus::Status status = experiments::bulk_load::run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "bulk_load: " << status.message();
  return EXIT_FAILURE;
}
