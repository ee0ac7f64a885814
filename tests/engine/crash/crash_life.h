#pragma once
// One life of a database between two crashes, over a simulated device and one thread: random
// transactions on storages of all kinds, and a model of them.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::testing {

inline constexpr std::uint64_t kKeys = 40;
inline constexpr std::uint64_t kArrayRecords = 8;

// A change of one transaction, for the model.
struct Change {
  char storage;  // 't'ree, 'h'ash, 'a'rray, 'l'og
  std::uint64_t key;
  std::string payload;
  bool erase = false;
};
using ModelTxn = std::vector<Change>;

struct Model {
  std::map<std::uint64_t, std::string> tree;
  std::map<std::uint64_t, std::string> hash;
  std::vector<std::string> array = std::vector<std::string>(kArrayRecords, std::string(8, '\0'));
  std::vector<std::string> log;

  void apply(const ModelTxn& txn) {
    for (const Change& change : txn) {
      if (change.storage == 'l') log.push_back(change.payload);
      if (change.storage == 'a') array[change.key] = change.payload;
      if (change.storage != 't' && change.storage != 'h') continue;
      auto& map = change.storage == 't' ? tree : hash;
      if (change.erase) {
        map.erase(change.key);
      } else {
        map[change.key] = change.payload;
      }
    }
  }
};

// One life of the database between two crashes.
class Life {
 public:
  Life(device::Device* device, std::uint64_t seed)
      : device_(device), runtime_(seed), random_(seed) {}

  // Opens the database with `socs` SOCs, or any number if 0. Unless `until` is kRecovered, the
  // storages must be in a snapshot.
  Status open(std::uint32_t socs = 0, OpenUntil until = OpenUntil::kRecovered) {
    Options options = small_options("/failing");
    options.log.segment_bytes = 1u << 20;
    options.log.buffer_bytes = 64u << 10;
    options.socs = socs != 0 ? socs : static_cast<std::uint32_t>(1 + random_.below(3));
    options.log.loggers_per_soc = loggers_per_soc_;
    options.sessions_max = 4;
    options.open_until = until;
    options.glean.close_us = close_us_;
    options.memory_bytes = 64u << 20;
    // The size decides where ranges of snapshots meet, and so which files a full device can do
    // without.
    options.glean.memory_bytes = 32u << 20;
    if (touch_bytes_.has_value()) {
      options.glean.touch_bytes = *touch_bytes_;
    } else if (random_.below(2) == 0) {
      options.glean.touch_bytes = 0;
    }
    FOEDUS_TRY(engine_, engine::Engine::open(options, {.runtime = &runtime_, .device = device_}));
    FOEDUS_TRY(tree_, open_storage(StorageKind::kMasstree, "tree"));
    FOEDUS_TRY(hash_, open_storage(StorageKind::kHash, "hash"));
    FOEDUS_TRY(array_, open_storage(StorageKind::kArray, "array"));
    FOEDUS_TRY(log_, open_storage(StorageKind::kSequential, "log"));
    FOEDUS_TRY(session_, engine_->take_session());
    return {};
  }

  static constexpr int kTries = 100;

  // Commits a random transaction, whose changes go to `change`.
  Status step(std::uint64_t number, ModelTxn* change, Ticket* ticket) {
    const base::Random random = random_;
    for (int i = 1;; ++i) {
      random_ = random;
      // A row that is applied is a conflict for a transaction that missed its neighbour.
      Status done = try_step(number, change, ticket);
      if (done.code() != ErrorCode::kConflict || i == kTries) return done;
    }
  }
  // Returns the whole content; fails the test on any error.
  Model read() {
    for (int i = 1;; ++i) {
      // A scan that waits for the gleaner conflicts with pages that are installed meanwhile.
      Result<Model> found = read_as(Isolation::kSerializable);
      if (found.code() != ErrorCode::kConflict || i == kTries) return must(std::move(found));
    }
  }
  Result<Model> read_as(Isolation isolation);

  // Makes and installs the next snapshot. A failure is one of the device, which the next step gets,
  // too.
  Status glean() { return engine_->gleaning()->scheduler().glean({}).status(); }
  Status close() { return engine_->close(); }
  // Sets how long the next close() may take for a last snapshot. Call it before open().
  void set_close_us(std::uint64_t close_us) { close_us_ = close_us; }
  // Sets the loggers of each SOC. Call it before open().
  void set_loggers(std::uint32_t loggers_per_soc) { loggers_per_soc_ = loggers_per_soc; }
  // Sets the bytes of log from which on rows are applied on first touch; by default any in half of
  // the lives. Call it before open().
  void set_touch_bytes(std::uint64_t touch_bytes) { touch_bytes_ = touch_bytes; }

  void run_for(std::uint64_t microseconds) { runtime_.run_for(microseconds); }
  ManualRuntime& runtime() { return runtime_; }
  base::Random& random() { return random_; }
  engine::Engine& engine() { return *engine_; }
  Epoch durable() { return engine_->durability().durable(); }

 private:
  Status try_step(std::uint64_t number, ModelTxn* change, Ticket* ticket);
  Result<occ::StorageControl*> open_storage(StorageKind kind, std::string_view name) {
    storage_meta::StorageMeta meta;
    meta.kind = kind;
    meta.name = name;
    if (kind == StorageKind::kArray) {
      meta.records = kArrayRecords;
      meta.payload_bytes = 8;
    }
    if (kind == StorageKind::kHash) meta.fan_out_bits = 1;
    return engine_->catalog().open(meta);
  }
  template <typename Handle>
  Handle handle(occ::StorageControl* control) {
    return internal::StorageAccess::make<Handle>(control);
  }

  device::Device* const device_;
  ManualRuntime runtime_;
  base::Random random_;
  std::uint64_t close_us_ = 0;
  std::optional<std::uint64_t> touch_bytes_;
  std::uint32_t loggers_per_soc_ = 0;
  std::unique_ptr<engine::Engine> engine_;
  occ::StorageControl* tree_ = nullptr;
  occ::StorageControl* hash_ = nullptr;
  occ::StorageControl* array_ = nullptr;
  occ::StorageControl* log_ = nullptr;
  engine::EngineSession* session_ = nullptr;
};

inline Status Life::try_step(std::uint64_t number, ModelTxn* change, Ticket* ticket) {
  change->clear();
  FOEDUS_TRY(Txn txn, engine::begin_txn(session_, {}));
  const std::uint64_t operations = 1 + random_.below(6);
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint64_t key_number = random_.below(kKeys);
    std::string payload(random_.below(20) == 0 ? 5000 : random_.below(200),
                        static_cast<char>('a' + number % 26));
    payload += std::to_string(number);
    switch (random_.below(6)) {
      case 0:
        FOEDUS_CHECK(txn.put(handle<Masstree>(tree_), key(key_number), payload));
        change->push_back({'t', key_number, payload});
        break;
      case 1:
        FOEDUS_CHECK(txn.put(handle<Hash>(hash_), key(key_number), payload));
        change->push_back({'h', key_number, payload});
        break;
      case 2: {
        const bool in_tree = random_.below(2) == 0;
        const Status erased = in_tree ? txn.erase(handle<Masstree>(tree_), key(key_number))
                                      : txn.erase(handle<Hash>(hash_), key(key_number));
        if (erased.code() == ErrorCode::kNotFound) break;
        FOEDUS_CHECK(erased);
        change->push_back({in_tree ? 't' : 'h', key_number, "", true});
        break;
      }
      case 3: {
        const std::uint64_t index = random_.below(kArrayRecords);
        std::string eight = std::to_string(10'000'000 + number);
        FOEDUS_CHECK(txn.put(handle<Array>(array_), index, std::string_view(eight)));
        change->push_back({'a', index, eight});
        break;
      }
      default:
        payload.resize(std::min(payload.size(), kMaxSequentialPayloadBytes));
        FOEDUS_CHECK(txn.append(handle<Sequential>(log_), payload));
        change->push_back({'l', 0, payload});
        break;
    }
  }
  FOEDUS_CHECK(txn.append(handle<Sequential>(log_), "end of " + std::to_string(number)));
  change->push_back({'l', 0, "end of " + std::to_string(number)});
  FOEDUS_TRY(*ticket, txn.commit());
  return {};
}

inline Result<Model> Life::read_as(Isolation isolation) {
  Model model;
  const bool of_snapshot = isolation == Isolation::kSnapshot;
  FOEDUS_TRY(Txn txn,
             engine::begin_txn(session_, {.isolation = isolation, .newest_existing = of_snapshot}));
  for (std::uint64_t k = 0; k < kKeys; ++k) {
    const auto read_one = [&](const KeyedStorage& storage, auto* map) -> Status {
      Result<std::string> payload = txn.get(storage, key(k));
      if (payload.code() == ErrorCode::kNotFound) return {};
      FOEDUS_TRY((*map)[k], std::move(payload));
      return {};
    };
    FOEDUS_CHECK(read_one(handle<Masstree>(tree_), &model.tree));
    FOEDUS_CHECK(read_one(handle<Hash>(hash_), &model.hash));
  }
  for (std::uint64_t i = 0; i < kArrayRecords; ++i) {
    const auto bytes = std::as_writable_bytes(std::span<char>(model.array[i].data(), 8));
    FOEDUS_CHECK(txn.get(handle<Array>(array_), i, bytes));
  }
  Scan rows = txn.scan(handle<Sequential>(log_));
  for (const Row& row : rows) model.log.emplace_back(row.payload);
  if (rows.failure().has_value()) return *rows.failure();
  FOEDUS_CHECK(txn.commit().status());
  return model;
}

// Describes the differences; empty if there are none.
inline std::string difference(const Model& found, const Model& expected) {
  std::string text;
  const auto maps = [&text](const char* name, const auto& have, const auto& want) {
    for (std::uint64_t k = 0; k < kKeys; ++k) {
      const auto h = have.find(k);
      const auto w = want.find(k);
      const std::string one =
          h == have.end() ? "absent"
                          : h->second.substr(0, 12) + "~" + std::to_string(h->second.size());
      const std::string two =
          w == want.end() ? "absent"
                          : w->second.substr(0, 12) + "~" + std::to_string(w->second.size());
      if (one != two)
        text += std::string(name) + "[" + std::to_string(k) + "] is " + one + ", not " + two + "\n";
    }
  };
  maps("tree", found.tree, expected.tree);
  maps("hash", found.hash, expected.hash);
  if (found.array != expected.array) text += "the array differs\n";
  for (std::size_t i = 0; i < std::max(found.log.size(), expected.log.size()); ++i) {
    const std::string one = i < found.log.size() ? found.log[i].substr(0, 20) : "absent";
    const std::string two = i < expected.log.size() ? expected.log[i].substr(0, 20) : "absent";
    if (one != two) text += "log[" + std::to_string(i) + "] is " + one + ", not " + two + "\n";
  }
  return text;
}

// Returns the model after the transactions of `txns`.
inline Model model_of(const std::vector<ModelTxn>& txns) {
  Model model;
  for (const ModelTxn& txn : txns) model.apply(txn);
  return model;
}

}  // namespace foedus::testing
