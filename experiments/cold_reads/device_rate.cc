#include "experiments/cold_reads/device_rate.h"

#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "experiments/common/text.h"

namespace experiments::cold_reads {

namespace {

constexpr std::size_t kPageBytes = 4096;

// A file open for direct reads, or for others where there are none.
struct SnapshotFile {
  int fd;
  std::uint64_t pages;
};

class SnapshotFiles {
 public:
  explicit SnapshotFiles(const std::string& directory) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (!entry.path().filename().string().starts_with("snapshot-")) continue;
      int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
      if (fd < 0) fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      if (fd >= 0) files_.push_back({fd, entry.file_size() / kPageBytes});
    }
  }
  ~SnapshotFiles() {
    for (const SnapshotFile& file : files_) ::close(file.fd);
  }
  SnapshotFiles(const SnapshotFiles&) = delete;
  SnapshotFiles& operator=(const SnapshotFiles&) = delete;
  bool is_empty() const { return files_.empty(); }
  const SnapshotFile& any(std::uint64_t number) const { return files_[number % files_.size()]; }

 private:
  std::vector<SnapshotFile> files_;
};

// A ring, and the memory that its reads go to.
class Ring {
 public:
  explicit Ring(std::uint32_t in_flight)
      : is_made_(::io_uring_queue_init(in_flight, &ring_, 0) == 0),
        memory_(static_cast<char*>(std::aligned_alloc(kPageBytes, in_flight * kPageBytes)),
                &std::free) {}
  ~Ring() {
    if (is_made_) ::io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  bool is_made() const { return is_made_; }
  void add(const SnapshotFile& from, std::uint64_t page, std::uint32_t place) {
    io_uring_sqe* const read = ::io_uring_get_sqe(&ring_);
    ::io_uring_prep_read(read, from.fd, memory_.get() + place * kPageBytes, kPageBytes,
                         page * kPageBytes);
    read->user_data = place;
  }
  // Waits for a read. Returns its place; negative: it has failed.
  std::int64_t next() {
    io_uring_cqe* end = nullptr;
    if (::io_uring_peek_cqe(&ring_, &end) != 0) {
      ::io_uring_submit_and_wait(&ring_, 1);
      if (::io_uring_wait_cqe(&ring_, &end) != 0) return -1;
    }
    const bool is_whole = end->res == static_cast<int>(kPageBytes);
    const auto place = static_cast<std::int64_t>(end->user_data);
    ::io_uring_cqe_seen(&ring_, end);
    return is_whole ? place : -1;
  }

 private:
  io_uring ring_ = {};
  const bool is_made_;
  const std::unique_ptr<char, void (*)(void*)> memory_;
};

}  // namespace

foedus::Result<double> device_rate(const std::string& directory, std::uint32_t in_flight,
                                   double seconds, std::uint64_t seed) {
  using Clock = std::chrono::steady_clock;
  const SnapshotFiles files(directory);
  if (files.is_empty()) {
    return failed(foedus::ErrorCode::kNotFound, "no snapshot file in %s", directory.c_str());
  }
  Ring ring(in_flight);
  if (!ring.is_made()) return 0.0;
  std::mt19937_64 random(seed);
  const auto add = [&](std::uint32_t place) {
    const SnapshotFile& from = files.any(random());
    ring.add(from, random() % from.pages, place);
  };
  for (std::uint32_t place = 0; place < in_flight; ++place) add(place);
  std::uint64_t count = 0;
  const auto begin = Clock::now();
  std::chrono::duration<double> took{};
  for (; took.count() < seconds; took = Clock::now() - begin) {
    const std::int64_t place = ring.next();
    if (place < 0) {
      return failed(foedus::ErrorCode::kIoError, "cannot read %s", directory.c_str());
    }
    ++count;
    add(static_cast<std::uint32_t>(place));
  }
  return static_cast<double>(count) / took.count();
}

}  // namespace experiments::cold_reads
