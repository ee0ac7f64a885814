// Files of a real directory: refusals, locks, and the needs of direct I/O.
// ctest-labels: memory
#include "foedus-core/device/posix/file_device.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "foedus-core/device/emulated_device.h"

namespace foedus::device::file_device_test {
namespace {

class FileDeviceTest : public ::testing::Test {
 protected:
  FileDeviceTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "foedus-dev-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    dir_ = root_ + "/db";
  }
  ~FileDeviceTest() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<FileDevice> open(Facility direct_io = Facility::kTry) {
    auto device = FileDevice::open(dir_, direct_io);
    EXPECT_TRUE(device.is_ok()) << device.status().message();
    return std::move(device).value();
  }

  std::string root_;
  std::string dir_;
};

TEST_F(FileDeviceTest, bytes_written_in_parts_are_read_back) {
  const auto device = open(Facility::kOff);
  auto file = device->open("a", Access::kCreate);
  ASSERT_TRUE(file.is_ok());
  const ConstBytes parts[] = {{"abc", 3}, {"", 0}, {"defgh", 5}};
  ASSERT_TRUE((*file)->write_parts_at(10, parts, 3).is_ok());
  ASSERT_TRUE((*file)->sync().is_ok());
  char buffer[32] = {};
  const auto read = (*file)->read_at(8, buffer, sizeof(buffer));
  ASSERT_TRUE(read.is_ok());
  EXPECT_EQ(*read, 10u);
  EXPECT_EQ(std::string(buffer, 10), std::string("\0\0abcdefgh", 10));
  EXPECT_EQ(*(*file)->read_at(100, buffer, 1), 0u);
  ASSERT_TRUE((*file)->preallocate(9'000).is_ok());
  EXPECT_EQ(*(*file)->size(), 9'000u);
  ASSERT_TRUE((*file)->preallocate(4'000).is_ok());
  EXPECT_EQ(*(*file)->size(), 9'000u);
  ASSERT_TRUE((*file)->truncate(5).is_ok());
  EXPECT_EQ(*(*file)->size(), 5u);
}

TEST_F(FileDeviceTest, room_of_a_range_is_given_back) {
  const auto device = open();
  constexpr std::size_t kBytes = 64 * kBlockBytes;
  {
    const auto file = device->open("file", Access::kCreate);
    const std::string bytes(kBytes, 'x');
    ASSERT_TRUE((*file)->write_at(0, bytes.data(), bytes.size()).is_ok());
    ASSERT_TRUE((*file)->sync().is_ok());
  }
  const auto blocks = [&] {
    struct stat about {};
    EXPECT_EQ(::stat((device->path() + "/file").c_str(), &about), 0);
    return about.st_blocks;
  };
  const auto before = blocks();
  const Device::Range ranges[] = {{kBlockBytes, 8 * kBlockBytes}, {32 * kBlockBytes, kBytes}};
  const Status discarded = device->discard("file", ranges, 2);
  if (discarded.code() == ErrorCode::kNotSupported) GTEST_SKIP() << discarded.message();
  ASSERT_TRUE(discarded.is_ok()) << discarded.message();
  EXPECT_LE(blocks(), before - 40 * static_cast<std::int64_t>(kBlockBytes / 512));
  const auto file = device->open("file", Access::kRead);
  EXPECT_EQ(*(*file)->size(), kBytes);
  std::string bytes(kBytes, ' ');
  EXPECT_EQ(*(*file)->read_at(0, bytes.data(), kBytes), kBytes);
  EXPECT_EQ(bytes.substr(0, kBlockBytes), std::string(kBlockBytes, 'x'));
  EXPECT_EQ(bytes.substr(9 * kBlockBytes, 23 * kBlockBytes), std::string(23 * kBlockBytes, 'x'));
  EXPECT_EQ(device->discard("none", ranges, 2).code(), ErrorCode::kNotFound);
}

TEST_F(FileDeviceTest, direct_files_take_whole_blocks) {
  const auto device = open(Facility::kTry);
  auto file = device->open("a", Access::kCreateDirect);
  ASSERT_TRUE(file.is_ok());
  EXPECT_EQ((*file)->is_direct(), device->has_direct_io());
  alignas(4096) static char blocks[3 * 4096];
  std::memset(blocks, 'x', sizeof(blocks));
  const ConstBytes parts[] = {{blocks, 4096}, {blocks + 4096, 8192}};
  ASSERT_TRUE((*file)->write_parts_at(4096, parts, 2).is_ok());
  ASSERT_TRUE((*file)->sync().is_ok());
  std::memset(blocks, 0, sizeof(blocks));
  EXPECT_EQ(*(*file)->read_at(8192, blocks, sizeof(blocks)), 8192u);
  EXPECT_EQ(std::count(blocks, blocks + sizeof(blocks), 'x'), 8192);
}

TEST_F(FileDeviceTest, names_are_listed_renamed_and_removed) {
  const auto device = open();
  for (const char* const name : {"a", "b", "c"}) {
    ASSERT_TRUE(device->open(name, Access::kCreate).is_ok());
  }
  EXPECT_EQ(device->open("a", Access::kCreate).code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(device->open("x", Access::kRead).code(), ErrorCode::kNotFound);
  ASSERT_TRUE(device->rename("a", "b").is_ok());
  ASSERT_TRUE(device->remove("c").is_ok());
  EXPECT_EQ(device->remove("c").code(), ErrorCode::kNotFound);
  EXPECT_EQ(device->rename("c", "d").code(), ErrorCode::kIoError);
  ASSERT_TRUE(device->sync_directory().is_ok());
  auto names = *device->list();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"b", std::string(FileDevice::kLockName)}));
}

TEST_F(FileDeviceTest, a_lock_file_that_cannot_be_opened_is_named_with_the_cause) {
  std::filesystem::create_directories(dir_ + "/foedus.lock");
  const Status refused = FileDevice::open(dir_, Facility::kOff).status();
  EXPECT_EQ(refused.error_number(), EISDIR);
  EXPECT_NE(refused.message().find(dir_ + "/foedus.lock"), std::string::npos) << refused.message();
}

TEST_F(FileDeviceTest, nothing_outside_the_directory_is_reached) {
  const auto device = open();
  std::ofstream(root_ + "/secret") << "secret";
  for (const std::string& name : {std::string("../secret"), std::string(".."), std::string("."),
                                 std::string(), std::string("a/b"), root_ + "/secret",
                                 std::string("a\0b", 3), std::string(256, 'x')}) {
    EXPECT_EQ(device->open(name, Access::kCreate).code(), ErrorCode::kInvalidArgument) << name;
    EXPECT_EQ(device->open(name, Access::kRead).code(), ErrorCode::kInvalidArgument) << name;
    EXPECT_EQ(device->remove(name).code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(device->rename(name, "x").code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(device->rename("x", name).code(), ErrorCode::kInvalidArgument);
  }
  std::filesystem::create_symlink(root_ + "/secret", dir_ + "/link");
  EXPECT_EQ(device->open("link", Access::kReadWrite).code(), ErrorCode::kIoError);
  EXPECT_EQ(device->open("link", Access::kCreate).code(), ErrorCode::kAlreadyExists);
  std::filesystem::create_directory(dir_ + "/folder");
  EXPECT_EQ(device->open("folder", Access::kRead).code(), ErrorCode::kIoError);
  EXPECT_EQ(device->remove("folder").code(), ErrorCode::kIoError);
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0644), 0);
  EXPECT_EQ(device->open("pipe", Access::kRead).code(), ErrorCode::kIoError);
  EXPECT_EQ(device->open("pipe", Access::kReadWrite).code(), ErrorCode::kIoError);
}

TEST_F(FileDeviceTest, a_lock_or_probe_that_is_a_link_is_not_followed) {
  std::filesystem::create_directory(dir_);
  std::ofstream(root_ + "/secret") << "secret";
  std::filesystem::create_symlink(root_ + "/secret", dir_ + "/foedus.probe");
  { const auto device = open(); }
  std::filesystem::create_symlink(root_ + "/secret", dir_ + "/link");
  std::filesystem::remove(dir_ + "/foedus.lock");
  std::filesystem::create_symlink(root_ + "/secret", dir_ + "/foedus.lock");
  EXPECT_EQ(FileDevice::open(dir_, Facility::kOff).code(), ErrorCode::kIoError);
  EXPECT_EQ(FileDevice::open_to_read(dir_).code(), ErrorCode::kIoError);
  EXPECT_EQ(std::filesystem::file_size(root_ + "/secret"), 6u);
}

TEST_F(FileDeviceTest, a_lock_that_is_no_file_of_this_directory_alone_is_refused) {
  std::filesystem::create_directory(dir_);
  ASSERT_EQ(mkfifo((dir_ + "/foedus.lock").c_str(), 0644), 0);
  EXPECT_EQ(FileDevice::open(dir_, Facility::kOff).code(), ErrorCode::kIoError);
  EXPECT_EQ(FileDevice::open_to_read(dir_).code(), ErrorCode::kIoError);
  std::filesystem::remove(dir_ + "/foedus.lock");
  std::ofstream(root_ + "/secret") << "secret";
  std::filesystem::create_hard_link(root_ + "/secret", dir_ + "/foedus.lock");
  EXPECT_EQ(FileDevice::open(dir_, Facility::kOff).code(), ErrorCode::kIoError);
  EXPECT_EQ(std::filesystem::file_size(root_ + "/secret"), 6u);
}

TEST_F(FileDeviceTest, a_directory_has_one_user_in_and_across_processes) {
  {
    const auto device = open();
    const auto second = FileDevice::open(dir_, Facility::kOff);
    EXPECT_EQ(second.code(), ErrorCode::kBusy);
    EXPECT_NE(second.status().message().find("by this process"), std::string::npos)
        << second.status().message();
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
      const auto third = FileDevice::open(dir_, Facility::kOff);
      const bool names_it =
          third.status().message().find(std::to_string(parent)) != std::string::npos;
      _exit(third.code() == ErrorCode::kBusy && names_it ? 0 : 1);
    }
    int result = 0;
    waitpid(child, &result, 0);
    EXPECT_EQ(result, 0);
  }
  open();
}

TEST_F(FileDeviceTest, readers_share_a_directory_and_keep_users_out_and_change_nothing) {
  EXPECT_EQ(FileDevice::open_to_read(dir_).code(), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(dir_));
  {
    const auto user = open();
    ASSERT_TRUE(user->open("a", Access::kCreate).is_ok());
    const auto reader = FileDevice::open_to_read(dir_);
    EXPECT_EQ(reader.code(), ErrorCode::kBusy);
    EXPECT_NE(reader.status().message().find("by this process"), std::string::npos)
        << reader.status().message();
  }
  const auto time = std::filesystem::last_write_time(dir_);
  const auto lock_time = std::filesystem::last_write_time(dir_ + "/foedus.lock");
  {
    const auto first = FileDevice::open_to_read(dir_);
    const auto second = FileDevice::open_to_read(dir_);
    ASSERT_TRUE(first.is_ok() && second.is_ok());
    EXPECT_TRUE((*first)->open("a", Access::kRead).is_ok());
    const auto user = FileDevice::open(dir_, Facility::kOff);
    EXPECT_EQ(user.code(), ErrorCode::kBusy);
    EXPECT_NE(user.status().message().find("is being read"), std::string::npos)
        << user.status().message();
    for (const Access access : {Access::kReadWrite, Access::kCreate, Access::kCreateDirect}) {
      EXPECT_EQ((*second)->open("a", access).code(), ErrorCode::kNotSupported);
    }
    EXPECT_EQ((*second)->remove("a").code(), ErrorCode::kNotSupported);
    EXPECT_EQ((*second)->rename("a", "b").code(), ErrorCode::kNotSupported);
    EXPECT_EQ((*second)->sync_directory().code(), ErrorCode::kNotSupported);
  }
  EXPECT_EQ(std::filesystem::last_write_time(dir_), time);
  EXPECT_EQ(std::filesystem::last_write_time(dir_ + "/foedus.lock"), lock_time);
  open();
}

// Goal: the directory is still locked after a user has removed the lock file.
TEST_F(FileDeviceTest, a_directory_is_locked_without_its_lock_file) {
  for (const bool is_read : {false, true}) {
    auto first = is_read ? FileDevice::open_to_read(dir_) : FileDevice::open(dir_, Facility::kOff);
    ASSERT_TRUE(first.is_ok());
    std::filesystem::remove(dir_ + "/foedus.lock");
    EXPECT_EQ(FileDevice::open(dir_, Facility::kOff).code(), ErrorCode::kBusy);
    EXPECT_EQ(FileDevice::open_to_read(dir_).code(),
              is_read ? ErrorCode::kOk : ErrorCode::kBusy);
    first = ErrorCode::kClosed;
    ASSERT_TRUE(FileDevice::open(dir_, Facility::kOff).is_ok());
  }
}

TEST_F(FileDeviceTest, a_directory_that_was_never_opened_is_read_without_a_lock) {
  std::filesystem::create_directory(dir_);
  const auto reader = FileDevice::open_to_read(dir_);
  ASSERT_TRUE(reader.is_ok()) << reader.status().message();
  EXPECT_TRUE((*reader)->list()->empty());
}

TEST_F(FileDeviceTest, the_parent_of_a_new_directory_must_exist) {
  const auto device = FileDevice::open(root_ + "/no/db", Facility::kOff);
  EXPECT_EQ(device.code(), ErrorCode::kIoError);
  EXPECT_EQ(device.status().error_number(), ENOENT);
  std::ofstream(root_ + "/plain") << "x";
  EXPECT_EQ(FileDevice::open(root_ + "/plain", Facility::kOff).code(), ErrorCode::kIoError);
}

// Goal: a limit on the size of files is an error, not a signal that ends the host. Method: a child
// process, because the limit is of the process.
TEST_F(FileDeviceTest, a_write_beyond_the_file_size_limit_is_an_error_and_no_signal) {
  const pid_t child = fork();
  if (child == 0) {
    auto device = FileDevice::open(dir_, Facility::kOff);
    if (!device.is_ok()) _exit(1);
    auto file = (*device)->open("a", Access::kCreate);
    if (!file.is_ok()) _exit(2);
    const rlimit limit{8192, 8192};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string bytes(8193, 'x');
    if ((*file)->write_at(0, bytes.data(), 8192).code() != ErrorCode::kOk) _exit(3);
    if ((*file)->write_at(0, bytes.data(), 8193).error_number() != EFBIG) _exit(4);
    if ((*file)->write_at(9'000, bytes.data(), 1).error_number() != EFBIG) _exit(5);
    if ((*file)->preallocate(10'000).error_number() != EFBIG) _exit(6);
    if ((*file)->truncate(10'000).error_number() != EFBIG) _exit(7);
    _exit(0);
  }
  int result = 0;
  waitpid(child, &result, 0);
  EXPECT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

TEST_F(FileDeviceTest, a_directory_is_opened_where_files_may_have_no_bytes) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{0, 0};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(FileDevice::open(dir_, Facility::kTry).is_ok() ? 0 : 1);
  }
  int result = 0;
  waitpid(child, &result, 0);
  EXPECT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) == 0) << result;
}

// A file of two directories is one file, which is read in both, written in neither, and stays while
// one of them has it.
TEST_F(FileDeviceTest, a_linked_file_is_in_both_directories) {
  const auto device = open(Facility::kOff);
  auto other = *FileDevice::open(root_ + "/other", Facility::kOff);
  const auto file = *device->open("a", Access::kCreate);
  ASSERT_TRUE(file->write_at(0, "abc", 3).is_ok());
  ASSERT_TRUE(device->link("a", other.get()).is_ok());
  EXPECT_TRUE(std::filesystem::equivalent(dir_ + "/a", root_ + "/other/a"));
  EXPECT_EQ(device->link("a", other.get()).code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(device->link("b", other.get()).code(), ErrorCode::kNotFound);
  EXPECT_EQ(device->link("../db/a", other.get()).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(device->open("a", Access::kReadWrite).code(), ErrorCode::kIoError);
  ASSERT_TRUE(device->remove("a").is_ok());
  const auto linked = other->open("a", Access::kReadWrite);
  ASSERT_TRUE(linked.is_ok());
  char byte = 0;
  EXPECT_EQ(*(*linked)->read_at(2, &byte, 1), 1u);
  EXPECT_EQ(byte, 'c');
}

// Goal: a link that the system does not make is kNotSupported, so that the caller copies the file.
// Method: links to another file system, to a directory that was opened to be read, and to a device
// that is no directory.
TEST_F(FileDeviceTest, a_link_that_cannot_be_is_not_supported) {
  const auto device = open(Facility::kOff);
  ASSERT_TRUE(device->open("a", Access::kCreate).is_ok());
  std::filesystem::create_directory(root_ + "/read");
  const auto read = *FileDevice::open_to_read(root_ + "/read");
  EXPECT_EQ(device->link("a", read.get()).code(), ErrorCode::kNotSupported);
  EmulatedDevice emulated(*FileDevice::open(root_ + "/emulated", Facility::kOff), false, {},
                          std::make_shared<NvmCounters>());
  EXPECT_EQ(device->link("a", &emulated).code(), ErrorCode::kNotSupported);
  EXPECT_EQ(emulated.link("a", device.get()).code(), ErrorCode::kNotSupported);
  std::string shm = "/dev/shm/foedus-dev-XXXXXX";
  if (mkdtemp(shm.data()) == nullptr) GTEST_SKIP() << "no second file system";
  {
    const auto elsewhere = *FileDevice::open(shm, Facility::kOff);
    struct stat here;
    struct stat there;
    ASSERT_EQ(stat(root_.c_str(), &here) | stat(shm.c_str(), &there), 0);
    const Status linked = device->link("a", elsewhere.get());
    EXPECT_EQ(linked.code(),
              here.st_dev == there.st_dev ? ErrorCode::kOk : ErrorCode::kNotSupported);
  }
  std::filesystem::remove_all(shm);
}

TEST_F(FileDeviceTest, an_error_names_file_and_errno) {
  const auto device = open(Facility::kOff);
  ASSERT_TRUE(device->open("a", Access::kCreate).is_ok());
  const auto file = device->open("a", Access::kRead);
  ASSERT_TRUE(file.is_ok());
  const Status status = (*file)->write_at(77, "x", 1);
  EXPECT_EQ(status.code(), ErrorCode::kIoError);
  EXPECT_EQ(status.error_number(), EBADF);
  EXPECT_NE(status.message().find(dir_ + "/a at offset 77"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace foedus::device::file_device_test
