#pragma once
// Table: rows of one type under keys of one type, with indexes that change in the same transaction.
// foedus.h does not include this header.
//
//     struct Person { char city[24]; int born; char email[40]; };
//     using People = foedus::Table<std::uint64_t, Person,
//         foedus::Index<"by_city", [](const Person& p) { return std::tie(p.city, p.born); }>,
//         foedus::UniqueIndex<"by_email", &Person::email>>;
//
//     FOEDUS_TRY(const People people, People::open(db, "people"));
//     FOEDUS_CHECK(people.insert(txn, 7, person));  // kAlreadyExists names the email's index
//     FOEDUS_TRY(const People::Entry found, people.find_unique<"by_email">(txn, "a@example.org"));
//     auto rows = people.find<"by_city">(txn, "Paris");  // in the order of the years
//     for (const auto& [key, row] : rows) sum += row.born;
//     if (auto failure = rows.failure()) return *failure;
//
// KeyType   a part of a key that decode() returns, or a std::tuple of such; rows are in their order
// RowType   a PlainRow, a std::string, or a type with a Codec (foedus/codec.h)
// Indexes   Index and UniqueIndex (foedus/table_index.h), up to 64
//
// What lies in the database. The rows of table "people" are the Master-Tree `people`, under
// key(the key). Index "by_city" is the Master-Tree `people.by_city`. It has a record of the key
// key(columns…, parts of the row's key…) for each entry; a unique index has key(columns…), with the
// row's key as payload. The Master-Tree `foedus.tables` has a row for each table, which says of
// each index its kind, its columns, and whether it is complete. All changes go through a Table;
// check() finds what was changed past it.
//
// Transactions. Operations are those of foedus/txn.h on these storages. So they are serializable:
// of two transactions that insert one value of a unique index, one conflicts, and so does a
// transaction that has read a range of an index to which another one has added an entry. Only
// entries that change are written. Errors: those of Txn, and
//   kInvalidArgument   also: the indexes of the table are not those with which this handle was
//                      opened, because one was added or dropped since. Open the table again
//   kCorruption        also: rows and indexes differ, or a key is not of type KeyType
// A write that is refused with kAlreadyExists, kNotFound, kInvalidArgument, or kTooLarge for the
// row or an entry, changes nothing, and the transaction goes on. A write may fail otherwise after
// it has written a part of the row: memory, the log, or the transaction's share of it are used up.
// Then it rolls the transaction back before it returns. Any later call of the transaction returns
// kClosed, so that no half of a row can be committed.
//
// A Table is a small value to copy. It is constant once it is open: any thread may use it.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "foedus/codec.h"
#include "foedus/database.h"
#include "foedus/key.h"
#include "foedus/key_decode.h"
#include "foedus/status.h"
#include "foedus/table_index.h"
#include "foedus/table_rows.h"
#include "foedus/table_storages.h"
#include "foedus/txn.h"

namespace foedus {

struct TableOptions {
  // open() fills indexes that are not complete before it returns. If false, the table is there at
  // once. Its indexes are kept up to date from then on, but are not read (kNotSupported) before a
  // call of fill() has completed them. So a large table can be written meanwhile.
  bool fills_indexes = true;
};

template <typename KeyType, typename RowType, typename... Indexes>
class Table {
 public:
  using Entry = TableEntry<KeyType, RowType>;
  using Rows = TableRows<KeyType, RowType>;

  // Copies only, so that there is no table without storages.
  Table(const Table&) = default;
  Table& operator=(const Table&) = default;

  // ---- the table as a whole ------------------------------------------------------------------

  // Opens the table of that name, and makes it if it is missing. Adds indexes that the table does
  // not have yet, and fills them from its rows, in transactions of some hundred rows. No index is
  // read before it is complete. After a crash meanwhile, the next open() completes them. Handles
  // that know the new indexes may write meanwhile; those that do not know them refuse to write from
  // then on (kInvalidArgument). Not within a transaction of the thread.
  //
  // kInvalidArgument: the name is empty, is `foedus.tables`, or is too long with that of an index;
  // it belongs to an index of another table, or that of a new index to another storage; the table
  // has another type of key; an index has another uniqueness or other kinds of columns; or the
  // table has an index that is not in `Indexes` (drop_index() removes it). Types of rows and
  // extractors are not recorded: a changed extractor needs a new name of its index.
  // kAlreadyExists: two rows have the same value of a new unique index. kTooLarge: the entry of a
  // row is too large for a new index. kCorruption, and what Codec::decode() returns: a row cannot
  // be decoded. After these, the indexes that were not complete are removed again. kCorruption also
  // if the rows are missing. Also the errors of open_masstree(), transact() and drop_storage().
  static Result<Table> open(Database& db, std::string_view name, const TableOptions& options = {}) {
    constexpr bool kIsValid = check();
    if constexpr (kIsValid) {
      FOEDUS_TRY(auto storages,
                 internal::TableStorages::open(db, name, kDefinition, options.fills_indexes));
      return Table(std::move(storages));
    } else {
      return ErrorCode::kInvalidArgument;  // never runs: check() does not compile
    }
  }
  // Completes the indexes that are not, beside other transactions. Returns at once if all are
  // complete. Errors: those of open(), but the index stays. So the rows can be mended and fill()
  // called again, or the index dropped.
  Status fill(Database& db) const { return storages_->fill(db); }
  // Compares the rows with all indexes, and returns kCorruption with the first difference.
  // kNotSupported: an index is not complete. Reads all of the table: use Database::snapshot().
  Status check(Txn& txn) const { return storages_->check(txn); }
  // Returns the name, valid while a copy of this handle is.
  std::string_view name() const { return storages_->name(); }

  // ---- rows by key ---------------------------------------------------------------------------

  // Returns a row. kNotFound.
  Result<RowType> get(Txn& txn, const KeyType& key) const { return row_at(txn, encoded_key(key)); }
  Result<bool> contains(Txn& txn, const KeyType& key) const {
    return txn.contains(storages_->rows(), encoded_key(key));
  }
  // Inserts a row. kAlreadyExists: the key exists, or a unique index has a row of the same value;
  // the message names the index. kTooLarge: also, an entry, which has columns and key, is over
  // kMaxKeyBytes; the message names the index.
  Status insert(Txn& txn, const KeyType& key, const RowType& row) const {
    return write(txn, key, row, internal::RowWrite::kInsert);
  }
  // Inserts a row, or overwrites it as a whole. Errors: as insert(), for unique indexes only.
  Status put(Txn& txn, const KeyType& key, const RowType& row) const {
    return write(txn, key, row, internal::RowWrite::kPut);
  }
  // Overwrites an existing row as a whole. kNotFound. Other errors: as put().
  Status update(Txn& txn, const KeyType& key, const RowType& row) const {
    return write(txn, key, row, internal::RowWrite::kUpdate);
  }
  // Erases a row. kNotFound.
  Status erase(Txn& txn, const KeyType& key) const {
    return storages_->erase(txn, encoded_key(key));
  }
  // Reads a row, calls function(RowType&), which changes it, and writes it. The function does not
  // write the row by itself. If it returns a Status that is an error, returns that and writes
  // nothing. kNotFound. Other errors: as put().
  template <std::invocable<RowType&> Function>
  Status modify(Txn& txn, const KeyType& key, Function&& function) const {
    const foedus::Key bytes = encoded_key(key);
    FOEDUS_TRY(RowType row, row_at(txn, bytes));
    std::string buffer;
    internal::IndexEntries before;
    internal::IndexEntries after;
    FOEDUS_CHECK(add_entries(row, &before));
    if constexpr (std::is_same_v<std::invoke_result_t<Function, RowType&>, Status>) {
      FOEDUS_CHECK(std::invoke(function, row));
    } else {
      static_assert(std::is_void_v<std::invoke_result_t<Function, RowType&>>,
                    "foedus: the function of modify() returns foedus::Status or nothing");
      std::invoke(function, row);
    }
    FOEDUS_CHECK(add_entries(row, &after));
    return storages_->replace(txn, bytes, internal::encoded(row, &buffer), before, after);
  }

  // ---- ranges of rows by key -----------------------------------------------------------------
  // `low`, `high` and `prefix` are a part, or a std::tuple of the first parts of the key.
  // kUnbounded is no bound.

  // Returns all rows.
  Rows scan(Txn& txn, const ScanOptions& options = {}) const {
    return rows(txn, internal::RowCursor::kByKey, {}, {}, options);
  }
  // Returns the rows with low <= key < high.
  template <typename Low, typename High>
  Rows scan(Txn& txn, const Low& low, const High& high, const ScanOptions& options = {}) const {
    return rows(txn, internal::RowCursor::kByKey, internal::looked_for<KeyParts>(low),
                internal::looked_for<KeyParts>(high), options);
  }
  // Returns the rows whose first parts equal those of the prefix; the last one, if it is a string,
  // only has to begin with that.
  template <typename Prefix>
  Rows scan_prefix(Txn& txn, const Prefix& prefix, const ScanOptions& options = {}) const {
    const foedus::Key low = internal::looked_for<KeyParts>(prefix, true);
    return rows(txn, internal::RowCursor::kByKey, low, prefix_end(low), options);
  }

  // ---- rows by an index ----------------------------------------------------------------------
  // kName is that of an index: find<"by_city">(txn, "Paris"). Rows come in the order of the
  // columns, and of their keys where these are equal; a row comes once for each of its entries.
  // `columns`, `low`, `high` and `prefix` are a part, or a std::tuple of the first columns.
  // kNotSupported: the index is not complete, or was not in the snapshot that is read. In a
  // transaction of Isolation::kDirtyRead, which may see a row and its entries at different times,
  // kCorruption need not mean damage.

  // Returns the row whose columns in the unique index have these values, all of them. kNotFound.
  template <IndexName kName, typename Columns>
  Result<Entry> find_unique(Txn& txn, const Columns& columns) const {
    using Types = ColumnsOf<kName>;
    constexpr std::size_t kIndex = position_of<kName>();
    static_assert(kDefinitions[kIndex].is_unique, "foedus: find_unique() is for a UniqueIndex");
    static_assert(internal::Columns<Columns>::kCount == std::tuple_size_v<Types>,
                  "foedus: find_unique() takes all columns of its index");
    FOEDUS_TRY(const std::string key,
               storages_->key_by(txn, kIndex, internal::looked_for<Types>(columns)));
    Result<RowType> row = row_at(txn, key);
    if (row.code() == ErrorCode::kNotFound) return storages_->dangling(txn, kIndex, key);
    if (!row.is_ok()) return row.status();
    Result<KeyType> parts = internal::decoded_key<KeyType>(key);
    if (!parts.is_ok()) return storages_->at_row(parts.status(), key);
    return Entry{*std::move(parts), *std::move(row)};
  }
  // Returns the rows whose first columns equal these.
  template <IndexName kName, typename Columns>
  Rows find(Txn& txn, const Columns& columns, const ScanOptions& options = {}) const {
    const foedus::Key low = internal::looked_for<ColumnsOf<kName>>(columns);
    return rows(txn, position_of<kName>(), low, prefix_end(low), options);
  }
  // Returns all rows that have an entry.
  template <IndexName kName>
  Rows find_all(Txn& txn, const ScanOptions& options = {}) const {
    return rows(txn, position_of<kName>(), {}, {}, options);
  }
  // Returns the rows with low <= columns < high. Where a bound has fewer columns than the index,
  // the further ones do not count.
  template <IndexName kName, typename Low, typename High>
  Rows find_range(Txn& txn, const Low& low, const High& high,
                  const ScanOptions& options = {}) const {
    return rows(txn, position_of<kName>(), internal::looked_for<ColumnsOf<kName>>(low),
                internal::looked_for<ColumnsOf<kName>>(high), options);
  }
  // Like find(), but the last column of the prefix, if it is a string, only has to begin with it.
  template <IndexName kName, typename Prefix>
  Rows find_prefix(Txn& txn, const Prefix& prefix, const ScanOptions& options = {}) const {
    const foedus::Key low = internal::looked_for<ColumnsOf<kName>>(prefix, true);
    return rows(txn, position_of<kName>(), low, prefix_end(low), options);
  }
  // Returns how many entries find() and find_range() would meet. Reads no rows.
  template <IndexName kName, typename Columns>
  Result<std::uint64_t> count(Txn& txn, const Columns& columns) const {
    const foedus::Key low = internal::looked_for<ColumnsOf<kName>>(columns);
    return storages_->count(txn, position_of<kName>(), low, prefix_end(low));
  }
  template <IndexName kName, typename Low, typename High>
  Result<std::uint64_t> count_range(Txn& txn, const Low& low, const High& high) const {
    return storages_->count(txn, position_of<kName>(), internal::looked_for<ColumnsOf<kName>>(low),
                            internal::looked_for<ColumnsOf<kName>>(high));
  }

 private:
  using KeyColumns = internal::Columns<KeyType>;
  using KeyParts = typename KeyColumns::Types;

  explicit Table(std::shared_ptr<const internal::TableStorages> storages)
      : storages_(std::move(storages)) {}

  // Says in one line what is wrong with the types.
  static consteval bool check() {
    constexpr bool kIsKey = DecodablePart<KeyType> && KeyColumns::kAreParts;
    constexpr bool kIsRow = internal::kHasCodec<RowType>;
    static_assert(kIsKey,
                  "foedus: the key of a table is an integer, an enum, a bool, a double, a float, a "
                  "std::string, a BigEndian, or a std::tuple of these");
    static_assert(kIsRow,
                  "foedus: the row of a table is trivially copyable (no pointer or view), a "
                  "std::string, or a type for which foedus::Codec is specialized");
    static_assert(sizeof...(Indexes) <= 64, "foedus: a table has at most 64 indexes");
    if constexpr (kIsKey && kIsRow && sizeof...(Indexes) <= 64) {
      if constexpr ((internal::check_index<Indexes, RowType>() && ...)) {
        static_assert(are_different(), "foedus: two indexes of a table have the same name");
        return are_different();
      } else {
        return false;
      }
    } else {
      return false;
    }
  }
  static consteval bool are_different() {
    const std::array<std::string_view, sizeof...(Indexes)> names = {Indexes::name()...};
    for (std::size_t at = 0; at < names.size(); ++at) {
      for (std::size_t before = 0; before < at; ++before) {
        if (names[at] == names[before]) return false;
      }
    }
    return true;
  }
  template <IndexName kName>
  static consteval std::size_t position_of() {
    constexpr bool kIsThere = ((Indexes::name() == kName.view()) || ...);
    static_assert(kIsThere, "foedus: the table has no index of this name");
    std::size_t position = 0;
    const bool found = ((Indexes::name() == kName.view() || (++position, false)) || ...);
    return found ? position : 0;
  }
  template <IndexName kName>
  using ColumnsOf = typename internal::IndexColumns<
      std::tuple_element_t<position_of<kName>(), std::tuple<Indexes...>>, RowType>::Parts::Types;

  static Status extract(std::string_view payload, internal::IndexEntries* entries) {
    FOEDUS_TRY(const RowType row, Codec<RowType>::decode(payload));
    return add_entries(row, entries);
  }
  static Status add_entries(const RowType& row, internal::IndexEntries* entries) {
    [[maybe_unused]] std::size_t index = 0;
    (internal::IndexColumns<Indexes, RowType>::add(index++, row, entries), ...);
    return entries->finish();
  }

  static constexpr std::array<internal::IndexDefinition, sizeof...(Indexes)> kDefinitions = {
      internal::IndexDefinition{
          Indexes::name(),
          internal::kinds_of<typename internal::IndexColumns<Indexes, RowType>::Parts>(),
          Indexes::kIsUnique}...};
  static constexpr internal::TableDefinition kDefinition = {internal::kinds_of<KeyColumns>(),
                                                            kDefinitions, &Table::extract};

  static foedus::Key encoded_key(const KeyType& key) {
    foedus::Key bytes;
    bytes.append(key);
    return bytes;
  }
  Result<RowType> row_at(Txn& txn, std::string_view key) const {
    if constexpr (PlainRow<RowType> && internal::DefaultCodec<RowType>) {
      return txn.get_as<RowType>(storages_->rows(), key);
    } else {
      FOEDUS_TRY(const std::string payload, txn.get(storages_->rows(), key));
      return decoded(key, payload);
    }
  }
  Result<RowType> decoded(std::string_view key, std::string_view payload) const {
    Result<RowType> row = Codec<RowType>::decode(payload);
    if (!row.is_ok()) return storages_->at_row(row.status(), key);
    return row;
  }
  Status write(Txn& txn, const KeyType& key, const RowType& row, internal::RowWrite how) const {
    std::string buffer;
    internal::IndexEntries entries;
    FOEDUS_CHECK(add_entries(row, &entries));
    return storages_->write(txn, encoded_key(key), internal::encoded(row, &buffer), entries, how);
  }
  Rows rows(Txn& txn, std::size_t index, std::string_view low, std::string_view high,
            const ScanOptions& options) const {
    return Rows(internal::RowCursor(txn, storages_, index, low, high, options));
  }

  std::shared_ptr<const internal::TableStorages> storages_;
};

// Removes an index of a table, whether it is complete or not. Handles that know the index refuse
// writes from then on. A crash meanwhile is no harm: the next open() or drop ends the work. Not
// within a transaction of the thread. kNotFound: there is no such table or index. Also the errors
// of transact() and drop_storage().
Status drop_index(Database& db, std::string_view table, std::string_view index);
// Removes a table with all its rows and indexes. Otherwise as drop_index().
Status drop_table(Database& db, std::string_view table);

}  // namespace foedus
