// ctest-program: own
// Files on persistent memory: writes that are stores, writes that are calls, and the work of a
// sync. Method: the program defines the calls of libpmem and of the C library itself; they count,
// and report that memory is persistent, or not.
// ctest-labels: memory
#ifdef FOEDUS_HAVE_LIBPMEM
#include "foedus-core/device/posix/mapped_file.h"

#include <dlfcn.h>
#include <libpmem.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "foedus-core/device/posix/file_device.h"

namespace {

struct System {
  bool is_persistent = true;
  bool maps = true;
  int fdatasync_error = 0;
  int fallocate_error = 0;
  std::atomic<int> fdatasyncs = 0;
  std::atomic<int> pwritevs = 0;
  std::atomic<int> copies = 0;  // not yet followed by a drain
  std::atomic<int> drains = 0;
  std::function<void()> at_drain;
} calls;

template <typename Function>
Function* real(const char* name, Function*) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int fdatasync(int fd) {
  ++calls.fdatasyncs;
  if (calls.fdatasync_error != 0) {
    errno = calls.fdatasync_error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  if (calls.fallocate_error != 0) {
    errno = calls.fallocate_error;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, bytes));
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  ++calls.pwritevs;
  return ::syscall(SYS_pwritev, fd, parts, count, offset, 0);
}

void* pmem_map_file(const char* path, size_t bytes, int flags, mode_t mode, size_t* mapped,
                    int* is_pmem) {
  if (!calls.maps) return nullptr;
  void* const begin =
      real("pmem_map_file", &pmem_map_file)(path, bytes, flags, mode, mapped, is_pmem);
  *is_pmem = calls.is_persistent ? 1 : 0;
  return begin;
}

void* pmem_memcpy_nodrain(void* to, const void* from, size_t bytes) {
  ++calls.copies;
  return real("pmem_memcpy_nodrain", &pmem_memcpy_nodrain)(to, from, bytes);
}

void pmem_drain(void) {
  calls.copies = 0;
  ++calls.drains;
  if (calls.at_drain) calls.at_drain();
}

}  // extern "C"

namespace foedus::device::mapped_file_test {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest() {
    calls.is_persistent = calls.maps = true;
    calls.fdatasync_error = calls.fallocate_error = 0;
    calls.fdatasyncs = calls.pwritevs = calls.copies = calls.drains = 0;
    std::string pattern = (std::filesystem::temp_directory_path() / "foedus-map-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~MappedFileTest() override {
    device_.reset();
    std::filesystem::remove_all(root_);
  }

  void open_device() {
    auto device = FileDevice::open(root_ + "/db", Facility::kTry, FileAccess::kMapped);
    ASSERT_TRUE(device.is_ok()) << device.status().message();
    device_ = std::move(device).value();
  }
  std::unique_ptr<File> open(const std::string& name, Access access) {
    auto file = device_->open(name, access);
    EXPECT_TRUE(file.is_ok()) << file.status().message();
    return std::move(file).value();
  }
  static std::uint64_t mapped_bytes(const File& file) {
    return static_cast<const MappedFile&>(file).mapped_bytes();
  }
  static void write(File* file, std::uint64_t offset, const std::string& bytes) {
    const Status status = file->write_at(offset, bytes.data(), bytes.size());
    ASSERT_TRUE(status.is_ok()) << status.message();
    EXPECT_EQ(calls.copies, 0) << "a write that has returned is persistent";
  }
  static std::string read(const File& file, std::uint64_t offset, std::size_t bytes) {
    std::string to(bytes, '?');
    const auto count = file.read_at(offset, to.data(), bytes);
    EXPECT_TRUE(count.is_ok());
    to.resize(count.is_ok() ? *count : 0);
    return to;
  }
  // Returns the bytes of a file as the system has them.
  std::string bytes_of(const std::string& name) const {
    std::ifstream file(root_ + "/db/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string root_;
  std::unique_ptr<FileDevice> device_;
};

// A log writes to preallocated space, by stores.
TEST_F(MappedFileTest, writes_to_room_that_was_preallocated_are_stores) {
  open_device();
  ASSERT_TRUE(device_->maps_files());
  const auto file = open("log", Access::kCreateDirect);
  EXPECT_FALSE(file->is_direct());
  ASSERT_TRUE(file->sync().is_ok());
  ASSERT_TRUE(file->preallocate(1 << 20).is_ok());
  EXPECT_EQ(mapped_bytes(*file), 1u << 20);
  ASSERT_TRUE(file->sync().is_ok());  // of the file's size
  EXPECT_EQ(calls.fdatasyncs, 2);
  std::string all(1 << 20, '\0');
  for (unsigned i = 0; i < 100; ++i) {
    const std::string bytes(i * 37 + 1, static_cast<char>('a' + i % 26));
    write(file.get(), i * 5'000, bytes);
    all.replace(i * 5'000, bytes.size(), bytes);
    ASSERT_TRUE(file->sync().is_ok());
  }
  EXPECT_EQ(calls.fdatasyncs, 2);
  EXPECT_EQ(calls.pwritevs, 0);
  EXPECT_EQ(calls.drains, 300);
  EXPECT_EQ(read(*file, 0, 2 << 20), all);
  EXPECT_TRUE(bytes_of("log") == all);
}

// V17. Goal: the first words of sectors are written when all other words are persistent. Method: at
// each fence the test reads the state that a power failure would leave.
TEST_F(MappedFileTest, first_words_of_sectors_are_written_last) {
  open_device();
  const auto file = open("log", Access::kCreate);
  ASSERT_TRUE(file->preallocate(8'192).is_ok());
  std::vector<std::string> seen;
  calls.at_drain = [&] { seen.push_back(bytes_of("log")); };
  const std::string head(100, 'h');
  const std::string rest(1'500, 'r');
  const ConstBytes parts[] = {{head.data(), head.size()}, {rest.data(), rest.size()}};
  ASSERT_TRUE(file->write_parts_at(1'020, parts, 2).is_ok());
  calls.at_drain = {};
  ASSERT_EQ(seen.size(), 3u);
  const std::string all = std::string(1'020, '\0') + head + rest + std::string(5'572, '\0');
  std::string without = all;
  for (std::size_t at = 1'024; at < 2'620; at += 512) without.replace(at, 8, 8, '\0');
  EXPECT_TRUE(seen[0] == without);
  EXPECT_TRUE(seen[1] == all) << "no sector begins where the write does";
  EXPECT_TRUE(seen[2] == all);
}

// Goal: the first word of a write is written last of all. Method: a write that begins with a
// sector; at each fence the test reads the state that a power failure would leave.
TEST_F(MappedFileTest, the_first_word_of_a_write_is_written_last) {
  open_device();
  const auto file = open("log", Access::kCreate);
  ASSERT_TRUE(file->preallocate(4'096).is_ok());
  std::vector<std::string> seen;
  calls.at_drain = [&] { seen.push_back(bytes_of("log")); };
  const std::string frame(4'096, 'f');
  const ConstBytes parts[] = {{nullptr, 0}, {frame.data(), frame.size()}};
  ASSERT_TRUE(file->write_parts_at(0, parts, 2).is_ok());
  calls.at_drain = {};
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen[1] == std::string(8, '\0') + frame.substr(8));
  EXPECT_TRUE(seen[2] == frame);
}

TEST_F(MappedFileTest, a_write_of_no_bytes_stores_nothing) {
  open_device();
  const auto file = open("log", Access::kCreate);
  ASSERT_TRUE(file->preallocate(4'096).is_ok());
  const ConstBytes parts[] = {{nullptr, 0}, {nullptr, 0}, {"x", 1}};
  ASSERT_TRUE(file->write_parts_at(0, parts, 1).is_ok());
  EXPECT_EQ(calls.drains, 0);
  EXPECT_TRUE(bytes_of("log") == std::string(4'096, '\0'));
}

// A snapshot file grows by calls, and a sync makes them durable.
TEST_F(MappedFileTest, growth_is_by_calls_which_a_sync_makes_durable) {
  open_device();
  std::string all;
  {
    const auto file = open("snapshot", Access::kCreate);
    for (char c = 'a'; c < 'g'; ++c) {
      write(file.get(), all.size(), std::string(5'000, c));
      all += std::string(5'000, c);
    }
    EXPECT_EQ(calls.pwritevs, 6);
    EXPECT_EQ(mapped_bytes(*file), 0u);
    ASSERT_TRUE(file->sync().is_ok());
    EXPECT_EQ(calls.fdatasyncs, 1);
    EXPECT_EQ(read(*file, 4'000, 90'000), all.substr(4'000));
  }
  const auto file = open("snapshot", Access::kReadDirect);
  EXPECT_EQ(mapped_bytes(*file), all.size());
  EXPECT_EQ(read(*file, 4'000, 10'000), all.substr(4'000, 10'000));
  EXPECT_EQ(read(*file, 29'000, 10'000), all.substr(29'000)) << "the file ends there";
  std::string one(10, '?');
  std::string two(20'000, '?');
  const Bytes parts[] = {{one.data(), one.size()}, {two.data(), two.size()}};
  EXPECT_EQ(*file->read_parts_at(4'995, parts, 2), 20'010u);
  EXPECT_EQ(one + two, all.substr(4'995, 20'010));
  const char byte = 'x';
  EXPECT_FALSE(file->write_at(0, &byte, 1).is_ok()) << "it was opened to read";
}

// Goal: an old file is written by stores, and a write that goes beyond its end by a call.
TEST_F(MappedFileTest, a_write_beyond_the_mapping_is_a_call) {
  open_device();
  write(open("f", Access::kCreate).get(), 0, std::string(100, 'a'));
  const auto file = open("f", Access::kReadWrite);
  EXPECT_EQ(mapped_bytes(*file), 100u);
  ASSERT_TRUE(file->sync().is_ok()) << "of what was written before it was opened";
  const int syncs = calls.fdatasyncs;
  const int writes = calls.pwritevs;
  EXPECT_GT(syncs, 0);
  write(file.get(), 40, "in it");
  ASSERT_TRUE(file->sync().is_ok());
  EXPECT_EQ(calls.fdatasyncs, syncs);
  EXPECT_EQ(calls.pwritevs, writes);
  write(file.get(), 98, "beyond");
  EXPECT_EQ(calls.pwritevs, writes + 1);
  // V2: through another File, too.
  ASSERT_TRUE(open("f", Access::kReadWrite)->sync().is_ok());
  EXPECT_EQ(calls.fdatasyncs, syncs + 1);
  ASSERT_TRUE(file->sync().is_ok());
  EXPECT_EQ(calls.fdatasyncs, syncs + 1);
  EXPECT_EQ(bytes_of("f"), std::string(40, 'a') + "in it" + std::string(53, 'a') + "beyond");
}

TEST_F(MappedFileTest, a_sync_that_failed_is_not_passed_over_by_the_next) {
  open_device();
  const auto file = open("f", Access::kCreate);
  write(file.get(), 0, "abc");
  calls.fdatasync_error = EIO;
  EXPECT_EQ(file->sync().code(), ErrorCode::kIoError);
  calls.fdatasync_error = 0;
  const int syncs = calls.fdatasyncs;
  ASSERT_TRUE(file->sync().is_ok());
  EXPECT_EQ(calls.fdatasyncs, syncs + 1);
}

TEST_F(MappedFileTest, what_is_cut_off_is_mapped_no_more) {
  open_device();
  const auto file = open("f", Access::kCreate);
  ASSERT_TRUE(file->preallocate(100'000).is_ok());
  write(file.get(), 0, std::string(100'000, 'a'));
  ASSERT_TRUE(file->sync().is_ok());
  ASSERT_TRUE(file->truncate(10'000).is_ok());
  EXPECT_EQ(mapped_bytes(*file), 10'000u);
  EXPECT_EQ(read(*file, 9'000, 2'000), std::string(1'000, 'a'));
  const int syncs = calls.fdatasyncs;
  ASSERT_TRUE(file->sync().is_ok());
  EXPECT_EQ(calls.fdatasyncs, syncs + 1) << "the size is durable by that alone";
  ASSERT_TRUE(file->preallocate(50'000).is_ok());
  EXPECT_EQ(mapped_bytes(*file), 50'000u);
  EXPECT_EQ(read(*file, 9'000, 41'000), std::string(1'000, 'a') + std::string(40'000, '\0'));
}

TEST_F(MappedFileTest, where_memory_is_not_persistent_files_are_files) {
  calls.is_persistent = false;
  open_device();
  EXPECT_FALSE(device_->maps_files());
  const auto file = open("f", Access::kCreate);
  EXPECT_EQ(dynamic_cast<MappedFile*>(file.get()), nullptr);
  ASSERT_TRUE(file->preallocate(8'192).is_ok());
  write(file.get(), 0, std::string(4'096, 'a'));
  ASSERT_TRUE(file->sync().is_ok());
  EXPECT_EQ(calls.pwritevs + 0, 1);
  EXPECT_EQ(calls.fdatasyncs, 1);
}

// V18. Goal: a file that may have holes is written by calls, which can fail for lack of space.
TEST_F(MappedFileTest, a_file_without_promised_room_is_not_written_by_stores) {
  open_device();
  const auto file = open("f", Access::kCreate);
  calls.fallocate_error = EOPNOTSUPP;
  ASSERT_TRUE(file->preallocate(8'192).is_ok());
  EXPECT_EQ(mapped_bytes(*file), 0u);
  EXPECT_EQ(mapped_bytes(*open("f", Access::kReadWrite)), 0u);
  EXPECT_EQ(mapped_bytes(*open("f", Access::kRead)), 8'192u);
  calls.fallocate_error = 0;
  EXPECT_EQ(mapped_bytes(*open("f", Access::kReadWrite)), 8'192u);
}

TEST_F(MappedFileTest, a_size_that_cannot_be_changed_is_an_error) {
  open_device();
  const auto file = open("f", Access::kCreate);
  ASSERT_TRUE(file->preallocate(8'192).is_ok());
  calls.fallocate_error = ENOSPC;
  EXPECT_EQ(file->preallocate(16'384).code(), ErrorCode::kOutOfSpace);
  calls.fallocate_error = 0;
  ASSERT_TRUE(file->preallocate(4'096).is_ok()) << "a file is not cut by it";
  EXPECT_EQ(mapped_bytes(*file), 8'192u);
  EXPECT_FALSE(open("f", Access::kRead)->truncate(0).is_ok());
  EXPECT_EQ(bytes_of("f").size(), 8'192u);
}

// A process may have too many mappings, or too few addresses.
TEST_F(MappedFileTest, a_file_that_cannot_be_mapped_is_read_and_written_by_calls) {
  open_device();
  ASSERT_TRUE(device_->maps_files());
  calls.maps = false;
  const auto file = open("f", Access::kCreate);
  ASSERT_TRUE(file->preallocate(8'192).is_ok());
  EXPECT_EQ(mapped_bytes(*file), 0u);
  write(file.get(), 5, "abc");
  EXPECT_EQ(read(*file, 5, 3), "abc");
  ASSERT_TRUE(file->sync().is_ok());
  EXPECT_EQ(calls.fdatasyncs, 1);
}

// Goal: readers of a growing file see its old bytes. Method: one thread grows it and writes after
// the old end while others read before it.
TEST_F(MappedFileTest, it_is_read_while_it_grows) {
  open_device();
  const auto file = open("f", Access::kCreate);
  constexpr std::uint64_t kStep = 64 << 10;
  std::atomic<std::uint64_t> written = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      for (std::uint64_t end = 0; end < 32 * kStep; end = written.load()) {
        if (end == 0) continue;
        const std::string last = read(*file, end - 100, 100);
        ASSERT_EQ(last, std::string(100, static_cast<char>('a' + (end / kStep - 1) % 26)));
      }
    });
  }
  for (std::uint64_t at = 0; at < 32 * kStep; at += kStep) {
    ASSERT_TRUE(file->preallocate(at + kStep).is_ok());
    write(file.get(), at, std::string(kStep, static_cast<char>('a' + at / kStep % 26)));
    written = at + kStep;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(mapped_bytes(*file), 32 * kStep);
}

}  // namespace
}  // namespace foedus::device::mapped_file_test

#endif  // FOEDUS_HAVE_LIBPMEM
