#pragma once
// A database that is opened with a log whose rows are applied on first touch, and a model of its
// rows.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/engine_of.h"
#include "tests/testing/hold.h"
#include "tests/testing/test_database.h"

namespace foedus::testing {

inline Options unapplied_options() {
  Options options = small_options("");
  options.glean.touch_bytes = 0;  // whatever the log has
  options.glean.log_bytes = 0;    // on request alone
  options.glean.log_bytes_max = 1u << 30;
  options.glean.interval_us = 0;
  return options;
}

// A tree, a hash, an array, and a model of each.
class UnappliedLife {
 public:
  static constexpr std::uint64_t kKeys = 600;
  static constexpr std::uint64_t kIndexes = 2000;
  static constexpr std::uint32_t kNumberBytes = 16;
  using Map = std::map<std::string, std::string>;

  explicit UnappliedLife(std::uint32_t seed, Options options = unapplied_options())
      : random_(seed), db_(std::move(options)) {
    open_storages();
  }

  Database& db() { return *db_; }
  const Masstree& tree() const { return tree_; }
  const Hash& hash() const { return hash_; }
  const Array& array() const { return array_; }
  const Map& tree_model() const { return models_[0]; }

  static std::string key_of(std::uint64_t i) {
    std::string name(key(i));
    return i % 7 == 0 ? name + "and a long rest of the key" : name;
  }

  // Runs `transactions` transactions of some writes each, which also check the rows that they find.
  void write(unsigned transactions) {
    for (unsigned i = 0; i < transactions; ++i) write_once();
  }
  void write_once();
  // Checks every row, one by one.
  void check_rows();
  // Checks all rows of the tree by scans of ranges, in both directions.
  void check_scans();
  // Checks all rows of the hash by a scan.
  void check_scan_of_hash();

  void glean() { must(db_->glean()); }
  void reopen() {
    db_.reopen();
    open_storages();
  }
  bool has_unapplied() {
    const auto has = [](const Storage& storage) {
      return foedus::internal::StorageAccess::control_of(storage)->has_unapplied();
    };
    return has(tree_) || has(hash_) || has(array_);
  }
  void wait_over() {
    while (has_unapplied()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  void open_storages() {
    tree_ = must(db_->open_masstree("tree"));
    hash_ = must(db_->open_hash("hash"));
    array_ = must(db_->open_array("array", kIndexes, kNumberBytes));
    if (array_model_.empty()) array_model_.resize(kIndexes, std::string(kNumberBytes, '\0'));
  }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::string payload();
  Status write_keyed(Txn& txn, const KeyedStorage& storage, Map* model);
  Status write_array(Txn& txn);
  static Status expect_row(Txn& txn, const KeyedStorage& storage, const std::string& name,
                           const Map& model);

  std::mt19937_64 random_;
  TestDatabase db_;
  Masstree tree_;
  Hash hash_;
  Array array_;
  Map models_[2];
  std::vector<std::string> array_model_;
};

// Returns a payload that is short or a chain of pages; its first eight bytes are a number.
inline std::string UnappliedLife::payload() {
  const std::uint64_t bytes = below(20) == 0 ? 2000 + below(5000) : 8 + below(60);
  std::string made(bytes, static_cast<char>('a' + below(26)));
  const std::uint64_t number = below(1000);
  std::memcpy(made.data(), &number, sizeof(number));
  return made;
}

inline void add_to_number(std::string* payload, std::size_t at, std::int64_t delta) {
  std::int64_t number;
  std::memcpy(&number, payload->data() + at, sizeof(number));
  number += delta;
  std::memcpy(payload->data() + at, &number, sizeof(number));
}

// Checks the result of an operation; a conflict is returned, to be tried again.
inline Status expect_code(const Status& status, ErrorCode expected) {
  if (status.code() == ErrorCode::kConflict) return status;
  EXPECT_EQ(status.code(), expected);
  return {};
}

inline Status UnappliedLife::expect_row(Txn& txn, const KeyedStorage& storage,
                                        const std::string& name, const Map& model) {
  const auto row = model.find(name);
  const bool is_there = row != model.end();
  const Result<std::string> found = txn.get(storage, name);
  FOEDUS_CHECK(expect_code(found.status(), is_there ? ErrorCode::kOk : ErrorCode::kNotFound));
  if (!is_there || !found.is_ok()) return {};
  EXPECT_EQ(found->substr(0, 20), row->second.substr(0, 20));
  EXPECT_TRUE(*found == row->second);
  return {};
}

inline Status UnappliedLife::write_keyed(Txn& txn, const KeyedStorage& storage, Map* model) {
  const std::string name = key_of(below(kKeys));
  const auto row = model->find(name);
  const bool is_there = row != model->end();
  const ErrorCode missing = is_there ? ErrorCode::kOk : ErrorCode::kNotFound;
  const std::string made = payload();
  const std::uint64_t delta = below(100);
  switch (below(9)) {
    case 0:
      FOEDUS_CHECK(txn.put(storage, name, made));
      (*model)[name] = made;
      return {};
    case 1:
      FOEDUS_CHECK(expect_code(txn.insert(storage, name, made),
                               is_there ? ErrorCode::kAlreadyExists : ErrorCode::kOk));
      if (!is_there) (*model)[name] = made;
      return {};
    case 2:
      FOEDUS_CHECK(expect_code(txn.update(storage, name, made), missing));
      if (is_there) row->second = made;
      return {};
    case 3:
      FOEDUS_CHECK(expect_code(txn.erase(storage, name), missing));
      if (is_there) model->erase(row);
      return {};
    case 4:
      FOEDUS_CHECK(expect_code(txn.write_at(storage, name, 3, "12345"), missing));
      if (is_there) row->second.replace(3, 5, "12345");
      return {};
    case 5:
      FOEDUS_CHECK(
          expect_code(txn.increment(storage, name, 0, static_cast<std::int64_t>(delta)), missing));
      if (is_there) add_to_number(&row->second, 0, static_cast<std::int64_t>(delta));
      return {};
    case 6: {
      std::string out(8, ' ');
      const auto bytes = std::as_writable_bytes(std::span<char>(out));
      FOEDUS_CHECK(expect_code(txn.get_for_update(storage, name, bytes).status(), missing));
      EXPECT_EQ(out, is_there ? row->second.substr(0, 8) : out);
      return {};
    }
    case 7: {
      FOEDUS_TRY(const bool found, txn.contains(storage, name));
      EXPECT_EQ(found, is_there);
      return {};
    }
    default:
      return expect_row(txn, storage, name, *model);
  }
}

inline Status UnappliedLife::write_array(Txn& txn) {
  const std::uint64_t index = below(kIndexes);
  std::string& row = array_model_[index];
  std::string out(kNumberBytes, ' ');
  const std::uint64_t delta = below(100);
  switch (below(4)) {
    case 0:
      row = payload().substr(0, 8) + std::string(8, 'x');
      return txn.put(array_, index, row);
    case 1:
      row.replace(5, 3, "new");
      return txn.write_at(array_, index, 5, "new");
    case 2:
      add_to_number(&row, 8, static_cast<std::int64_t>(delta));
      return txn.increment(array_, index, 8, static_cast<std::int64_t>(delta));
    default:
      FOEDUS_CHECK(txn.get(array_, index, std::as_writable_bytes(std::span<char>(out))));
      EXPECT_EQ(out, row);
      return {};
  }
}

// Runs one transaction and repeats it after a conflict, from the same state. There is one thread.
inline void UnappliedLife::write_once() {
  const auto random = random_;
  const Map before[2] = {models_[0], models_[1]};
  const auto array_before = array_model_;
  must(db_->transact([&](Txn& txn) -> Status {
    random_ = random;
    models_[0] = before[0];
    models_[1] = before[1];
    array_model_ = array_before;
    for (std::uint64_t i = 1 + below(5); i != 0; --i) {
      const std::uint64_t which = below(3);
      if (which == 2) FOEDUS_CHECK(write_array(txn));
      if (which == 1) FOEDUS_CHECK(write_keyed(txn, hash_, &models_[1]));
      if (which == 0) FOEDUS_CHECK(write_keyed(txn, tree_, &models_[0]));
    }
    return {};
  }));
}

inline void UnappliedLife::check_rows() {
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    must(db_->transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(expect_row(txn, tree_, key_of(i), models_[0]));
      return expect_row(txn, hash_, key_of(i), models_[1]);
    }));
  }
  for (std::uint64_t i = 0; i < kIndexes; ++i) {
    must(db_->transact([&](Txn& txn) -> Status {
      std::string out(kNumberBytes, ' ');
      FOEDUS_CHECK(txn.get(array_, i, std::as_writable_bytes(std::span<char>(out))));
      EXPECT_EQ(out, array_model_[i]) << i;
      return {};
    }));
  }
}

inline void UnappliedLife::check_scans() {
  for (int i = 0; i < 20; ++i) {
    std::string low = key_of(below(kKeys));
    std::string high = below(4) == 0 ? std::string() : key_of(below(kKeys));
    if (!high.empty() && high < low) std::swap(low, high);
    const bool reverse = below(2) == 0;
    const std::uint64_t limit = below(2) == 0 ? 1 + below(100) : ~std::uint64_t{0};
    std::vector<std::pair<std::string, std::string>> expected(
        models_[0].lower_bound(low),
        high.empty() ? models_[0].end() : models_[0].lower_bound(high));
    if (reverse) std::reverse(expected.begin(), expected.end());
    if (expected.size() > limit) expected.resize(limit);
    std::vector<std::pair<std::string, std::string>> found;
    must(db_->transact([&](Txn& txn) -> Status {
      found.clear();
      Scan scan = txn.scan(tree_, low, high, {.limit = limit, .reverse = reverse});
      for (const Row& row : scan) found.emplace_back(row.key, row.payload);
      return scan.failure().value_or(Status());
    }));
    EXPECT_EQ(found.size(), expected.size());
    EXPECT_TRUE(found == expected) << (reverse ? "backwards" : "forwards") << ", limit " << limit;
  }
}

inline void UnappliedLife::check_scan_of_hash() {
  Map found;
  must(db_->transact([&](Txn& txn) -> Status {
    found.clear();
    Scan scan = txn.scan(hash_);
    for (const Row& row : scan) found.emplace(row.key, row.payload);
    return scan.failure().value_or(Status());
  }));
  EXPECT_EQ(found.size(), models_[1].size());
  EXPECT_TRUE(found == models_[1]);
}

}  // namespace foedus::testing
