// ctest-program: own
// FileOptions::device: on persistent memory a database is durable by stores; without any it says so
// and works as on files. Method: the program defines calls of libpmem and of the C library itself;
// they report persistent memory, and count.
#ifdef FOEDUS_HAVE_LIBPMEM
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <libpmem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/testing/test_database.h"

namespace {

std::atomic<bool> is_persistent = true;
std::atomic<int> fdatasyncs = 0;

}  // namespace

extern "C" {

int fdatasync(int fd) {
  ++fdatasyncs;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

void* pmem_map_file(const char* path, size_t bytes, int flags, mode_t mode, size_t* mapped,
                    int* is_pmem) {
  using Function = decltype(pmem_map_file);
  auto* const real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "pmem_map_file"));
  void* const begin = real(path, bytes, flags, mode, mapped, is_pmem);
  *is_pmem = is_persistent ? 1 : 0;
  return begin;
}

}  // extern "C"

namespace foedus::mapped_device_test {
namespace {

using testing::must;
using testing::TestDatabase;

class MappedDeviceTest : public ::testing::Test {
 protected:
  MappedDeviceTest() { is_persistent = true; }

  Options options() {
    Options options = testing::small_options("");
    options.files.device = DeviceKind::kMapped;
    options.durability = Durability::kSync;
    options.log_sink = [this](LogLevel level, std::string_view line) {
      if (level == LogLevel::kWarning) warnings_.emplace_back(line);
    };
    return options;
  }
  // Returns a row: most are small, and some have several pages.
  static std::string payload(std::uint64_t row, char letter) {
    return std::string(row % 50 == 7 ? 9'000 : row % 300, letter);
  }
  static void write(Database* db, char letter, std::uint64_t rows) {
    const Masstree tree = must(db->open_masstree("tree"));
    for (std::uint64_t row = 0; row < rows; ++row) {
      must(db->transact([&](Txn& txn) { return txn.put(tree, key(row), payload(row, letter)); }));
    }
  }
  static void expect(Database* db, char letter, std::uint64_t first, std::uint64_t end) {
    const Masstree tree = must(db->open_masstree("tree"));
    for (std::uint64_t row = first; row < end; ++row) {
      const std::string found =
          must(db->transact([&](Txn& txn) { return txn.get(tree, key(row)); }));
      ASSERT_EQ(found, payload(row, letter)) << row;
    }
  }

  std::vector<std::string> warnings_;
};

// Goal: commits are recovered from the log, from snapshots and from both, whichever device wrote
// them and whichever reads them.
TEST_F(MappedDeviceTest, a_database_lives_on_it_and_moves_from_one_device_to_the_other) {
  TestDatabase db(options());
  EXPECT_EQ(db->effective_options().options.files.device, DeviceKind::kMapped);
  EXPECT_FALSE(db->effective_options().direct_io);
  write(&*db, 'a', 1'000);
  for (const bool persistent : {true, false, true, true}) {
    is_persistent = persistent;
    ASSERT_NO_FATAL_FAILURE(db.reopen());
    expect(&*db, 'a', 500, 1'000);
    write(&*db, 'b', 500);
    must(db->glean());
    expect(&*db, 'b', 0, 500);
    write(&*db, 'a', 400);
    ASSERT_NO_FATAL_FAILURE(db.reopen());
    expect(&*db, 'a', 0, 400);
    expect(&*db, 'b', 400, 500);
  }
}

TEST_F(MappedDeviceTest, commits_become_durable_without_a_call) {
  TestDatabase db(options());
  write(&*db, 'a', 10);
  const int before = fdatasyncs;
  write(&*db, 'b', 500);
  EXPECT_LE(fdatasyncs, before + 4) << "those of a new segment";
  is_persistent = false;
  ASSERT_NO_FATAL_FAILURE(db.reopen());
  const int by_calls = fdatasyncs;
  write(&*db, 'c', 500);
  EXPECT_GE(fdatasyncs, by_calls + 400);
}

TEST_F(MappedDeviceTest, where_memory_is_not_persistent_it_says_so) {
  is_persistent = false;
  TestDatabase db(options());
  EXPECT_EQ(db->effective_options().options.files.device, DeviceKind::kFile);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("persistent memory"), std::string::npos) << warnings_[0];
  write(&*db, 'a', 100);
  ASSERT_NO_FATAL_FAILURE(db.reopen());
  expect(&*db, 'a', 0, 100);
}

TEST_F(MappedDeviceTest, a_device_that_is_none_is_refused) {
  Options options = this->options();
  options.dir = "/tmp/foedus-never-made";
  options.files.device = static_cast<DeviceKind>(7);
  EXPECT_EQ(Database::open(options).code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace foedus::mapped_device_test

#endif  // FOEDUS_HAVE_LIBPMEM
