#pragma once
// PageRows: takes the rows that a PageWalk finds, for a reader that wants them and not the checks
// alone.
//
//   W6  A row is handed on only if its page, and all that leads to it, broke no rule. lost() names
//       the rows of a page that broke one, as far as the pointers above it tell.
//   W7  Rows and losses of a storage come in the order of its keys: of a hash storage in the order
//       of hash and key, of a sequential one as they were appended.

#include <cstdint>
#include <string>
#include <string_view>

namespace foedus::cli {

// A row of a page; valid during the call.
struct PageRow {
  std::string_view key;     // keyed storages
  std::uint64_t index = 0;  // arrays
  std::string_view payload;
};

// Rows that a page held, or all pages below it.
struct LostRows {
  std::string what;         // "keys from a to b"
  std::uint64_t begin = 0;  // arrays: the indexes [begin, end)
  std::uint64_t end = 0;
};

class PageRows {
 public:
  virtual ~PageRows() = default;
  virtual void row(const PageRow& row) = 0;
  // The findings about the pages that are the reason came before.
  virtual void lost(const LostRows& rows) = 0;
};

}  // namespace foedus::cli
