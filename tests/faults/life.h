#pragma once
// Life: the use of a database from its first open to its last close, in phases, and the checks of
// it afterwards. Each transaction writes one row or more, each row to four storages. It is
// acknowledged, or refused, or its end is not known.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foedus/foedus.h"
#include "tests/faults/for_test.h"

namespace foedus::faults {

enum class Phase : std::uint8_t {
  kOpenNew,
  kCreate,
  kFirstSession,
  kLoad,
  kGlean,
  kUpdate,  // of rows in the snapshot, and a glean of them
  kSnapshotRead,
  kTail,  // rows that no snapshot covers
  kClose,
  kRecover,
};
inline constexpr int kPhases = 10;
inline constexpr std::array kPhaseNames = {"open",  "create",        "first session", "load",
                                           "glean", "update, glean", "snapshot read", "tail",
                                           "close", "recover"};

inline Options life_options(const std::string& dir) {
  Options options;
  options.dir = dir;
  options.socs = 1;
  options.memory_bytes = 64u << 20;
  options.log.buffer_bytes = 256u << 10;
  options.log.segment_bytes = 1u << 20;
  options.sessions_max = 4;
  options.epoch_interval_us = 1'000;
  options.pages.huge_pages = Facility::kOff;
  options.glean.interval_us = 0;
  options.glean.memory_bytes = 16u << 20;
  options.pages.cache_bytes = 1u << 20;
  return options;
}

class Life {
 public:
  static constexpr std::uint64_t kRows = 256;
  // The outcome of each row; may lie in memory that a parent shares.
  struct Rows {
    std::array<std::uint8_t, kRows> acknowledged{};
    std::uint64_t next = 0;
  };
  // Returns whether a call may end with this status.
  using Allowed = std::function<bool(const Status&)>;

  Life(const std::string& dir, Rows* rows, Allowed allowed)
      : options_(life_options(dir)), rows_(rows), allowed_(std::move(allowed)) {
    for (std::uint64_t row = 0; row < kRows; ++row) {
      keys_.push_back(key_of(row));
      payloads_.push_back(payload_of(row));
    }
  }

  // Makes the calls of the phase up to the first failure, which is returned.
  Status run(Phase phase) {
    switch (phase) {
      case Phase::kOpenNew:
      case Phase::kRecover:
        return open();
      case Phase::kCreate:
        return create();
      case Phase::kFirstSession:
        return write(1);
      case Phase::kLoad:
        return load();
      case Phase::kGlean:
        return glean();
      case Phase::kUpdate:
        return update();
      case Phase::kSnapshotRead:
        return read_snapshot();
      case Phase::kTail:
        return write(8);
      case Phase::kClose:
        return close();
    }
    return ErrorCode::kInvalidArgument;
  }
  bool is_open() const { return database_ != nullptr; }
  bool has_storages() const { return storages_.has_value(); }

  Status open() {
    Options options;
    {
      const ForTest copy;
      options = options_;
    }
    Result<Database> opened = Database::open(std::move(options));
    if (!opened.is_ok()) return look(opened.status());
    const ForTest keep;
    database_ = std::make_unique<Database>(std::move(opened).value());
    return {};
  }

  Status create() {
    Storages made;
    FOEDUS_CHECK(take(database_->open_masstree("tree"), &made.tree));
    FOEDUS_CHECK(take(database_->open_hash("hash", {.records_expected = 64}), &made.hash));
    FOEDUS_CHECK(take(database_->open_array("array", kRows, 8), &made.array));
    FOEDUS_CHECK(take(database_->open_sequential("sequence"), &made.sequence));
    storages_ = made;
    return {};
  }

  // Writes `count` new rows, each in a transaction of its own.
  Status write(std::uint64_t count) {
    Status first;
    for (std::uint64_t i = 0; i < count && rows_->next < kRows; ++i) {
      const std::uint64_t row = rows_->next++;
      Status status = write_rows(row, row + 1);
      if (first.is_ok()) first = std::move(status);
    }
    return first;
  }

  Status glean() {
    const Result<GleanReport> report = database_->glean();
    return report.is_ok() ? Status() : look(report.status());
  }

  Status close() {
    storages_.reset();
    const Status status = database_->close();
    database_.reset();
    return status.is_ok() ? Status() : look(status);
  }
  // Leaves the database as a process that ends would, as far as that is possible.
  void abandon() {
    storages_.reset();
    database_.reset();
  }

  // Checks that reads go on, whatever happened to writes. REQUIRES: create() has succeeded.
  void check_reads() {
    const Status status = database_->transact([&](Txn& txn) { return find_rows(txn); });
    EXPECT_TRUE(status.is_ok()) << status.message();
  }

  // Checks that all acknowledged transactions are there, and none in part.
  void check() {
    const ForTest all;
    storages_.reset();
    const Status made = create();
    ASSERT_TRUE(made.is_ok()) << made.message();
    const Status status = database_->transact([&](Txn& txn) { return find_rows(txn); });
    ASSERT_TRUE(status.is_ok()) << status.message();
    for (std::uint64_t row = 0; row < kRows; ++row) {
      if (rows_->acknowledged[row] != 0) {
        EXPECT_EQ(found_[row], kEverywhere) << "row " << row << " was acknowledged";
      } else {
        EXPECT_TRUE(found_[row] == 0 || found_[row] == kEverywhere)
            << "of row " << row << " there is a part: " << found_[row];
      }
    }
  }

 private:
  static constexpr unsigned kEverywhere = 15;  // a bit for each storage
  struct Storages {
    Masstree tree;
    Hash hash;
    Array array;
    Sequential sequence;
  };

  Status look(const Status& status) {
    const ForTest asking;
    EXPECT_TRUE(allowed_ && allowed_(status)) << status.message();
    return status;
  }
  template <typename T>
  Status take(const Result<T>& result, T* to) {
    if (!result.is_ok()) return look(result.status());
    *to = *result;
    return {};
  }

  // Some rows are longer than a page. Many keys share slices, so that there are layers.
  static bool is_long(std::uint64_t row) { return row % 16 == 5; }
  static std::string key_of(std::uint64_t row) {
    const std::string number = std::to_string(row * 7919 % 10'007);
    return row % 3 == 0 ? "with-a-long-prefix-" + number : number;
  }
  static std::string payload_of(std::uint64_t row) {
    return std::string(is_long(row) ? 9'000 : 40 + row, static_cast<char>('a' + row % 26));
  }

  // Writes rows in one transaction.
  Status write_rows(std::uint64_t begin, std::uint64_t end, bool reads = false) {
    const Status status = database_->transact(
        [&](Txn& txn) -> Status {
          for (std::uint64_t row = begin; row < end; ++row) FOEDUS_CHECK(put_row(txn, row));
          return reads ? read_all(txn) : Status();
        },
        {.durability = Durability::kSync});
    if (!status.is_ok()) return look(status);
    for (std::uint64_t row = begin; row < end; ++row) rows_->acknowledged[row] = 1;
    return status;
  }

  Status put_row(Txn& txn, std::uint64_t row) {
    if (row % 5 == 0) {
      std::byte held[8];
      const auto seen = txn.get_for_update(storages_->tree, keys_[row], held);
      if (!seen.is_ok() && seen.code() != ErrorCode::kNotFound) return seen.status();
    }
    FOEDUS_CHECK(txn.put(storages_->tree, keys_[row], payloads_[row]));
    FOEDUS_CHECK(txn.put(storages_->hash, keys_[row], payloads_[row]));
    FOEDUS_CHECK(txn.put(storages_->array, row, "12345678"));
    return txn.append(storages_->sequence, {reinterpret_cast<const char*>(&row), sizeof(row)});
  }

  Status find_rows(Txn& txn) {
    for (std::uint64_t row = 0; row < kRows; ++row) {
      found_[row] = 0;
      FOEDUS_CHECK(find_payload(txn.get(storages_->tree, keys_[row]), row, 1));
      FOEDUS_CHECK(find_payload(txn.get(storages_->hash, keys_[row]), row, 2));
      std::byte bytes[8];
      FOEDUS_CHECK(txn.get(storages_->array, row, bytes));
      if (bytes[0] == std::byte{'1'}) found_[row] |= 4;
    }
    auto rows = txn.scan(storages_->sequence);
    for (const auto& [key, value] : rows) found_[view_as<std::uint64_t>(value) % kRows] |= 8;
    if (const auto failure = rows.failure()) return *failure;
    return {};
  }
  Status find_payload(const Result<std::string>& got, std::uint64_t row, unsigned bit) {
    if (got.code() == ErrorCode::kNotFound) return {};
    if (!got.is_ok()) return got.status();
    EXPECT_EQ(*got, payloads_[row]) << "row " << row;
    found_[row] |= bit;
    return {};
  }

  // Writes single rows, then one transaction with many.
  Status load() {
    FOEDUS_CHECK(write(37));
    const std::uint64_t first = rows_->next;
    rows_->next += 60;
    return write_rows(first, first + 60, true);
  }

  Status read_all(Txn& txn) {
    std::uint64_t bytes = 0;
    for (const bool reverse : {false, true}) {
      auto rows = txn.scan(storages_->tree, "", "", {.reverse = reverse});
      for (const auto& [key, value] : rows) bytes += key.size() + value.size();
      if (const auto failure = rows.failure()) return *failure;
    }
    auto rows = txn.scan(storages_->sequence);
    for (const auto& [key, value] : rows) bytes += value.size();
    if (const auto failure = rows.failure()) return *failure;
    return bytes == 0 ? Status(ErrorCode::kCorruption) : Status();
  }

  // Erases and writes existing rows, so that pages are read from the snapshot.
  Status update() {
    const Status status = database_->transact(
        [&](Txn& txn) -> Status {
          for (std::uint64_t row = 0; row < 37; ++row) {
            if (rows_->acknowledged[row] == 0 || is_long(row)) continue;
            FOEDUS_CHECK(txn.erase(storages_->tree, keys_[row]));
            FOEDUS_CHECK(txn.put(storages_->tree, keys_[row], payloads_[row]));
            FOEDUS_CHECK(txn.update(storages_->hash, keys_[row], payloads_[row]));
          }
          return read_all(txn);
        },
        {.durability = Durability::kSync});
    if (!status.is_ok()) return look(status);
    return glean();
  }

  Status read_snapshot() {
    const Status status = database_->snapshot([&](Txn& txn) -> Status {
      FOEDUS_CHECK(read_all(txn));
      return find_rows(txn);
    });
    return status.is_ok() ? Status() : look(status);
  }

  const Options options_;
  Rows* const rows_;
  const Allowed allowed_;
  std::vector<std::string> keys_;
  std::vector<std::string> payloads_;
  std::array<unsigned, kRows> found_{};
  std::unique_ptr<Database> database_;
  std::optional<Storages> storages_;
};

}  // namespace foedus::faults
