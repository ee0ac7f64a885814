#pragma once
// The part of a table (foedus/table.h) that is the same for all types of keys and rows. Programs
// use Table.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/status.h"
#include "foedus/storage.h"
#include "foedus/txn.h"

namespace foedus {

class Database;

namespace internal {

// The entries that one row has in the indexes of its table, without the row's key.
class IndexEntries {
 public:
  struct Entry {
    std::uint32_t index;  // position in the definition of the table
    std::string_view columns;
  };

  IndexEntries() noexcept {}  // NOLINT: `= default` could not make a constant
  IndexEntries(const IndexEntries&) = delete;
  IndexEntries& operator=(const IndexEntries&) = delete;

  void add(std::size_t index, std::string_view columns) noexcept;
  // Sorts the entries by index and columns, and takes away those that are there twice. Ends the
  // phase of add(). kOutOfMemory if an add() had no memory.
  Status finish() noexcept;
  // Returns the entries, valid while this object is. REQUIRES: finish() has succeeded.
  std::span<const Entry> all() const { return all_; }

 private:
  // In place of memory of the heap for the rows of most tables.
  static constexpr std::size_t kEntriesHere = 8;
  static constexpr std::size_t kBytesHere = 256;
  struct Place {
    std::uint32_t index;
    std::uint32_t begin;
    std::uint32_t bytes;
  };

  void add_to_heap(const Place& place, std::string_view columns);

  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  bool is_out_of_memory_ = false;
  std::span<const Entry> all_;
  // Uninitialized beyond count_ and bytes_, on purpose.
  Place places_here_[kEntriesHere];
  Entry entries_here_[kEntriesHere];
  char bytes_here_[kBytesHere];
  // Used in place of these once the entries are too many, or too long.
  std::vector<Place> places_;
  std::vector<Entry> entries_;
  std::string text_;
};

struct IndexDefinition {
  std::string_view name;
  std::string_view kinds;  // of its columns, a letter for each: part_kind()
  bool is_unique;
};

// What the type of a table says. Lives as long as the program.
struct TableDefinition {
  std::string_view key_kinds;
  std::span<const IndexDefinition> indexes;
  // Decodes a row, adds its entries to *entries, and finishes them.
  Status (*extract)(std::string_view payload, IndexEntries* entries);
};

enum class RowWrite : std::uint8_t { kInsert, kPut, kUpdate };

class RowCursor;

// The storages of an open table. Constant once it is open. Any thread.
class TableStorages {
 public:
  static Result<std::shared_ptr<const TableStorages>> open(Database& db, std::string_view name,
                                                           const TableDefinition& definition,
                                                           bool fills);
  Status fill(Database& db) const;
  Status check(Txn& txn) const;

  std::string_view name() const { return rows_.name(); }
  const Masstree& rows() const { return rows_; }

  Status write(Txn& txn, std::string_view key, std::string_view payload,
               const IndexEntries& entries, RowWrite how) const;
  // Overwrites a row that the transaction has read, and that had the entries `before`.
  Status replace(Txn& txn, std::string_view key, std::string_view payload,
                 const IndexEntries& before, const IndexEntries& after) const;
  Status erase(Txn& txn, std::string_view key) const;

  // Returns the key of the row with these columns in a unique index. kNotFound.
  Result<std::string> key_by(Txn& txn, std::size_t index, std::string_view columns) const;
  Result<std::uint64_t> count(Txn& txn, std::size_t index, std::string_view low,
                              std::string_view high) const;

  // Adds to a failure where it happened.
  Status at_row(Status status, std::string_view key) const;
  // Returns the error of an entry of an index that leads to no row: kConflict if the transaction's
  // reads do not hold, else kCorruption.
  Status dangling(Txn& txn, std::size_t index, std::string_view key) const;

 private:
  friend class RowCursor;
  struct OpenIndex {
    Masstree storage;
    std::uint64_t added = 0;  // generation of the table with which the index was added
    unsigned slot = 0;        // its bit in the complete ones
  };
  struct Change;

  TableStorages(const TableDefinition& definition, std::string_view name);
  // Opens the storages, and makes those that are missing.
  Status open_storages(Database& db, std::string_view name);
  Status drop_incomplete(Database& db) const;
  const IndexDefinition& definition_of(std::size_t index) const {
    return definition_->indexes[index];
  }
  std::string described(std::size_t index) const;  // "index 'by_city' of table 'people'"
  bool is_complete(std::uint64_t complete, std::size_t index) const {
    return (complete >> indexes_[index].slot & 1) != 0;
  }

  // Return the bits of the indexes that are complete, in the transaction's view.
  Result<std::uint64_t> writable(Txn& txn) const;
  Result<std::uint64_t> slowly_writable(Txn& txn) const;
  // Fails unless the index is complete.
  Status check_readable(Txn& txn, std::size_t index) const;
  Status slowly_check_readable(Txn& txn, std::size_t index) const;

  Status check_sizes(std::string_view key, std::string_view payload,
                     const IndexEntries& entries) const;
  Status add_entries(Txn& txn, const Change& change) const;
  Status overwrite(Txn& txn, const Change& change, std::string_view payload) const;
  Status claim_unique(Txn& txn, const Change& change, std::size_t* claimed) const;
  Status give_back(Txn& txn, const Change& change, std::size_t claimed) const;
  Status change_entries(Txn& txn, const Change& change) const;
  Status add_entry(Txn& txn, const Change& change, const IndexEntries::Entry& entry) const;
  Status erase_entry(Txn& txn, const Change& change, const IndexEntries::Entry& entry) const;
  Status half_written(Txn& txn, Status status) const;
  Status corrupt(Txn& txn, std::size_t index, std::string_view key, const char* problem) const;

  // Returns the part of an entry that is the row's key; empty if the entry is damaged.
  std::string_view key_in(std::size_t index, const Row& entry) const;

  Result<std::optional<std::string>> fill_batch(Txn& txn, std::size_t rows_max,
                                                const std::string& from) const;
  Status fill_entries(Txn& txn, std::uint64_t complete, std::string_view key,
                      const IndexEntries& entries) const;
  Status mark_complete(Txn& txn) const;
  Status check_rows(Txn& txn, std::vector<std::uint64_t>* counts) const;
  Status check_entries(Txn& txn, std::size_t index) const;

  const TableDefinition* definition_;
  std::uint64_t generation_ = 0;
  std::string row_key_;  // of the table's row in definitions_
  Masstree definitions_;
  Masstree rows_;
  std::vector<OpenIndex> indexes_;  // as in the definition
};

// Position in the rows of a table: by their keys, or by an index.
class RowCursor {
 public:
  static constexpr std::size_t kByKey = std::numeric_limits<std::size_t>::max();

  // Looks at the rows, or the entries of `index`, from `low` up to `high`, not included; an empty
  // `high` is above all.
  RowCursor(Txn& txn, std::shared_ptr<const TableStorages> storages, std::size_t index,
            std::string_view low, std::string_view high, const ScanOptions& options);

  // Moves to the next row. Returns false behind the last one, or after a failure.
  bool next();
  // The row's, valid until the next call of next().
  std::string_view key() const { return key_; }
  std::string_view payload() const { return payload_; }
  const Status& failure() const { return failure_; }
  // Ends the rows with this failure, which gets the table and the key.
  void fail(Status status);

 private:
  Status read_row();

  Txn* txn_;
  std::shared_ptr<const TableStorages> storages_;
  std::size_t index_;
  bool is_begun_ = false;
  std::optional<Scan> scan_;  // empty: there is nothing to scan, or no more
  std::string_view key_;
  std::string_view payload_;
  std::string buffer_;  // payload of a row that was found by an index
  Status failure_;
};

}  // namespace internal

}  // namespace foedus
