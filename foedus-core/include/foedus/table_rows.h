#pragma once
// TableRows: the rows that a scan of a table returns, see foedus/table.h.

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "foedus/codec.h"
#include "foedus/key_decode.h"
#include "foedus/status.h"
#include "foedus/table_storages.h"
#include "foedus/txn.h"

namespace foedus {

// A row of a table, with its key. For loops: `for (const auto& [key, row] : rows)`.
template <typename KeyType, typename RowType>
struct TableEntry {
  KeyType key;
  RowType row;
};

namespace internal {

template <typename KeyType>
Result<KeyType> decoded_key(std::string_view bytes) {
  FOEDUS_TRY(std::tuple<KeyType> parts, decode<KeyType>(bytes));
  return std::get<0>(std::move(parts));
}

}  // namespace internal

// The rows of a range, an input range for range-for, like a Scan: it ends early at any error, so
// check failure() after the loop. The Txn stays where it is while the rows are read. The
// transaction may call any operation meanwhile. A row that it moves ahead in the order of the scan
// is met again.
template <typename KeyType, typename RowType>
class TableRows {
 public:
  using Entry = TableEntry<KeyType, RowType>;

  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    // The entry is valid until the iterator moves on.
    const Entry& operator*() const { return *rows_->entry_; }
    const Entry* operator->() const { return &*rows_->entry_; }
    iterator& operator++() {
      rows_->next();
      return *this;
    }
    void operator++(int) { rows_->next(); }
    bool operator==(std::default_sentinel_t) const { return !rows_->entry_.has_value(); }

   private:
    friend class TableRows;
    explicit iterator(TableRows* rows) : rows_(rows) {}
    TableRows* rows_ = nullptr;
  };

  TableRows(TableRows&&) noexcept = default;
  TableRows& operator=(TableRows&&) = delete;

  // Moves to the first row at its first call. The rows have a single pass.
  iterator begin() {
    if (!is_begun_) next();
    return iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

  // Returns why the rows ended before the range did; empty if they did not.
  std::optional<Status> failure() const {
    return cursor_.failure().is_ok() ? std::nullopt : std::optional<Status>(cursor_.failure());
  }

 private:
  template <typename, typename, typename...>
  friend class Table;
  explicit TableRows(internal::RowCursor cursor) : cursor_(std::move(cursor)) {}

  void next() {
    is_begun_ = true;
    entry_.reset();
    if (!cursor_.next()) return;
    Result<KeyType> key = internal::decoded_key<KeyType>(cursor_.key());
    if (!key.is_ok()) return cursor_.fail(key.status());
    Result<RowType> row = Codec<RowType>::decode(cursor_.payload());
    if (!row.is_ok()) return cursor_.fail(row.status());
    entry_.emplace(Entry{*std::move(key), *std::move(row)});
  }

  internal::RowCursor cursor_;
  bool is_begun_ = false;
  std::optional<Entry> entry_;
};

}  // namespace foedus
