#pragma once
// Removing tables and indexes. What a table has changes in three steps, each durable before the
// next one, so that a crash between them leaves what the next open or drop can go on with:
//   an index is added      definition row, then its storage, then the mark that it is complete
//   an index is dropped    mark in the definition row, then its storage, then its part of the row
//   a table is dropped     the same with all its storages
//
//   Y5  A storage of an index has entries only while the definition row names the index. So one
//       that is there without the row is not of the table, and is not taken for an index.

#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "foedus-core/table/definition_row.h"
#include "foedus/database.h"

namespace foedus::table {

// Held while the steps above are taken, except for filling. Without it, the one drop could remove a
// storage that was made after another drop. One process has a database, so that a mutex of the
// process is enough.
std::mutex& definition_mutex();

// Returns the row of a table; nothing if there is none.
Result<std::optional<DefinitionRow>> find_definition(Txn& txn, const Masstree& definitions,
                                                     std::string_view table);

// Takes the last two steps of drops that have begun. REQUIRES: definition_mutex() is held.
Status finish_drops(Database& db, const Masstree& definitions, std::string_view table);

// Drops the indexes that `is_chosen` chooses among those that are not dropped. Returns whether
// there were any. kNotFound: there is no such table. REQUIRES: definition_mutex() is held.
Result<bool> drop_indexes(Database& db, const Masstree& definitions, std::string_view table,
                          const std::function<bool(const StoredIndex&)>& is_chosen);

}  // namespace foedus::table
