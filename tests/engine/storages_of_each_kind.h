#pragma once
// A storage of each kind with the same rows, for tests of the layers below.

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "tests/testing/test_database.h"

namespace foedus::testing {

// Returns a row: most are small, and some have several pages.
inline std::string payload(std::uint64_t row, char letter) {
  return std::string(row % 100 == 7 ? 9'000 : row % 200, letter);
}

// A storage of each kind, with the same rows as far as it can hold them.
class Storages {
 public:
  static constexpr std::uint64_t kRows = 3'000;

  explicit Storages(Database* db)
      : db_(db),
        tree_(must(db->open_masstree("tree"))),
        hash_(must(db->open_hash("hash"))),
        array_(must(db->open_array("array", kRows, 8))),
        sequential_(must(db->open_sequential("sequential"))) {}

  void write(char letter, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      must(db_->transact([&](Txn& txn) -> Status {
        FOEDUS_CHECK(txn.put(tree_, key(row), payload(row, letter)));
        FOEDUS_CHECK(txn.put(hash_, key(row), payload(row, letter)));
        FOEDUS_CHECK(txn.put(array_, row, std::string(8, letter)));
        return txn.append(sequential_, std::string(row % 100, letter));
      }));
    }
  }
  void expect(char letter, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      must(db_->transact([&](Txn& txn) -> Status {
        FOEDUS_TRY(const std::string of_tree, txn.get(tree_, key(row)));
        EXPECT_EQ(of_tree, payload(row, letter)) << row;
        FOEDUS_TRY(const std::string of_hash, txn.get(hash_, key(row)));
        EXPECT_EQ(of_hash, payload(row, letter)) << row;
        std::string of_array(8, ' ');
        FOEDUS_CHECK(txn.get(array_, row, std::as_writable_bytes(std::span(of_array))));
        EXPECT_EQ(of_array, std::string(8, letter)) << row;
        return {};
      }));
    }
  }
  std::uint64_t scanned(bool reverse) {
    std::uint64_t rows = 0;
    must(db_->transact([&](Txn& txn) -> Status {
      rows = 0;
      Scan scan = txn.scan(tree_, {}, {}, {.reverse = reverse});
      for (const Row& row : scan) rows += row.payload.empty() ? 1 : 2;
      if (auto failure = scan.failure()) return *std::move(failure);
      return {};
    }));
    return rows;
  }
  std::uint64_t appended() {
    std::uint64_t rows = 0;
    must(db_->transact([&](Txn& txn) -> Status {
      rows = 0;
      Scan scan = txn.scan(sequential_);
      for (const Row& row : scan) rows += row.payload.size();
      if (auto failure = scan.failure()) return *std::move(failure);
      return {};
    }));
    return rows;
  }

 private:
  Database* const db_;
  Masstree tree_;
  Hash hash_;
  Array array_;
  Sequential sequential_;
};

}  // namespace foedus::testing
