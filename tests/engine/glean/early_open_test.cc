// ctest-labels: concurrency
// A database that is opened for its snapshots: they are read while recovery is stopped at a place;
// all other calls wait for its end, or get its error.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/hold.h"
#include "tests/testing/test_database.h"

namespace foedus::early_open_test {
namespace {

using testing::Hold;
using testing::must;
using testing::TestDirectory;

// A thread whose call should not have returned yet.
template <typename Call>
class Waiting {
 public:
  explicit Waiting(Call call)
      : thread_([this, call] {
          call();
          is_over_ = true;
        }) {}
  ~Waiting() { thread_.join(); }
  bool is_over() const { return is_over_; }

 private:
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

void give_time() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

constexpr unsigned kRows = 500;

class EarlyOpenTest : public ::testing::Test {
 protected:
  Result<Database> open(OpenUntil until) {
    Options options = testing::small_options(directory_.path());
    options.open_until = until;
    options.snapshots_kept = snapshots_kept_;
    options.glean.log_bytes = 0;  // on request alone
    options.glean.interval_us = 0;
    return Database::open(options);
  }
  Database open_early() { return must(open(OpenUntil::kSnapshotReadable)); }
  Database open_recovered() { return must(open(OpenUntil::kRecovered)); }

  static Status put_all(Txn& txn, const Masstree& tree, unsigned version) {
    for (unsigned i = 0; i < kRows; ++i) FOEDUS_CHECK(txn.put(tree, key(i), version));
    return {};
  }
  // Returns the version of all rows, which must be the same.
  static Result<unsigned> version_of(Txn& txn, const Masstree& tree) {
    FOEDUS_TRY(const unsigned version, txn.get_as<unsigned>(tree, key(0u)));
    for (unsigned i = 1; i < kRows; ++i) {
      FOEDUS_TRY(const unsigned one, txn.get_as<unsigned>(tree, key(i)));
      EXPECT_EQ(one, version) << "row " << i;
    }
    return version;
  }
  // Makes a snapshot of version 1, and a log in which all rows get version 2.
  void write() {
    Database db = open_recovered();
    const Masstree tree = must(db.open_masstree("tree"));
    must(db.transact([&](Txn& txn) { return put_all(txn, tree, 1); }));
    covered_ = must(db.glean()).covered;
    Ticket ticket;
    must(db.transact([&](Txn& txn) { return put_all(txn, tree, 2); }, {.ticket = &ticket}));
    second_ = ticket.epoch();
    must(db.close());
  }
  // Returns the version in a snapshot, by default the newest one.
  static unsigned version_in_snapshot(Database& db,
                                      const SnapshotOptions& options = {.newest_existing = true}) {
    const Masstree tree = must(db.open_masstree("tree"));
    return must(db.snapshot([&](Txn& txn) { return version_of(txn, tree); }, options));
  }
  static unsigned version_now(Database& db) {
    const Masstree tree = must(db.open_masstree("tree"));
    return must(db.transact([&](Txn& txn) { return version_of(txn, tree); }));
  }

  TestDirectory directory_;
  std::uint32_t snapshots_kept_ = 2;
  Epoch covered_;  // by the snapshot
  Epoch second_;   // of the commit after the snapshot
};

TEST_F(EarlyOpenTest, a_snapshot_is_read_while_recovery_is_held) {
  write();
  Hold hold("recovery:before_glean");
  Database db = open_early();
  hold.wait_until_held();
  EXPECT_EQ(version_in_snapshot(db), 1u);
  EXPECT_EQ(version_in_snapshot(db, {.as_of = covered_}), 1u);
  EXPECT_EQ(db.snapshots().size(), 1u);
  EXPECT_EQ(db.storages().size(), 1u);
  EXPECT_EQ(db.stats().covered_epoch, covered_);
  EXPECT_GE(db.durable_epoch(), second_);
  EXPECT_EQ(db.effective_options().options.open_until, OpenUntil::kSnapshotReadable);
  EXPECT_EQ(db.wait_recovered(1'000).code(), ErrorCode::kTimeout);
  const auto nothing = [](Txn&) { return Status(); };
  const SnapshotOptions newer{.at_least = second_, .timeout_us = 1'000};
  EXPECT_EQ(db.snapshot(nothing, newer).code(), ErrorCode::kTimeout);
  EXPECT_EQ(db.snapshot(nothing, {.timeout_us = 1'000}).code(), ErrorCode::kTimeout)
      << "it would hold what recovery is about to find";

  // The results are durable already, so the transaction does not wait for the log, which does not
  // run yet.
  const Masstree tree = must(db.open_masstree("tree"));
  Session session = must(db.new_session());
  Txn txn = must(session.begin({.isolation = Isolation::kSnapshot,
                                .durability = Durability::kSync,
                                .newest_existing = true}));
  EXPECT_EQ(must(version_of(txn, tree)), 1u);
  EXPECT_EQ(must(txn.commit()).epoch(), covered_);

  hold.release();
  EXPECT_EQ(version_in_snapshot(db, {}), 2u);  // waits for recovery
  must(db.wait_recovered());
  EXPECT_EQ(version_in_snapshot(db), 2u);
  EXPECT_EQ(version_now(db), 2u);
}

// Goal: epochs that a snapshot covers are durable, even if the log after a crash says less, as it
// has marks only of epochs with records. Method: epochs pass after the last record, then a snapshot
// covers them; a copy of the directory stands for a crash.
TEST_F(EarlyOpenTest, what_a_snapshot_covers_is_durable_before_recovery) {
  const TestDirectory crashed;
  {
    Database db = open_recovered();
    const Masstree tree = must(db.open_masstree("tree"));
    must(db.transact([&](Txn& txn) { return put_all(txn, tree, 1); }));
    for (int i = 0; i < 10; ++i) must(db.wait_durable());
    covered_ = must(db.glean()).covered;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      const std::string name = entry.path().filename();
      if (name == "foedus.lock") continue;
      // copy_file() would fail if a file became shorter meanwhile, as a segment may.
      std::ifstream from(entry.path(), std::ios::binary);
      if (!from.is_open()) continue;  // a removed segment is not needed
      std::ofstream(crashed.path() + "/" + name, std::ios::binary) << from.rdbuf();
    }
  }
  Options options = testing::small_options(crashed.path());
  options.open_until = OpenUntil::kSnapshotReadable;
  Hold hold("recovery:begin");
  Database db = must(Database::open(options));
  hold.wait_until_held();
  Ticket ticket;
  EXPECT_EQ(version_in_snapshot(db, {.newest_existing = true, .ticket = &ticket}), 1u);
  EXPECT_EQ(ticket.epoch(), covered_);
  EXPECT_TRUE(ticket.is_durable());
  EXPECT_GE(db.durable_epoch(), covered_);
  hold.release();
  must(db.wait_recovered());
}

TEST_F(EarlyOpenTest, all_but_snapshot_transactions_wait_for_the_end_of_recovery) {
  write();
  Hold hold("recovery:begin");
  Database db = open_early();
  hold.wait_until_held();
  const Masstree tree = must(db.open_masstree("tree"));
  const auto version = [&](Txn& txn) { return version_of(txn, tree); };
  Session session = must(db.new_session());
  {
    const Waiting serializable([&] { EXPECT_EQ(must(db.transact(version)), 2u); });
    const Waiting read_only(
        [&] { EXPECT_EQ(must(db.transact(version, {.read_only = true})), 2u); });
    const Waiting dirty([&] {
      Txn txn = must(session.begin({.isolation = Isolation::kDirtyRead}));
      EXPECT_EQ(must(version_of(txn, tree)), 2u);
    });
    const Waiting at_least([&] { EXPECT_EQ(version_in_snapshot(db, {.at_least = second_}), 2u); });
    const Waiting recovered([&] { must(db.wait_recovered()); });
    const Waiting created([&] { EXPECT_EQ(must(db.open_hash("made")).id(), 2u); });
    const Waiting gleaned([&] { EXPECT_GE(must(db.glean()).covered, second_); });
    const Waiting durable([&] { must(db.wait_durable()); });
    give_time();
    EXPECT_FALSE(serializable.is_over() || read_only.is_over() || dirty.is_over());
    EXPECT_FALSE(at_least.is_over() || recovered.is_over() || created.is_over());
    EXPECT_FALSE(gleaned.is_over() || durable.is_over());
    EXPECT_EQ(version_in_snapshot(db), 1u);
    hold.release();
  }
  must(db.wait_recovered(0));
  EXPECT_EQ(version_in_snapshot(db), 2u);
}

TEST_F(EarlyOpenTest, a_directory_without_a_snapshot_is_the_empty_database_at_first) {
  {
    Database db = open_recovered();
    const Masstree tree = must(db.open_masstree("tree"));
    must(db.transact([&](Txn& txn) { return put_all(txn, tree, 7); }));
    must(db.close());
  }
  Hold hold("recovery:begin");
  Database db = open_early();
  hold.wait_until_held();
  EXPECT_TRUE(db.snapshots().empty());
  EXPECT_TRUE(db.storages().empty());
  EXPECT_EQ(db.snapshot([](Txn&) { return Status(); }, {.newest_existing = true}).code(),
            ErrorCode::kNotFound);
  {
    const Waiting opened([&] { EXPECT_EQ(version_now(db), 7u); });
    give_time();
    EXPECT_FALSE(opened.is_over());
    hold.release();
  }
  EXPECT_EQ(version_in_snapshot(db), 7u);
}

TEST_F(EarlyOpenTest, storages_that_the_log_drops_and_creates) {
  std::uint32_t remade_id = 0;
  {
    Database db = open_recovered();
    const Masstree tree = must(db.open_masstree("tree"));
    must(db.transact([&](Txn& txn) { return put_all(txn, tree, 1); }));
    const Masstree dropped = must(db.open_masstree("dropped"));
    const Masstree remade = must(db.open_masstree("remade"));
    must(db.transact([&](Txn& txn) -> Status {
      FOEDUS_CHECK(txn.put(dropped, key(1u), 5u));
      return txn.put(remade, key(1u), 6u);
    }));
    must(db.open_array("shape", 10, 8));
    must(db.glean());
    must(db.drop_storage("dropped"));
    must(db.drop_storage("remade"));
    must(db.drop_storage("shape"));
    remade_id = must(db.open_masstree("remade")).id();
    must(db.open_hash("shape"));
    must(db.open_sequential("made"));
    must(db.drop_storage("made"));
    must(db.close());
  }
  Hold hold("recovery:before_catalog");
  Database db = open_early();
  const Masstree dropped = must(db.open_masstree("dropped"));
  const Masstree remade = must(db.open_masstree("remade"));
  EXPECT_LT(remade.id(), remade_id);
  Session session = must(db.new_session());
  Txn long_txn = must(session.begin({.isolation = Isolation::kSnapshot, .newest_existing = true}));
  EXPECT_EQ(must(long_txn.get_as<unsigned>(dropped, key(1u))), 5u);
  EXPECT_EQ(must(long_txn.get_as<unsigned>(remade, key(1u))), 6u);
  {
    const Waiting shape([&] { EXPECT_GT(must(db.open_hash("shape")).id(), remade_id); });
    const Waiting made([&] { EXPECT_GT(must(db.open_masstree("new")).id(), remade_id + 2); });
    const Waiting drop([&] { EXPECT_EQ(db.drop_storage("dropped").code(), ErrorCode::kNotFound); });
    give_time();
    EXPECT_FALSE(shape.is_over() || made.is_over() || drop.is_over());
    hold.release();
  }
  for (const Masstree& handle : {dropped, remade}) {
    EXPECT_EQ(long_txn.get_as<unsigned>(handle, key(1u)).code(), ErrorCode::kNotFound);
    const auto get = [&](Txn& txn) { return txn.get_as<unsigned>(handle, key(1u)); };
    EXPECT_EQ(db.transact(get).code(), ErrorCode::kNotFound);
    EXPECT_EQ(db.transact([&](Txn& txn) { return txn.put(handle, key(1u), 1u); }).code(),
              ErrorCode::kNotFound);
  }
  EXPECT_EQ(must(db.open_masstree("remade")).id(), remade_id);
  must(long_txn.commit());
  EXPECT_EQ(version_now(db), 1u);
}

// Goal: a transaction reads its snapshot to the end while the next one replaces it and files are
// removed. Method: only one snapshot is kept; one transaction stays open from before recovery to
// the end, and two threads begin others all the time.
TEST_F(EarlyOpenTest, readers_see_one_version_each_over_the_switch_to_the_new_snapshot) {
  snapshots_kept_ = 1;
  for (int round = 0; round < 5; ++round) {
    write();
    Hold hold("recovery:before_removal");
    Database db = open_early();
    const Masstree tree = must(db.open_masstree("tree"));
    Session session = must(db.new_session());
    std::optional<Txn> old_txn =
        must(session.begin({.isolation = Isolation::kSnapshot, .newest_existing = true}));
    // The transaction may have begun before or after the switch, but stays with its snapshot.
    const unsigned version = must(version_of(*old_txn, tree));
    std::atomic<bool> stop{false};
    const auto read = [&] {
      unsigned newest = 0;
      while (!stop) {
        const unsigned now = version_in_snapshot(db);
        EXPECT_GE(now, newest);
        newest = now;
      }
      EXPECT_EQ(version_in_snapshot(db), 2u);
    };
    {
      const Waiting first(read);
      const Waiting second(read);
      hold.wait_until_held();
      EXPECT_EQ(must(version_of(*old_txn, tree)), version);
      hold.release();
      must(db.wait_recovered());
      give_time();
      EXPECT_EQ(must(version_of(*old_txn, tree)), version);
      stop = true;
    }
    must(old_txn->commit());
    old_txn.reset();
    must(db.close());
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directory(directory_.path());
  }
}

std::string newest_segment(const std::string& directory) {
  std::string newest;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("log-") && entry.path().string() > newest) newest = entry.path().string();
  }
  return newest;
}

void flip_byte(const std::string& path, std::streamoff offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const char byte = static_cast<char>(file.get() ^ 0x40);
  file.seekp(offset);
  file.put(byte);
}

TEST_F(EarlyOpenTest, recovery_that_fails_leaves_the_snapshots_and_is_told_to_all_others) {
  write();
  const std::string path = newest_segment(directory_.path());
  ASSERT_FALSE(path.empty());
  constexpr std::streamoff kInFrame = 4096 + 700;
  flip_byte(path, kInFrame);
  {
    Database db = open_early();
    const Status failed = db.wait_recovered();
    EXPECT_EQ(failed.code(), ErrorCode::kCorruption);
    EXPECT_NE(failed.message().find(std::filesystem::path(path).filename().string()),
              std::string::npos)
        << failed.message();
    EXPECT_EQ(version_in_snapshot(db), 1u);
    const Masstree tree = must(db.open_masstree("tree"));
    const auto put = [&](Txn& txn) { return txn.put(tree, key(1u), 1u); };
    EXPECT_EQ(db.transact(put).message(), failed.message());
    EXPECT_EQ(db.open_hash("new").code(), ErrorCode::kCorruption);
    EXPECT_EQ(db.drop_storage("tree").code(), ErrorCode::kCorruption);
    EXPECT_EQ(db.glean().code(), ErrorCode::kCorruption);
    EXPECT_EQ(db.wait_durable().code(), ErrorCode::kCorruption);
    EXPECT_EQ(db.snapshot([](Txn&) { return Status(); }, {.at_least = second_}).code(),
              ErrorCode::kCorruption);
    must(db.close());
    EXPECT_EQ(db.wait_recovered().code(), ErrorCode::kClosed);
  }
  EXPECT_EQ(open(OpenUntil::kRecovered).code(), ErrorCode::kCorruption);
  flip_byte(path, kInFrame);
  Database db = open_early();
  EXPECT_EQ(version_now(db), 2u);
}

// Goal: close() ends recovery at any place, and the next open recovers the same.
TEST_F(EarlyOpenTest, a_database_is_closed_in_the_midst_of_recovery) {
  write();
  for (const char* const place :
       {"recovery:begin", "recovery:before_glean", "recovery:manifest_durable",
        "recovery:before_removal", "recovery:before_catalog", "recovery:log_started"}) {
    SCOPED_TRACE(place);
    const std::filesystem::path backup = directory_.path() + "-backup";
    std::filesystem::copy(directory_.path(), backup);
    {
      Hold hold(place);
      Database db = open_early();
      hold.wait_until_held();
      EXPECT_LE(version_in_snapshot(db), 2u);
      const Waiting closing([&] { must(db.close()); });
      give_time();
      EXPECT_FALSE(closing.is_over());
      hold.release();
    }
    {
      Database db = open_early();
      EXPECT_EQ(version_now(db), 2u);
      must(db.close());
    }
    std::filesystem::remove_all(directory_.path());
    std::filesystem::rename(backup, directory_.path());
  }
}

TEST_F(EarlyOpenTest, a_glean_of_recovery_is_given_up_when_the_database_is_closed) {
  write();
  {
    Hold hold("recovery:before_glean");
    Database db = open_early();
    hold.wait_until_held();
    const Waiting closing([&] { must(db.close()); });
    give_time();
    hold.release();
  }
  Hold hold("recovery:begin");
  Database db = open_early();
  EXPECT_EQ(db.snapshots().size(), 1u);
  hold.release();
  EXPECT_EQ(version_now(db), 2u);
}

}  // namespace
}  // namespace foedus::early_open_test
