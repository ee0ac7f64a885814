#pragma once
// Life: a database of the simulation from its open to its end, driven by one thread; and a reading
// of all of it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/simulation/plan/model.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::simulation {

// Returns the keys of a run, ascending; ~20 bytes, or with common prefixes, or long.
std::vector<std::string> make_keys(std::uint64_t seed, std::uint64_t count);

// Returns random options of small databases: 1 to 4 SOCs, little memory for the cache and the
// gleaner.
Options make_options(base::Random* random, std::uint32_t sessions_max, bool gleans);

// The results of a transaction that read all.
struct Reading {
  Status status;  // the reason of a failed reading
  Epoch covered;  // of a snapshot
  Content content;
  std::string wrong;  // an impossible content; empty: none
};

class Life {
 public:
  Life(testing::FailingDevice* device, std::uint64_t seed) : device_(device), runtime_(seed) {
    runtime_.starve("foedus-pool");  // clearing memory ahead of use takes most of a short life
  }

  Status open(const Options& options);
  bool is_open() const { return engine_ != nullptr; }
  engine::Engine& engine() { return *engine_; }
  testing::ManualRuntime& runtime() { return runtime_; }
  Epoch durable() { return engine_->durability().durable(); }
  Epoch current() { return engine_->clock().current(); }
  Status glean() { return engine_->gleaning()->scheduler().glean({}).status(); }

  // Returns the handle of a storage by its id, or null if it was dropped.
  occ::StorageControl* find(std::uint32_t id);
  Result<occ::StorageControl*> create(const StorageModel& storage);

  // Runs `function` as Database::transact() does, in a session of its own, with at most kTriesMax
  // tries after conflicts. A snapshot transaction has one try, because it never conflicts.
  using Function = std::function<Status(Txn*)>;
  Result<Ticket> transact(const Function& function, const TxnOptions& options);
  // Reads all storages; the records of hash storages by `keys`.
  Reading read(const std::vector<std::string>& keys, const TxnOptions& options);

 private:
  // No other transaction commits meanwhile: only the gleaner, at its pace, interferes in the waits
  // of one try. A transaction that conflicts so often would do so for ever.
  static constexpr std::uint32_t kTriesMax = 8;

  Result<Ticket> transact_once(engine::EngineSession* session, const Function& function,
                               const TxnOptions& options, bool is_retry);
  Status read_storages(Txn* txn, const std::vector<std::string>& keys, Reading* reading);
  Status read_storage(Txn* txn, const std::vector<std::string>& keys, occ::StorageControl* control,
                      StorageModel* storage, std::string* wrong);

  testing::FailingDevice* const device_;
  testing::ManualRuntime runtime_;
  std::unique_ptr<engine::Engine> engine_;
};

// An object that gets the sync points that this thread passes. Of nested objects the inner one gets
// them first.
class PlaceWatch {
 public:
  using Function = std::function<void(std::string_view place)>;
  explicit PlaceWatch(Function function);
  ~PlaceWatch();
  PlaceWatch(const PlaceWatch&) = delete;
  PlaceWatch& operator=(const PlaceWatch&) = delete;
  void report(const char* place) const {
    function_(place);
    if (outer_ != nullptr) outer_->report(place);
  }

 private:
  const Function function_;
  const PlaceWatch* const outer_;
};

// Returns a payload of a sequential storage, which begins with its session and serial number.
std::string sequential_payload(std::uint64_t serial, std::uint32_t session, std::size_t bytes);
// Returns a complaint, or an empty string if the payloads of each session are in the order of their
// writes.
std::string wrong_order(const std::vector<std::string>& payloads);

template <typename Handle>
Handle handle_of(occ::StorageControl* control) {
  return internal::StorageAccess::make<Handle>(control);
}

}  // namespace foedus::simulation
