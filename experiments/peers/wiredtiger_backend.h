#pragma once
// WiredTiger as a backend: one connection, a row-store table per table, one session per worker with
// cursors that it keeps. Snapshot isolation, the strongest that WiredTiger has; a write of a key
// that another transaction wrote since the snapshot gets WT_ROLLBACK, which is a conflict here.

#include <wiredtiger.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/peers/peer_row.h"
#include "experiments/peers/peer_worker.h"

namespace experiments {

struct WiredtigerTable {
  std::uint32_t number = 0;  // index into the backend's list of tables and the workers' cursors
  TableKind kind = TableKind::kOrdered;
  std::uint64_t records = 0;    // arrays: records that exist from the start, as zeros
  std::uint32_t row_bytes = 0;  // arrays
};

// Walks a range with a cursor that is its own meanwhile, so that a visitor may read, write and
// scan.
class WiredtigerScan {
 public:
  WiredtigerScan(WT_CURSOR* cursor, const ScanRange& range) : cursor_(cursor), range_(range) {}

  // True if there is a row; false at the end of the range or on an error, which error() tells.
  bool next(std::string_view* key, std::string_view* row);
  int error() const { return error_; }
  foedus::Status status() const { return {}; }  // the transaction makes one of error()

 private:
  int position();

  WT_CURSOR* const cursor_;
  const ScanRange range_;
  bool started_ = false;
  int error_ = 0;
};

class WiredtigerTxn {
 public:
  // `uris`: of all tables, by WiredtigerTable::number; grows while no transaction runs.
  WiredtigerTxn(WT_SESSION* session, const std::vector<std::string>* uris, std::uint64_t worker)
      : session_(session), uris_(uris), worker_(worker) {}
  WiredtigerTxn(const WiredtigerTxn&) = delete;
  WiredtigerTxn& operator=(const WiredtigerTxn&) = delete;
  ~WiredtigerTxn();

  foedus::Status get(const WiredtigerTable& table, const KeyView& key, std::span<std::byte> out) {
    return read_at(table, key, 0, out);
  }
  // A plain read: the write that follows is refused if the row was written since the snapshot.
  foedus::Status get_for_update(const WiredtigerTable& table, const KeyView& key,
                                std::span<std::byte> out) {
    return read_at(table, key, 0, out);
  }
  foedus::Status read_at(const WiredtigerTable& table, const KeyView& key, std::uint32_t offset,
                         std::span<std::byte> out);
  foedus::Status insert(const WiredtigerTable& table, const KeyView& key, std::string_view row);
  foedus::Status put(const WiredtigerTable& table, const KeyView& key, std::string_view row);
  foedus::Status write_at(const WiredtigerTable& table, const KeyView& key, std::uint32_t offset,
                          std::string_view part);
  foedus::Status erase(const WiredtigerTable& table, const KeyView& key);
  foedus::Status append(const WiredtigerTable& table, std::string_view row);
  void prefetch(const WiredtigerTable&, const KeyView&) {}
  template <typename PartOf>
  foedus::Status read_many(const WiredtigerTable& table, std::size_t count, const PartOf& part_of) {
    return read_each(*this, table, count, part_of);
  }

  template <class V>
  foedus::Status scan(const WiredtigerTable& table, const ScanRange& range, V&& visit) {
    WT_CURSOR* cursor = nullptr;
    FOEDUS_CHECK(take_scan_cursor(table, &cursor));
    WiredtigerScan rows(cursor, stored_range(table.kind, range));
    foedus::Status status = visit_rows(rows, table.kind, range.limit, visit);
    give_back(table, cursor);
    return rows.error() == 0 ? status : to_status(rows.error(), "WT_CURSOR::next");
  }

  foedus::Status begin(bool read_only);
  foedus::Status commit();
  void rollback();
  const char* conflict_name() const { return "rollback"; }

 private:
  // Opened on first use. Two for points, as WiredTiger fixes at open whether an insert may
  // overwrite.
  struct Cursors {
    WT_CURSOR* overwrite = nullptr;
    WT_CURSOR* strict = nullptr;
    std::vector<WT_CURSOR*> free_for_scans;
  };

  foedus::Status to_status(int error, const char* call) const;
  Cursors& cursors_of(const WiredtigerTable& table);
  foedus::Status open_cursor(const WiredtigerTable& table, const char* config, WT_CURSOR** cursor);
  foedus::Status take_scan_cursor(const WiredtigerTable& table, WT_CURSOR** cursor);
  void give_back(const WiredtigerTable& table, WT_CURSOR* cursor);
  // A cursor for points with its key set.
  foedus::Status at_key(const WiredtigerTable& table, std::string_view key, bool overwrite,
                        WT_CURSOR** cursor);
  foedus::Status store(const WiredtigerTable& table, std::string_view key, std::string_view row,
                       bool overwrite);

  WT_SESSION* const session_;
  const std::vector<std::string>* const uris_;
  const std::uint64_t worker_;
  std::uint64_t appended_ = 0;
  bool running_ = false;
  std::vector<Cursors> cursors_;  // by table number
  std::string overlaid_;          // a row that is overwritten in part
};

class WiredtigerBackend {
 public:
  using Table = WiredtigerTable;
  using Txn = WiredtigerTxn;
  using Worker = PeerWorker<WiredtigerTxn>;

  struct Options {
    std::string dir;
    bool sync = false;  // every commit reaches the device before it returns
    std::uint64_t cache_bytes = 8ull << 30;
  };
  static foedus::Result<std::unique_ptr<WiredtigerBackend>> open(const Options& options);
  ~WiredtigerBackend();

  foedus::Result<Table> open_table(const TableSpec& spec);
  foedus::Result<Worker> new_worker();
  std::uint64_t last_commit_token(Worker&) const { return 0; }
  std::uint64_t durable_token() const { return 0; }
  foedus::Status wait_durable();
  // After the load: its updates become clean pages, which stay in the cache.
  foedus::Status settle();
  std::string name() const { return "wiredtiger"; }
  void fill_stats(StatsLine& line) const;

 private:
  WiredtigerBackend() = default;

  WT_CONNECTION* connection_ = nullptr;
  WT_SESSION* session_ = nullptr;  // for everything but transactions; one thread at a time
  std::vector<std::string> uris_;
  std::atomic<std::uint64_t> workers_{0};
};

}  // namespace experiments
