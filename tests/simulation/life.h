#pragma once
// Life: a database of the simulation from its opening to its end, driven by one thread; and the
// reading of all that is in it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/clock.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/simulation/model.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::simulation {

// The keys that are used in a run, ascending; ~20 bytes, or with prefixes in common, or long.
std::vector<std::string> make_keys(std::uint64_t seed, std::uint64_t count);

// Small ones of all kinds: 1 to 4 SOCs, a cache and a gleaner that have little memory.
Options make_options(base::Random* random, std::uint32_t sessions_max, bool gleans);

// All that a transaction saw.
struct Reading {
  Status status;  // why it could not be read
  Epoch covered;  // of a snapshot
  Content content;
  std::string wrong;  // what can never be; empty: nothing
};

class Life {
 public:
  Life(testing::FailingDevice* device, std::uint64_t seed) : device_(device), runtime_(seed) {
    runtime_.starve("foedus-pool");  // it clears memory ahead of use, which is most of a short life
  }

  Status open(const Options& options);
  bool is_open() const { return engine_ != nullptr; }
  engine::Engine& engine() { return *engine_; }
  testing::ManualRuntime& runtime() { return runtime_; }
  Epoch durable() { return engine_->durability().durable(); }
  Epoch current() { return engine_->clock().current(); }
  Status glean() { return engine_->gleaning()->glean({}).status(); }

  // The handle of a storage by its id; null: it was dropped.
  occ::StorageControl* find(std::uint32_t id);
  Result<occ::StorageControl*> create(const StorageModel& storage);

  // Runs `function` as Database::transact() would, in a session of its own: again after a conflict,
  // at most kTriesMax times. A snapshot has one try, for it never conflicts.
  using Function = std::function<Status(Txn*)>;
  Result<Ticket> transact(const Function& function, TxnOptions options);
  // All that there is, hash records by `keys`.
  Reading read(const std::vector<std::string>& keys, const TxnOptions& options);

 private:
  // No other transaction commits meanwhile: what comes between is the gleaner, at its pace, in the
  // waits of one try. Whoever conflicts so often would do so for ever.
  static constexpr std::uint32_t kTriesMax = 8;

  Result<Ticket> transact_once(engine::EngineSession* session, const Function& function,
                               const TxnOptions& options);
  Status read_storages(Txn* txn, const std::vector<std::string>& keys, Reading* reading);
  Status read_storage(Txn* txn, const std::vector<std::string>& keys, occ::StorageControl* control,
                      StorageModel* storage, std::string* wrong);

  testing::FailingDevice* const device_;
  testing::ManualRuntime runtime_;
  std::unique_ptr<engine::Engine> engine_;
};

// While it lives, sync points that this thread passes are reported to it, outer ones after inner
// ones.
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

// Payloads of sequential storages begin with who wrote them when.
std::string sequential_payload(std::uint64_t serial, std::uint32_t session, std::size_t bytes);
// Who wrote first is first, for each session. Empty: it is so.
std::string wrong_order(const std::vector<std::string>& payloads);

template <typename Handle>
Handle handle_of(occ::StorageControl* control) {
  return internal::StorageAccess::make<Handle>(control);
}

}  // namespace foedus::simulation
