// Opening a table: its definition row, its storages, and the filling of new indexes.
#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/table/definition_row.h"
#include "foedus-core/table/drop.h"
#include "foedus/database.h"
#include "foedus/key.h"
#include "foedus/table_storages.h"

namespace foedus {

namespace table {

namespace {

using internal::IndexDefinition;
using internal::TableDefinition;

std::string in_quotes(std::string_view name) { return "'" + std::string(name) + "'"; }

Status refused(std::string text) {
  return Status::error(ErrorCode::kInvalidArgument, std::move(text));
}

// Returns the kinds of columns in words.
std::string in_words(std::string_view kinds) {
  std::string words = "(";
  for (const char kind : kinds) {
    if (words.size() > 1) words += ", ";
    words += kind == 'i'   ? "integer"
             : kind == 'f' ? "floating-point number"
             : kind == 's' ? "string"
                           : std::string("big_endian of ") + kind + " bytes";
  }
  return words + ")";
}

Status check_names(std::string_view name, const TableDefinition& definition) {
  if (name.empty()) return refused("the name of a table is empty");
  if (name == kDefinitions) {
    return refused("the name 'foedus.tables' is that of the definitions of tables; choose another");
  }
  std::string longest(name);
  for (const IndexDefinition& index : definition.indexes) {
    std::string storage = storage_name(name, index.name);
    if (storage.size() > longest.size()) longest = std::move(storage);
  }
  if (longest.size() <= kMaxStorageNameBytes) return {};
  return refused("the name " + in_quotes(longest) + " has " + std::to_string(longest.size()) +
                 " bytes, and that of a storage at most " + std::to_string(kMaxStorageNameBytes) +
                 "; choose a shorter name for the table or the index");
}

// The definition of a table that is opened, and what the database has of it.
class Definer {
 public:
  Definer(Txn& txn, const Masstree& definitions, std::string_view name,
          const TableDefinition& definition, const std::vector<StorageInfo>& storages)
      : txn_(txn),
        definitions_(definitions),
        name_(name),
        definition_(definition),
        storages_(storages) {}

  // Returns the definition row, with the indexes that are new.
  Result<DefinitionRow> define() {
    FOEDUS_TRY(std::optional<DefinitionRow> stored, find_definition(txn_, definitions_, name_));
    if (stored.has_value()) {
      row_ = *std::move(stored);
      FOEDUS_CHECK(check_stored());
    } else {
      FOEDUS_CHECK(check_is_no_index());
      row_.key_kinds = definition_.key_kinds;
      is_changed_ = true;
    }
    for (const IndexDefinition& index : definition_.indexes) FOEDUS_CHECK(define_index(index));
    if (is_changed_) {
      ++row_.generation;
      FOEDUS_CHECK(txn_.put(definitions_, key(name_), encoded(row_)));
    }
    return std::move(row_);
  }

 private:
  bool has_storage(std::string_view name) const {
    return std::any_of(storages_.begin(), storages_.end(),
                       [&](const StorageInfo& storage) { return storage.name == name; });
  }

  // Refuses a row of another type, or with indexes that this definition does not have.
  Status check_stored() const {
    if (row_.key_kinds != definition_.key_kinds) {
      return refused("the table has keys of " + in_words(row_.key_kinds) + ", not of " +
                     in_words(definition_.key_kinds) + "; open it with its type of key");
    }
    for (const StoredIndex& stored : row_.indexes) {
      const auto& indexes = definition_.indexes;
      if (std::none_of(indexes.begin(), indexes.end(),
                       [&](const IndexDefinition& index) { return index.name == stored.name; })) {
        return refused("the table has an index " + in_quotes(stored.name) +
                       " that this definition of it lacks, and would not keep; add it to the "
                       "definition, or drop_index() it");
      }
      if (!has_storage(name_) && has_storage(storage_name(name_, stored.name))) {
        return Status::error(ErrorCode::kCorruption,
                             "the rows of the table are missing, but its index " +
                                 in_quotes(stored.name) + " is there; drop_table() removes it");
      }
    }
    return {};
  }

  // Refuses a new table whose name is that of an index of another table.
  Status check_is_no_index() const {
    for (std::size_t dot = name_.find('.'); dot != std::string_view::npos;
         dot = name_.find('.', dot + 1)) {
      const std::string_view table = name_.substr(0, dot);
      if (table.empty()) continue;
      FOEDUS_TRY(std::optional<DefinitionRow> row, find_definition(txn_, definitions_, table));
      if (row.has_value() && row->find(name_.substr(dot + 1)) != nullptr) {
        return refused(in_quotes(name_) + " is an index of table " + in_quotes(table) +
                       "; choose another name");
      }
    }
    return {};
  }

  Status define_index(const IndexDefinition& index) {
    const std::string storage = storage_name(name_, index.name);
    StoredIndex* stored = row_.find(index.name);
    if (stored == nullptr) {
      FOEDUS_TRY(const std::optional<DefinitionRow> other,
                 find_definition(txn_, definitions_, storage));
      if (has_storage(storage) || other.has_value()) {  // Y5
        return refused("the storage " + in_quotes(storage) +
                       " is not of the table, and its index " + in_quotes(index.name) +
                       " would have the name; choose another name");
      }
      stored = &row_.indexes.emplace_back();
      *stored = {.name = std::string(index.name),
                 .kinds = std::string(index.kinds),
                 .is_unique = index.is_unique};
    } else if (stored->is_unique != index.is_unique || stored->kinds != index.kinds) {
      return refused("index " + in_quotes(index.name) + " of the table is " + described(*stored) +
                     ", and this definition of it is " +
                     described({.kinds = std::string(index.kinds), .is_unique = index.is_unique}) +
                     "; give the index another name, or drop_index() it");
    } else if (has_storage(storage) || !stored->is_complete) {
      return {};
    }
    // New, or its storage was dropped by hand. Either way all entries are missing.
    stored->is_complete = false;
    stored->added = row_.generation + 1;
    is_changed_ = true;
    return {};
  }

  static std::string described(const StoredIndex& index) {
    return (index.is_unique ? "unique over " : "not unique over ") + in_words(index.kinds);
  }

  Txn& txn_;
  const Masstree& definitions_;
  std::string_view name_;
  const TableDefinition& definition_;
  const std::vector<StorageInfo>& storages_;
  DefinitionRow row_;
  bool is_changed_ = false;
};

}  // namespace

}  // namespace table

namespace internal {

TableStorages::TableStorages(const TableDefinition& definition, std::string_view name)
    : definition_(&definition), row_key_(key(name).view()) {}

Result<std::shared_ptr<const TableStorages>> TableStorages::open(Database& db,
                                                                 std::string_view name,
                                                                 const TableDefinition& definition,
                                                                 bool fills) {
  return base::catching([&]() -> Result<std::shared_ptr<const TableStorages>> {
    const std::shared_ptr<TableStorages> opened(new TableStorages(definition, name));
    Status status = table::check_names(name, definition);
    if (status.is_ok()) status = opened->open_storages(db, name);
    if (status.is_ok() && fills) {
      status = opened->fill(db);
      // Neither this definition nor the one before could open the table with such an index.
      const bool is_refused =
          status.code() == ErrorCode::kAlreadyExists || status.code() == ErrorCode::kTooLarge ||
          status.code() == ErrorCode::kInvalidArgument || status.code() == ErrorCode::kCorruption;
      if (is_refused && base::catching([&] { return opened->drop_incomplete(db); }).is_ok()) {
        status = std::move(status.with_hint("the new index was removed again"));
      }
    }
    if (!status.is_ok()) return std::move(status.at_storage(name));
    return std::shared_ptr<const TableStorages>(opened);
  });
}

Status TableStorages::open_storages(Database& db, std::string_view name) {
  const std::lock_guard<std::mutex> lock(table::definition_mutex());
  FOEDUS_TRY(definitions_, db.open_masstree(table::kDefinitions));
  FOEDUS_CHECK(table::finish_drops(db, definitions_, name));
  FOEDUS_TRY(
      table::DefinitionRow row,
      db.transact(
          [&](Txn& txn) {
            return table::Definer(txn, definitions_, name, *definition_, db.storages()).define();
          },
          {.durability = Durability::kSync}));
  generation_ = row.generation;
  FOEDUS_TRY(rows_, db.open_masstree(name));  // before its indexes: they are none without it
  for (const IndexDefinition& index : definition_->indexes) {
    const table::StoredIndex* const stored = row.find(index.name);
    FOEDUS_TRY(Masstree storage, db.open_masstree(table::storage_name(name, index.name)));
    indexes_.push_back(
        {storage, stored->added, static_cast<unsigned>(stored - row.indexes.data())});
  }
  return {};
}

// Removes the indexes of this handle that could not be filled.
Status TableStorages::drop_incomplete(Database& db) const {
  const std::lock_guard<std::mutex> lock(table::definition_mutex());
  return table::drop_indexes(
             db, definitions_, name(),
             [this](const table::StoredIndex& stored) {
               for (std::size_t at = 0; at < indexes_.size(); ++at) {
                 if (definition_of(at).name == stored.name && indexes_[at].added == stored.added) {
                   return !stored.is_complete;
                 }
               }
               return false;
             })
      .status();
}

}  // namespace internal

}  // namespace foedus
