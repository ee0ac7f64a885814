// ctest-program: own
// System calls of FileDevice: a sync is a real one, interrupted and short calls are finished, and
// an error is never taken for a success. Method: the program defines the calls of the C library
// itself.
// ctest-labels: memory
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "foedus-core/device/posix/file.h"
#include "foedus-core/device/posix/file_device.h"

namespace {

// The next results of a system call.
struct Answer {
  int error_number = 0;       // errno of the failure
  int times = 0;              // number of failures
  std::size_t bytes_max = 0;  // not 0: the most that it reads or writes
  int zeroes = 0;             // number of calls that return 0
  int off_blocks = 0;         // offsets that are within a block
  int calls = 0;

  bool fails() {
    ++calls;
    if (times == 0) return false;
    --times;
    errno = error_number;
    return true;
  }
};

struct System {
  Answer fdatasync, fsync, pwritev, pread, preadv, fallocate, ftruncate, fstat, flock, readdir,
      open;
  Answer flock_directory;  // of locks of directories
  std::vector<ino_t> synced_directories;
  bool directories_have_no_locks = false;
} calls;

ino_t inode_of(const std::string& path) {
  struct stat about;
  EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
  return about.st_ino;
}

ino_t inode_of(int fd) {
  struct stat about;
  return ::syscall(SYS_newfstatat, fd, "", &about, AT_EMPTY_PATH) == 0 ? about.st_ino : 0;
}

}  // namespace

extern "C" {

int fdatasync(int fd) {
  return calls.fdatasync.fails() ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int fsync(int fd) {
  if (calls.fsync.fails()) return -1;
  calls.synced_directories.push_back(inode_of(fd));
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  if (offset % static_cast<off_t>(foedus::device::kBlockBytes) != 0) ++calls.pwritev.off_blocks;
  if (calls.pwritev.fails()) return -1;
  if (calls.pwritev.zeroes > 0) {
    --calls.pwritev.zeroes;
    return 0;
  }
  iovec some[16];
  std::size_t left = calls.pwritev.bytes_max == 0 ? ~std::size_t{0} : calls.pwritev.bytes_max;
  int used = 0;
  for (; used < count && left != 0; ++used) {
    some[used] = {parts[used].iov_base, std::min(left, parts[used].iov_len)};
    left -= some[used].iov_len;
  }
  return ::syscall(SYS_pwritev, fd, some, used, offset, 0);
}

ssize_t pread(int fd, void* to, size_t bytes, off_t offset) {
  if (calls.pread.fails()) return -1;
  if (calls.pread.zeroes > 0) {
    --calls.pread.zeroes;
    return 0;
  }
  if (calls.pread.bytes_max != 0) bytes = std::min(bytes, calls.pread.bytes_max);
  return ::syscall(SYS_pread64, fd, to, bytes, offset);
}

ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  if (calls.preadv.fails()) return -1;
  iovec some[16];
  std::size_t left = calls.preadv.bytes_max == 0 ? ~std::size_t{0} : calls.preadv.bytes_max;
  int used = 0;
  for (; used < count && left != 0; ++used) {
    some[used] = {parts[used].iov_base, std::min(left, parts[used].iov_len)};
    left -= some[used].iov_len;
  }
  return ::syscall(SYS_preadv, fd, some, used, offset, 0);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  if (calls.fallocate.fails()) return -1;
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, bytes));
}

int ftruncate(int fd, off_t bytes) noexcept {
  return calls.ftruncate.fails() ? -1 : static_cast<int>(::syscall(SYS_ftruncate, fd, bytes));
}

int fstat(int fd, struct stat* about) noexcept {
  if (calls.fstat.fails()) return -1;
  return static_cast<int>(::syscall(SYS_newfstatat, fd, "", about, AT_EMPTY_PATH));
}

int flock(int fd, int operation) noexcept {
  struct stat about;
  const bool is_directory = ::syscall(SYS_newfstatat, fd, "", &about, AT_EMPTY_PATH) == 0 &&
                            S_ISDIR(about.st_mode);
  if (is_directory && calls.directories_have_no_locks) {
    errno = EBADF;
    return -1;
  }
  Answer& answer = is_directory ? calls.flock_directory : calls.flock;
  return answer.fails() ? -1 : static_cast<int>(::syscall(SYS_flock, fd, operation));
}

dirent* readdir(DIR* directory) {
  if (calls.readdir.fails()) return nullptr;
  using Readdir = dirent* (*)(DIR*);
  static const auto next = reinterpret_cast<Readdir>(::dlsym(RTLD_NEXT, "readdir"));
  return next(directory);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (std::string_view(path).ends_with("/..") && calls.open.fails()) return -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

}  // extern "C"

namespace foedus::device::file_device_calls_test {
namespace {

class FileDeviceCallsTest : public ::testing::Test {
 protected:
  FileDeviceCallsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "foedus-call-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    dir_ = root_ + "/db";
    calls = System();
  }
  ~FileDeviceCallsTest() override {
    calls = System();
    std::filesystem::remove_all(root_);
  }

  void make_file() {
    auto device = FileDevice::open(dir_, Facility::kOff);
    ASSERT_TRUE(device.is_ok()) << device.status().message();
    device_ = std::move(device).value();
    auto file = device_->open("a", Access::kCreate);
    ASSERT_TRUE(file.is_ok()) << file.status().message();
    file_ = std::move(file).value();
    calls = System();
  }
  std::string content() {
    char buffer[64] = {};
    const Result<std::size_t> read = file_->read_at(0, buffer, sizeof(buffer));
    EXPECT_TRUE(read.is_ok());
    return std::string(buffer, read.is_ok() ? *read : 0);
  }

  std::string root_;
  std::string dir_;
  std::unique_ptr<FileDevice> device_;
  std::unique_ptr<File> file_;
};

TEST_F(FileDeviceCallsTest, a_sync_asks_the_system_once_and_believes_its_error) {
  make_file();
  ASSERT_TRUE(file_->sync().is_ok());
  EXPECT_EQ(calls.fdatasync.calls, 1);
  for (const int error_number : {EIO, EINTR, ENOSPC}) {
    calls = System();
    calls.fdatasync = {.error_number = error_number, .times = 1};
    const Status status = file_->sync();
    EXPECT_EQ(status.error_number(), error_number);
    EXPECT_NE(status.message().find(dir_ + "/a"), std::string::npos) << status.message();
    EXPECT_EQ(calls.fdatasync.calls, 1);  // not again: V2
  }
}

TEST_F(FileDeviceCallsTest, a_directory_sync_reaches_the_directory) {
  make_file();
  ASSERT_TRUE(device_->sync_directory().is_ok());
  EXPECT_EQ(calls.synced_directories, std::vector<ino_t>{inode_of(dir_)});
  calls.fsync = {.error_number = EIO, .times = 1};
  EXPECT_EQ(device_->sync_directory().error_number(), EIO);
}

// Goal: the directory itself survives a power failure, even if its maker (the user, or a process
// that was killed) did not sync the parent.
TEST_F(FileDeviceCallsTest, the_parent_is_synced_whether_the_directory_was_there_or_not) {
  for (int i = 0; i < 2; ++i) {
    calls = System();
    ASSERT_TRUE(FileDevice::open(dir_, Facility::kOff).is_ok());
    EXPECT_EQ(calls.synced_directories, std::vector<ino_t>{inode_of(root_)});
  }
  calls.fsync = {.error_number = EIO, .times = 1};
  const auto device = FileDevice::open(dir_, Facility::kOff);
  EXPECT_EQ(device.status().error_number(), EIO);
  EXPECT_NE(device.status().message().find("parent"), std::string::npos);
}

TEST_F(FileDeviceCallsTest, a_parent_that_may_not_be_read_is_synced_with_its_file_system) {
  calls.open = {.error_number = EACCES, .times = 1};
  ASSERT_TRUE(FileDevice::open(dir_, Facility::kOff).is_ok());
  EXPECT_EQ(calls.open.times, 0);
  calls.open = {.error_number = EMFILE, .times = 1};
  EXPECT_EQ(FileDevice::open(dir_, Facility::kOff).status().error_number(), EMFILE);
}

TEST_F(FileDeviceCallsTest, a_parent_that_knows_no_sync_needs_none) {
  calls.fsync = {.error_number = EINVAL, .times = 1};
  ASSERT_TRUE(FileDevice::open(dir_, Facility::kOff).is_ok());
  EXPECT_EQ(calls.fsync.times, 0);
}

TEST_F(FileDeviceCallsTest, short_and_interrupted_writes_are_finished) {
  make_file();
  const ConstBytes parts[] = {{"abc", 3}, {"defgh", 5}, {"ij", 2}};
  for (std::size_t bytes = 1; bytes <= 10; ++bytes) {
    ASSERT_TRUE(file_->truncate(0).is_ok());
    calls.pwritev = {.error_number = EINTR, .times = 2, .bytes_max = bytes};
    ASSERT_TRUE(file_->write_parts_at(0, parts, 3).is_ok());
    EXPECT_EQ(content(), "abcdefghij") << bytes << " bytes at once";
  }
}

TEST_F(FileDeviceCallsTest, a_write_that_fails_or_stands_still_is_an_error) {
  make_file();
  calls.pwritev = {.error_number = ENOSPC, .times = 1};
  EXPECT_EQ(file_->write_at(0, "abc", 3).code(), ErrorCode::kOutOfSpace);
  calls.pwritev = {.error_number = EIO, .times = 1};
  EXPECT_EQ(file_->write_at(0, "abc", 3).error_number(), EIO);
  calls.pwritev = {.zeroes = 2};
  EXPECT_EQ(file_->write_at(0, "abc", 3).error_number(), EIO);
  calls.pwritev = {.zeroes = 1};  // once is asked again: the next call says why
  EXPECT_TRUE(file_->write_at(0, "abc", 3).is_ok());
  EXPECT_EQ(calls.pwritev.calls, 2);
}

TEST_F(FileDeviceCallsTest, a_write_of_no_bytes_asks_for_nothing) {
  make_file();
  const ConstBytes parts[] = {{"", 0}, {"", 0}};
  EXPECT_TRUE(file_->write_parts_at(0, parts, 2).is_ok());
  EXPECT_TRUE(file_->write_at(0, "", 0).is_ok());
  EXPECT_EQ(calls.pwritev.calls, 0);
}

// Goal: a device that gets full within a block is full, not broken.
TEST_F(FileDeviceCallsTest, a_direct_write_goes_on_where_a_block_begins) {
  const auto device = FileDevice::open(dir_, Facility::kTry);
  ASSERT_TRUE(device.is_ok());
  auto file = (*device)->open("direct", Access::kCreateDirect);
  ASSERT_TRUE(file.is_ok());
  if (!(*file)->is_direct()) GTEST_SKIP() << "no direct I/O in " << dir_;
  alignas(kBlockBytes) static char blocks[3 * kBlockBytes];
  std::fill(std::begin(blocks), std::end(blocks), 'x');
  calls.pwritev = {.bytes_max = kBlockBytes + 512};
  ASSERT_TRUE((*file)->write_at(0, blocks, sizeof(blocks)).is_ok());
  EXPECT_EQ(calls.pwritev.off_blocks, 0);
  EXPECT_EQ(*(*file)->size(), sizeof(blocks));
  calls.pwritev = {.bytes_max = 512};
  EXPECT_EQ((*file)->write_at(0, blocks, sizeof(blocks)).error_number(), EIO);
  EXPECT_EQ(calls.pwritev.off_blocks, 0);
  // A read that ends within a block has come to the file's end.
  calls.pread = {.bytes_max = kBlockBytes};
  EXPECT_EQ(*(*file)->read_at(0, blocks, sizeof(blocks)), sizeof(blocks));
  calls.pread = {.bytes_max = 512};
  EXPECT_EQ(*(*file)->read_at(0, blocks, sizeof(blocks)), 512u);
  EXPECT_EQ(calls.pread.calls, 1);
}

TEST_F(FileDeviceCallsTest, short_and_interrupted_reads_are_finished_and_an_error_is_told) {
  make_file();
  ASSERT_TRUE(file_->write_at(0, "abcdefghij", 10).is_ok());
  calls.pread = {.error_number = EINTR, .times = 2, .bytes_max = 3};
  EXPECT_EQ(content(), "abcdefghij");
  calls.pread = {.error_number = EIO, .times = 1};
  char buffer[8];
  EXPECT_EQ(file_->read_at(0, buffer, sizeof(buffer)).status().error_number(), EIO);
}

// All bytes are in their places, however many the first call reads, and wherever the file ends.
TEST_F(FileDeviceCallsTest, a_read_of_parts_is_one_call_and_a_short_one_is_finished) {
  make_file();
  ASSERT_TRUE(file_->write_at(0, "abcdefghij", 10).is_ok());
  for (std::size_t first = 0; first <= 10; ++first) {
    char left[5] = {};
    char none[1] = {};
    char right[5] = {};
    char behind[5] = {};
    const Bytes parts[] = {{left, 4}, {none, 0}, {right, 4}, {behind, 4}};
    calls.preadv = {.error_number = EINTR, .times = first == 0 ? 1 : 0, .bytes_max = first};
    calls.pread = {};
    const Result<std::size_t> read = file_->read_parts_at(1, parts, 4);
    ASSERT_TRUE(read.is_ok());
    EXPECT_EQ(*read, 9u) << first;
    EXPECT_EQ(std::string(left) + "|" + right + "|" + behind, "bcde|fghi|j") << first;
    EXPECT_EQ(calls.preadv.calls, 1);
  }
  char buffer[4];
  const Bytes whole[] = {{buffer, 2}, {buffer + 2, 2}};
  calls = System();
  errno = EIO;  // of another call
  EXPECT_EQ(*file_->read_parts_at(2, whole, 2), 4u);
  EXPECT_EQ(calls.pread.calls, 0);
  EXPECT_EQ(std::string(buffer, 4), "cdef");
  calls.preadv = {.error_number = EIO, .times = 1};
  EXPECT_EQ(file_->read_parts_at(0, whole, 2).status().error_number(), EIO);
}

// Goal: no byte goes to a wrong place if the file grows after a part met its end. Method: the call
// that finds the end is answered as if the file ended in the first part.
TEST_F(FileDeviceCallsTest, a_read_of_parts_ends_where_the_file_did) {
  make_file();
  ASSERT_TRUE(file_->write_at(0, "abcdefghij", 10).is_ok());
  std::string bytes(8, '.');
  const Bytes parts[] = {{bytes.data(), 4}, {bytes.data() + 4, 4}};
  calls.preadv = {.bytes_max = 2};
  calls.pread = {.zeroes = 1};
  EXPECT_EQ(*file_->read_parts_at(0, parts, 2), 2u);
  EXPECT_EQ(bytes, "ab......");
}

TEST_F(FileDeviceCallsTest, room_is_made_without_fallocate_and_never_by_cutting) {
  make_file();
  calls.fallocate = {.error_number = EOPNOTSUPP, .times = 2};
  ASSERT_TRUE(file_->preallocate(9'000).is_ok());
  EXPECT_EQ(*file_->size(), 9'000u);
  ASSERT_TRUE(file_->preallocate(4'000).is_ok());
  EXPECT_EQ(*file_->size(), 9'000u);
  calls.fallocate = {.error_number = ENOSYS, .times = 1};
  calls.ftruncate = {.error_number = EIO, .times = 1};
  EXPECT_EQ(file_->preallocate(9'500).error_number(), EIO);
  calls.fallocate = {.error_number = ENOSYS, .times = 1};
  ASSERT_TRUE(file_->preallocate(9'500).is_ok());
  calls.fallocate = {.error_number = EINTR, .times = 1};
  ASSERT_TRUE(file_->preallocate(10'000).is_ok());
  EXPECT_EQ(*file_->size(), 10'000u);
  calls.fallocate = {.error_number = ENOSPC, .times = 1};
  EXPECT_EQ(file_->preallocate(20'000).code(), ErrorCode::kOutOfSpace);
  const auto& file = static_cast<const PosixFile&>(*file_);
  calls.fallocate = {.error_number = EINTR, .times = 1};
  EXPECT_TRUE(file.has_blocks(10'000));
  EXPECT_EQ(calls.fallocate.calls, 2);
  calls.fallocate = {.error_number = ENOSPC, .times = 1};
  EXPECT_FALSE(file.has_blocks(20'000));
}

TEST_F(FileDeviceCallsTest, files_and_devices_that_end_give_back_their_descriptors) {
  make_file();
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  file_.reset();
  const auto before = descriptors();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(device_->open("a", Access::kRead).is_ok());
  EXPECT_EQ(descriptors(), before);
  const std::string other = root_ + "/other";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(FileDevice::open(other, Facility::kOff).is_ok());
  EXPECT_EQ(descriptors(), before);
}

TEST_F(FileDeviceCallsTest, a_cut_and_a_look_that_fail_are_errors) {
  make_file();
  calls.ftruncate = {.error_number = EINTR, .times = 1};
  EXPECT_TRUE(file_->truncate(5).is_ok());
  calls.ftruncate = {.error_number = EIO, .times = 1};
  EXPECT_EQ(file_->truncate(5).error_number(), EIO);
  calls.fstat = {.error_number = EIO, .times = 1};
  EXPECT_EQ(file_->size().status().error_number(), EIO);
  calls.fstat = {.error_number = EINTR, .times = 1};
  EXPECT_EQ(*file_->size(), 5u);
  calls.fstat = {.error_number = EIO, .times = 1};
  EXPECT_EQ(device_->open("a", Access::kRead).status().error_number(), EIO);
}

TEST_F(FileDeviceCallsTest, a_list_that_breaks_off_is_an_error) {
  make_file();
  EXPECT_EQ(device_->list()->size(), 2u);
  calls.readdir = {.error_number = EIO, .times = 1};
  EXPECT_EQ(device_->list().status().error_number(), EIO);
}

TEST_F(FileDeviceCallsTest, a_lock_that_cannot_be_asked_for_is_not_taken_for_one) {
  calls.flock = {.error_number = ENOLCK, .times = 1};
  EXPECT_EQ(FileDevice::open(dir_, Facility::kOff).status().error_number(), ENOLCK);
  calls.flock = {.error_number = EINTR, .times = 1};
  EXPECT_TRUE(FileDevice::open(dir_, Facility::kOff).is_ok());
  calls.flock = {.error_number = ENOLCK, .times = 1};
  EXPECT_EQ(FileDevice::open_to_read(dir_).status().error_number(), ENOLCK);
  calls.flock = {.error_number = EINTR, .times = 1};
  EXPECT_TRUE(FileDevice::open_to_read(dir_).is_ok());
}

TEST_F(FileDeviceCallsTest, an_interrupted_lock_of_the_directory_is_taken) {
  calls.flock_directory = {.error_number = EINTR, .times = 1};
  const auto user = FileDevice::open(dir_, Facility::kOff);
  ASSERT_TRUE(user.is_ok());
  EXPECT_EQ(calls.flock_directory.calls, 2);
  std::filesystem::remove(dir_ + "/foedus.lock");
  EXPECT_EQ(FileDevice::open(dir_, Facility::kOff).code(), ErrorCode::kBusy);
}

TEST_F(FileDeviceCallsTest, where_directories_have_no_locks_the_lock_file_is_enough) {
  calls.directories_have_no_locks = true;
  {
    const auto user = FileDevice::open(dir_, Facility::kOff);
    ASSERT_TRUE(user.is_ok());
    EXPECT_EQ(FileDevice::open(dir_, Facility::kOff).code(), ErrorCode::kBusy);
    EXPECT_EQ(FileDevice::open_to_read(dir_).code(), ErrorCode::kBusy);
  }
  const auto reader = FileDevice::open_to_read(dir_);
  ASSERT_TRUE(reader.is_ok());
  EXPECT_EQ(FileDevice::open(dir_, Facility::kOff).code(), ErrorCode::kBusy);
  EXPECT_TRUE(FileDevice::open_to_read(dir_).is_ok());
}

}  // namespace
}  // namespace foedus::device::file_device_calls_test
