// ctest-program: own
// ctest-labels: memory
// The heap is spent at any place of the last steps of recovery, in a database that is opened for
// its snapshots.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/faults/memory_faults.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::recovery_memory_test {
namespace {

using testing::AtSyncPoint;
using testing::FailingDevice;
using testing::must;

storage_meta::StorageMeta hash_named(const std::string& name) {
  storage_meta::StorageMeta meta;
  meta.kind = StorageKind::kHash;
  meta.name = name;
  return meta;
}

class Life {
 public:
  explicit Life(FailingDevice* device, OpenUntil until = OpenUntil::kRecovered) {
    Options options = testing::small_options("/failing");
    options.open_until = until;
    options.sessions_max = 4;
    options.snapshots_kept = 2;
    engine = must(engine::Engine::open(options, {.runtime = &runtime, .device = device}));
  }
  ~Life() { must(engine->close()); }

  Result<Hash> open(const std::string& name) {
    FOEDUS_TRY(occ::StorageControl* const control, engine->catalog().open(hash_named(name)));
    return internal::StorageAccess::make<Hash>(control);
  }
  void put(const Hash& hash, const std::string& row) {
    Txn txn = must(engine::begin_txn(must(engine->take_session()), {}));
    must(txn.put(hash, "key", row));
    must(must(txn.commit()).wait_durable());
  }
  Result<std::string> get(const Hash& hash, const TxnOptions& options) {
    engine::EngineSession* const session = must(engine->take_session());
    Result<std::string> row = [&]() -> Result<std::string> {
      FOEDUS_TRY(Txn txn, engine::begin_txn(session, options));
      return txn.get(hash, "key");
    }();
    engine->give_session(session);
    return row;
  }

  testing::ManualRuntime runtime;
  std::unique_ptr<engine::Engine> engine;
};

// Goal: if recovery fails, transactions go on reading the snapshot that open() found, of all its
// storages, and no other storage can be opened. Method: the log drops a storage of the snapshot,
// changes one, and creates one. One allocation fails after the place at which the tail is durable,
// each in turn, until recovery succeeds.
TEST(RecoveryMemoryTest, a_recovery_that_fails_at_its_end_leaves_the_storages_of_the_snapshot) {
  FailingDevice prepared;
  TxnOptions of_snapshot{.isolation = Isolation::kSnapshot};
  {
    Life life(&prepared);
    life.put(must(life.open("dropped")), "old");
    life.put(must(life.open("kept")), "old");
    of_snapshot.as_of = must(life.engine->gleaning()->scheduler().glean({})).covered;
    must(life.engine->catalog().drop("dropped"));
    life.put(must(life.open("kept")), "new");
    life.put(must(life.open("created")), "new");
  }
  std::uint64_t failures = 0;
  for (bool is_recovered = false; !is_recovered && !::testing::Test::HasFailure(); ++failures) {
    SCOPED_TRACE("allocation " + std::to_string(failures));
    const auto device = prepared.copy();
    Life life(device.get(), OpenUntil::kSnapshotReadable);
    const Hash dropped = must(life.open("dropped"));
    const Hash kept = must(life.open("kept"));
    const AtSyncPoint at("recovery:before_catalog",
                         [&] { faults::arm(faults::Source::kHeap, failures, false); });
    const Status status = life.engine->wait_recovered(base::Runtime::kForever);
    faults::disarm();
    ASSERT_EQ(at.runs(), 1u);
    is_recovered = status.is_ok();
    if (is_recovered) {
      EXPECT_EQ(must(life.get(kept, {})), "new");
      EXPECT_EQ(must(life.get(must(life.open("created")), {})), "new");
      EXPECT_EQ(life.get(dropped, {}).code(), ErrorCode::kNotFound);
      EXPECT_EQ(life.engine->catalog().list().size(), 2u);
      continue;
    }
    EXPECT_EQ(status.code(), ErrorCode::kOutOfMemory) << status.message();
    for (const Hash& hash : {dropped, kept}) {
      const Result<std::string> row = life.get(hash, of_snapshot);
      ASSERT_TRUE(row.is_ok()) << row.status().message();
      EXPECT_EQ(*row, "old");
    }
    EXPECT_TRUE(life.open("dropped").is_ok());
    EXPECT_EQ(life.open("created").code(), ErrorCode::kOutOfMemory);
    EXPECT_EQ(life.engine->catalog().list().size(), 2u);
  }
  EXPECT_GT(failures, 10u);
}

}  // namespace
}  // namespace foedus::recovery_memory_test
