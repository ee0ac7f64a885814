// ctest-labels: memory
// ctest-timeout: 300
// Power failures, dying processes and errors at every device call of a backup, over simulated
// devices and one thread. The directory has the older backup or the new one, and takes the next
// one; the database does not notice.
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/log/savepoint.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tests/engine/crash/crash_steps.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::backup_crash_test {
namespace {

using testing::AtSyncPoint;
using testing::Call;
using testing::difference;
using testing::FailingDevice;
using testing::how_to_crash;
using testing::Life;
using testing::Model;
using testing::model_of;
using testing::ModelTxn;
using testing::must;
using testing::write;
using Disk = std::unique_ptr<FailingDevice>;

BackupOptions newest(BackupFiles files) {
  BackupOptions options;
  options.files = files;
  options.newest_existing = true;
  return options;
}

// Returns how the backup on `disk` differs from `expected`, or why it cannot be opened.
std::string difference_of(const FailingDevice& disk, const Model& expected) {
  const Disk copy = disk.copy();
  Life life(copy.get(), 1);
  if (const Status opened = life.open(); !opened.is_ok()) return opened.message();
  return difference(life.read(), expected);
}

// The savepoint says that what the newest snapshot covers is durable (E55).
void expect_savepoint_fits(FailingDevice* disk) {
  const auto manifest = snapshot::read_newest_manifest(disk);
  if (!manifest.is_ok()) return;
  EXPECT_GE(must(log::read_savepoint(disk)).durable_epoch, manifest->covered.number());
}

// A database with two states that are backed up, one after the other.
class BackupCrashTest : public ::testing::TestWithParam<BackupFiles> {
 protected:
  BackupCrashTest() {
    must(life_.open(2));
    change(20);
    older_ = model_of(txns_);
    must(life_.engine().backup_to(older_backup_.get(), newest(GetParam())));
    change(2);
    newer_ = model_of(txns_);
    covered_ = life_.engine().snapshots().covered();
  }
  ~BackupCrashTest() override {
    EXPECT_EQ(difference(life_.read(), newer_), "");
    EXPECT_EQ(difference_of(source_, newer_), "");
  }

  void change(int transactions) {
    write(&life_, &txns_, transactions);
    must(life_.glean());
  }
  Result<BackupReport> back_up(FailingDevice* disk) {
    return life_.engine().backup_to(disk, newest(GetParam()));
  }
  // Returns a directory that is empty, or has the older backup.
  Disk target(bool is_first) const {
    return is_first ? std::make_unique<FailingDevice>("/backup") : older_backup_->copy();
  }
  // Checks a directory after a crash or failure: the older backup, or the new one. A first backup
  // that was not completed is refused, or was not begun.
  void expect_older_or_newer(FailingDevice* disk, bool is_first) {
    expect_savepoint_fits(disk);
    const std::string wrong = difference_of(*disk, newer_);
    if (wrong.empty()) return;
    if (!is_first) {
      EXPECT_EQ(difference_of(*disk, older_), "") << wrong;
      return;
    }
    if (difference_of(*disk, Model()).empty()) {
      EXPECT_LE(disk->names().size(), 1u) << wrong;
    } else {
      EXPECT_NE(wrong.find("manifest is missing"), std::string::npos) << wrong;
    }
  }
  // The next backup succeeds, and survives a power failure.
  void expect_next_succeeds(FailingDevice* disk) {
    must(back_up(disk));
    EXPECT_EQ(disk->names().size(), names_when_done());
    disk->crash_power(FailingDevice::kDropAll);
    EXPECT_EQ(difference_of(*disk, newer_), "");
  }
  std::size_t names_when_done() {
    const auto manifest = must(snapshot::read_newest_manifest(&source_));
    return manifest.files.size() + 2;
  }

  FailingDevice source_;
  Life life_{&source_, 1};
  std::vector<ModelTxn> txns_;
  Disk older_backup_ = std::make_unique<FailingDevice>("/backup");
  Model older_;
  Model newer_;
  Epoch covered_;  // by the newer state
};

// Goal: a backup that has succeeded is durable, and keeps files of the older one.
TEST_P(BackupCrashTest, a_backup_that_returned_survives_a_power_failure) {
  for (const bool is_first : {true, false}) {
    const Disk disk = target(is_first);
    const BackupReport report = must(back_up(disk.get()));
    EXPECT_EQ(report.files_kept != 0, !is_first);
    EXPECT_EQ(report.files_kept + report.files_copied + report.files_linked, report.files);
    EXPECT_EQ(report.files_linked != 0, GetParam() == BackupFiles::kLink);
    EXPECT_EQ(report.files_copied != 0, GetParam() == BackupFiles::kCopy);
    EXPECT_EQ(disk->names().size(), names_when_done());
    disk->crash_power(FailingDevice::kDropAll);
    EXPECT_EQ(difference_of(*disk, newer_), "");
    const log::Savepoint savepoint = must(log::read_savepoint(disk.get()));
    EXPECT_EQ(savepoint.durable_epoch, report.covered.number());
    EXPECT_EQ(savepoint.flags, log::kClosedCleanly);
  }
}

TEST_P(BackupCrashTest, power_fails_at_each_call) {
  for (const bool is_first : {true, false}) {
    bool has_failed = true;
    for (std::uint64_t skip = 0; has_failed; ++skip) {
      SCOPED_TRACE((is_first ? "first, call " : "second, call ") + std::to_string(skip));
      for (std::uint64_t how = 0; how < 3; ++how) {
        const Disk disk = target(is_first);
        disk->lose_power_after(skip);
        has_failed = !back_up(disk.get()).is_ok();
        EXPECT_EQ(has_failed, disk->has_lost_power());
        disk->crash_power(how_to_crash(how + 3 * skip));
        expect_older_or_newer(disk.get(), is_first);
        if (!has_failed) {
          EXPECT_EQ(difference_of(*disk, newer_), "");
        }
        expect_next_succeeds(disk.get());
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

// Goal: what a process has left in the system's cache, when it died, is made durable by the next
// backup, or not relied on. Method: the power fails at each call of the next backup, too.
TEST_P(BackupCrashTest, a_process_dies_at_each_call_and_then_the_power_fails) {
  for (const bool is_first : {true, false}) {
    bool has_died = true;
    for (std::uint64_t died_at = 0; has_died; ++died_at) {
      SCOPED_TRACE((is_first ? "first, call " : "second, call ") + std::to_string(died_at));
      const Disk left = target(is_first);
      left->lose_power_after(died_at);
      static_cast<void>(back_up(left.get()).is_ok());
      has_died = left->has_lost_power();
      left->crash_process();
      bool has_failed = true;
      for (std::uint64_t skip = 0; has_failed; ++skip) {
        const Disk disk = left->copy();
        disk->lose_power_after(skip);
        has_failed = !back_up(disk.get()).is_ok();
        EXPECT_EQ(has_failed, disk->has_lost_power());
        disk->crash_power(how_to_crash(skip + died_at));
        if (!is_first) expect_older_or_newer(disk.get(), is_first);
        expect_savepoint_fits(disk.get());
        expect_next_succeeds(disk.get());
        ASSERT_FALSE(HasFailure()) << "then at call " << skip;
      }
    }
  }
}

// Goal: an error at any call is returned, and leaves the files of before, or the new backup.
// Method: each call of each kind fails once. Only a savepoint is written again after an error.
TEST_P(BackupCrashTest, a_call_that_fails_is_undone) {
  for (const bool is_first : {true, false}) {
    for (std::size_t kind = 0; kind < testing::kCallKinds; ++kind) {
      const std::uint64_t calls = [&] {
        const Disk disk = target(is_first);
        const std::uint64_t before = disk->calls(static_cast<Call>(kind));
        must(back_up(disk.get()));
        return disk->calls(static_cast<Call>(kind)) - before;
      }();
      std::uint64_t made_up_for = 0;
      for (std::uint64_t skip = 0; skip < calls; ++skip) {
        SCOPED_TRACE("kind " + std::to_string(kind) + ", call " + std::to_string(skip));
        const Disk disk = target(is_first);
        const std::vector<std::string> before = disk->names();
        disk->fail(static_cast<Call>(kind), skip, EIO);
        const Result<BackupReport> failed = back_up(disk.get());
        if (!failed.is_ok()) {
          EXPECT_EQ(failed.code(), ErrorCode::kIoError);
          const auto manifest = snapshot::read_newest_manifest(disk.get());
          const bool is_new = manifest.is_ok() && manifest->covered == covered_;
          if (!is_new) {
            EXPECT_EQ(disk->names(), before);
          }
        }
        disk->crash_power(FailingDevice::kDropAll);
        expect_older_or_newer(disk.get(), is_first);
        if (failed.is_ok()) {
          ++made_up_for;
          EXPECT_EQ(difference_of(*disk, newer_), "");
        }
        expect_next_succeeds(disk.get());
        ASSERT_FALSE(HasFailure());
      }
      const bool is_of_savepoint = kind == static_cast<std::size_t>(Call::kWrite) ||
                                   kind == static_cast<std::size_t>(Call::kSync);
      EXPECT_EQ(made_up_for, !is_first && is_of_savepoint ? 1u : 0u) << "kind " << kind;
    }
  }
}

TEST_P(BackupCrashTest, a_full_device_keeps_the_older_backup) {
  if (GetParam() == BackupFiles::kLink) GTEST_SKIP() << "links need no space";
  for (const bool is_first : {true, false}) {
    bool has_failed = true;
    for (std::uint64_t room = 0; has_failed; room += 16 << 10) {
      SCOPED_TRACE(std::to_string(room) + " bytes");
      const Disk disk = target(is_first);
      const std::vector<std::string> before = disk->names();
      disk->set_capacity(disk->used_bytes() + room);
      const Result<BackupReport> done = back_up(disk.get());
      has_failed = !done.is_ok();
      if (has_failed) {
        EXPECT_EQ(done.code(), ErrorCode::kOutOfSpace) << done.status().message();
        EXPECT_EQ(disk->names(), before);
        if (!is_first) {
          EXPECT_EQ(difference_of(*disk, older_), "");
        }
      }
      disk->set_capacity(FailingDevice::kUnlimited);
      expect_next_succeeds(disk.get());
      ASSERT_FALSE(HasFailure());
    }
  }
}

// A database that crashed before it had a log has a savepoint, and no segment either.
TEST_P(BackupCrashTest, a_database_that_was_hardly_begun_is_refused) {
  FailingDevice disk;
  log::Savepoint savepoint = log::empty_savepoint();
  must(log::create_savepoint(&disk, &savepoint));
  EXPECT_EQ(back_up(&disk).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(disk.names(), std::vector<std::string>{"savepoint"});
}

// A file that becomes shorter between the look at its length and a read is named: the database's
// when it is copied, and either one when they are compared.
TEST_P(BackupCrashTest, a_file_that_becomes_shorter_is_named) {
  const auto expect_named = [&](FailingDevice* cut, FailingDevice* disk) {
    std::string name;
    std::string bytes;
    cut->set_observer([&](const testing::CallSeen& call) {
      if (call.kind != Call::kRead || !call.name.starts_with("snapshot-") || !name.empty()) return;
      name = call.name;
      const std::vector<char> all = cut->bytes_of(name);
      bytes.assign(all.begin(), all.end());
      cut->set_size(name, 0);
    });
    const Result<BackupReport> failed = back_up(disk);
    cut->set_observer(nullptr);
    EXPECT_EQ(failed.code(), ErrorCode::kCorruption);
    EXPECT_NE(failed.status().message().find(name + " became shorter"), std::string::npos)
        << failed.status().message();
    cut->set_size(name, bytes.size());
    cut->overwrite(name, 0, bytes);
  };
  const Disk second = target(false);
  expect_named(&source_, second.get());
  expect_named(second.get(), second.get());
  expect_next_succeeds(second.get());
  const Disk first = target(true);
  if (GetParam() == BackupFiles::kCopy) expect_named(&source_, first.get());
  expect_next_succeeds(first.get());
}

// Goal: files of the snapshot stay while it is copied, and the backup has exactly the commits up to
// its epoch. Method: transactions and gleans between any two files, each time until nothing but the
// pin keeps the snapshot.
TEST_P(BackupCrashTest, gleans_remove_no_file_while_it_is_copied) {
  std::vector<std::pair<Epoch, ModelTxn>> later;
  const auto step = [&] {
    ModelTxn change;
    Ticket ticket;
    must(life_.step(txns_.size(), &change, &ticket));
    txns_.push_back(change);
    later.emplace_back(ticket.epoch(), std::move(change));
    must(ticket.wait_durable());
  };
  const auto glean_often = [&] {
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 5; ++j) step();
      must(life_.glean());
      life_.run_for(2'000'000);
    }
  };
  step();
  const Disk disk = target(true);
  BackupOptions options = newest(GetParam());
  options.newest_existing = false;
  unsigned files = 0;
  const BackupReport report = [&] {
    const AtSyncPoint first("backup:pinned", glean_often);
    return must(life_.engine().backup_to(disk.get(), options));
  }();
  {
    const AtSyncPoint each(
        "backup:file_added",
        [&] {
          ++files;
          glean_often();
        },
        true);
    const Disk other = target(true);
    must(life_.engine().backup_to(other.get(), options));
    EXPECT_GE(files, 2u);
    EXPECT_NE(difference_of(*other, newer_), "");
  }
  EXPECT_GE(report.covered, later.front().first);
  Model expected = newer_;
  for (const auto& [epoch, change] : later) {
    if (epoch <= report.covered) expected.apply(change);
  }
  EXPECT_EQ(difference_of(*disk, expected), "");
  newer_ = model_of(txns_);
  // Once the backups are over, their snapshots expire.
  for (int i = 0; i < 3; ++i) {
    must(life_.glean());
    life_.run_for(2'000'000);
  }
  EXPECT_LE(life_.engine().snapshots().in_use().size(), Options().snapshots_kept);
}

INSTANTIATE_TEST_SUITE_P(Files, BackupCrashTest,
                         ::testing::Values(BackupFiles::kCopy, BackupFiles::kLink),
                         [](const auto& files) {
                           return files.param == BackupFiles::kCopy ? "copied" : "linked";
                         });

}  // namespace
}  // namespace foedus::backup_crash_test
