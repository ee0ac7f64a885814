#pragma once
// A database with little memory and one tree, into which rows are put in random order until the
// tree has a delta (foedus-core/storage/masstree/operations/delta.h), and a model of its rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foedus-core/engine/storage_access.h"
#include "tests/testing/test_database.h"

namespace foedus::testing {

// Returns options with the least memory of a database, of which few pages may be volatile.
inline Options delta_options() {
  Options options = small_options("");
  options.memory_bytes = 64u << 20;
  options.log.buffer_bytes = 256u << 10;
  options.sessions_max = 8;
  options.pages.volatile_percent = 3;
  return options;
}

class DeltaRows {
 public:
  static constexpr std::uint64_t kRowsPerTxn = 100;
  static constexpr std::size_t kRowBytes = 100;

  explicit DeltaRows(Options options = delta_options()) : db_(std::move(options)) { open_tree(); }

  TestDatabase& db() { return db_; }
  const Masstree& tree() const { return tree_; }
  std::map<std::string, std::string>& rows() { return rows_; }
  void open_tree() { tree_ = must(db_->open_masstree("rows")); }
  void reopen() {
    db_.reopen();
    open_tree();
  }

  // Returns the key of a row. Keys of neighbouring numbers lie far apart, and some have layers.
  static std::string name_of(std::uint64_t number) {
    std::string name(key(number * 0x9e3779b97f4a7c15u));
    if (number % 50 == 0) name += "a long end";
    return name;
  }
  // Returns a row that depends on key and version, so that no row equals another one.
  static std::string row_of(std::uint64_t number, std::uint64_t version,
                            std::size_t bytes = kRowBytes) {
    std::string row(bytes, static_cast<char>('a' + (number + version) % 26));
    const std::uint64_t words[] = {version, number};
    std::memcpy(row.data(), words, sizeof(words));
    return row;
  }

  void put(std::uint64_t first, std::uint64_t end, std::uint64_t version) {
    for (std::uint64_t begin = first; begin < end; begin += kRowsPerTxn) {
      const std::uint64_t last = std::min(begin + kRowsPerTxn, end);
      must(db_->transact([&](Txn& txn) -> Status {
        for (std::uint64_t i = begin; i < last; ++i) {
          FOEDUS_CHECK(txn.put(tree_, name_of(i), row_of(i, version)));
        }
        return {};
      }));
      for (std::uint64_t i = begin; i < last; ++i) rows_[name_of(i)] = row_of(i, version);
    }
  }
  // Returns whether operations search a delta.
  bool is_looked_into() { return control()->has_delta(); }
  // Returns whether the tree has a delta that takes puts.
  bool has_delta() { return control()->delta_takes_puts(); }
  std::uint64_t delta_pages() {
    if (!control()->has_delta()) return 0;
    return control()->delta->volatile_pages.load_relaxed();  // order: relaxed, a statistic
  }
  // Waits until volatile pages take a tenth of the memory at most. Gleans bring that about while
  // there is log that no snapshot covers.
  void wait_for_room() {
    const auto is_much = [&] {
      const Stats stats = db_->stats();
      const std::uint64_t bytes = stats.volatile_page_bytes + stats.waiting_page_bytes;
      return bytes > db_.options().memory_bytes / 10 && stats.log_bytes_behind != 0;
    };
    while (is_much()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // Gleans a row of another tree. A glean without new log does nothing, and one that was at work
  // already when a test asked for it may have left rows in the delta.
  void glean_again() {
    const Masstree other = must(db_->open_masstree("other"));
    must(db_->transact([&](Txn& txn) { return txn.put(other, "row", "new"); }));
    must(db_->glean());
  }
  // Puts rows from `first` on, some at a time, until a delta takes puts. Returns the number after
  // the last row.
  std::uint64_t put_until_delta(std::uint64_t first, std::uint64_t most) {
    std::uint64_t next = first;
    for (; next < first + most && !has_delta(); next += 1'000) put(next, next + 1'000, 1);
    EXPECT_TRUE(has_delta()) << most << " rows made no delta";
    return next;
  }

  // ---- all rows are there, and no others

  // All checks compare after the commit. Before it a transaction may have read rows of both trees
  // in two states, if a snapshot was installed meanwhile; such a transaction conflicts and runs
  // again.

  void check_gets() {
    std::vector<std::string> found;
    for (auto row = rows_.begin(); row != rows_.end();) {
      const auto begin = row;
      must(db_->transact([&](Txn& txn) -> Status {
        found.clear();
        for (row = begin; row != rows_.end() && found.size() < 500; ++row) {
          FOEDUS_TRY(std::string payload, txn.get(tree_, row->first));
          found.push_back(std::move(payload));
        }
        return {};
      }));
      auto expected = begin;
      for (const std::string& payload : found) {
        EXPECT_TRUE(payload == expected->second)
            << version_of(payload) << ", not " << version_of(expected->second);
        ++expected;
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  void check_get_many() {
    constexpr std::size_t kMany = 256;
    std::vector<std::string> found(kMany);
    std::vector<ReadRequest> requests;
    for (auto row = rows_.begin(); row != rows_.end();) {
      const auto begin = row;
      must(db_->transact([&](Txn& txn) -> Status {
        requests.clear();
        row = begin;
        for (; row != rows_.end() && requests.size() < kMany; ++row) {
          std::string& out = found[requests.size()];
          out.assign(row->second.size() + 1, '\0');
          requests.push_back({row->first, std::as_writable_bytes(std::span<char>(out))});
        }
        return txn.get_many(tree_, requests);
      }));
      auto expected = begin;
      for (std::size_t i = 0; i < requests.size(); ++i, ++expected) {
        EXPECT_TRUE(requests[i].found);
        EXPECT_EQ(requests[i].payload_bytes, expected->second.size());
        found[i].resize(expected->second.size());
        EXPECT_TRUE(found[i] == expected->second);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  // Scans 20,000 rows in each transaction: a transaction remembers every row that it reads, and 64
  // MiB cannot hold the read set of all rows.
  void check_scan(bool reverse) {
    constexpr std::size_t kMany = 20'000;
    std::string from;
    for (auto begin = rows_.begin(); begin != rows_.end();) {
      auto end = begin;
      for (std::size_t i = 0; i < kMany && end != rows_.end(); ++i) ++end;
      const std::string to = end == rows_.end() ? "" : end->first;
      check_scan_of(from, to, {begin, end}, reverse);
      if (::testing::Test::HasFailure()) return;
      from = to;
      begin = end;
    }
  }
  void check_scan_of(const std::string& from, const std::string& to,
                     std::vector<std::pair<std::string, std::string>> expected, bool reverse) {
    if (reverse) std::reverse(expected.begin(), expected.end());
    std::vector<std::pair<std::string, std::string>> found;
    must(db_->transact([&](Txn& txn) -> Status {
      found.clear();
      Scan scan = txn.scan(tree_, from, to, {.reverse = reverse});
      for (const Row& row : scan) {
        found.emplace_back(row.key, row.payload);
        if (found.size() > expected.size()) break;
      }
      if (scan.failure().has_value()) return *scan.failure();
      return {};
    }));
    EXPECT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      EXPECT_EQ(found[i].first, expected[i].first) << i;
      EXPECT_TRUE(found[i].second == expected[i].second) << i;
      if (::testing::Test::HasFailure()) return;
    }
  }
  void check() {
    check_gets();
    check_get_many();
    check_scan(false);
    check_scan(true);
  }

 private:
  occ::StorageControl* control() { return foedus::internal::StorageAccess::control_of(tree_); }
  static std::uint64_t version_of(const std::string& row) {
    std::uint64_t version = 0;
    if (row.size() >= sizeof(version)) std::memcpy(&version, row.data(), sizeof(version));
    return version;
  }

  TestDatabase db_;
  Masstree tree_;
  std::map<std::string, std::string> rows_;
};

}  // namespace foedus::testing
