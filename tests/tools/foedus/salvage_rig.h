#pragma once
// A database whose state at the end of each epoch is known, damage to a copy of it, and what a
// salvage of that gives.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "foedus-core/engine/setup/directories.h"
#include "tests/testing/test_database.h"
#include "tools/foedus/dump/dump_reader.h"
#include "tools/foedus/dump/dump_writer.h"
#include "tools/foedus/salvage/salvage.h"

namespace foedus::cli {

// The rows of a dump or of a model, by storage and key: an index in decimal, or an appended row,
// each of which is there once.
struct Rows {
  std::map<std::string, std::map<std::string, std::string>> keyed;
  bool operator==(const Rows&) const = default;
};

// Returns true if all of `part` is in `all`, with the same values.
inline ::testing::AssertionResult is_part_of(const Rows& part, const Rows& all) {
  for (const auto& [storage, rows] : part.keyed) {
    const auto of_all = all.keyed.find(storage);
    for (const auto& [key, value] : rows) {
      if (of_all == all.keyed.end() || !of_all->second.contains(key)) {
        return ::testing::AssertionFailure() << storage << " has no row " << key;
      }
      if (of_all->second.at(key) != value) {
        return ::testing::AssertionFailure() << storage << ": another value of " << key;
      }
    }
  }
  return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult are_same(const Rows& a, const Rows& b) {
  const auto one = is_part_of(a, b);
  return one ? is_part_of(b, a) : one;
}

// Returns true if the rows of `part` are in `all`, in the same order.
inline bool is_in_order(const std::vector<std::string>& part, const std::vector<std::string>& all) {
  auto at = all.begin();
  for (const std::string& row : part) {
    at = std::find(at, all.end(), row);
    if (at == all.end()) return false;
    ++at;
  }
  return true;
}

struct Salvaged {
  Status status;  // of the plan; the others are empty if it failed
  Rows rows;
  std::vector<std::string> list;  // the appended rows in their order
  Epoch whole;
  std::uint64_t later_records = 0;
  std::vector<std::string> lost;
  std::string dump;

  bool says(std::string_view text) const {
    return std::any_of(lost.begin(), lost.end(),
                       [text](const std::string& line) { return line.find(text) != line.npos; });
  }
  std::string lines() const {
    std::string lines;
    for (const std::string& line : lost) lines += line + '\n';
    return lines;
  }
};

inline Rows rows_of(const std::string& dump, std::vector<std::string>* list = nullptr) {
  std::istringstream in(dump);
  const std::unique_ptr<DumpReader> reader = make_dump_reader(DumpFormat::kBinary, &in);
  testing::must(reader->begin());
  Rows rows;
  DumpStorage storage;
  for (;;) {
    DumpItem item = testing::must(reader->next());
    if (std::holds_alternative<DumpEnd>(item)) return rows;
    if (auto* const begun = std::get_if<DumpStorage>(&item)) {
      storage = *begun;
      continue;
    }
    DumpRow& row = std::get<DumpRow>(item);
    if (storage.shape.kind == StorageKind::kSequential) {
      EXPECT_TRUE(rows.keyed[storage.name].emplace(row.value, "").second) << "twice";
      if (list != nullptr) list->push_back(row.value);
      continue;
    }
    const bool is_array = storage.shape.kind == StorageKind::kArray;
    const std::string key = is_array ? std::to_string(row.index) : row.key;
    EXPECT_TRUE(rows.keyed[storage.name].emplace(key, row.value).second) << "twice: " << key;
  }
}

inline Salvaged salvage(std::unique_ptr<device::Device> device, bool is_newest = false) {
  Salvaged salvaged;
  auto database = ClosedDatabase::of(std::move(device));
  if (!database.is_ok()) {
    salvaged.status = database.status();
    return salvaged;
  }
  Losses losses({});
  SalvageOptions options;
  options.is_newest = is_newest;
  auto planned = Salvage::plan(*database, options, &losses);
  salvaged.status = planned.status();
  if (planned.is_ok()) {
    std::ostringstream out;
    planned->write(DumpFormat::kBinary, {}, &out);
    salvaged.dump = out.str();
    salvaged.rows = rows_of(salvaged.dump, &salvaged.list);
    salvaged.whole = planned->whole();
    salvaged.later_records = planned->later_records();
  }
  salvaged.lost = losses.kept();
  return salvaged;
}

inline Salvaged salvage(const std::string& dir, bool is_newest = false) {
  engine::DirectoryNames names;
  names.dir = dir;
  return salvage(testing::must(engine::open_directories_to_read(names)).device, is_newest);
}

inline constexpr std::uint64_t kSalvageRecords = 600;  // of the array

// Writes transactions whose effects depend on each other in all kinds of storages.
class SalvageRig {
 public:
  explicit SalvageRig(std::string dir) {
    options_ = testing::small_options(std::move(dir));
    options_.socs = 1;
    options_.log.loggers_per_soc = 2;
    options_.log.segment_bytes = 1u << 20;  // the least
    options_.memory_bytes = 64u << 20;
    options_.snapshots_kept = 8;
    for (std::uint64_t i = 0; i < kSalvageRecords; ++i) {
      rows_.keyed["array"][std::to_string(i)] = std::string(40, '\0');
    }
    ever_["array"].insert(rows_.keyed["array"].begin(), rows_.keyed["array"].end());
  }
  const std::string& dir() const { return options_.dir; }

  void open() {
    db_ = std::make_unique<Database>(testing::must(Database::open(options_)));
    tree_ = testing::must(db_->open_masstree("tree"));
    hash_ = testing::must(db_->open_hash("hash"));
    array_ = testing::must(db_->open_array("array", kSalvageRecords, 40));
    list_ = testing::must(db_->open_sequential("list"));
  }
  // The transactions from now on write to one more Master-Tree.
  void add_storage(const std::string& name) {
    late_.emplace(testing::must(db_->open_masstree(name)));
    late_name_ = name;
  }
  void close() {
    testing::must(db_->close());
    db_.reset();
  }
  void glean() {
    testing::must(db_->wait_durable());
    testing::must(db_->glean());
  }
  // Commits transactions, by two sessions in turn, and waits for each fourth one.
  void write(std::uint32_t count) {
    Session sessions[2] = {testing::must(db_->new_session()), testing::must(db_->new_session())};
    for (std::uint32_t i = 0; i < count; ++i, ++number_) {
      Txn txn = testing::must(sessions[number_ % 2].begin());
      testing::must(change(txn));
      const Ticket ticket = testing::must(txn.commit());
      states_[ticket.epoch().number()] = rows_;
      for (const auto& [storage, rows] : rows_.keyed) {
        ever_[storage].insert(rows.begin(), rows.end());
      }
      if (number_ % 4 == 0) testing::must(ticket.wait_durable());
    }
    testing::must(db_->wait_durable());
  }
  const Rows& rows() const { return rows_; }
  // Returns the rows at the end of an epoch.
  Rows rows_at(Epoch epoch) const {
    auto after = states_.upper_bound(epoch.number());
    if (after == states_.begin()) return {};
    return std::prev(after)->second;
  }
  // Returns true if each row was in some state.
  ::testing::AssertionResult were_there(const Rows& rows) const {
    for (const auto& [storage, of_storage] : rows.keyed) {
      for (const auto& row : of_storage) {
        if (ever_.at(storage).contains(row)) continue;
        return ::testing::AssertionFailure() << storage << " never had " << row.first;
      }
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static std::string key_of(std::uint32_t i) {
    const std::string number = std::to_string(i * 7919 % 100'003);
    return i % 3 == 0 ? "a prefix of some layers, and " + number : number;
  }
  std::string payload() const {
    const std::size_t bytes = number_ % 19 == 7 ? 6'000 + number_ : 60 + number_ % 50;
    return std::to_string(number_) + std::string(bytes, static_cast<char>('a' + number_ % 26));
  }
  template <typename Table>
  Status change_keyed(Txn& txn, const Table& table, std::uint32_t i,
                      std::map<std::string, std::string>* rows) {
    const std::string key = key_of(i);
    const auto row = rows->find(key);
    const bool is_small = row != rows->end() && row->second.size() < 200;
    if (is_small && number_ % 5 == 1) {
      rows->erase(row);
      return txn.erase(table, key);
    }
    if (is_small && number_ % 5 < 4) {
      FOEDUS_CHECK(txn.increment(table, key, 16, std::int64_t{1} << number_ % 40));
      std::uint64_t sum = 0;
      std::memcpy(&sum, row->second.data() + 16, 8);
      sum += std::uint64_t{1} << number_ % 40;
      std::memcpy(row->second.data() + 16, &sum, 8);
      row->second.replace(2, 5, "parts");
      return txn.write_at(table, key, 2, std::string_view("parts"));
    }
    (*rows)[key] = payload();
    return txn.put(table, key, payload());
  }
  Status change(Txn& txn) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t key = (number_ * 4 + i) % 331;
      FOEDUS_CHECK(change_keyed(txn, tree_, key, &rows_.keyed["tree"]));
      FOEDUS_CHECK(change_keyed(txn, hash_, key + 1, &rows_.keyed["hash"]));
      const std::uint64_t index = (number_ * 37 + i * 101) % kSalvageRecords;
      std::string& record = rows_.keyed["array"][std::to_string(index)];
      record.replace(8, 4, "part");
      FOEDUS_CHECK(txn.write_at(array_, index, 8, std::string_view("part")));
      record[16] = static_cast<char>(record[16] + 1);
      FOEDUS_CHECK(txn.increment(array_, index, 16, std::int64_t{1}));
    }
    if (number_ % 8 < 2) {  // fills segments of both loggers
      std::string& large = rows_.keyed["tree"]["large"];
      large = std::string(90'000, static_cast<char>('a' + number_ % 26));
      FOEDUS_CHECK(txn.put(tree_, "large", large));
    }
    if (!late_name_.empty()) {
      rows_.keyed[late_name_][key_of(number_ % 50)] = payload();
      FOEDUS_CHECK(txn.put(*late_, key_of(number_ % 50), payload()));
    }
    const std::string row = std::to_string(number_) + std::string(number_ % 90, 'l');
    rows_.keyed["list"][row];
    return txn.append(list_, row);
  }

  Options options_;
  std::unique_ptr<Database> db_;
  Masstree tree_;
  Hash hash_;
  Array array_;
  Sequential list_;
  std::optional<Masstree> late_;
  std::string late_name_;
  std::uint32_t number_ = 0;
  Rows rows_;
  std::map<std::uint64_t, Rows> states_;  // after the last transaction of an epoch
  std::map<std::string, std::set<std::pair<std::string, std::string>>> ever_;
};

}  // namespace foedus::cli
