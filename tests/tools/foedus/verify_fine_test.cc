// Undamaged snapshots of the gleaner are found to be fine, with all commits.

#include <errno.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/tools/foedus/damage_rig.h"
#include "tools/foedus/verify/log.h"
#include "tools/foedus/verify/snapshot.h"

namespace foedus::cli::verify_fine_test {
namespace {

std::map<std::string, StorageCounts> count_newest(const std::string& dir) {
  const auto device = testing::must(device::FileDevice::open_to_read(dir));
  const auto manifest = testing::must(snapshot::read_newest_manifest(device.get()));
  Findings findings;
  const SnapshotCounts counts = verify_snapshot(device.get(), manifest, &findings, {});
  EXPECT_EQ(findings.problems(), 0u);
  std::map<std::string, StorageCounts> by_name;
  for (std::size_t i = 0; i < manifest.storages.size(); ++i) {
    by_name[manifest.storages[i].name] = counts.storages[i];
  }
  return by_name;
}

std::uint64_t bytes_of(const std::map<std::string, std::string>& records) {
  std::uint64_t bytes = 0;
  for (const auto& [key, payload] : records) bytes += payload.size();
  return bytes;
}

std::uint64_t chains_of(const std::map<std::string, std::string>& records) {
  std::uint64_t chains = 0;
  for (const auto& [key, payload] : records) chains += payload.size() > 1400 ? 1 : 0;
  return chains;
}

// Goal: no false alarm, no record missed. Method: the numbers of a model after each of several
// gleans, between which keys were overwritten, erased and added.
TEST(VerifyFineTest, every_snapshot_of_a_database_has_what_was_committed) {
  CliRig rig;
  for (std::uint32_t round = 0; round < 4; ++round) {
    rig.write(round, 8'000 + 6'000 * round);
    rig.glean();
    auto counts = count_newest(rig.dir());
    const Model& model = rig.model();
    EXPECT_EQ(counts["tree"].records, model.tree.size());
    EXPECT_EQ(counts["tree"].payload_bytes, bytes_of(model.tree));
    EXPECT_GE(counts["tree"].chains, chains_of(model.tree));
    EXPECT_EQ(counts["tree"].levels, round < 2 ? 2u : 3u);
    EXPECT_GE(counts["tree"].layers, 5u);
    EXPECT_EQ(counts["hash"].records, model.hash.size());
    EXPECT_EQ(counts["hash"].payload_bytes, bytes_of(model.hash));
    EXPECT_EQ(counts["hash"].chains, chains_of(model.hash));
    EXPECT_EQ(counts["array"].records, model.array.size());
    EXPECT_EQ(counts["array"].levels, 3u);
    EXPECT_EQ(counts["list"].records, model.appended);
    EXPECT_EQ(counts["empty \"one\"\xff"].records, 0u);
    const Answer answer = ask(Verb::kVerify, rig.dir());
    EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.out << answer.err;
    EXPECT_TRUE(answer.says("fine: 0 problems")) << answer.out << answer.err;
  }
  Command all;
  all.verb = Verb::kVerify;
  all.directories.dir = rig.dir();
  all.is_of_all = true;
  const Answer answer = ask(all);
  EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.out << answer.err;
  EXPECT_TRUE(answer.says("snapshot ")) << answer.out << answer.err;
}

// Goal: full runs pages, which point to earlier ones, and more files than are open at once are
// read. Method: more gleans than one page has runs.
TEST(VerifyFineTest, more_runs_than_a_page_has_are_one_sequence) {
  testing::TestDirectory directory;
  constexpr std::uint64_t kRounds = 135;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    {
      Database db = testing::must(Database::open(testing::small_options(directory.path())));
      const Sequential list = testing::must(db.open_sequential("list"));
      testing::must(db.transact([&](Txn& txn) { return txn.append(list, "one"); }));
      testing::must(db.close());
    }
    gleaner::DirectoryGleanOptions options;
    options.reducers = 1;
    options.reducer_bytes = 1u << 20;
    testing::must(gleaner::glean_directory(directory.path(), options));
  }
  EXPECT_EQ(count_newest(directory.path())["list"].records, kRounds);
  EXPECT_EQ(count_newest(directory.path())["list"].pages, kRounds + 2);
}

TEST(VerifyFineTest, a_database_without_a_snapshot_is_fine) {
  CliRig rig;
  rig.write(0, 100);
  const Answer answer = ask(Verb::kVerify, rig.dir());
  EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.out << answer.err;
  EXPECT_TRUE(answer.says("log: 1 segment")) << answer.out << answer.err;
}

// Goal: V8 for all commands. Method: bytes and times of all files before and after.
TEST(VerifyFineTest, no_command_changes_a_byte_or_a_time) {
  CliRig rig;
  rig.write(0, 500);
  rig.glean();
  rig.write(1, 500);
  const auto before = contents_of(rig.dir());
  for (const Verb verb : {Verb::kInfo, Verb::kVerify, Verb::kLog, Verb::kSnapshots}) {
    for (const bool is_json : {false, true}) {
      Command command;
      command.verb = verb;
      command.directories.dir = rig.dir();
      command.is_json = is_json;
      command.is_of_all = true;
      EXPECT_EQ(ask(command).status, ExitStatus::kFine);
    }
  }
  EXPECT_TRUE(contents_of(rig.dir()) == before);
  rig.write(2, 500);  // the database opens
}

// Goal: a directory after a crash can be read without a repair. Method: the files of an open
// database, copied without its lock.
TEST(VerifyFineTest, a_database_that_was_not_closed_is_read_as_it_is) {
  testing::TestDatabase database;
  const Masstree tree = testing::must(database->open_masstree("tree"));
  testing::must(database->transact([&](Txn& txn) { return txn.put(tree, "key", "payload"); }));
  testing::must(database->wait_durable());
  const DamagedCopy copy(database.options().dir);
  const auto before = contents_of(copy.dir());
  const Answer answer = ask(Verb::kVerify, copy.dir());
  EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.out << answer.err;
  EXPECT_TRUE(answer.says("2 records")) << answer.out << answer.err;
  EXPECT_TRUE(ask(Verb::kInfo, copy.dir()).says("not closed cleanly"));
  EXPECT_TRUE(contents_of(copy.dir()) == before);
}

// Goal: no false alarm for a snapshot of epochs without commits: they are durable, but have no mark
// (L18). Method: a glean after some epochs without writes, and the files of a killed process.
TEST(VerifyFineTest, a_snapshot_of_idle_epochs_is_fine_after_a_crash) {
  testing::TestDatabase database;
  const Masstree tree = testing::must(database->open_masstree("tree"));
  testing::must(database->transact([&](Txn& txn) { return txn.put(tree, "key", "payload"); }));
  testing::must(database->wait_durable());
  const Epoch committed = database->durable_epoch();
  while (database->durable_epoch().number() < committed.number() + 5) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  testing::must(database->glean());
  const DamagedCopy copy(database.options().dir);
  const Answer answer = ask(Verb::kVerify, copy.dir());
  EXPECT_EQ(answer.status, ExitStatus::kFine) << answer.out << answer.err;
}

// Goal: a segment whose last frames could not be synced, and were written to the next one, is
// sealed without them, and is fine.
TEST(VerifyFineTest, a_segment_that_could_not_be_synced_is_no_problem) {
  testing::FailingDevice device;
  testing::ManualRuntime runtime;
  Options options = testing::small_options("/failing");
  options.log.buffer_bytes = 64u << 10;
  options.sessions_max = 1;
  auto engine =
      testing::must(engine::Engine::open(options, {.runtime = &runtime, .device = &device}));
  storage_meta::StorageMeta meta;
  meta.name = "tree";
  const Masstree tree =
      internal::StorageAccess::make<Masstree>(testing::must(engine->catalog().open(meta)));
  engine::EngineSession* const session = testing::must(engine->take_session());
  const auto put = [&](std::string_view key) -> Status {
    FOEDUS_TRY(Txn txn, engine::begin_txn(session, {.durability = Durability::kSync}));
    FOEDUS_CHECK(txn.put(tree, key, "payload"));
    return txn.commit().status();
  };
  testing::must(put("before"));
  device.fail(testing::Call::kSync, 0, EIO);
  testing::must(put("in the next segment"));
  testing::must(put("after"));
  testing::must(engine->close());
  ASSERT_TRUE(device.exists(log::segment_name(0, 2)));
  const ClosedDatabase database = testing::must(ClosedDatabase::of(device.copy()));
  Findings findings;
  const LogVerified verified = testing::must(verify_log(database, &findings));
  EXPECT_EQ(findings.problems(), 0u) << line_of(findings.kept().front());
  EXPECT_EQ(verified.records, 4u);
}

}  // namespace
}  // namespace foedus::cli::verify_fine_test
