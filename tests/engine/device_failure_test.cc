// ctest-labels: crash
// A device that fails under an open database: commits stop with its error, reads go on, no
// acknowledged commit is lost; a full device is waited out.
#include <errno.h>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::device_failure_test {
namespace {

using testing::Call;
using testing::FailingDevice;
using testing::ManualRuntime;
using testing::must;

// A database on a failing device, driven by this thread alone.
struct Small {
  explicit Small(FailingDevice* device) {
    Options options = testing::small_options("/failing");
    options.log.buffer_bytes = 64u << 10;
    options.log.change_bytes = 1u << 20;
    options.sessions_max = 2;
    engine = must(engine::Engine::open(options, {.runtime = &runtime, .device = device}));
    storage_meta::StorageMeta meta;
    meta.name = "tree";
    tree = internal::StorageAccess::make<Masstree>(must(engine->catalog().open(meta)));
    session = must(engine->take_session());
  }

  Status put(std::string_view key, std::string_view payload, Durability durability) {
    FOEDUS_TRY(Txn txn, engine::begin_txn(session, {.durability = durability}));
    FOEDUS_CHECK(txn.put(tree, key, payload));
    return txn.commit().status();
  }
  Result<std::string> get(std::string_view key) {
    FOEDUS_TRY(Txn txn, engine::begin_txn(session, {}));
    return txn.get(tree, key);
  }

  ManualRuntime runtime;
  std::unique_ptr<engine::Engine> engine;
  Masstree tree;
  engine::EngineSession* session = nullptr;
};

TEST(DeviceFailureTest, a_change_stream_ends_with_the_error_after_what_is_durable) {
  FailingDevice device;
  Small db(&device);
  const auto stream = must(db.engine->open_stream({}));
  must(db.put("before", "kept", Durability::kSync));
  device.fail(Call::kWrite, 0, EIO, true);
  device.fail(Call::kCreate, 0, EIO, true);
  EXPECT_EQ(db.put("during", "x", Durability::kSync).code(), ErrorCode::kIoError);
  const ChangeBatch batch = must(stream->next(1'000'000));
  ASSERT_EQ(batch.changes.size(), 1u);
  EXPECT_EQ(batch.changes[0].key, "before");
  EXPECT_EQ(stream->next(1'000'000).status().code(), ErrorCode::kIoError);
  stream->close();
}

TEST(DeviceFailureTest, commits_stop_with_the_error_and_reads_go_on) {
  FailingDevice device;
  {
    Small db(&device);
    must(db.put("before", "kept", Durability::kSync));
    device.fail(Call::kWrite, 0, EIO, true);
    device.fail(Call::kCreate, 0, EIO, true);
    const Status failed = db.put("during", "x", Durability::kSync);
    EXPECT_EQ(failed.code(), ErrorCode::kIoError) << failed.message();
    EXPECT_EQ(failed.error_number(), EIO);
    const Status after = db.put("after", "x", Durability::kAsync);
    EXPECT_EQ(after.code(), ErrorCode::kIoError) << after.message();
    const std::string_view hint =
        "; check the device; reads go on, commits do not until the database is opened again";
    EXPECT_TRUE(after.message().ends_with(hint)) << after.message();
    EXPECT_EQ(must(db.get("before")), "kept");
    EXPECT_EQ(db.get("after").code(), ErrorCode::kNotFound);
    EXPECT_FALSE(db.engine->close().is_ok());
  }
  device.clear_faults();
  device.crash_power(FailingDevice::kDropAll);
  Small db(&device);
  EXPECT_EQ(must(db.get("before")), "kept");
}

TEST(DeviceFailureTest, a_full_device_is_no_crash) {
  FailingDevice device;
  Small db(&device);
  must(db.put("before", "kept", Durability::kSync));
  device.fail(Call::kWrite, 0, ENOSPC, true);
  Status full;
  for (int i = 0; i < 1000 && full.is_ok(); ++i) {
    full = db.put("k" + std::to_string(i), std::string(1000, 'x'), Durability::kAsync);
  }
  EXPECT_EQ(full.code(), ErrorCode::kOutOfSpace) << full.message();
  EXPECT_EQ(must(db.get("before")), "kept");
  device.clear_faults();
  db.runtime.run_for(1'000'000);
  must(db.put("after", "works again", Durability::kSync));
  EXPECT_EQ(must(db.get("after")), "works again");
  must(db.engine->close());
}

// The glean that is made for the waiter may succeed.
TEST(DeviceFailureTest, who_waits_for_a_snapshot_is_not_told_of_a_glean_that_failed_before) {
  FailingDevice device;
  Small db(&device);
  must(db.put("before", "kept", Durability::kSync));
  device.fail(Call::kRename, 0, EIO);
  EXPECT_EQ(db.engine->gleaning()->scheduler().glean({}).code(), ErrorCode::kIoError);
  must(db.put("after", "works again", Durability::kSync));
  Txn txn = must(engine::begin_txn(db.session, {.isolation = Isolation::kSnapshot,
                                                .at_least = db.engine->durability().durable()}));
  EXPECT_EQ(must(txn.get(db.tree, "after")), "works again");
  must(txn.commit());
  must(db.engine->close());
}

// Goal: a failed glean is not tried again at once, and does not fill the operator's log. Method: a
// segment that gleans need is gone; ten seconds pass.
TEST(DeviceFailureTest, a_glean_that_failed_is_tried_again_after_two_seconds) {
  FailingDevice device;
  ManualRuntime runtime;
  std::size_t lines = 0;
  Options options = testing::small_options("/failing");
  options.glean.log_bytes = 1u << 20;
  options.log_sink = [&](LogLevel level, std::string_view line) {
    lines += static_cast<std::size_t>(level == LogLevel::kError && line.starts_with("gleaner: "));
  };
  auto engine = must(engine::Engine::open(options, {.runtime = &runtime, .device = &device}));
  storage_meta::StorageMeta meta;
  meta.name = "tree";
  const auto tree = internal::StorageAccess::make<Masstree>(must(engine->catalog().open(meta)));
  engine::EngineSession* const session = must(engine->take_session());
  device.drop_file("log-0-00000001");
  for (std::uint32_t i = 0; i < 30; ++i) {
    Txn txn = must(engine::begin_txn(session, {.durability = Durability::kSync}));
    must(txn.put(tree, key(i), std::string(50'000, 'x')));
    must(txn.commit());
  }
  const std::uint64_t begin_us = runtime.now_us();
  while (runtime.now_us() - begin_us < 10'000'000) runtime.pause(10'000);
  EXPECT_GE(lines, 4u);
  EXPECT_LE(lines, 7u);
}

// Lets the first glean succeed, a second after its request, and requests one that fails.
class LateGlean final : public base::Task {
 public:
  LateGlean(Small* db, FailingDevice* device)
      : db_(db), device_(device), begin_us_(db->runtime.now_us() + 1'000'000) {
    db->runtime.starve("foedus-gleaner");
  }
  const char* name() const override { return "late"; }
  std::uint64_t step() override {
    const std::uint64_t now_us = db_->runtime.now_us();
    if (now_us < begin_us_) return begin_us_ - now_us;
    db_->runtime.starve("");
    while (db_->engine->stats().gleans == 0) db_->runtime.pause(100);
    must(db_->put("more", "x", Durability::kSync));
    device_->fail(Call::kRename, 0, EIO);
    code_ = db_->engine->gleaning()->scheduler().glean({}).code();
    return kUntilNotified;
  }
  ErrorCode code() const { return code_; }

 private:
  Small* const db_;
  FailingDevice* const device_;
  const std::uint64_t begin_us_;
  ErrorCode code_ = ErrorCode::kOk;
};

// Goal: each caller gets the result of its own glean. Method: a caller whose glean succeeded reads
// the result only after the next one has failed.
TEST(DeviceFailureTest, a_glean_that_fails_is_not_told_to_whom_the_one_before_was_made) {
  FailingDevice device;
  Small db(&device);
  must(db.put("before", "kept", Durability::kSync));
  LateGlean late(&db, &device);
  db.runtime.start(&late);
  const Result<GleanReport> report = db.engine->gleaning()->scheduler().glean({});
  EXPECT_TRUE(report.is_ok()) << report.status().message();
  EXPECT_EQ(late.code(), ErrorCode::kIoError);
  db.runtime.stop(&late);
  must(db.engine->close());
}

// Goal: a create that failed on a full device does not make a second storage: its record is in the
// ring and reaches the device later.
TEST(DeviceFailureTest, a_create_that_found_no_room_is_finished_by_the_next_one) {
  FailingDevice device;
  storage_meta::StorageMeta meta;
  meta.name = "second";
  storage_meta::StorageMeta other = meta;
  other.kind = StorageKind::kHash;
  {
    Small db(&device);
    device.fail(Call::kWrite, 0, ENOSPC, true);
    EXPECT_EQ(db.engine->catalog().open(meta).code(), ErrorCode::kOutOfSpace);
    EXPECT_EQ(db.engine->catalog().open(meta).code(), ErrorCode::kOutOfSpace);
    EXPECT_EQ(db.engine->catalog().list().size(), 1u);
    device.clear_faults();
    db.runtime.run_for(1'000'000);
    EXPECT_EQ(db.engine->catalog().open(other).code(), ErrorCode::kInvalidArgument);
    must(db.engine->catalog().open(meta));
    EXPECT_EQ(db.engine->catalog().list().size(), 2u);
    must(db.engine->close());
  }
  Small db(&device);
  EXPECT_EQ(db.engine->catalog().list().size(), 2u);
  must(db.engine->catalog().open(meta));
}

// Goal: a drop that failed on a full device is finished by the next one, its name can be used
// again, and the log that holds both can be opened. Method: the device is full before the drop's
// record is in the ring, or when it is to be written.
TEST(DeviceFailureTest, a_drop_that_found_no_room_is_finished_by_the_next_one) {
  for (const bool ring_is_full : {false, true}) {
    SCOPED_TRACE(ring_is_full);
    FailingDevice device;
    storage_meta::StorageMeta meta;
    meta.name = "second";
    {
      Small db(&device);
      must(db.engine->catalog().open(meta));
      device.fail(Call::kWrite, 0, ENOSPC, true);
      if (ring_is_full) {
        Status full;
        for (int i = 0; i < 1000 && full.is_ok(); ++i) {
          full = db.put("k" + std::to_string(i), std::string(1000, 'x'), Durability::kAsync);
        }
      }
      EXPECT_EQ(db.engine->catalog().drop("second").code(), ErrorCode::kOutOfSpace);
      EXPECT_EQ(db.engine->catalog().drop("second").code(), ErrorCode::kOutOfSpace);
      device.clear_faults();
      db.runtime.run_for(1'000'000);
      must(db.engine->catalog().drop("second"));
      EXPECT_EQ(db.engine->catalog().drop("second").code(), ErrorCode::kNotFound);
      EXPECT_EQ(db.engine->catalog().list().size(), 1u);
      meta.kind = StorageKind::kHash;
      must(db.engine->catalog().open(meta));
      must(db.engine->close());
    }
    Small db(&device);
    EXPECT_EQ(db.engine->catalog().list().size(), 2u);
    must(db.engine->catalog().open(meta));
  }
}

// Goal: open() of a name whose drop failed on a full device returns a new storage, not the one that
// is dropped except for its name.
TEST(DeviceFailureTest, a_drop_that_found_no_room_is_finished_by_the_next_open_of_its_name) {
  FailingDevice device;
  storage_meta::StorageMeta meta;
  meta.name = "second";
  const auto read = [](Small* db, const Masstree& second) {
    Txn txn = must(engine::begin_txn(db->session, {}));
    return txn.get(second, "key");
  };
  const auto open = [&meta](Small* db) {
    return internal::StorageAccess::make<Masstree>(must(db->engine->catalog().open(meta)));
  };
  {
    Small db(&device);
    const Masstree before = open(&db);
    device.fail(Call::kWrite, 0, ENOSPC, true);
    EXPECT_EQ(db.engine->catalog().drop("second").code(), ErrorCode::kOutOfSpace);
    EXPECT_EQ(db.engine->catalog().open(meta).code(), ErrorCode::kOutOfSpace);
    device.clear_faults();
    db.runtime.run_for(1'000'000);
    const Masstree after = open(&db);
    EXPECT_NE(after.id(), before.id());
    Txn txn = must(engine::begin_txn(db.session, {}));
    must(txn.put(after, "key", "row"));
    must(txn.commit());
    EXPECT_EQ(db.engine->catalog().list().size(), 2u);
    must(db.engine->close());
  }
  Small db(&device);
  EXPECT_EQ(must(read(&db, open(&db))), "row");
}

// Goal: a drop that cannot be logged leaves the storage as it was. Method: the log has failed.
TEST(DeviceFailureTest, a_drop_that_the_log_does_not_take_drops_nothing) {
  FailingDevice device;
  Small db(&device);
  must(db.put("key", "row", Durability::kSync));
  device.fail(Call::kSync, 0, EIO, true);
  device.fail(Call::kWrite, 0, EIO, true);
  EXPECT_EQ(db.put("other", "row", Durability::kSync).code(), ErrorCode::kIoError);
  const std::string name = db.engine->catalog().list().at(0).name;
  EXPECT_EQ(db.engine->catalog().drop(name).code(), ErrorCode::kIoError);
  EXPECT_EQ(must(db.get("key")), "row");
}

// Goal: once a drop is in the log, no snapshot has the storage again, however often the call is
// repeated. Method: the drop fails on a full device, reaches it later, and is covered by a
// snapshot. The next snapshot gets its epoch before the call is repeated, and lists its storages
// after that. Power fails before a write of the second call is on the device.
TEST(DeviceFailureTest, a_drop_that_is_repeated_takes_effect_no_later) {
  FailingDevice device;
  std::unique_ptr<FailingDevice> left;
  {
    Small db(&device);
    storage_meta::StorageMeta meta;
    meta.name = "second";
    must(db.engine->catalog().open(meta));
    device.fail(Call::kWrite, 0, ENOSPC, true);
    EXPECT_EQ(db.engine->catalog().drop("second").code(), ErrorCode::kOutOfSpace);
    device.clear_faults();
    db.runtime.run_for(1'000'000);
    must(db.put("first", "1", Durability::kSync));
    must(db.engine->gleaning()->scheduler().glean({}));
    must(db.put("then", "2", Durability::kSync));
    static Small* at_work;
    static FailingDevice* under;
    static ErrorCode again;
    at_work = &db;
    under = &device;
    base::set_sync_point_hook([](const char* at) {
      if (std::string_view(at) != "gleaning:covered") return;
      base::set_sync_point_hook(nullptr);
      under->fail(Call::kWrite, 0, ENOSPC, true);
      again = at_work->engine->catalog().drop("second").code();
      under->clear_faults();
      at_work->runtime.starve("foedus-log-0");
    });
    must(db.engine->gleaning()->scheduler().glean({}));
    base::set_sync_point_hook(nullptr);
    EXPECT_EQ(again, ErrorCode::kOk);  // by the record of the first call
    left = device.synced_copy();
    db.runtime.starve("");
  }
  Small db(left.get());
  EXPECT_EQ(db.engine->catalog().list().size(), 1u);
  EXPECT_EQ(must(db.get("then")), "2");
}

TEST(DeviceFailureTest, a_storage_that_could_not_be_logged_is_not_there) {
  FailingDevice device;
  Small db(&device);
  device.fail(Call::kSync, 0, EIO, true);
  device.fail(Call::kCreate, 0, EIO, true);
  storage_meta::StorageMeta meta;
  meta.name = "second";
  EXPECT_EQ(db.engine->catalog().open(meta).code(), ErrorCode::kIoError);
  EXPECT_EQ(db.engine->catalog().list().size(), 1u);
}

}  // namespace
}  // namespace foedus::device_failure_test
