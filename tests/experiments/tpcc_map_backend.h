#pragma once
// MapBackend: the simplest store that can be right. Tables are std::map, a transaction holds the
// one lock from begin to end and keeps what it must undo. Transaction code and checks that pass
// over it are right by themselves, whatever the engine does.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
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
#include "foedus/key.h"

namespace experiments {

struct MapTable {
  TableSpec spec;
  std::map<std::string, std::string, std::less<>> rows;
};

class MapTxn {
 public:
  using Table = MapTable*;

  foedus::Status get(Table table, const KeyView& key, std::span<std::byte> out) {
    const std::string* const row = find(table, key);
    if (row == nullptr) return foedus::ErrorCode::kNotFound;
    if (row->size() != out.size()) return foedus::ErrorCode::kInvalidArgument;
    std::memcpy(out.data(), row->data(), out.size());
    return {};
  }
  foedus::Status get_for_update(Table table, const KeyView& key, std::span<std::byte> out) {
    return get(table, key, out);
  }
  foedus::Status read_at(Table table, const KeyView& key, std::uint32_t offset,
                         std::span<std::byte> out) {
    const std::string* const row = find(table, key);
    if (row == nullptr) return foedus::ErrorCode::kNotFound;
    if (offset + out.size() > row->size()) return foedus::ErrorCode::kInvalidArgument;
    std::memcpy(out.data(), row->data() + offset, out.size());
    return {};
  }
  foedus::Status insert(Table table, const KeyView& key, std::string_view row) {
    const bool is_array = table->spec.kind == TableKind::kArray;
    if (!is_array && find(table, key) != nullptr) return foedus::ErrorCode::kAlreadyExists;
    return put(table, key, row);
  }
  foedus::Status put(Table table, const KeyView& key, std::string_view row) {
    if (table->spec.kind == TableKind::kArray &&
        (key.index >= table->spec.records || row.size() != table->spec.row_bytes)) {
      return foedus::ErrorCode::kInvalidArgument;
    }
    remember(table, place(table, key));
    table->rows[place(table, key)] = row;
    return {};
  }
  foedus::Status write_at(Table table, const KeyView& key, std::uint32_t offset,
                          std::string_view part) {
    const std::string* const row = find(table, key);
    if (row == nullptr) return foedus::ErrorCode::kNotFound;
    if (offset + part.size() > row->size()) return foedus::ErrorCode::kInvalidArgument;
    std::string changed = *row;
    changed.replace(offset, part.size(), part);
    return put(table, key, changed);
  }
  foedus::Status erase(Table table, const KeyView& key) {
    if (find(table, key) == nullptr) return foedus::ErrorCode::kNotFound;
    remember(table, place(table, key));
    table->rows.erase(place(table, key));
    return {};
  }
  foedus::Status append(Table table, std::string_view row) {
    const std::string key(foedus::key(std::uint64_t{table->rows.size()}).view());
    remember(table, key);
    table->rows[key] = row;
    return {};
  }
  template <typename Visit>
  foedus::Status scan(Table table, const ScanRange& range, Visit&& visit) {
    const bool has_keys = table->spec.kind != TableKind::kAppend;
    auto begin = has_keys ? table->rows.lower_bound(range.low) : table->rows.begin();
    auto end =
        has_keys && !range.high.empty() ? table->rows.lower_bound(range.high) : table->rows.end();
    for (std::uint64_t n = 0; n < range.limit && begin != end; ++n) {
      const auto at = range.reverse ? --end : begin++;
      if (!visit(has_keys ? std::string_view(at->first) : std::string_view(), at->second)) break;
    }
    return {};
  }
  void prefetch(Table, const KeyView&) {}

  void undo() {
    for (auto entry = undo_.rbegin(); entry != undo_.rend(); ++entry) {
      if (entry->before.has_value()) {
        entry->table->rows[entry->key] = *entry->before;
      } else {
        entry->table->rows.erase(entry->key);
      }
    }
  }

 private:
  struct Undo {
    Table table;
    std::string key;
    std::optional<std::string> before;
  };

  static std::string place(Table table, const KeyView& key) {
    if (table->spec.kind != TableKind::kArray) return std::string(key.bytes);
    return std::string(foedus::key(key.index).view());
  }
  static const std::string* find(Table table, const KeyView& key) {
    const auto found = table->rows.find(place(table, key));
    return found == table->rows.end() ? nullptr : &found->second;
  }
  void remember(Table table, const std::string& key) {
    const auto found = table->rows.find(key);
    undo_.push_back(
        {table, key,
         found == table->rows.end() ? std::nullopt : std::optional<std::string>(found->second)});
  }

  std::vector<Undo> undo_;
};

class MapBackend {
 public:
  using Table = MapTable*;
  using Txn = MapTxn;

  class Worker {
   public:
    explicit Worker(MapBackend* backend) : backend_(backend) {}

    // The first try of every third transaction is undone and run again, as after a conflict.
    template <typename F>
    foedus::Status transact(F&& f) {
      const std::lock_guard guard(*backend_->mutex_);
      if (++begun_ % 3 == 0) {
        MapTxn first;
        (void)f(first).is_ok();
        first.undo();
        ++counters_.conflicts["on_purpose"];
      }
      MapTxn txn;
      foedus::Status status = f(txn);
      if (!status.is_ok()) txn.undo();
      ++(status.is_ok() ? counters_.commits : counters_.rollbacks);
      token_ = ++backend_->commits_;
      return status;
    }
    template <typename F>
    foedus::Status read_only(F&& f) {
      return transact(f);
    }
    Counters counters() const { return counters_; }

   private:
    friend class MapBackend;
    MapBackend* backend_;
    Counters counters_;
    std::uint64_t begun_ = 0;
    std::uint64_t token_ = 0;
  };

  foedus::Result<Table> open_table(const TableSpec& spec) {
    std::unique_ptr<MapTable>& table = tables_[spec.name];
    if (table == nullptr) {
      table = std::make_unique<MapTable>(MapTable{spec, {}});
      if (spec.kind == TableKind::kArray) {
        for (std::uint64_t i = 0; i < spec.records; ++i) {
          table->rows[std::string(foedus::key(i).view())] = std::string(spec.row_bytes, '\0');
        }
      }
    }
    return table.get();
  }
  foedus::Result<Worker> new_worker() { return Worker(this); }
  std::uint64_t last_commit_token(Worker& worker) { return worker.token_; }
  std::uint64_t durable_token() { return durable_; }
  foedus::Status wait_durable() {
    const std::lock_guard guard(*mutex_);
    durable_ = commits_;
    return {};
  }
  std::string name() const { return "map"; }
  void fill_stats(StatsLine&) {}

 private:
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  // guards what follows
  std::map<std::string, std::unique_ptr<MapTable>> tables_;
  std::uint64_t commits_ = 0;
  std::atomic<std::uint64_t> durable_{0};
};

static_assert(Backend<MapBackend>);

}  // namespace experiments
