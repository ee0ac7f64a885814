#pragma once
// MapBackend: a Backend made of std::map and one mutex, which is serializable by construction. A
// driver must be right on it; another backend must have the same results.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/common/backend.h"
#include "foedus/status.h"

namespace experiments {

struct MapStore {
  struct Rows {
    TableSpec spec;
    std::map<std::string, std::string> by_key;
    std::uint64_t appended = 0;
  };
  std::mutex mutex;  // held by the running transaction
  std::deque<Rows> tables;
  std::uint64_t commits = 0;
};

class MapTxn {
 public:
  using Table = MapStore::Rows*;

  explicit MapTxn(bool read_only) : read_only_(read_only) {}

  foedus::Status get(Table table, const KeyView& key, std::span<std::byte> out) {
    return read_at(table, key, 0, out);
  }
  foedus::Status get_for_update(Table table, const KeyView& key, std::span<std::byte> out) {
    return read_at(table, key, 0, out);
  }
  foedus::Status read_at(Table table, const KeyView& key, std::uint32_t offset,
                         std::span<std::byte> out) {
    const std::optional<std::string> row = find(table, key);
    if (!row) return foedus::ErrorCode::kNotFound;
    if (row->size() < offset + out.size()) return foedus::ErrorCode::kInvalidArgument;
    std::memcpy(out.data(), row->data() + offset, out.size());
    return {};
  }
  foedus::Status insert(Table table, const KeyView& key, std::string_view row) {
    if (table->spec.kind != TableKind::kArray && find(table, key)) {
      return foedus::ErrorCode::kAlreadyExists;
    }
    return put(table, key, row);
  }
  foedus::Status put(Table table, const KeyView& key, std::string_view row) {
    return store(table, stored(table, key), std::string(row));
  }
  foedus::Status write_at(Table table, const KeyView& key, std::uint32_t offset,
                          std::string_view part) {
    std::optional<std::string> row = find(table, key);
    if (!row) return foedus::ErrorCode::kNotFound;
    if (row->size() < offset + part.size()) return foedus::ErrorCode::kInvalidArgument;
    row->replace(offset, part.size(), part);
    return store(table, stored(table, key), *std::move(row));
  }
  foedus::Status erase(Table table, const KeyView& key) {
    if (!find(table, key)) return foedus::ErrorCode::kNotFound;
    return store(table, stored(table, key), std::nullopt);
  }
  foedus::Status append(Table table, std::string_view row) {
    return store(table, index_key(table->appended++), std::string(row));
  }
  void prefetch(Table, const KeyView&) {}
  template <class PartOf>
  foedus::Status read_many(Table table, std::size_t count, const PartOf& part_of) {
    return read_each(*this, table, count, part_of);
  }

  template <class V>
  foedus::Status scan(Table table, const ScanRange& range, V&& visit) {
    const bool is_append = table->spec.kind == TableKind::kAppend;
    auto& rows = table->by_key;
    const auto begin = is_append ? rows.begin() : rows.lower_bound(std::string(range.low));
    const auto end = is_append || range.high.empty() ? rows.end()
                                                     : rows.lower_bound(std::string(range.high));
    std::vector<std::pair<std::string, std::string>> found(begin, end);
    if (range.reverse) found.assign(std::reverse_iterator(end), std::reverse_iterator(begin));
    for (std::uint64_t i = 0; i < range.limit && i < found.size(); ++i) {
      if (!visit(is_append ? std::string_view() : found[i].first, found[i].second)) break;
    }
    return {};
  }

  void undo() {
    for (; !old_.empty(); old_.pop_back()) {
      Old& old = old_.back();
      if (old.row) {
        old.table->by_key[old.key] = *std::move(old.row);
      } else {
        old.table->by_key.erase(old.key);
      }
    }
  }

 private:
  struct Old {
    Table table;
    std::string key;
    std::optional<std::string> row;
  };

  static std::string index_key(std::uint64_t index) {
    std::string key;
    for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(index >> shift);
    return key;
  }
  static std::string stored(Table table, const KeyView& key) {
    return table->spec.kind == TableKind::kArray ? index_key(key.index) : std::string(key.bytes);
  }
  static std::optional<std::string> find(Table table, const KeyView& key) {
    const auto found = table->by_key.find(stored(table, key));
    if (found != table->by_key.end()) return found->second;
    if (table->spec.kind == TableKind::kArray && key.index < table->spec.records) {
      return std::string(table->spec.row_bytes, '\0');
    }
    return std::nullopt;
  }
  foedus::Status store(Table table, std::string key, std::optional<std::string> row) {
    if (read_only_) return foedus::ErrorCode::kInvalidArgument;
    const auto found = table->by_key.find(key);
    old_.push_back({table, key, std::nullopt});
    if (found != table->by_key.end()) old_.back().row = found->second;
    if (row) {
      table->by_key[std::move(key)] = *std::move(row);
    } else {
      table->by_key.erase(key);
    }
    return {};
  }

  const bool read_only_;
  std::vector<Old> old_;
};

class MapWorker {
 public:
  explicit MapWorker(MapStore* store) : store_(store) {}

  template <class F>
  foedus::Status transact(F&& function) {
    return transact_with<MapTxn>(function);
  }
  template <class F>
  foedus::Status read_only(F&& function) {
    return read_only_with<MapTxn>(function);
  }
  // Runs another type of transaction, derived from MapTxn.
  template <class Txn, class F>
  foedus::Status transact_with(F&& function) {
    return run<Txn>(function, false);
  }
  template <class Txn, class F>
  foedus::Status read_only_with(F&& function) {
    return run<Txn>(function, true);
  }
  Counters counters() const { return counters_; }
  std::uint64_t last_commit() const { return last_commit_; }

 private:
  template <class Txn, class F>
  foedus::Status run(F& function, bool read_only) {
    const std::lock_guard guard(store_->mutex);
    Txn txn(read_only);
    foedus::Status status = function(txn);
    if (status.is_ok()) {
      ++counters_.commits;
      last_commit_ = ++store_->commits;
    } else {
      txn.undo();
      ++counters_.rollbacks;
    }
    return status;
  }

  MapStore* store_;
  Counters counters_;
  std::uint64_t last_commit_ = 0;
};

class MapBackend {
 public:
  using Table = MapTxn::Table;
  using Txn = MapTxn;
  using Worker = MapWorker;

  foedus::Result<Table> open_table(const TableSpec& spec) {
    for (MapStore::Rows& rows : store_->tables) {
      if (rows.spec.name == spec.name) return &rows;
    }
    store_->tables.push_back({spec, {}, 0});
    return &store_->tables.back();
  }
  foedus::Result<Worker> new_worker() { return Worker(store_.get()); }
  std::uint64_t last_commit_token(Worker& worker) { return worker.last_commit(); }
  std::uint64_t durable_token() {
    const std::lock_guard guard(store_->mutex);
    return store_->commits;
  }
  foedus::Status wait_durable() { return {}; }
  std::string name() const { return "map"; }
  void fill_stats(StatsLine&) {}

  const MapStore& store() const { return *store_; }

 protected:
  MapStore* mutable_store() { return store_.get(); }

 private:
  std::unique_ptr<MapStore> store_ = std::make_unique<MapStore>();
};

static_assert(Backend<MapBackend>);

}  // namespace experiments
