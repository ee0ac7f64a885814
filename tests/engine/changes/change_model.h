#pragma once
// ChangeModel: the rows that a consumer has made of a change stream; and the options of its
// database.

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/testing/test_database.h"

namespace foedus::testing {

// Options of a database whose log keeps all changes.
inline Options keeping_options() {
  Options options = small_options("");
  options.log.segment_bytes = 1u << 20;
  options.log.change_bytes = 1u << 30;
  return options;
}

class ChangeModel {
 public:
  using Rows = std::map<std::string, std::string>;

  Epoch position() const { return position_; }
  std::size_t batches() const { return batches_; }
  std::size_t row_count(const std::string& storage) const {
    const auto found = storages_.find(storage);
    return found == storages_.end() ? 0 : found->second.rows.size();
  }
  Rows rows(const std::string& storage) const {
    const auto found = storages_.find(storage);
    return found == storages_.end() ? Rows() : found->second.rows;
  }
  std::vector<std::string> records(const std::string& storage) const {
    const auto found = storages_.find(storage);
    return found == storages_.end() ? std::vector<std::string>() : found->second.records;
  }

  // Applies all changes that the stream has now. `most`: of this many batches only.
  Status take(ChangeStream* stream, std::size_t most = ~std::size_t{0}) {
    for (std::size_t taken = 0; taken < most; ++taken) {
      FOEDUS_TRY(const ChangeBatch batch, stream->next());
      EXPECT_GE(batch.position, position_);
      position_ = batch.position;
      if (batch.changes.empty()) break;
      EXPECT_EQ(batch.epoch, batch.position);
      ++batches_;
      std::uint32_t transaction = 0;
      for (const Change& change : batch.changes) {
        EXPECT_LE(change.transaction - transaction, 1u);
        transaction = change.transaction;
        apply(change);
      }
    }
    return {};
  }

 private:
  struct Storage {
    StorageInfo info;
    Rows rows;
    std::vector<std::string> records;  // of a sequential storage
  };

  void apply(const Change& change) {
    const std::string name(change.storage);
    if (change.kind == ChangeKind::kCreateStorage) {
      ASSERT_NE(change.created, nullptr);
      EXPECT_EQ(change.created->name, name);
      EXPECT_EQ(change.created->id, change.storage_id);
      EXPECT_TRUE(storages_.emplace(name, Storage{*change.created, {}, {}}).second) << name;
      return;
    }
    EXPECT_EQ(change.created, nullptr);
    const auto found = storages_.find(name);
    ASSERT_NE(found, storages_.end()) << name;
    Storage& storage = found->second;
    EXPECT_EQ(storage.info.id, change.storage_id);
    if (change.kind == ChangeKind::kDropStorage) {
      storages_.erase(found);
    } else if (change.kind == ChangeKind::kAppend) {
      storage.records.emplace_back(change.payload);
    } else {
      apply_to_row(change, &storage);
    }
  }

  static void apply_to_row(const Change& change, Storage* storage) {
    const bool is_array = storage->info.kind == StorageKind::kArray;
    const std::string key = is_array ? std::to_string(change.index()) : std::string(change.key);
    std::string& payload = storage->rows[key];
    if (is_array) payload.resize(storage->info.payload_bytes);
    switch (change.kind) {
      case ChangeKind::kPut:
        payload = change.payload;
        return;
      case ChangeKind::kErase:
        storage->rows.erase(key);
        return;
      case ChangeKind::kWriteAt:
        ASSERT_LE(change.payload_offset + change.payload.size(), payload.size());
        payload.replace(change.payload_offset, change.payload.size(), change.payload);
        return;
      case ChangeKind::kIncrement: {
        std::uint64_t number = 0;
        ASSERT_LE(change.payload_offset + sizeof(number), payload.size());
        std::memcpy(&number, payload.data() + change.payload_offset, sizeof(number));
        number += change.addend();
        std::memcpy(payload.data() + change.payload_offset, &number, sizeof(number));
        return;
      }
      default:
        FAIL() << to_string(change.kind);
    }
  }

  Epoch position_;
  std::size_t batches_ = 0;
  std::map<std::string, Storage> storages_;
};

}  // namespace foedus::testing
