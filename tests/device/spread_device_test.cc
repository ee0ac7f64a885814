// SpreadDevice: files are found in any directory, marks name the database of a directory, and a
// power failure at any change leaves directories that can be opened.
#include "foedus-core/device/spread/spread_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "foedus-core/device/io_queue.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/spread_disk.h"
#include "tests/testing/test_database.h"

namespace foedus::device::spread_device_test {
namespace {

using testing::Call;
using testing::FailingDevice;
using testing::must;
using testing::SpreadDisk;

constexpr std::string_view kLog0 = "log-0-00000001";
constexpr std::string_view kLog1 = "log-1-00000001";

std::unique_ptr<SpreadDevice> spread_over(FailingDevice* main, std::vector<Device*> others,
                                          std::uint64_t seed = 1) {
  return must(SpreadDevice::make(main, std::move(others), seed));
}

Status refusal(FailingDevice* main, std::vector<Device*> others) {
  const auto made = SpreadDevice::make(main, std::move(others), 99);
  EXPECT_FALSE(made.is_ok());
  return made.status();
}

// Makes a file with `text`, synced, with an unsynced name.
Status put(Device* device, std::string_view name, const std::string& text = "x") {
  FOEDUS_TRY(const auto file, device->open(name, Access::kCreate));
  FOEDUS_CHECK(file->write_at(0, text.data(), text.size()));
  return file->sync();
}

std::string text_of(Device* device, std::string_view name) {
  const auto file = must(device->open(name, Access::kRead));
  std::string text(must(file->size()), '\0');
  EXPECT_EQ(must(file->read_at(0, text.data(), text.size())), text.size());
  return text;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

class SpreadDeviceTest : public ::testing::Test {
 protected:
  FailingDevice main{"/main"};
  FailingDevice a{"/a"};
  FailingDevice b{"/b"};
};

TEST_F(SpreadDeviceTest, the_number_of_large_files_is_in_their_name) {
  EXPECT_EQ(number_in_name("log-3-00000001"), 3u);
  EXPECT_EQ(number_in_name("snapshot-00000007-12"), 12u);
  EXPECT_EQ(number_in_name("run-00000007-2-5"), 2u);
  EXPECT_EQ(number_in_name("staging-3"), 3u);
  for (const char* const name :
       {"savepoint", "manifest-00000001", "log-", "log-3", "log-3-", "log-x-00000001",
        "log-3-00000001-1", "log--00000001", "snapshot-00000007", "run-00000007-2", "foedus.lock",
        "log-3-0000000001", "log-3-00000001x", ""}) {
    EXPECT_FALSE(number_in_name(name).has_value()) << name;
  }
}

TEST_F(SpreadDeviceTest, files_are_made_where_their_number_says) {
  const auto spread = spread_over(&main, {&a, &b});
  for (const auto name : {"savepoint", "log-0-00000001", "log-1-00000001", "log-2-00000001",
                          "snapshot-00000001-3", "run-00000001-0-9"}) {
    must(put(spread.get(), name, name));
    EXPECT_EQ(text_of(spread.get(), name), name);
  }
  EXPECT_TRUE(main.exists("savepoint"));
  for (const auto name : {"log-0-00000001", "log-2-00000001", "run-00000001-0-9"}) {
    EXPECT_TRUE(a.exists(name)) << name;
  }
  for (const auto name : {"log-1-00000001", "snapshot-00000001-3"}) {
    EXPECT_TRUE(b.exists(name)) << name;
  }
  EXPECT_EQ(sorted(must(spread->list())),
            sorted({"foedus.directory", "savepoint", "log-0-00000001", "log-1-00000001",
                    "log-2-00000001", "snapshot-00000001-3", "run-00000001-0-9"}));
}

TEST_F(SpreadDeviceTest, a_look_changes_nothing) {
  const std::uint64_t before = main.digest() + a.digest() + b.digest();
  const auto spread = spread_over(&main, {&a, &b});
  for (const Access access : {Access::kRead, Access::kReadDirect}) {
    EXPECT_EQ(spread->open(kLog0, access).code(), ErrorCode::kNotFound);
  }
  EXPECT_TRUE(must(spread->list()).empty());
  EXPECT_EQ(main.digest() + a.digest() + b.digest(), before);
}

TEST_F(SpreadDeviceTest, files_are_found_in_any_order_and_number_of_directories) {
  must(put(&main, "log-5-00000001", "before there were others"));
  {
    const auto spread = spread_over(&main, {&a, &b});
    must(put(spread.get(), kLog0, "0"));
    must(put(spread.get(), kLog1, "1"));
  }
  FailingDevice c("/c");
  for (const std::vector<Device*>& others :
       {std::vector<Device*>{&b, &a}, {&a, &b, &c}, {&c, &b, &a}, {&a, &b}}) {
    const auto spread = spread_over(&main, others, 7);
    EXPECT_TRUE(spread->left_out().size() <= 1);
    EXPECT_EQ(text_of(spread.get(), kLog0), "0");
    EXPECT_EQ(text_of(spread.get(), kLog1), "1");
    EXPECT_EQ(text_of(spread.get(), "log-5-00000001"), "before there were others");
    EXPECT_EQ(spread->open(kLog0, Access::kCreate).code(), ErrorCode::kAlreadyExists);
    EXPECT_EQ(spread->open("log-5-00000001", Access::kCreate).code(), ErrorCode::kAlreadyExists);
    for (const Access access : {Access::kReadWrite, Access::kReadWriteDirect}) {
      must(must(spread->open(kLog1, access))->write_at(0, "1", 1));
    }
  }
  const auto spread = spread_over(&main, {&b, &a}, 8);
  must(spread->remove(kLog0));
  EXPECT_FALSE(a.exists(std::string(kLog0)));
  EXPECT_EQ(spread->remove(kLog0).code(), ErrorCode::kNotFound);
  must(put(spread.get(), kLog0));
  EXPECT_TRUE(b.exists(std::string(kLog0)));
}

TEST_F(SpreadDeviceTest, a_file_is_renamed_where_it_lies) {
  const auto spread = spread_over(&main, {&a, &b});
  must(put(spread.get(), "manifest.new"));
  must(spread->rename("manifest.new", "manifest-00000001"));
  EXPECT_TRUE(main.exists("manifest-00000001"));
  must(put(spread.get(), kLog1));
  must(spread->rename(kLog1, "log-0-00000002"));
  EXPECT_TRUE(b.exists("log-0-00000002"));
  must(put(spread.get(), kLog0));
  EXPECT_EQ(spread->rename("log-0-00000002", kLog0).code(), ErrorCode::kIoError);
  EXPECT_EQ(spread->rename(kLog0, "savepoint").code(), ErrorCode::kIoError);
  EXPECT_EQ(spread->rename("log-9-00000001", "log-9-00000002").code(), ErrorCode::kIoError);
  EXPECT_TRUE(b.exists("log-0-00000002") && a.exists(std::string(kLog0)));
}

TEST_F(SpreadDeviceTest, a_queue_reads_files_of_all) {
  const auto spread = spread_over(&main, {&a, &b});
  must(put(spread.get(), kLog0, "from a"));
  must(put(spread.get(), kLog1, "from b"));
  const auto queue = spread->make_io_queue();
  std::array<char, 6> bytes[2];
  const std::string_view names[] = {kLog0, kLog1};
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::shared_ptr<const File> file = must(spread->open(names[i], Access::kRead));
    const Bytes part{bytes[i].data(), bytes[i].size()};
    ASSERT_TRUE(queue->add_read(file, 0, &part, 1, i));
  }
  queue->send();
  IoQueue::Done done;
  while (queue->next(true, &done)) EXPECT_EQ(done.bytes, 6u);
  EXPECT_EQ(std::string(bytes[0].data(), 6), "from a");
  EXPECT_EQ(std::string(bytes[1].data(), 6), "from b");
}

// ---- whose they are

TEST_F(SpreadDeviceTest, a_directory_of_another_database_is_refused) {
  FailingDevice other_main("/other");
  must(put(spread_over(&other_main, {&a}, 2).get(), kLog0));
  must(put(spread_over(&main, {&b}, 3).get(), kLog0));
  const std::uint64_t before = main.digest() + a.digest() + b.digest() + other_main.digest();
  for (const Status& refused : {
           refusal(&main, {&b, &a}),           // of another database
           refusal(&main, {&other_main}),      // the main directory of another one
           refusal(&a, {}),                    // of `dirs`, as `dir`
           refusal(&a, {&other_main}),
       }) {
    EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument) << refused.message();
  }
  EXPECT_NE(refusal(&main, {&b, &a}).message().find("/a belongs to another database"),
            std::string::npos);
  EXPECT_EQ(main.digest() + a.digest() + b.digest() + other_main.digest(), before);
}

TEST_F(SpreadDeviceTest, a_new_database_does_not_take_a_directory_of_another_one) {
  must(put(spread_over(&main, {&a}).get(), kLog0));
  FailingDevice new_main("/new");
  const Status refused = refusal(&new_main, {&a});
  EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("/a belongs to another database"), std::string::npos)
      << refused.message();
}

TEST_F(SpreadDeviceTest, a_directory_with_files_and_no_mark_is_refused) {
  for (const std::string name : {"log-0-00000001", "savepoint", "manifest-00000001"}) {
    FailingDevice found("/found");
    must(put(&found, name));
    EXPECT_EQ(refusal(&main, {&found}).code(), ErrorCode::kInvalidArgument) << name;
  }
  FailingDevice found("/found");
  must(put(&found, "notes.txt"));
  EXPECT_TRUE(must(spread_over(&main, {&found})->list()).empty());
}

// The database was changed without the directory, so the files there are out of date.
TEST_F(SpreadDeviceTest, a_directory_is_out_of_date_once_the_database_was_changed_without_it) {
  {
    const auto spread = spread_over(&main, {&a, &b});
    must(put(spread.get(), kLog0));
    must(put(spread.get(), kLog1));
  }
  {
    const auto spread = spread_over(&main, {&a});
    EXPECT_EQ(spread->left_out(), std::vector<std::string>{"/b"});
    EXPECT_EQ(spread->open(kLog1, Access::kRead).code(), ErrorCode::kNotFound);
  }
  EXPECT_TRUE(spread_over(&main, {&a, &b})->left_out().empty());  // no change
  must(put(spread_over(&main, {&a}).get(), kLog1, "another"));
  const Status refused = refusal(&main, {&a, &b});
  EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("/b holds log-1-00000001, which is out of date"),
            std::string::npos)
      << refused.message();
  must(b.remove(kLog1));
  EXPECT_EQ(text_of(spread_over(&main, {&a, &b}).get(), kLog1), "another");
}

TEST_F(SpreadDeviceTest, a_name_in_two_directories_and_a_copied_mark_are_refused) {
  {
    const auto spread = spread_over(&main, {&a, &b});
    must(put(spread.get(), kLog0));
  }
  const auto copy = a.copy();
  EXPECT_EQ(refusal(&main, {&a, copy.get()}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(&main, {main.copy().get()}).code(), ErrorCode::kInvalidArgument);
  must(put(&b, kLog0));
  const Status refused = refusal(&main, {&a, &b});
  EXPECT_EQ(refused.code(), ErrorCode::kCorruption);
  EXPECT_NE(refused.message().find("log-0-00000001 lies in /a and in /b;"), std::string::npos);
}

TEST_F(SpreadDeviceTest, every_damaged_byte_of_a_mark_is_found) {
  must(put(spread_over(&main, {&a}).get(), kLog0));
  for (FailingDevice* const marked : {&main, &a}) {
    const std::size_t bytes = marked->bytes_of(std::string(kMarkName)).size();
    for (std::size_t at = 0; at < bytes; ++at) {
      marked->flip_bit(std::string(kMarkName), at, 1);
      const Status refused = refusal(&main, {&a});
      EXPECT_TRUE(refused.code() == ErrorCode::kCorruption ||
                  refused.code() == ErrorCode::kWrongVersion)
          << at << ": " << refused.message();
      marked->flip_bit(std::string(kMarkName), at, 1);
    }
  }
  spread_over(&main, {&a});
}

TEST_F(SpreadDeviceTest, a_mark_keeps_paths_of_any_bytes) {
  const DirectoryMark mark{.database = {std::string(32, '1')},
                           .own = {},
                           .parts = {{{std::string(32, 'a')}, "/x y%\n\x7f\xc3\xa4"},
                                     {{std::string(32, 'b')}, ""}}};
  EXPECT_EQ(must(parse_mark(encode_mark(mark), "m")), mark);
  const auto refused = parse_mark("foedus directory 2\n", "/d/m");
  EXPECT_EQ(refused.code(), ErrorCode::kWrongVersion);
}

// ---- crashes

// Writes files and then the file that makes them valid, each durable before the next, as a database
// does.
Status begin(SpreadDevice* device, const std::string& text) {
  for (const std::string_view name : {kLog0, kLog1}) {
    FOEDUS_CHECK(unless_gone(device->remove(name)));
    FOEDUS_CHECK(put(device, name, text));
  }
  FOEDUS_CHECK(device->sync_directory());
  FOEDUS_CHECK(unless_gone(device->remove("manifest.new")));
  FOEDUS_CHECK(put(device, "manifest.new", text));
  FOEDUS_CHECK(device->rename("manifest.new", "savepoint"));
  return device->sync_directory();
}

TEST(SpreadDeviceCrashTest, a_power_cut_in_the_first_change_leaves_directories_that_open) {
  bool was_cut = true;
  for (std::uint64_t skip = 0; was_cut; ++skip) {
    for (const std::uint64_t seed :
         {FailingDevice::kDropAll, FailingDevice::kKeepAll, std::uint64_t{11}, std::uint64_t{23},
          std::uint64_t{35}, std::uint64_t{47}, std::uint64_t{59}, std::uint64_t{61}}) {
      SCOPED_TRACE("skip " + std::to_string(skip) + ", seed " + std::to_string(seed));
      SpreadDisk disk;
      disk.lose_power_after(skip);
      const Status begun = begin(disk.open().get(), "first");
      was_cut = disk.has_lost_power();
      EXPECT_EQ(begun.is_ok(), !was_cut) << begun.message();
      disk.crash_power(seed);
      const auto made = SpreadDevice::make(&disk.main(), {&disk.b(), &disk.a()}, 5);
      ASSERT_TRUE(made.is_ok()) << made.status().message();
      if (disk.main().exists("savepoint")) {
        EXPECT_EQ(text_of(made->get(), kLog0), "first");
        EXPECT_EQ(text_of(made->get(), kLog1), "first");
      }
      EXPECT_TRUE(was_cut || disk.main().exists("savepoint"));
      must(begin(made->get(), "second"));
      EXPECT_EQ(text_of(made->get(), kLog0), "second");
    }
  }
}

// V12: a name that was removed in one directory and made in another never comes back in the first.
TEST(SpreadDeviceCrashTest, no_power_cut_leaves_a_name_in_two_directories) {
  bool was_cut = true;
  for (std::uint64_t skip = 0; was_cut; ++skip) {
    for (const bool is_removed_before : {false, true}) {
      for (const std::uint64_t seed :
           {FailingDevice::kDropAll, FailingDevice::kKeepAll, std::uint64_t{11}, std::uint64_t{23},
            std::uint64_t{35}, std::uint64_t{47}}) {
        SCOPED_TRACE("skip " + std::to_string(skip) + ", seed " + std::to_string(seed));
        SpreadDisk disk;
        {
          const auto spread = disk.open();
          must(begin(spread.get(), "first"));
          if (is_removed_before) must(spread->remove(kLog0));  // not durably
        }
        disk.lose_power_after(skip);
        static_cast<void>(begin(disk.open(true).get(), "second").is_ok());
        was_cut = disk.has_lost_power();
        disk.crash_power(seed);
        const auto made = SpreadDevice::make(&disk.main(), {&disk.a(), &disk.b()}, 5);
        ASSERT_TRUE(made.is_ok()) << made.status().message();
        must(begin(made->get(), "third"));
      }
    }
  }
}

// V12 holds for names that are removed by a rename.
TEST_F(SpreadDeviceTest, a_name_that_was_given_away_is_gone_before_it_is_made_elsewhere) {
  must(put(spread_over(&main, {&a, &b}).get(), kLog0));
  for (FailingDevice* const device : {&main, &a, &b}) must(device->sync_directory());
  {
    const auto spread = spread_over(&main, {&b, &a});
    must(spread->rename(kLog0, "log-4-00000001"));
    must(put(spread.get(), kLog0));
    must(b.sync_directory());
  }
  for (FailingDevice* const device : {&main, &a, &b}) device->crash_power(FailingDevice::kDropAll);
  spread_over(&main, {&a, &b});
}

// V13: an out-of-date directory must be recognized after any kind of change.
TEST_F(SpreadDeviceTest, a_directory_is_forgotten_by_changes_of_all_kinds) {
  using Change = Status (*)(SpreadDevice*);
  for (const Change change :
       {Change([](SpreadDevice* device) { return device->remove("log-2-00000001"); }),
        Change([](SpreadDevice* device) { return device->rename("old", "new"); }),
        Change([](SpreadDevice* device) {
          return device->open(kLog0, Access::kReadWrite).status();
        }),
        Change([](SpreadDevice* device) { return put(device, "log-4-00000001"); })}) {
    SpreadDisk disk;
    {
      const auto spread = disk.open();
      for (const auto name : {kLog0, kLog1, std::string_view("log-2-00000001")}) {
        must(put(spread.get(), name));
      }
      must(put(spread.get(), "old"));
    }
    must(change(spread_over(&disk.main(), {&disk.a()}).get()));
    EXPECT_EQ(refusal(&disk.main(), {&disk.a(), &disk.b()}).code(), ErrorCode::kInvalidArgument);
  }
}

TEST_F(SpreadDeviceTest, changes_of_all_kinds_are_durable_after_a_sync) {
  const auto spread = spread_over(&main, {&a, &b});
  for (const auto name : {kLog0, kLog1, std::string_view("log-2-00000001")}) {
    must(put(spread.get(), name));
  }
  must(spread->sync_directory());
  must(spread->remove(kLog1));
  must(spread->rename("log-2-00000001", "log-4-00000001"));
  must(put(spread.get(), "savepoint"));
  must(spread->sync_directory());
  for (FailingDevice* const device : {&main, &a, &b}) device->crash_power(FailingDevice::kDropAll);
  EXPECT_FALSE(b.exists(std::string(kLog1)));
  EXPECT_TRUE(a.exists("log-4-00000001") && !a.exists("log-2-00000001"));
  EXPECT_TRUE(main.exists("savepoint"));
}

// A device on which another thread makes a change after a sync, before that is counted.
class LateDevice : public FailingDevice {
 public:
  using FailingDevice::FailingDevice;
  Status sync_directory() override {
    FOEDUS_CHECK(FailingDevice::sync_directory());
    if (after_sync) std::exchange(after_sync, nullptr)();
    return {};
  }
  std::function<void()> after_sync;
};

TEST_F(SpreadDeviceTest, a_sync_counts_for_no_change_that_it_may_have_missed) {
  LateDevice late("/late");
  const auto spread = spread_over(&main, {&late});
  must(put(spread.get(), kLog0));
  late.after_sync = [&] { must(put(spread.get(), kLog1)); };
  must(spread->sync_directory());
  must(spread->sync_directory());
  late.crash_power(FailingDevice::kDropAll);
  EXPECT_TRUE(late.exists(std::string(kLog1)));
}

// Files of earlier processes may be visible and not durable.
TEST_F(SpreadDeviceTest, a_sync_makes_durable_what_earlier_processes_left) {
  {
    const auto spread = spread_over(&main, {&a, &b});
    must(put(spread.get(), kLog0));
    must(put(spread.get(), kLog1));
    must(put(spread.get(), "savepoint"));
  }
  for (FailingDevice* const device : {&main, &a, &b}) device->crash_process();
  must(spread_over(&main, {&a, &b})->sync_directory());
  for (FailingDevice* const device : {&main, &a, &b}) device->crash_power(FailingDevice::kDropAll);
  EXPECT_TRUE(main.exists("savepoint"));
  EXPECT_TRUE(a.exists(std::string(kLog0)));
  EXPECT_TRUE(b.exists(std::string(kLog1)));
}

TEST_F(SpreadDeviceTest, only_directories_that_were_changed_are_synced_and_a_failed_one_again) {
  const auto spread = spread_over(&main, {&a, &b});
  must(put(spread.get(), kLog0));
  must(spread->sync_directory());
  const auto syncs = [](FailingDevice& device) { return device.calls(Call::kSyncDirectory); };
  const std::uint64_t before[] = {syncs(main), syncs(a), syncs(b)};
  must(put(spread.get(), kLog1));
  b.fail(Call::kSyncDirectory, 0, EIO);
  EXPECT_EQ(spread->sync_directory().code(), ErrorCode::kIoError);
  must(spread->sync_directory());
  must(spread->sync_directory());
  EXPECT_EQ(syncs(main), before[0]);
  EXPECT_EQ(syncs(a), before[1]);
  EXPECT_EQ(syncs(b), before[2] + 2);
  b.crash_power(FailingDevice::kDropAll);
  EXPECT_TRUE(b.exists(std::string(kLog1)));
}

TEST_F(SpreadDeviceTest, a_full_directory_is_out_of_space_and_stops_no_other) {
  const auto spread = spread_over(&main, {&a, &b});
  must(put(spread.get(), kLog0));
  b.set_capacity(b.used_bytes());
  EXPECT_EQ(put(spread.get(), kLog1).code(), ErrorCode::kOutOfSpace);
  must(put(spread.get(), "log-2-00000001"));
  b.set_capacity(FailingDevice::kUnlimited);
  must(spread->remove(kLog1));
  must(put(spread.get(), kLog1));
}

// The directories have their marks already, so a removal after a restart writes nothing.
TEST_F(SpreadDeviceTest, files_of_full_directories_can_be_removed_after_a_restart) {
  must(put(spread_over(&main, {&a, &b}).get(), kLog0));
  const auto again = spread_over(&main, {&a, &b});
  for (FailingDevice* const device : {&main, &a, &b}) device->set_capacity(device->used_bytes());
  must(again->remove(kLog0));
  EXPECT_FALSE(a.exists(std::string(kLog0)));
}

}  // namespace
}  // namespace foedus::device::spread_device_test
