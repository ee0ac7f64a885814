#pragma once
// Scans of a hash storage of which a test moves, gleans and drops bins.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/scan/cursor.h"
#include "tests/storage/hash/moves_fixture.h"

namespace foedus::storage::hash {

// The place of a row in the order of a scan.
inline std::pair<std::uint64_t, std::string> place_in_scan(std::string_view key) {
  return {hash_of(key), std::string(key)};
}

// Rows in the order of a scan.
using RowsInOrder = std::map<std::pair<std::uint64_t, std::string>, std::string>;

class HashScanTest : public HashMovesTest {
 protected:
  using Rows = std::map<std::string, std::string>;
  struct Scanned {
    Status status;
    std::vector<std::pair<std::string, std::string>> rows;
  };

  // Scans in an open transaction; `between` runs after each row.
  Scanned scan(std::uint32_t session, const std::function<void(std::string_view)>& between = {}) {
    Cursor cursor;
    cursor.open(all_.session(session).ctx(), all_.control());
    return run(&cursor, between);
  }
  Scanned scan_at(std::uint32_t session, page::SnapshotPageId root) {
    Cursor cursor;
    cursor.open_in_snapshot(all_.session(session).ctx(), all_.control(), root);
    return run(&cursor, {});
  }
  static Scanned run(Cursor* cursor, const std::function<void(std::string_view)>& between) {
    Scanned scanned;
    for (;;) {
      scanned.status = cursor->next();
      if (!scanned.status.is_ok() || cursor->at_end()) break;
      const std::string key(cursor->key());
      if (!scanned.rows.empty()) {
        EXPECT_LT(place_in_scan(scanned.rows.back().first), place_in_scan(key));
      }
      scanned.rows.emplace_back(key, cursor->payload());
      if (between) between(key);
    }
    cursor->close();
    return scanned;
  }
  // Returns the rows of a scan that has to succeed. Rows that come twice are found by the order.
  static Rows rows_of(const Scanned& scanned) {
    EXPECT_TRUE(scanned.status.is_ok()) << scanned.status.message();
    return {scanned.rows.begin(), scanned.rows.end()};
  }
  void expect_commit(std::uint32_t session) {
    const Status status = commit(session);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  void expect_conflict(std::uint32_t session, ConflictReason reason) {
    EXPECT_EQ(commit(session).conflict_reason(), reason);
  }
  // Puts `count` rows of each quarter in transactions of their own.
  Rows put_rows(unsigned count) {
    Rows rows;
    for (std::uint64_t quarter = 0; quarter < 4; ++quarter) {
      for (unsigned i = 0; i < count; ++i) {
        rows[key_in(quarter, i)] = "v" + std::to_string(i);
        put_alone(0, key_in(quarter, i), rows[key_in(quarter, i)]);
      }
    }
    return rows;
  }
  // Returns a key whose hash is the same for all `i`: one of both factors in the hash is zero.
  static std::string twin_key(std::uint64_t i) {
    std::string key(16, '\0');
    std::memcpy(key.data(), &internal::kMix2, 8);
    std::memcpy(key.data() + 8, &i, 8);
    return key;
  }
};

}  // namespace foedus::storage::hash
