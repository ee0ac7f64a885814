#pragma once
// The key of an entry in the storage of its index.

#include <string_view>

#include "foedus/key.h"
#include "foedus/table_storages.h"

namespace foedus::table {

// Returns the key of an entry of the row with this key: key(columns…) for a unique index, else
// key(columns…, parts of the row's key…). Keys of parts that follow each other are strung together.
inline Key entry_key(const internal::IndexEntries::Entry& entry, bool is_unique,
                     std::string_view row_key) {
  Key key;
  key.append_raw(entry.columns.data(), entry.columns.size());
  if (!is_unique) key.append_raw(row_key.data(), row_key.size());
  return key;
}

}  // namespace foedus::table
