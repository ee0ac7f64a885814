// ctest-labels: concurrency
// Backups of an open database into directories of the system: what is in them, what stays of an
// older one, and what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/hold.h"
#include "tests/testing/test_database.h"

namespace foedus::backup_test {
namespace {

namespace fs = std::filesystem;
using testing::must;
using testing::small_options;
using testing::TestDatabase;
using testing::TestDirectory;

// Returns the bytes of all files of a directory but the lock file, by name.
std::map<std::string, std::string> files_of(const std::string& dir) {
  std::map<std::string, std::string> files;
  if (!fs::is_directory(dir)) return files;
  for (const auto& entry : fs::directory_iterator(dir)) {
    std::ifstream in(entry.path(), std::ios::binary);
    if (entry.path().filename() == "foedus.lock") continue;
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

std::string name_starting_with(const std::string& dir, const std::string& prefix) {
  for (const auto& [name, bytes] : files_of(dir)) {
    if (name.starts_with(prefix)) return name;
  }
  ADD_FAILURE() << "no " << prefix << " in " << dir;
  return {};
}

// Changes a byte of a file; doing so again restores it.
void damage(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}
void damage(const std::string& path) { damage(path, fs::file_size(path) / 2); }

// Puts `rows` rows of 1000 bytes each, of which all but the first 8 are `letter`.
void put_rows(Database& db, std::uint64_t rows, char letter) {
  const Masstree tree = must(db.open_masstree("rows"));
  for (std::uint64_t begin = 0; begin < rows; begin += 100) {
    must(db.transact([&](Txn& txn) -> Status {
      for (std::uint64_t i = begin; i < std::min(rows, begin + 100); ++i) {
        FOEDUS_CHECK(txn.put(tree, key(i), std::string(1000, letter)));
      }
      return {};
    }));
  }
}

// Opens a copy of a backup, so that the backup stays one.
Database restore(const std::string& dir, const TestDirectory& copy) {
  for (const auto& [name, bytes] : files_of(dir)) {
    std::ofstream(copy.path() + "/" + name, std::ios::binary) << bytes;
  }
  return must(Database::open(small_options(copy.path())));
}

// Returns the last letters of the rows of a backup.
std::string rows_of(const std::string& dir) {
  const TestDirectory copy;
  Database db = restore(dir, copy);
  const Masstree tree = must(db.open_masstree("rows"));
  return must(db.transact([&](Txn& txn) -> Result<std::string> {
    std::string letters;
    Scan rows = txn.scan(tree, "", "");
    for (const Row& row : rows) letters += row.payload.back();
    if (rows.failure().has_value()) return *rows.failure();
    return letters;
  }));
}

// A database, and a directory for its backups.
class BackupTest : public ::testing::Test {
 protected:
  std::string dir_in(const std::string& name) const { return directory_.path() + "/" + name; }
  // Expects that a backup into `dir` is refused, and changes nothing there.
  void expect_refused(const std::string& dir, const std::string& word,
                      ErrorCode code = ErrorCode::kInvalidArgument, BackupOptions options = {}) {
    const auto before = files_of(dir);
    const bool has_lock = fs::exists(dir + "/foedus.lock");
    const Result<BackupReport> refused = db_->backup(dir, options);
    EXPECT_EQ(refused.code(), code);
    EXPECT_NE(refused.status().message().find(word), std::string::npos)
        << refused.status().message();
    EXPECT_TRUE(files_of(dir) == before) << dir;
    EXPECT_TRUE(has_lock || before.empty() || !fs::exists(dir + "/foedus.lock"));
  }

  TestDirectory directory_;
  std::string dir_ = dir_in("backup");
  TestDatabase db_;
};

TEST_F(BackupTest, has_all_commits_before_the_call_and_replaces_an_older_one) {
  put_rows(*db_, 400, 'a');
  fs::create_directory(dir_);
  std::ofstream(dir_ + "/foedus.probe") << "of a process that was killed";
  const BackupReport first = must(db_->backup(dir_, {.files = BackupFiles::kCopy}));
  EXPECT_GE(first.files, 1u);
  EXPECT_EQ(first.files_copied, first.files);
  EXPECT_EQ(first.bytes_copied, first.bytes);
  EXPECT_EQ(rows_of(dir_), std::string(400, 'a'));
  put_rows(*db_, 10, 'b');
  EXPECT_EQ(rows_of(dir_), std::string(400, 'a'));
  const BackupReport second = must(db_->backup(dir_, {.files = BackupFiles::kCopy}));
  EXPECT_GT(second.covered, first.covered);
  EXPECT_GT(second.snapshot, first.snapshot);
  EXPECT_GE(second.files_kept, 1u);
  EXPECT_LT(second.bytes_copied, first.bytes);
  EXPECT_EQ(rows_of(dir_), std::string(10, 'b') + std::string(390, 'a'));
  // Nothing was committed since: nothing is copied.
  const BackupReport third = must(db_->backup(dir_, {.compare_all = true}));
  EXPECT_EQ(third.snapshot, second.snapshot);
  EXPECT_EQ(third.files_kept, third.files);
  put_rows(*db_, 400, 'c');
  must(db_->backup(dir_));
  EXPECT_EQ(rows_of(dir_), std::string(400, 'c'));
}

TEST_F(BackupTest, newest_existing_makes_no_snapshot) {
  BackupOptions options;
  options.newest_existing = true;
  put_rows(*db_, 10, 'a');
  EXPECT_EQ(db_->backup(dir_, options).code(), ErrorCode::kNotFound);
  const Epoch covered = must(db_->glean()).covered;
  put_rows(*db_, 10, 'b');
  EXPECT_EQ(must(db_->backup(dir_, options)).covered, covered);
  EXPECT_EQ(rows_of(dir_), std::string(10, 'a'));
}

// A backup waits for the end of recovery, as gleans do, but for no longer than it may.
TEST_F(BackupTest, waits_for_recovery) {
  Options options = small_options(dir_in("recovered"));
  {
    Database db = must(Database::open(options));
    put_rows(db, 10, 'a');
    must(db.glean());
    put_rows(db, 10, 'b');
    must(db.close());
  }
  testing::Hold hold("recovery:begin");
  options.open_until = OpenUntil::kSnapshotReadable;
  Database db = must(Database::open(options));
  BackupOptions soon;
  soon.newest_existing = true;
  soon.timeout_us = 1'000;
  EXPECT_EQ(db.backup(dir_, soon).code(), ErrorCode::kTimeout);
  EXPECT_FALSE(fs::exists(dir_));
  hold.release();
  must(db.backup(dir_));
  EXPECT_EQ(rows_of(dir_), std::string(10, 'b'));
}

TEST_F(BackupTest, waits_for_a_snapshot_as_long_as_it_may) {
  put_rows(*db_, 10, 'a');
  must(db_->glean());
  put_rows(*db_, 10, 'b');
  testing::Hold hold("gleaning:covered");
  BackupOptions soon;
  soon.timeout_us = 20'000;
  EXPECT_EQ(db_->backup(dir_, soon).code(), ErrorCode::kTimeout);
  EXPECT_FALSE(fs::exists(dir_));
  hold.release();
  must(db_->backup(dir_));
  EXPECT_EQ(rows_of(dir_), std::string(10, 'b'));
}

TEST_F(BackupTest, of_an_empty_database_is_an_empty_database) {
  must(db_->backup(dir_));
  EXPECT_EQ(rows_of(dir_), "");
  must(db_->backup(dir_));
}

// Goal: a backup that is opened is a database with epochs, storages and files of its own, in
// itself, and is no target any more.
TEST_F(BackupTest, a_restored_database_goes_on) {
  put_rows(*db_, 100, 'a');
  const BackupReport report = must(db_->backup(dir_));
  {
    Database restored = must(Database::open(small_options(dir_)));
    EXPECT_GE(restored.durable_epoch(), report.covered);
    put_rows(restored, 50, 'b');
    must(restored.open_hash("other"));
    must(restored.glean());
    expect_refused(dir_, "in use");
    must(restored.close());
  }
  EXPECT_EQ(rows_of(dir_), std::string(50, 'b') + std::string(50, 'a'));
  expect_refused(dir_, "log-0-");
  const Masstree tree = must(db_->open_masstree("rows"));
  EXPECT_EQ(must(db_->transact([&](Txn& txn) { return txn.get(tree, key(1u)); })).back(), 'a');
}

TEST_F(BackupTest, linked_files_are_shared_until_one_side_removes_them) {
  put_rows(*db_, 400, 'a');
  const BackupReport first = must(db_->backup(dir_, {.files = BackupFiles::kLink}));
  EXPECT_EQ(first.files_linked, first.files);
  EXPECT_EQ(first.bytes_copied, 0u);
  const std::string name = name_starting_with(dir_, "snapshot-");
  EXPECT_TRUE(fs::equivalent(dir_ + "/" + name, db_.options().dir + "/" + name));
  for (const char letter : {'b', 'c', 'd', 'e'}) {
    put_rows(*db_, 400, letter);
    must(db_->glean());
  }
  EXPECT_FALSE(fs::exists(db_.options().dir + "/" + name));
  EXPECT_EQ(rows_of(dir_), std::string(400, 'a'));
  must(db_->backup(dir_));
  EXPECT_FALSE(fs::exists(dir_ + "/" + name));
  EXPECT_EQ(rows_of(dir_), std::string(400, 'e'));
  // The restored database removes files that the source still has.
  Database restored = must(Database::open(small_options(dir_)));
  for (const char letter : {'f', 'g', 'h', 'i'}) {
    put_rows(restored, 400, letter);
    must(restored.glean());
  }
  db_.reopen();
  const Masstree tree = must(db_->open_masstree("rows"));
  EXPECT_EQ(must(db_->transact([&](Txn& txn) { return txn.get(tree, key(1u)); })).back(), 'e');
}

TEST_F(BackupTest, refuses_what_is_no_older_backup_of_the_database) {
  put_rows(*db_, 400, 'a');
  const Status own = db_->backup(db_.options().dir).status();
  EXPECT_EQ(own.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(db_->stats().snapshot, 0u) << "a snapshot was made for a backup that is refused";
  EXPECT_NE(own.message().find("in use by this process"), std::string::npos) << own.message();
  expect_refused("", "is empty");
  const std::string foreign = dir_in("foreign");
  fs::create_directory(foreign);
  std::ofstream(foreign + "/notes.txt") << "mine";
  expect_refused(foreign, "notes.txt");
  std::ofstream(dir_in("file")) << "mine";
  expect_refused(dir_in("file"), "Not a directory", ErrorCode::kIoError);
  expect_refused(dir_in("no/parent"), "parent", ErrorCode::kIoError);
  // A database that is closed, and one of which only the snapshot is left.
  TestDatabase other;
  for (const char letter : {'x', 'y', 'z'}) {  // the last glean removes a segment of the log
    put_rows(*other, 400, letter);
    must(other->glean());
  }
  const std::string left = dir_in("left");
  fs::create_directory(left);
  const std::string file = name_starting_with(other.options().dir, "snapshot-");
  fs::copy_file(other.options().dir + "/" + file, left + "/" + file);
  expect_refused(left, "no savepoint");
  must(other->close());
  expect_refused(other.options().dir, "log-0-");
  fs::copy_file(other.options().dir + "/savepoint", left + "/savepoint");
  expect_refused(left, "has a database");
}

// Goal: a backup of another database is refused, also if that is a copy of this one from before,
// so that both have files of the same names. Method: both databases go on from one backup.
TEST_F(BackupTest, refuses_a_backup_of_another_database) {
  put_rows(*db_, 400, 'a');
  must(db_->backup(dir_, {.files = BackupFiles::kCopy}));
  const std::string branch = dir_in("branch");
  fs::copy(dir_, branch);
  Database other = must(Database::open(small_options(branch)));
  put_rows(other, 20, 'b');
  must(other.backup(dir_));
  EXPECT_EQ(rows_of(dir_), std::string(20, 'b') + std::string(380, 'a'));
  put_rows(*db_, 20, 'c');
  must(db_->glean());
  put_rows(*db_, 1, 'd');
  expect_refused(dir_, "of another database");
  // The other one has the newer snapshot.
  for (int i = 0; i < 4; ++i) {
    put_rows(other, 20, 'e');
    must(other.backup(dir_));
  }
  expect_refused(dir_, "which is newer than");
}

TEST_F(BackupTest, damage_is_named_and_not_copied) {
  put_rows(*db_, 400, 'a');
  must(db_->backup(dir_, {.files = BackupFiles::kCopy}));
  const std::string name = name_starting_with(dir_, "snapshot-");
  const std::uint64_t last = fs::file_size(dir_ + "/" + name) - 1;
  damage(dir_ + "/" + name, last);
  expect_refused(dir_, name);  // each sample has the last page
  damage(dir_ + "/" + name, last);
  damage(dir_ + "/" + name);
  BackupOptions all;
  all.compare_all = true;
  expect_refused(dir_, name, ErrorCode::kInvalidArgument, all);
  const std::string manifest = dir_ + "/" + name_starting_with(dir_, "manifest-");
  fs::resize_file(dir_ + "/" + name, fs::file_size(dir_ + "/" + name) - 4096);
  expect_refused(dir_, name, ErrorCode::kCorruption);
  damage(manifest);
  expect_refused(dir_, "manifest-", ErrorCode::kCorruption);
  std::ofstream(dir_ + "/savepoint", std::ios::binary) << std::string(8192, 'x');
  expect_refused(dir_, "savepoint", ErrorCode::kCorruption);

  const std::string fresh = dir_in("fresh");
  const std::string source = db_.options().dir + "/" + name;
  BackupOptions copied;
  copied.files = BackupFiles::kCopy;
  constexpr std::uint64_t kPage = 4096;
  for (const std::uint64_t offset : {std::uint64_t{100}, 5 * kPage + 200}) {
    damage(source, offset);
    expect_refused(fresh, "not what was written", ErrorCode::kCorruption, copied);
    damage(source, offset);
  }
  {
    const std::string bytes = files_of(db_.options().dir).at(name);
    std::fstream file(source, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(6 * kPage);
    file << bytes.substr(5 * kPage, kPage);
  }
  expect_refused(fresh, "page 6: it is not what was written", ErrorCode::kCorruption, copied);
  fs::resize_file(source, 8192);
  for (const BackupFiles files : {BackupFiles::kCopy, BackupFiles::kLink}) {
    copied.files = files;
    expect_refused(fresh, "8192 bytes", ErrorCode::kCorruption, copied);
  }
  EXPECT_TRUE(files_of(fresh).empty());
}

TEST(BackupWithoutLogTest, is_not_supported) {
  Options options = small_options("");
  options.log.kind = Logging::kNone;
  TestDatabase db(options);
  const TestDirectory directory;
  EXPECT_EQ(db->backup(directory.path()).code(), ErrorCode::kNotSupported);
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

// A database of several directories and two tiers is copied into one directory.
TEST(BackupOfDirectoriesTest, collects_files_in_one_directory) {
  const TestDirectory directory;
  Options options = small_options("");
  options.socs = 2;
  options.files.dirs = {directory.path() + "/1", directory.path() + "/2"};
  options.tiers.ssd_dirs = {directory.path() + "/ssd"};
  options.tiers.nvm_bytes = 6u << 20;
  TestDatabase db(options);
  put_rows(*db, 12000, 'a');
  must(db->glean());
  EXPECT_GT(db->stats().tiers.ssd_bytes, 0u);
  const std::string dir = directory.path() + "/backup";
  EXPECT_EQ(db->backup(dir, {.files = BackupFiles::kLink}).code(), ErrorCode::kNotSupported);
  EXPECT_TRUE(files_of(dir).empty());
  const BackupReport report = must(db->backup(dir));
  EXPECT_EQ(report.files_copied, report.files);
  EXPECT_EQ(report.files_linked, 0u);
  EXPECT_EQ(rows_of(dir), std::string(12000, 'a'));
}

// Goal: a backup that is made while sessions move money has the sum, and all transfers that had
// returned before. Method: four threads, and backups into one directory, each opened and checked.
TEST_F(BackupTest, beside_transfers_each_backup_is_one_state) {
  constexpr std::uint64_t kAccounts = 300;
  constexpr std::int64_t kEach = 1000;
  const Hash accounts = must(db_->open_hash("accounts"));
  const Array done = must(db_->open_array("done", 4, 8));
  must(db_->transact([&](Txn& txn) -> Status {
    for (std::uint64_t i = 0; i < kAccounts; ++i) FOEDUS_CHECK(txn.put(accounts, key(i), kEach));
    return {};
  }));
  std::atomic<bool> is_over = false;
  std::atomic<std::uint64_t> returned[4] = {};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 1; !is_over; ++i) {
        must(db_->transact([&](Txn& txn) -> Status {
          const std::uint64_t from = (i * 7 + t * 31) % kAccounts;
          const std::uint64_t to = (i * 13 + t * 17 + 1) % kAccounts;
          if (from != to) {
            FOEDUS_TRY(auto one, txn.get_as<std::int64_t>(accounts, key(from)));
            FOEDUS_TRY(auto other, txn.get_as<std::int64_t>(accounts, key(to)));
            FOEDUS_CHECK(txn.put(accounts, key(from), one - 1));
            FOEDUS_CHECK(txn.put(accounts, key(to), other + 1));
          }
          return txn.put(done, t, i);
        }));
        returned[t] = i;
        // Leaves processors to the gleaner, however few and slow they are.
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  for (int round = 0; round < 6; ++round) {
    std::uint64_t before[4];
    for (std::uint64_t t = 0; t < 4; ++t) before[t] = returned[t];
    const auto files = round % 2 == 0 ? BackupFiles::kCopy : BackupFiles::kAuto;
    must(db_->backup(dir_, {.files = files, .timeout_us = Ticket::kForever}));
    const TestDirectory copy;
    Database restored = restore(dir_, copy);
    const Hash found = must(restored.open_hash("accounts"));
    const Array counts = must(restored.open_array("done", 4, 8));
    must(restored.transact([&](Txn& txn) -> Status {
      std::int64_t sum = 0;
      for (std::uint64_t i = 0; i < kAccounts; ++i) {
        FOEDUS_TRY(const auto one, txn.get_as<std::int64_t>(found, key(i)));
        sum += one;
      }
      EXPECT_EQ(sum, kEach * static_cast<std::int64_t>(kAccounts));
      for (std::uint64_t t = 0; t < 4; ++t) {
        FOEDUS_TRY(const auto count, txn.get_as<std::uint64_t>(counts, t));
        EXPECT_GE(count, before[t]);
      }
      return {};
    }));
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace foedus::backup_test
