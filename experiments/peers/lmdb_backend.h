#pragma once
// LMDB as a backend: one environment, one named database per table. LMDB has one writer at a time
// and readers that never wait, so transact() takes the writer's mutex and nothing ever conflicts. A
// read_only() renews a read transaction that the worker keeps. Isolation: serializable.

#include <lmdb.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "experiments/peers/peer_row.h"
#include "experiments/peers/peer_worker.h"

namespace experiments {

struct LmdbTable {
  MDB_dbi dbi = 0;
  TableKind kind = TableKind::kOrdered;
  std::uint64_t records = 0;    // arrays: records that exist from the start, as zeros
  std::uint32_t row_bytes = 0;  // arrays
};

// A range of one table, forward or in reverse. Holds pointers into LMDB's map: they are good until
// the transaction writes, so a visitor that writes must have finished with its row.
class LmdbScan {
 public:
  LmdbScan(MDB_txn* txn, const LmdbTable& table, const ScanRange& range);
  LmdbScan(const LmdbScan&) = delete;
  LmdbScan& operator=(const LmdbScan&) = delete;
  ~LmdbScan();

  // True if there is a row; false at the end of the range or on an error, which status() tells.
  bool next(std::string_view* key, std::string_view* row);
  const foedus::Status& status() const { return status_; }

 private:
  int position(MDB_val* key, MDB_val* row);

  const ScanRange range_;
  MDB_cursor* cursor_ = nullptr;
  bool started_ = false;
  foedus::Status status_;
};

class LmdbTxn {
 public:
  LmdbTxn(MDB_env* env, std::uint64_t worker) : env_(env), worker_(worker) {}
  LmdbTxn(const LmdbTxn&) = delete;
  LmdbTxn& operator=(const LmdbTxn&) = delete;
  ~LmdbTxn();

  foedus::Status get(const LmdbTable& table, const KeyView& key, std::span<std::byte> out) {
    return read_at(table, key, 0, out);
  }
  // The writer is alone: every read of a writing transaction is one for update.
  foedus::Status get_for_update(const LmdbTable& table, const KeyView& key,
                                std::span<std::byte> out) {
    return read_at(table, key, 0, out);
  }
  foedus::Status read_at(const LmdbTable& table, const KeyView& key, std::uint32_t offset,
                         std::span<std::byte> out);
  foedus::Status insert(const LmdbTable& table, const KeyView& key, std::string_view row);
  foedus::Status put(const LmdbTable& table, const KeyView& key, std::string_view row);
  foedus::Status write_at(const LmdbTable& table, const KeyView& key, std::uint32_t offset,
                          std::string_view part);
  foedus::Status erase(const LmdbTable& table, const KeyView& key);
  foedus::Status append(const LmdbTable& table, std::string_view row);
  void prefetch(const LmdbTable&, const KeyView&) {}
  template <typename PartOf>
  foedus::Status read_many(const LmdbTable& table, std::size_t count, const PartOf& part_of) {
    return read_each(*this, table, count, part_of);
  }

  template <class V>
  foedus::Status scan(const LmdbTable& table, const ScanRange& range, V&& visit) {
    LmdbScan rows(txn_, table, stored_range(table.kind, range));
    return visit_rows(rows, table.kind, range.limit, visit);
  }

  foedus::Status begin(bool read_only);
  foedus::Status commit();
  void rollback();
  const char* conflict_name() const { return "none"; }

 private:
  foedus::Status find(const LmdbTable& table, const KeyView& key, std::string_view* row);
  foedus::Status store(const LmdbTable& table, std::string_view key, std::string_view row,
                       unsigned flags);

  MDB_env* const env_;
  const std::uint64_t worker_;
  std::uint64_t appended_ = 0;
  MDB_txn* txn_ = nullptr;     // the one that runs
  MDB_txn* reader_ = nullptr;  // kept from one read_only() to the next
  std::string row_;            // a row that is overwritten in part
  std::string zeros_;          // an array's record that nobody has written yet
};

class LmdbBackend {
 public:
  using Table = LmdbTable;
  using Txn = LmdbTxn;
  using Worker = PeerWorker<LmdbTxn>;

  struct Options {
    std::string dir;
    bool sync = false;                      // every commit reaches the device before it returns
    std::uint64_t map_bytes = 64ull << 30;  // bound of the file; sparse, only pages in use count
  };
  static foedus::Result<std::unique_ptr<LmdbBackend>> open(const Options& options);
  ~LmdbBackend() { mdb_env_close(env_); }

  foedus::Result<Table> open_table(const TableSpec& spec);
  foedus::Result<Worker> new_worker();
  std::uint64_t last_commit_token(Worker&) const { return 0; }
  std::uint64_t durable_token() const { return 0; }
  foedus::Status wait_durable();
  foedus::Status settle() { return wait_durable(); }
  std::string name() const { return "lmdb"; }
  void fill_stats(StatsLine& line) const;

 private:
  explicit LmdbBackend(MDB_env* env) : env_(env) {}

  MDB_env* const env_;
  std::atomic<std::uint64_t> workers_{0};
};

}  // namespace experiments
