#pragma once
// Rows as foedus_c.h passes many of them in one call: key_bytes, payload_bytes (std::uint32_t of
// the machine's byte order), key, payload; without gaps.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "foedus/txn.h"

namespace foedus::c {

inline constexpr std::size_t kRowHeadBytes = 8;

inline std::size_t row_bytes(const Row& row) {
  return kRowHeadBytes + row.key.size() + row.payload.size();
}

// Returns the size of the row at the begin of `rows`; 0 if they end before it does.
inline std::size_t whole_row_bytes(std::string_view rows) {
  if (rows.size() < kRowHeadBytes) return 0;
  std::uint32_t sizes[2];
  std::memcpy(sizes, rows.data(), kRowHeadBytes);
  const std::uint64_t bytes = kRowHeadBytes + std::uint64_t{sizes[0]} + sizes[1];
  return bytes <= rows.size() ? static_cast<std::size_t>(bytes) : 0;
}

// Returns true if the bytes are rows, the last one whole.
inline bool are_rows(std::string_view rows) {
  while (!rows.empty()) {
    const std::size_t bytes = whole_row_bytes(rows);
    if (bytes == 0) return false;
    rows.remove_prefix(bytes);
  }
  return true;
}

// Removes the first row from `rows` and returns it. REQUIRES: are_rows(*rows), and they are not
// empty.
inline Row take_row(std::string_view* rows) {
  std::uint32_t sizes[2];
  std::memcpy(sizes, rows->data(), kRowHeadBytes);
  const Row row{rows->substr(kRowHeadBytes, sizes[0]),
                rows->substr(kRowHeadBytes + sizes[0], sizes[1])};
  rows->remove_prefix(row_bytes(row));
  return row;
}

// Writes the row to `to`, which has room for it.
inline void write_row(const Row& row, char* to) {
  const std::uint32_t sizes[2] = {static_cast<std::uint32_t>(row.key.size()),
                                  static_cast<std::uint32_t>(row.payload.size())};
  std::memcpy(to, sizes, kRowHeadBytes);
  to += kRowHeadBytes;
  if (!row.key.empty()) std::memcpy(to, row.key.data(), row.key.size());
  to += row.key.size();
  if (!row.payload.empty()) std::memcpy(to, row.payload.data(), row.payload.size());
}

}  // namespace foedus::c
