#pragma once
// A small database of pages of all kinds over a simulated device and one thread: all four storages,
// two levels of arrays, bins below two interior pages, Master-Trees of several layers, payloads
// that are chains. Its calls use all of it, and report failures.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/glean/gleaning.h"
#include "foedus-core/engine/storage_access.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::hostile {

inline constexpr std::uint64_t kArrayRecords = 2'000;
inline constexpr std::uint32_t kArrayPayloadBytes = 100;

// The contents of the storages.
struct Contents {
  std::map<std::string, std::string> tree;
  std::map<std::string, std::string> hash;
  std::map<std::uint64_t, std::string> array;  // indexes that were written to
  std::vector<std::string> list;

  bool operator==(const Contents&) const = default;
};

// Returns options with which a snapshot transaction reads the newest existing snapshot.
inline TxnOptions options_of(Isolation isolation) {
  return {.isolation = isolation, .newest_existing = isolation == Isolation::kSnapshot};
}

class SmallDatabase {
 public:
  explicit SmallDatabase(testing::FailingDevice* device) : device_(device) {}

  Status open(OpenUntil until = OpenUntil::kRecovered) {
    Options options = testing::small_options("/failing");
    options.memory_bytes = 64u << 20;
    options.open_until = until;
    options.log.segment_bytes = 1u << 20;
    options.log.buffer_bytes = 64u << 10;
    options.socs = 1;
    options.sessions_max = 2;
    options.pages.huge_pages =
        Facility::kTry;  // an open is a few faults of 2 MiB, not 900 of 4 KiB
    options.pages.numa_binding = Facility::kOff;
    options.glean.memory_bytes = 32u << 20;
    options.pages.cache_bytes = 1u << 20;
    FOEDUS_TRY(engine_, engine::Engine::open(options, {.runtime = &runtime_, .device = device_}));
    FOEDUS_TRY(tree_, open_storage(StorageKind::kMasstree, "tree"));
    FOEDUS_TRY(hash_, open_storage(StorageKind::kHash, "hash"));
    FOEDUS_TRY(array_, open_storage(StorageKind::kArray, "array"));
    FOEDUS_TRY(list_, open_storage(StorageKind::kSequential, "list"));
    FOEDUS_TRY(session_, engine_->take_session());
    return {};
  }
  Status glean() { return engine_->gleaning()->scheduler().glean({}).status(); }
  Status close() { return engine_->close(); }
  engine::Engine& engine() { return *engine_; }

  // Commits `count` keys of each storage, from number `first` on, and waits for durability.
  Status write(std::uint32_t first, std::uint32_t count, Contents* contents);
  // Makes all logged changes except puts and appends, to existing small payloads: partial writes,
  // increments, erasures, several of them to one key.
  Status change(Contents* contents);
  // Writes to each existing row, so that its page becomes volatile.
  Status touch(const Contents& contents);
  // Reads all rows into *contents. Goes on after an error; the first one is returned.
  Status read(Isolation isolation, bool reverse, const Contents& expected, Contents* contents);

 private:
  Result<occ::StorageControl*> open_storage(StorageKind kind, std::string_view name) {
    storage_meta::StorageMeta meta;
    meta.kind = kind;
    meta.name = name;
    if (kind == StorageKind::kArray) {
      meta.records = kArrayRecords;
      meta.payload_bytes = kArrayPayloadBytes;
    }
    if (kind == StorageKind::kHash) meta.fan_out_bits = 1;
    return engine_->catalog().open(meta);
  }
  template <typename Handle>
  Handle handle(occ::StorageControl* control) {
    return internal::StorageAccess::make<Handle>(control);
  }
  Status read_points(Isolation isolation, const Contents& expected, Contents* contents);
  Status read_scans(Isolation isolation, bool reverse, Contents* contents);

  testing::FailingDevice* const device_;
  testing::ManualRuntime runtime_;
  std::unique_ptr<engine::Engine> engine_;
  occ::StorageControl* tree_ = nullptr;
  occ::StorageControl* hash_ = nullptr;
  occ::StorageControl* array_ = nullptr;
  occ::StorageControl* list_ = nullptr;
  engine::EngineSession* session_ = nullptr;
};

// Returns keys of a few bytes, of one slice, of two layers and of many.
inline std::string tree_key(std::uint32_t i) {
  const std::string number = std::to_string(std::uint64_t{i} * 7919 % 1'000'003);
  if (i % 5 == 0) return "a prefix of a few layers, and then " + number;
  if (i % 5 == 1) return std::string(i % 70 == 1 ? 30 : 8, 'x') + number;
  return number;
}
// Returns keys of which every second has the same first digit of the hash, so that one bin becomes
// an interior page.
inline std::string hash_key(std::uint32_t i) {
  for (std::uint32_t n = i << 12;; ++n) {
    std::string key = "h" + std::to_string(n);
    if (i % 8 == 0 || storage::hash::hash_of(key) >> 57 == 5) return key;
  }
}
inline std::string payload_of(std::uint32_t i) {
  std::size_t bytes = 20 + i * 31 % 60;
  if (i % 101 == 3) bytes = 1500 + i * 13 % 5000;
  return std::string(bytes, static_cast<char>('a' + i % 26));
}

inline Status SmallDatabase::write(std::uint32_t first, std::uint32_t count, Contents* contents) {
  constexpr std::uint32_t kBatch = 25;
  for (std::uint32_t begin = first; begin < first + count; begin += kBatch) {
    Contents next = *contents;
    FOEDUS_TRY(Txn txn, engine::begin_txn(session_, {}));
    for (std::uint32_t i = begin; i < std::min(begin + kBatch, first + count); ++i) {
      const std::string payload = payload_of(i);
      FOEDUS_CHECK(txn.put(handle<Masstree>(tree_), tree_key(i), payload));
      FOEDUS_CHECK(txn.put(handle<Hash>(hash_), hash_key(i), payload));
      next.tree[tree_key(i)] = next.hash[hash_key(i)] = payload;
      if (i % 4 == 0) {
        const std::uint64_t index = std::uint64_t{i} * 61 % kArrayRecords;
        const std::string fixed(kArrayPayloadBytes, static_cast<char>('A' + i % 26));
        FOEDUS_CHECK(txn.put(handle<Array>(array_), index, fixed));
        next.array[index] = fixed;
        const std::string part = payload.substr(0, std::min<std::size_t>(payload.size(), 800));
        FOEDUS_CHECK(txn.append(handle<Sequential>(list_), part));
        next.list.push_back(part);
      }
    }
    FOEDUS_TRY(const Ticket ticket, txn.commit());
    FOEDUS_CHECK(ticket.wait_durable());
    *contents = std::move(next);
  }
  return {};
}

inline Status SmallDatabase::change(Contents* contents) {
  Contents next = *contents;
  FOEDUS_TRY(Txn txn, engine::begin_txn(session_, {}));
  const auto add = [](std::string* payload, std::uint32_t offset, std::uint64_t delta) {
    std::uint64_t value;
    std::memcpy(&value, payload->data() + offset, sizeof(value));
    value += delta;
    std::memcpy(payload->data() + offset, &value, sizeof(value));
  };
  std::uint32_t turn = 0;
  const auto change_keyed = [&](const KeyedStorage& storage,
                                std::map<std::string, std::string>* rows) -> Status {
    for (auto row = rows->begin(); row != rows->end();) {
      auto& [key, payload] = *row;
      if (payload.size() > 200) {
        ++row;
        continue;
      }
      ++turn;
      if (turn % 3 == 0) {
        FOEDUS_CHECK(txn.write_at(storage, key, 3, std::string_view("parted")));
        payload.replace(3, 6, "parted");
      }
      if (turn % 3 != 2) {
        FOEDUS_CHECK(txn.increment(storage, key, 8, std::int64_t{1} << turn % 50));
        add(&payload, 8, std::uint64_t{1} << turn % 50);
      }
      if (turn % 5 == 0) {
        FOEDUS_CHECK(txn.erase(storage, key));
        row = rows->erase(row);
      } else {
        ++row;
      }
    }
    return {};
  };
  FOEDUS_CHECK(change_keyed(handle<Masstree>(tree_), &next.tree));
  FOEDUS_CHECK(change_keyed(handle<Hash>(hash_), &next.hash));
  for (auto& [index, payload] : next.array) {
    FOEDUS_CHECK(txn.write_at(handle<Array>(array_), index, 5, std::string_view("parted")));
    payload.replace(5, 6, "parted");
    FOEDUS_CHECK(txn.increment(handle<Array>(array_), index, 16, std::int64_t{7}));
    add(&payload, 16, 7);
  }
  FOEDUS_TRY(const Ticket ticket, txn.commit());
  FOEDUS_CHECK(ticket.wait_durable());
  *contents = std::move(next);
  return {};
}

inline Status SmallDatabase::touch(const Contents& contents) {
  const auto one = [&](auto&& write) -> Status {
    FOEDUS_TRY(Txn txn, engine::begin_txn(session_, {}));
    FOEDUS_CHECK(write(txn));
    return txn.commit().status();
  };
  Status first;
  const auto keep = [&](Status status) {
    if (first.is_ok() && !status.is_ok()) first = std::move(status);
  };
  for (const auto& [key, payload] : contents.tree) {
    keep(one([&](Txn& txn) { return txn.put(handle<Masstree>(tree_), key, payload + "+"); }));
  }
  for (const auto& [key, payload] : contents.hash) {
    keep(one([&](Txn& txn) { return txn.put(handle<Hash>(hash_), key, payload + "+"); }));
  }
  for (const auto& [index, payload] : contents.array) {
    keep(one([&](Txn& txn) { return txn.put(handle<Array>(array_), index, payload); }));
  }
  keep(one([&](Txn& txn) { return txn.append(handle<Sequential>(list_), "touched"); }));
  return first;
}

inline Status SmallDatabase::read_points(Isolation isolation, const Contents& expected,
                                         Contents* contents) {
  Status first;
  const auto keyed = [&](Txn& txn, const KeyedStorage& storage, const std::string& key,
                         std::map<std::string, std::string>* to) -> Status {
    Result<std::string> payload = txn.get(storage, key);
    if (payload.code() == ErrorCode::kNotFound) return {};
    FOEDUS_TRY((*to)[key], std::move(payload));
    return {};
  };
  // Each read is a transaction of its own, so that a failed one does not affect the others.
  const auto one = [&](auto&& look) {
    Status status = [&]() -> Status {
      FOEDUS_TRY(Txn txn, engine::begin_txn(session_, options_of(isolation)));
      FOEDUS_CHECK(look(txn));
      return txn.commit().status();
    }();
    if (first.is_ok() && !status.is_ok()) first = std::move(status);
  };
  for (const auto& [key, payload] : expected.tree) {
    one([&](Txn& txn) { return keyed(txn, handle<Masstree>(tree_), key, &contents->tree); });
  }
  for (const auto& [key, payload] : expected.hash) {
    one([&](Txn& txn) { return keyed(txn, handle<Hash>(hash_), key, &contents->hash); });
  }
  for (std::uint64_t index = 0; index < kArrayRecords; ++index) {
    if (index % 34 != 0 && !expected.array.contains(index)) continue;
    one([&](Txn& txn) -> Status {
      std::string payload(kArrayPayloadBytes, '\0');
      const auto bytes = std::as_writable_bytes(std::span<char>(payload));
      FOEDUS_CHECK(txn.get(handle<Array>(array_), index, bytes));
      if (payload != std::string(kArrayPayloadBytes, '\0')) contents->array[index] = payload;
      return {};
    });
  }
  return first;
}

inline Status SmallDatabase::read_scans(Isolation isolation, bool reverse, Contents* contents) {
  FOEDUS_TRY(Txn txn, engine::begin_txn(session_, options_of(isolation)));
  Status first;
  {
    Scan rows = txn.scan(handle<Masstree>(tree_), "", "", {.reverse = reverse});
    for (const Row& row : rows) contents->tree[std::string(row.key)] = std::string(row.payload);
    if (rows.failure().has_value()) first = *rows.failure();
  }
  {
    Scan rows = txn.scan(handle<Sequential>(list_));
    for (const Row& row : rows) contents->list.emplace_back(row.payload);
    if (rows.failure().has_value() && first.is_ok()) first = *rows.failure();
  }
  FOEDUS_CHECK(first);
  return txn.commit().status();
}

inline Status SmallDatabase::read(Isolation isolation, bool reverse, const Contents& expected,
                                  Contents* contents) {
  Contents scanned;
  const Status scans = read_scans(isolation, reverse, &scanned);
  Contents asked = expected;
  asked.tree.insert(scanned.tree.begin(), scanned.tree.end());
  const Status points = read_points(isolation, asked, contents);
  contents->list = std::move(scanned.list);
  FOEDUS_CHECK(scans);
  FOEDUS_CHECK(points);
  if (scanned.tree != contents->tree) {
    return Status::error(ErrorCode::kCorruption, "a scan and point reads do not agree");
  }
  return {};
}

}  // namespace foedus::hostile
