#pragma once
// The row that the database keeps about each table, in the Master-Tree kDefinitions, under
// key(name of the table).
//
//   generation   8 bytes, little-endian. Grows when an index is added or its drop begins, so that
//                an operation compares one number to know that its handle is up to date
//   complete     8 bytes, little-endian. Bit n: the n-th index below has an entry for each row
//   key(version, is_dropped, kinds of the key's parts, number of indexes)
//   key(name, is_unique, kinds of the columns, added, is_dropped) for each index
//
// `version` is kVersion. `added` is the generation with which the index was added. is_dropped: the
// drop has begun, and its storages may be gone. Kinds are texts of the letters that part_kind()
// (foedus/table_index.h) returns. Ids of storages are not in here: a dump that is loaded elsewhere
// has its tables.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/status.h"

namespace foedus::table {

inline constexpr std::string_view kDefinitions = "foedus.tables";
inline constexpr std::uint32_t kVersion = 1;

// The bytes in front, which operations look at.
struct DefinitionHead {
  std::uint64_t generation = 0;  // +0 -> 8
  std::uint64_t complete = 0;    // +8 -> 16
};
static_assert(sizeof(DefinitionHead) == 16);

struct StoredIndex {
  std::string name = {};
  std::string kinds = {};
  bool is_unique = false;
  bool is_dropped = false;
  bool is_complete = false;
  std::uint64_t added = 0;
};

struct DefinitionRow {
  std::uint64_t generation = 0;
  bool is_dropped = false;
  std::string key_kinds = {};
  std::vector<StoredIndex> indexes = {};

  // Returns the index of this name whose drop has not begun; null if there is none.
  StoredIndex* find(std::string_view name);
};

std::string encoded(const DefinitionRow& row);
// kCorruption: these bytes are no such row. kWrongVersion.
Result<DefinitionRow> decoded(std::string_view payload);

// Returns the name of the storage of an index.
std::string storage_name(std::string_view table, std::string_view index);

}  // namespace foedus::table
