#include "foedus-core/table/drop.h"

#include <string>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/process.h"
#include "foedus/key.h"
#include "foedus/table.h"

namespace foedus {

namespace table {

namespace {

constexpr TxnOptions durable() { return {.durability = Durability::kSync}; }

Status drop_if_there(Database& db, std::string_view storage) {
  Status dropped = db.drop_storage(storage);
  return dropped.code() == ErrorCode::kNotFound ? Status() : dropped;
}

// Drops the storages that the row says are dropped.
Status drop_storages(Database& db, std::string_view table, const DefinitionRow& row) {
  for (const StoredIndex& index : row.indexes) {
    if (!row.is_dropped && !index.is_dropped) continue;
    FOEDUS_CHECK(drop_if_there(db, storage_name(table, index.name)));
  }
  return row.is_dropped ? drop_if_there(db, table) : Status();
}

Status no_table(std::string_view table) {
  return Status::error(ErrorCode::kNotFound,
                       "there is no table '" + std::string(table) + "' in the database");
}

}  // namespace

std::mutex& definition_mutex() {
  static std::mutex mutex;
  // A child that opens a table of its own finds the mutex free.
  [[maybe_unused]] static const bool is_registered =
      (base::at_fork([] { mutex.lock(); }, [] { mutex.unlock(); }), true);
  return mutex;
}

Result<std::optional<DefinitionRow>> find_definition(Txn& txn, const Masstree& definitions,
                                                     std::string_view table) {
  const Result<std::string> payload = txn.get(definitions, key(table));
  if (payload.code() == ErrorCode::kNotFound) return std::optional<DefinitionRow>();
  FOEDUS_CHECK(payload);
  FOEDUS_TRY(DefinitionRow row, decoded(*payload));
  return std::optional<DefinitionRow>(std::move(row));
}

Status finish_drops(Database& db, const Masstree& definitions, std::string_view table) {
  FOEDUS_TRY(const std::optional<DefinitionRow> row,
             db.transact([&](Txn& txn) { return find_definition(txn, definitions, table); }));
  if (!row.has_value()) return {};
  DefinitionRow kept{.generation = row->generation + 1, .key_kinds = row->key_kinds};
  for (const StoredIndex& index : row->indexes) {
    if (!index.is_dropped) kept.indexes.push_back(index);
  }
  if (!row->is_dropped && kept.indexes.size() == row->indexes.size()) return {};
  FOEDUS_CHECK(drop_storages(db, table, *row));
  return db.transact(
      [&](Txn& txn) {
        return row->is_dropped ? txn.erase(definitions, key(table))
                               : txn.put(definitions, key(table), encoded(kept));
      },
      durable());
}

Result<bool> drop_indexes(Database& db, const Masstree& definitions, std::string_view table,
                          const std::function<bool(const StoredIndex&)>& is_chosen) {
  FOEDUS_TRY(const bool is_any, db.transact(
                                    [&](Txn& txn) -> Result<bool> {
                                      FOEDUS_TRY(auto row,
                                                 find_definition(txn, definitions, table));
                                      if (!row.has_value()) return no_table(table);
                                      bool is_found = false;
                                      for (StoredIndex& index : row->indexes) {
                                        if (index.is_dropped || !is_chosen(index)) continue;
                                        index.is_dropped = is_found = true;
                                      }
                                      if (!is_found) return false;
                                      ++row->generation;
                                      FOEDUS_CHECK(txn.put(definitions, key(table), encoded(*row)));
                                      return true;
                                    },
                                    durable()));
  FOEDUS_CHECK(finish_drops(db, definitions, table));
  return is_any;
}

}  // namespace table

Status drop_index(Database& db, std::string_view table, std::string_view index) {
  return base::catching([&]() -> Status {
    const std::lock_guard<std::mutex> lock(table::definition_mutex());
    FOEDUS_TRY(const Masstree definitions, db.open_masstree(table::kDefinitions));
    FOEDUS_TRY(const bool was_there,
               table::drop_indexes(db, definitions, table, [&](const table::StoredIndex& one) {
                 return one.name == index;
               }));
    if (was_there) return {};
    return Status::error(ErrorCode::kNotFound, "table '" + std::string(table) + "' has no index '" +
                                                   std::string(index) + "'");
  });
}

Status drop_table(Database& db, std::string_view table) {
  return base::catching([&]() -> Status {
    const std::lock_guard<std::mutex> lock(table::definition_mutex());
    FOEDUS_TRY(const Masstree definitions, db.open_masstree(table::kDefinitions));
    FOEDUS_CHECK(db.transact(
        [&](Txn& txn) -> Status {
          FOEDUS_TRY(auto row, table::find_definition(txn, definitions, table));
          if (!row.has_value()) return table::no_table(table);
          row->is_dropped = true;
          ++row->generation;
          return txn.put(definitions, key(table), table::encoded(*row));
        },
        table::durable()));
    return table::finish_drops(db, definitions, table);
  });
}

}  // namespace foedus
