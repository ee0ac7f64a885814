#pragma once
// A random log of storages of all kinds, made by running random writes against a model, so that
// every record is one that an engine could have written.

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/page/tid.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/map/record_source.h"

namespace foedus::gleaner::testing {

inline constexpr std::uint32_t kArrayId = 1;
inline constexpr std::uint32_t kHashId = 2;
inline constexpr std::uint32_t kMasstreeId = 3;
inline constexpr std::uint32_t kSequentialId = 5;
inline constexpr std::uint32_t kDroppedId = 4;
inline constexpr std::uint32_t kIdEnd = 6;
inline constexpr std::uint64_t kCoveredEpoch = 10;
inline constexpr std::uint64_t kNewestEpoch = 20;

// Payloads by storage and key.
using Contents = std::map<std::pair<std::uint32_t, std::string>, std::string>;

struct LoggedRecord {
  std::uint32_t session;
  std::uint64_t sequence;
  std::string bytes;

  const log::LogRecord* log() const {
    return reinterpret_cast<const log::LogRecord*>(bytes.data());
  }
};

inline std::string make_record(log::LogRecordType type, std::uint32_t storage, std::uint64_t tid,
                               std::string_view key, std::uint32_t offset,
                               std::string_view payload) {
  std::string bytes(log::LogRecord::size_of(key.size(), payload.size()), '\0');
  auto* const record = reinterpret_cast<log::LogRecord*>(bytes.data());
  record->prepare(type, page::StorageId{storage}, key.size(), payload.size(), offset);
  record->tid = tid;
  if (!key.empty()) std::memcpy(record->key_data(), key.data(), key.size());
  if (!payload.empty()) std::memcpy(record->payload_data(), payload.data(), payload.size());
  return bytes;
}

inline std::uint64_t tid_of(std::uint64_t epoch, std::uint32_t ordinal) {
  return page::Tid(Epoch(epoch), ordinal).word();
}

inline std::string index_key(std::uint64_t index) {
  return std::string(reinterpret_cast<const char*>(&index), sizeof(index));
}

// Applies a record to the contents.
inline void apply(const log::LogRecord& record, Contents* contents) {
  const auto id = static_cast<std::uint32_t>(record.storage_id);
  const std::pair<std::uint32_t, std::string> place{id, std::string(record.key())};
  switch (record.type) {
    case log::LogRecordType::kPut: (*contents)[place] = record.payload(); break;
    case log::LogRecordType::kErase: contents->erase(place); break;
    case log::LogRecordType::kWriteAt:
      contents->at(place).replace(record.payload_offset, record.payload_bytes(),
                                  record.payload());
      break;
    case log::LogRecordType::kIncrement: {
      std::uint64_t value;
      std::uint64_t delta;
      char* const at = contents->at(place).data() + record.payload_offset;
      std::memcpy(&value, at, 8);
      std::memcpy(&delta, record.payload_data(), 8);
      value += delta;
      std::memcpy(at, &value, 8);
      break;
    }
    default: (*contents)[{id, ""}] += std::string(record.payload()) + "|";
  }
}

struct RandomLogOptions {
  std::uint64_t records = 3'000;
  std::uint32_t sessions = 5;
  std::uint32_t keys = 40;
  std::uint32_t payload_bytes_max = 60;
};

class RandomLog {
 public:
  RandomLog(std::uint64_t seed, const RandomLogOptions& options)
      : options_(options), random_(seed), sequences_(options.sessions) {
    for (std::uint32_t index = 0; index < options.keys; ++index) {
      before[{kArrayId, index_key(index)}] = bytes_of(kArrayBytes);
      if (random_.below(2) == 0) before[{kHashId, key_of(index)}] = bytes_of(30);
      if (random_.below(2) == 0) before[{kMasstreeId, key_of(index)}] = bytes_of(30);
    }
    after = before;
    for (std::uint64_t i = 0; i < options.records; ++i) add_one(i);
    // Appends with equal TIDs are in the order of sessions.
    for (const auto& [tid, append] : appends_) after[{kSequentialId, ""}] += append + "|";
  }

  static PartitionTable table(std::uint32_t partitions, std::uint32_t keys) {
    std::vector<StoragePartitions> storages;
    const auto add = [&](std::uint32_t id, StorageKind kind, std::uint64_t step) {
      StoragePartitions storage{page::StorageId{id}, kind, {}};
      for (std::uint64_t i = 1; i < partitions; ++i) storage.boundaries.push_back(i * step);
      storages.push_back(storage);
    };
    add(kSequentialId, StorageKind::kSequential, 1);
    add(kArrayId, StorageKind::kArray, keys / partitions);
    add(kHashId, StorageKind::kHash, ~std::uint64_t{0} / partitions);
    add(kMasstreeId, StorageKind::kMasstree, 0x2000000000000000 / partitions);
    auto made = PartitionTable::make(partitions, storages, page::StorageId{kIdEnd});
    return std::move(made).value();
  }

  std::vector<LoggedRecord> records;  // those of one session in their order
  Contents before;
  Contents after;

 private:
  static constexpr std::uint32_t kArrayBytes = 40;

  // Returns a key; some are prefixes of others, and many share their first slice.
  std::string key_of(std::uint64_t number) const {
    std::string key = number % 3 == 0 ? "common prefix of keys" : "k";
    key.resize(1 + number % 20, '\0');
    return key + std::string(1, static_cast<char>(number * 37));
  }
  std::string bytes_of(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random_.next());
    return text;
  }

  void log(log::LogRecordType type, std::uint32_t storage, std::uint64_t tid, std::string_view key,
           std::uint32_t offset, std::string_view payload) {
    const auto session = static_cast<std::uint32_t>(random_.below(options_.sessions));
    records.push_back({session, sequences_[session]++,
                       make_record(type, storage, tid, key, offset, payload)});
    const std::uint64_t epoch = page::Tid(tid).epoch().number();
    if (epoch <= kCoveredEpoch || epoch > kNewestEpoch || storage == kDroppedId) return;
    if (type == log::LogRecordType::kCreateStorage) return;
    if (type == log::LogRecordType::kAppend) {
      appends_[{tid, session, sequences_[session]}] = payload;
    } else {
      apply(*records.back().log(), &after);
    }
  }

  void add_one(std::uint64_t i) {
    using log::LogRecordType;
    const std::uint64_t epochs = kNewestEpoch - kCoveredEpoch;
    const std::uint64_t epoch = kCoveredEpoch + 1 + i * epochs / options_.records;
    const std::uint64_t tid = tid_of(epoch, static_cast<std::uint32_t>(i));
    switch (random_.below(24)) {
      case 0: log(LogRecordType::kPut, kHashId, tid_of(kCoveredEpoch, 1), "old", 0, "x"); return;
      case 1: log(LogRecordType::kPut, kHashId, tid_of(kNewestEpoch + 1, 1), "new", 0, "x"); return;
      case 2: log(LogRecordType::kPut, kDroppedId, tid, "dropped", 0, "x"); return;
      case 3: log(LogRecordType::kCreateStorage, kHashId, tid, "name", 0, bytes_of(16)); return;
      case 4: case 5: case 6:
        log(LogRecordType::kAppend, kSequentialId, tid_of(epoch, 1), "", 0, bytes_of(9));
        return;
      default: break;
    }
    const std::uint64_t number = random_.below(random_.below(2) == 0 ? 3 : options_.keys);
    const auto storage = static_cast<std::uint32_t>(1 + random_.below(3));
    change(storage, tid, storage == kArrayId ? index_key(number) : key_of(number));
  }

  void change(std::uint32_t storage, std::uint64_t tid, const std::string& key) {
    using log::LogRecordType;
    const auto found = after.find({storage, key});
    const bool is_there = found != after.end();
    const std::size_t size = is_there ? found->second.size() : 0;
    const std::uint64_t what = is_there ? random_.below(12) : 0;
    if (what == 0) {
      const std::size_t bytes = storage == kArrayId
                                    ? kArrayBytes
                                    : random_.below(options_.payload_bytes_max + 1);
      log(LogRecordType::kPut, storage, tid, key, 0, bytes_of(bytes));
    } else if (what == 1 && storage != kArrayId) {
      log(LogRecordType::kErase, storage, tid, key, 0, "");
    } else if (what < 6 || size < 8) {
      const std::size_t offset = random_.below(size + 1);
      const std::size_t bytes = random_.below(size - offset + 1);
      log(LogRecordType::kWriteAt, storage, tid, key, static_cast<std::uint32_t>(offset),
          bytes_of(bytes));
    } else {
      const std::size_t offset = random_.below(3) == 0 ? random_.below(size - 7) : 0;
      log(LogRecordType::kIncrement, storage, tid, key, static_cast<std::uint32_t>(offset),
          bytes_of(8));
    }
  }

  const RandomLogOptions options_;
  base::Random random_;
  std::vector<std::uint64_t> sequences_;
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>, std::string> appends_;
};

}  // namespace foedus::gleaner::testing
