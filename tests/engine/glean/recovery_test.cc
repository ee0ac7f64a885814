// ctest-labels: concurrency crash
// Recovery of logs: ids that were used once, records of several loggers in the order of their
// transactions, DDL in its place between them, and logs that no engine writes.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/closed_directory.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/nap.h"
#include "tests/testing/test_database.h"

namespace foedus::recovery_test {
namespace {

using engine::Engine;
using testing::FailingDevice;
using testing::ManualRuntime;
using testing::must;
using testing::TestDatabase;

// An engine on a failing device, driven by this thread alone.
struct Small {
  explicit Small(FailingDevice* device, std::uint32_t socs = 1) {
    Options options = testing::small_options("/failing");
    options.log.buffer_bytes = 64u << 10;
    options.sessions_max = 4;
    options.socs = socs;
    options.log.segment_bytes = 1u << 20;
    opened = Engine::open(options, {.runtime = &runtime, .device = device});
    if (opened.is_ok()) engine = std::move(opened).value();
  }
  occ::StorageControl* open(StorageKind kind, std::string_view name) {
    storage_meta::StorageMeta meta;
    meta.kind = kind;
    meta.name = name;
    return must(engine->catalog().open(meta));
  }
  // Logs a DDL record, whatever the catalog has.
  void write(log::LogRecordType type, page::StorageId id, std::string_view name,
             std::string_view parameters) {
    log::LogRecord* const record = must(engine->ddl_log().prepare(type, id, name, parameters));
    engine->ddl_log().publish(record);
  }
  void log_creation(page::StorageId id, std::string_view name) {
    storage_meta::StorageMeta meta;
    meta.kind = kTree;
    const storage_meta::StorageParameters parameters = storage_meta::parameters_of(meta);
    write(log::LogRecordType::kCreateStorage, id, name,
          {reinterpret_cast<const char*>(&parameters), sizeof(parameters)});
  }
  Masstree tree() { return internal::StorageAccess::make<Masstree>(open(kTree, "tree")); }

  static constexpr StorageKind kTree = StorageKind::kMasstree;
  ManualRuntime runtime;
  Result<std::unique_ptr<Engine>> opened = ErrorCode::kClosed;
  std::unique_ptr<Engine> engine;
};

Ticket put(engine::EngineSession* session, const Masstree& tree, std::string_view payload) {
  Txn txn = must(engine::begin_txn(session, {}));
  must(txn.put(tree, key(1u), payload));
  return must(txn.commit());
}

// Returns the TIDs of the records of `type` in a closed log.
std::vector<page::Tid> tids_of(FailingDevice* device, log::LogRecordType type) {
  ManualRuntime runtime;
  const auto log = must(log::Log::open(device, &runtime, {}, {}));
  std::vector<page::Tid> tids;
  for (std::size_t i = 0; i < log->found_segment_count(); ++i) {
    must(log->read_segment(i, [&](std::uint32_t, std::uint64_t, const log::LogRecord& record) {
      if (record.type == type) tids.push_back(page::Tid(record.tid));
      return Status();
    }));
  }
  return tids;
}

TEST(RecoveryTest, an_id_is_used_once_also_after_its_storage_was_dropped) {
  TestDatabase db;
  must(db->open_masstree("kept"));
  must(db->open_masstree("dropped"));
  must(db->drop_storage("dropped"));
  db.reopen();
  const Masstree tree = must(db->open_masstree("new"));
  EXPECT_EQ(tree.id(), 3u);
  must(db->transact([&](Txn& txn) { return txn.put(tree, key(1u), 5u); }));
  db.reopen();
  EXPECT_EQ(must(db->open_masstree("kept")).id(), 1u);
  const Masstree again = must(db->open_masstree("new"));
  EXPECT_EQ(again.id(), 3u);
  EXPECT_EQ(must(db->transact([&](Txn& txn) { return txn.get_as<unsigned>(again, key(1u)); })), 5u);
  EXPECT_EQ(must(db->open_masstree("newest")).id(), 4u);
}

std::size_t snapshot_files(const std::string& dir) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (entry.path().filename().string().starts_with("snapshot-")) ++count;
  }
  return count;
}

// Goal: a dropped storage does not take space on the device for ever. Method: the only storage has
// a snapshot; it is dropped, and no glean follows before the database is closed.
TEST(RecoveryTest, files_of_the_last_storage_go_at_the_next_open) {
  Options options = testing::small_options("");
  options.snapshots_kept = 1;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  must(db->transact([&](Txn& txn) { return txn.put(tree, key(1u), 5u); }));
  must(db->glean());
  must(db->drop_storage("tree"));
  ASSERT_NE(snapshot_files(db.options().dir), 0u);
  db.reopen();
  EXPECT_EQ(snapshot_files(db.options().dir), 0u);
  EXPECT_TRUE(db->storages().empty());
  EXPECT_EQ(must(db->open_masstree("new")).id(), 2u);
  db.reopen();
  EXPECT_EQ(must(db->open_masstree("new")).id(), 2u);
}

// Goal: a manifest that is missing is noticed. Method: the manifest is read, checked, and forgotten
// where it lies, so that a look at it all the same would find its epoch.
TEST(RecoveryTest, a_log_without_the_manifest_that_covers_its_removed_segments_is_refused) {
  FailingDevice device;
  for (int life = 0; life < 2; ++life) {
    Small db(&device);
    put(must(db.engine->take_session()), db.tree(), "row");
    must(db.engine->gleaning()->scheduler().glean({}));
    must(db.engine->close());
  }
  ManualRuntime runtime;
  const auto log = must(log::Log::open(&device, &runtime, {}, {}));
  std::optional<snapshot::Manifest> newest = must(engine::find_newest_manifest(&device));
  ASSERT_TRUE(newest.has_value());
  ASSERT_TRUE(log->removed_epoch_found().is_valid());
  must(engine::check_together(&device, *log, newest));
  newest.reset();
  EXPECT_EQ(engine::check_together(&device, *log, newest).code(), ErrorCode::kCorruption);
}

// Goal: the order of transactions is that of their TIDs and not that of loggers or segments.
TEST(RecoveryTest, the_last_of_two_sessions_on_two_socs_wins) {
  for (const std::size_t last : {0u, 1u}) {
    FailingDevice device;
    {
      Small db(&device, 2);
      const Masstree tree = db.tree();
      engine::EngineSession* const sessions[] = {must(db.engine->take_session()),
                                                 must(db.engine->take_session())};
      ASSERT_NE(sessions[0]->soc(), sessions[1]->soc());
      put(sessions[1 - last], tree, "first");
      put(sessions[last], tree, "last");
      must(db.engine->close());
    }
    Small db(&device);
    const Masstree tree = db.tree();
    Txn txn = must(engine::begin_txn(must(db.engine->take_session()), {}));
    EXPECT_EQ(must(txn.get(tree, key(1u))), "last");
  }
}

// Goal: appends that tie are in the order of their sessions, before and after.
TEST(RecoveryTest, appends_of_one_epoch_keep_their_order) {
  FailingDevice device;
  std::vector<std::string> rows[2];
  for (std::vector<std::string>& found : rows) {
    Small db(&device, 2);
    const auto log =
        internal::StorageAccess::make<Sequential>(db.open(StorageKind::kSequential, "log"));
    engine::EngineSession* const reader = must(db.engine->take_session());
    if (&found == rows) {
      for (int i = 0; i < 3; ++i) {
        Txn txn = must(engine::begin_txn(must(db.engine->take_session()), {}));
        must(txn.append(log, "session " + std::to_string(i)));
        must(txn.commit());
      }
    }
    Txn txn = must(engine::begin_txn(reader, {}));
    for (const Row& row : txn.scan(log)) found.emplace_back(row.payload);
    txn.rollback();
    must(db.engine->close());
  }
  EXPECT_EQ(rows[0].size(), 3u);
  EXPECT_EQ(rows[0], rows[1]);
}

// Goal: the epoch of a DDL record is not durable before the record is. Method: the clock and the
// loggers run for a while between its serialization point and its publish.
ManualRuntime* hooked_runtime = nullptr;

void run_the_clock(const char* place) {
  if (std::string_view(place) == "engine:ddl_serialized") hooked_runtime->run_for(100'000);
}

TEST(RecoveryTest, a_storage_that_was_created_survives_a_power_failure) {
  FailingDevice device;
  std::unique_ptr<FailingDevice> left;
  {
    Small db(&device);
    hooked_runtime = &db.runtime;
    base::set_sync_point_hook(run_the_clock);
    db.tree();
    base::set_sync_point_hook(nullptr);
    left = device.synced_copy();
  }
  Small db(left.get());
  EXPECT_EQ(db.engine->catalog().list().size(), 1u);
}

TEST(RecoveryTest, a_drop_that_returned_survives_a_power_failure) {
  FailingDevice device;
  std::unique_ptr<FailingDevice> left;
  {
    Small db(&device);
    db.tree();
    must(db.engine->catalog().drop("tree"));
    left = device.synced_copy();
  }
  Small db(left.get());
  EXPECT_TRUE(db.engine->catalog().list().empty());
}

TEST(RecoveryTest, ddl_of_one_epoch_has_ascending_tids) {
  FailingDevice device;
  {
    Small db(&device);
    for (std::uint32_t id = 1; id <= 3; ++id) {
      db.write(log::LogRecordType::kDropStorage, page::StorageId{id}, "name", {});
    }
    must(db.engine->close());
  }
  const std::vector<page::Tid> tids = tids_of(&device, log::LogRecordType::kDropStorage);
  ASSERT_EQ(tids.size(), 3u);
  EXPECT_TRUE(tids[0].epoch().is_valid());
  EXPECT_EQ(tids[0].epoch(), tids[2].epoch());
  EXPECT_LT(tids[0].ordinal(), tids[1].ordinal());
  EXPECT_LT(tids[1].ordinal(), tids[2].ordinal());
}

// Goal: E5, no record of a storage is newer than its drop. Method: a commit that passed its checks
// before the drop began is stopped while the drop is at work. The clock may advance meanwhile and
// hide that the drop did not wait, so the test checks the drop's own step.
std::atomic<bool> holds_commit{false};
std::atomic<bool> commit_is_held{false};
std::atomic<bool> drop_is_marked{false};
std::atomic<bool> drop_overtook{false};

void hold_commit(const char* name) {
  const std::string_view place(name);
  if (place == "catalog:drop_marked") drop_is_marked.store(true);
  if (place == "engine:ddl_serialized" && holds_commit.load()) drop_overtook.store(true);
  if (place != "commit:published") return;
  while (holds_commit.load()) commit_is_held.store(true);
}

TEST(RecoveryTest, a_drop_is_later_than_every_commit_to_its_storage) {
  FailingDevice device;
  Options options = testing::small_options("/failing");
  options.epoch_interval_us = 1'000'000;
  {
    const auto engine = must(Engine::open(options, {.device = &device}));
    storage_meta::StorageMeta meta;
    meta.name = "tree";
    const auto tree = internal::StorageAccess::make<Masstree>(must(engine->catalog().open(meta)));
    engine::EngineSession* const session = must(engine->take_session());
    holds_commit.store(true);
    base::set_sync_point_hook(hold_commit);
    std::thread committer([&] { put(session, tree, "late"); });
    while (!commit_is_held.load()) testing::nap();
    std::thread dropper([&] { must(engine->catalog().drop("tree")); });
    while (!drop_is_marked.load()) testing::nap();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    holds_commit.store(false);
    committer.join();
    dropper.join();
    base::set_sync_point_hook(nullptr);
    must(engine->close());
  }
  const auto puts = tids_of(&device, log::LogRecordType::kPut);
  const auto drops = tids_of(&device, log::LogRecordType::kDropStorage);
  ASSERT_EQ(puts.size(), 1u);
  ASSERT_EQ(drops.size(), 1u);
  EXPECT_FALSE(drop_overtook.load());
  EXPECT_GT(drops[0].epoch(), puts[0].epoch());
}

void expect_refused(FailingDevice* device, const std::string& why) {
  Small db(device);
  EXPECT_EQ(db.opened.code(), ErrorCode::kCorruption);
  EXPECT_NE(db.opened.status().message().find(why), std::string::npos)
      << db.opened.status().message();
}

TEST(RecoveryTest, a_log_that_creates_a_storage_twice_is_refused) {
  FailingDevice device;
  {
    Small db(&device);
    const Masstree tree = db.tree();
    db.log_creation(page::StorageId{tree.id() + 1}, "tree");
    must(db.engine->close());
  }
  expect_refused(&device, "creates a storage twice");
}

// Goal: segments that are read in parallel give the state of the whole log. Method: storages are
// created in one segment, filled in others and dropped in yet another one.
TEST(RecoveryTest, a_storage_is_created_filled_and_dropped_in_different_segments) {
  Options options = testing::small_options("");
  options.log.segment_bytes = 1u << 20;
  options.glean.log_bytes = options.glean.log_bytes_max = 0;
  TestDatabase db(options);
  constexpr unsigned kRows = 1'500;  // more than fit into a segment
  const std::string row(1'000, 'r');
  const auto fill = [&](const Masstree& tree) {
    for (unsigned i = 0; i < kRows; ++i) {
      must(db->transact([&](Txn& txn) { return txn.put(tree, key(i), std::string_view(row)); }));
    }
  };
  const Masstree dropped = must(db->open_masstree("dropped"));
  fill(dropped);
  const Masstree kept = must(db->open_masstree("kept"));
  fill(kept);
  fill(dropped);
  must(db->drop_storage("dropped"));
  fill(kept);
  db.reopen();
  EXPECT_EQ(db->storages().size(), 1u);
  const Masstree again = must(db->open_masstree("kept"));
  must(db->transact([&](Txn& txn) -> Status {
    for (unsigned i = 0; i < kRows; ++i) {
      FOEDUS_TRY(const auto payload, txn.get(again, key(i)));
      EXPECT_EQ(payload, row);
    }
    return {};
  }));
  EXPECT_EQ(must(db->open_masstree("new")).id(), 3u);
}

TEST(RecoveryTest, a_storage_that_is_created_in_two_segments_is_refused) {
  FailingDevice device;
  {
    Small db(&device);
    const Masstree tree = db.tree();
    engine::EngineSession* const session = must(db.engine->take_session());
    const std::string row(1'000, 'r');
    for (unsigned i = 0; i < 1'500; ++i) put(session, tree, row);
    db.log_creation(page::StorageId{tree.id()}, "other");
    must(db.engine->close());
  }
  EXPECT_TRUE(device.exists("log-0-00000002"));
  expect_refused(&device, "creates a storage twice");
}

// Goal: a record that becomes a drop by one wrong byte takes no storage with it. Method: drops
// that the catalog does not log.
TEST(RecoveryTest, a_drop_of_what_has_another_name_or_is_not_there_is_refused) {
  const auto refuse = [](std::uint32_t more, std::string_view name, std::string_view payload,
                         const std::string& why) {
    FailingDevice device;
    {
      Small db(&device);
      const page::StorageId id{db.tree().id() + more};
      db.write(log::LogRecordType::kDropStorage, id, name, payload);
      must(db.engine->close());
    }
    expect_refused(&device, why);
  };
  refuse(0, "another", "", "which is not there, or has another name");
  refuse(1, "tree", "", "which is not there, or has another name");
  refuse(0, "tree", "payload", "log-0-00000001: a drop that is none");
}

TEST(RecoveryTest, a_record_of_a_storage_that_was_never_created_is_refused) {
  FailingDevice device;
  {
    Small db(&device);
    db.write(log::LogRecordType::kPut, page::StorageId{77}, "key", "payload");
    must(db.engine->close());
  }
  expect_refused(&device, "storage 77");
}

TEST(RecoveryTest, a_rotten_segment_is_refused) {
  FailingDevice device;
  {
    Small db(&device);
    put(must(db.engine->take_session()), db.tree(), "payload");
    must(db.engine->close());
  }
  device.flip_bit("log-0-00000001", 4096 + 120, 3);
  expect_refused(&device, "log-0-00000001");
}

// Goal: storages are not opened in part, and none is lost. Method: more empty ones, of a page each,
// than the memory of the next open has pages.
TEST(RecoveryTest, tables_for_which_there_are_no_pages_are_refused_until_there_are) {
  constexpr std::size_t kTables = 4'200;
  const testing::TestDirectory directory;
  const Options options = testing::small_options(directory.path());
  {
    Database db = must(Database::open(options));
    for (std::size_t i = 0; i < kTables; ++i) must(db.open_masstree("t" + std::to_string(i)));
    must(db.close());
  }
  Options tight = options;
  tight.memory_bytes = 64u << 20;
  tight.glean.memory_bytes = 32u << 20;
  tight.pages.cache_bytes = 16u << 20;
  const Result<Database> refused = Database::open(tight);
  EXPECT_EQ(refused.code(), ErrorCode::kOutOfMemory) << refused.status().message();
  Database db = must(Database::open(options));
  EXPECT_EQ(db.storages().size(), kTables);
}

TEST(RecoveryTest, a_database_that_was_closed_says_so) {
  for (const bool closes : {true, false}) {
    FailingDevice device;
    Small db(&device);
    db.tree();
    if (closes) must(db.engine->close());
    const auto left = device.copy();
    ManualRuntime runtime;
    EXPECT_EQ(must(log::Log::open(left.get(), &runtime, {}, {}))->was_closed_cleanly(), closes);
  }
}

}  // namespace
}  // namespace foedus::recovery_test
