#pragma once
// RocksDB as a backend, through TransactionDB (pessimistic: a write locks its key and checks that
// nobody wrote it since the snapshot) or OptimisticTransactionDB (the same check at commit). A
// column family per table. Every transaction reads from a snapshot taken at its begin; writes and
// get_for_update are validated, plain reads are not: snapshot isolation, the most that RocksDB
// offers without locking or tracking every read. read_only() is a snapshot without a transaction.

#include <rocksdb/db.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "experiments/peers/peer_row.h"
#include "experiments/peers/peer_worker.h"

namespace experiments {

struct RocksdbTable {
  rocksdb::ColumnFamilyHandle* family = nullptr;  // owned by the backend
  TableKind kind = TableKind::kOrdered;
  std::uint64_t records = 0;    // arrays: records that exist from the start, as zeros
  std::uint32_t row_bytes = 0;  // arrays
};

enum class RocksdbConcurrency { kPessimistic, kOptimistic };

// The database in one of its two forms, and how a transaction of it begins.
struct RocksdbHandle {
  std::unique_ptr<rocksdb::DB> db;                            // owns whichever of the two it is
  rocksdb::TransactionDB* pessimistic = nullptr;
  rocksdb::OptimisticTransactionDB* optimistic = nullptr;
  rocksdb::WriteOptions write_options;

  // A transaction with its snapshot set; `reuse` may be null.
  rocksdb::Transaction* begin(rocksdb::Transaction* reuse) const;
};

// A range of one table, forward or in reverse.
class RocksdbScan {
 public:
  // `txn` may be null: then the rows are those of `snapshot` alone.
  RocksdbScan(rocksdb::DB* db, rocksdb::Transaction* txn, const rocksdb::Snapshot* snapshot,
              const RocksdbTable& table, const ScanRange& range);
  RocksdbScan(const RocksdbScan&) = delete;
  RocksdbScan& operator=(const RocksdbScan&) = delete;

  // True if there is a row; false at the end of the range or on an error, which status() tells.
  bool next(std::string_view* key, std::string_view* row);
  foedus::Status status() const;

 private:
  void position();

  const ScanRange range_;
  const rocksdb::Slice low_;   // RocksDB keeps pointers to the bounds while the iterator lives
  const rocksdb::Slice high_;
  std::unique_ptr<rocksdb::Iterator> rows_;
  bool started_ = false;
};

class RocksdbTxn {
 public:
  RocksdbTxn(const RocksdbHandle* handle, std::uint64_t worker)
      : handle_(handle), worker_(worker) {}
  RocksdbTxn(const RocksdbTxn&) = delete;
  RocksdbTxn& operator=(const RocksdbTxn&) = delete;
  ~RocksdbTxn() {
    if (running_) rollback();
  }

  foedus::Status get(const RocksdbTable& table, const KeyView& key, std::span<std::byte> out) {
    return read_at(table, key, 0, out);
  }
  foedus::Status get_for_update(const RocksdbTable& table, const KeyView& key,
                                std::span<std::byte> out);
  foedus::Status read_at(const RocksdbTable& table, const KeyView& key, std::uint32_t offset,
                         std::span<std::byte> out);
  foedus::Status insert(const RocksdbTable& table, const KeyView& key, std::string_view row);
  foedus::Status put(const RocksdbTable& table, const KeyView& key, std::string_view row);
  foedus::Status write_at(const RocksdbTable& table, const KeyView& key, std::uint32_t offset,
                          std::string_view part);
  foedus::Status erase(const RocksdbTable& table, const KeyView& key);
  foedus::Status append(const RocksdbTable& table, std::string_view row);
  void prefetch(const RocksdbTable&, const KeyView&) {}
  template <typename PartOf>
  foedus::Status read_many(const RocksdbTable& table, std::size_t count, const PartOf& part_of) {
    return read_each(*this, table, count, part_of);
  }

  template <class V>
  foedus::Status scan(const RocksdbTable& table, const ScanRange& range, V&& visit) {
    RocksdbScan rows(handle_->db.get(), read_only_ ? nullptr : txn_.get(), read_options_.snapshot,
                     table, stored_range(table.kind, range));
    return visit_rows(rows, table.kind, range.limit, visit);
  }

  foedus::Status begin(bool read_only);
  foedus::Status commit();
  void rollback();
  const char* conflict_name() const { return conflict_name_; }

 private:
  enum class Read { kPlain, kForUpdate };
  // On success the row is in row_, until the next call.
  foedus::Status find(const RocksdbTable& table, const KeyView& key, Read read);
  foedus::Status store(const RocksdbTable& table, std::string_view key, std::string_view row);
  foedus::Status to_status(const rocksdb::Status& status, const char* call);
  void release_snapshot();

  const RocksdbHandle* const handle_;
  const std::uint64_t worker_;
  std::uint64_t appended_ = 0;
  std::unique_ptr<rocksdb::Transaction> txn_;  // used again by the next one
  rocksdb::ReadOptions read_options_;          // with the snapshot of the one that runs
  bool running_ = false;
  bool read_only_ = false;
  const char* conflict_name_ = "none";
  rocksdb::PinnableSlice row_;
  std::string overlaid_;  // a row that is overwritten in part
};

class RocksdbBackend {
 public:
  using Table = RocksdbTable;
  using Txn = RocksdbTxn;
  using Worker = PeerWorker<RocksdbTxn>;

  struct Options {
    std::string dir;
    RocksdbConcurrency concurrency = RocksdbConcurrency::kPessimistic;
    bool sync = false;  // every commit reaches the device before it returns
    std::uint64_t cache_bytes = 4ull << 30;
    std::uint64_t memtable_bytes = 256ull << 20;  // of one table; up to four of them at a time
  };
  static foedus::Result<std::unique_ptr<RocksdbBackend>> open(const Options& options);
  ~RocksdbBackend();

  foedus::Result<Table> open_table(const TableSpec& spec);
  foedus::Result<Worker> new_worker();
  std::uint64_t last_commit_token(Worker&) const { return 0; }
  std::uint64_t durable_token() const { return 0; }
  foedus::Status wait_durable();
  // After the load: all rows in one sorted run, which is the best shape for reads.
  foedus::Status settle();
  std::string name() const {
    return handle_.optimistic != nullptr ? "rocksdb-optimistic" : "rocksdb-pessimistic";
  }
  void fill_stats(StatsLine& line) const;

 private:
  explicit RocksdbBackend(const Options& options);
  rocksdb::Status open_handle(const rocksdb::Options& options);
  void flush_wal();

  const Options options_;
  rocksdb::ColumnFamilyOptions family_options_;
  RocksdbHandle handle_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::atomic<std::uint64_t> workers_{0};

  // Without sync, commits stay in RocksDB's buffer and reach the file this often, as ours do with
  // epochs of the same length; a write(2) in each commit would halve its throughput.
  static constexpr std::chrono::milliseconds kFlushInterval{10};
  std::mutex flusher_mutex_;  // guards is_closing_
  std::condition_variable flusher_wakes_;
  bool is_closing_ = false;
  std::thread flusher_;
};

}  // namespace experiments
