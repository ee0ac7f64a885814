#pragma once
// What all peers need to store our tables in an ordered map from bytes to bytes: the keys of arrays
// and of append tables, and rows that are read and overwritten in part.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "experiments/common/backend.h"
#include "foedus/status.h"

namespace experiments {

static_assert(std::endian::native == std::endian::little);

// Big-endian, so that the byte order of keys is the order of indexes.
class IndexKey {
 public:
  explicit IndexKey(std::uint64_t index) : bytes_(__builtin_bswap64(index)) {}
  std::string_view view() const { return {reinterpret_cast<const char*>(&bytes_), 8}; }

 private:
  std::uint64_t bytes_;
};

// Key of an appended row: worker, then a counter of that worker. Appends of two workers never meet,
// and each worker's are in one place, which is the cheapest an ordered map can do.
class AppendKey {
 public:
  AppendKey(std::uint64_t worker, std::uint64_t counter)
      : bytes_{__builtin_bswap64(worker), __builtin_bswap64(counter)} {}
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes_), 16}; }

 private:
  std::uint64_t bytes_[2];
};

// The key under which a peer stores `key`; points into `index_key` or into the caller's bytes.
inline std::string_view stored_key(TableKind kind, const KeyView& key, const IndexKey& index_key) {
  return kind == TableKind::kArray ? index_key.view() : key.bytes;
}

// The range to walk. Rows of append tables are walked whole; their stored keys are nobody's
// business.
inline ScanRange stored_range(TableKind kind, const ScanRange& range) {
  if (kind != TableKind::kAppend) return range;
  return {.low = {}, .high = {}, .limit = range.limit, .reverse = range.reverse};
}

// Shows up to `limit` rows to `visit` until it has enough. `Rows` has next(&key, &row), false at
// the end or on an error, which status() tells.
template <class Rows, class V>
foedus::Status visit_rows(Rows& rows, TableKind kind, std::uint64_t limit, V&& visit) {
  std::string_view key, row;
  for (std::uint64_t i = 0; i < limit && rows.next(&key, &row); ++i) {
    if (!visit(kind == TableKind::kAppend ? std::string_view() : key, row)) break;
  }
  return rows.status();
}

// Copies bytes [offset, offset + out.size()) of a row out of the peer's memory.
inline foedus::Status copy_row(std::string_view row, std::uint32_t offset,
                               std::span<std::byte> out) {
  if (offset > row.size() || row.size() - offset < out.size()) {
    return foedus::ErrorCode::kInvalidArgument;
  }
  std::memcpy(out.data(), row.data() + offset, out.size());
  return {};
}

// Puts `part` over the bytes at `offset` of a row that was copied to `row`.
inline foedus::Status overlay(std::string* row, std::uint32_t offset, std::string_view part) {
  if (offset > row->size() || row->size() - offset < part.size()) {
    return foedus::ErrorCode::kInvalidArgument;
  }
  std::memcpy(row->data() + offset, part.data(), part.size());
  return {};
}

}  // namespace experiments
