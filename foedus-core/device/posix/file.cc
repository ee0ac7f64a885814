#include "foedus-core/device/posix/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/device/posix/file_device.h"

namespace foedus::device {

namespace {

constexpr int kIdleWritesMax = 2;

}  // namespace

bool exceeds_file_size_limit(std::uint64_t end_bytes) {
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
  return limit.rlim_cur != RLIM_INFINITY && end_bytes > limit.rlim_cur;
}

PosixFile::~PosixFile() { ::close(fd_); }

Status PosixFile::failed(const char* what, std::uint64_t offset, int error_number) const {
  std::string text;
  base::trying([&] {
    text.append("cannot ").append(what).append(" ").append(path_);
    text.append(" at offset ").append(std::to_string(offset));
  });
  return Status::system_error(ErrorCode::kIoError, std::move(text), error_number);
}

Result<std::size_t> PosixFile::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t read = ::pread(fd_, static_cast<char*>(to) + done, bytes - done,
                                 static_cast<off_t>(offset + done));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return failed("read", offset + done, errno);
    if (read == 0) break;
    done += static_cast<std::size_t>(read);
    // Direct I/O: a read that does not end at a block has come to the end of the file.
    if (is_direct_ && done % kBlockBytes != 0) break;
  }
  return done;
}

// Reads by one call, which nearly always reads all. What a short call leaves is read part by part.
Result<std::size_t> PosixFile::read_parts_at(std::uint64_t offset, const Bytes* parts,
                                             std::size_t count) const {
  FOEDUS_INVARIANT(count <= kReadPartsMax, count);
  iovec all[kReadPartsMax];
  for (std::size_t i = 0; i < count; ++i) all[i] = {parts[i].data, parts[i].bytes};
  const ssize_t read = ::preadv(fd_, all, static_cast<int>(count), static_cast<off_t>(offset));
  if (read < 0 && errno != EINTR) return failed("read", offset, errno);
  std::size_t done = read < 0 ? 0 : static_cast<std::size_t>(read);
  std::size_t begin = 0;  // of the part at hand
  for (std::size_t i = 0; i < count; begin += parts[i++].bytes) {
    if (done >= begin + parts[i].bytes) continue;
    const std::size_t there = done - begin;
    FOEDUS_TRY(
        const std::size_t more,
        read_at(offset + done, static_cast<char*>(parts[i].data) + there, parts[i].bytes - there));
    done += more;
    if (there + more < parts[i].bytes) break;
  }
  return done;
}

void PosixFile::will_read(std::uint64_t offset, std::size_t bytes) const {
  // An error is ignored: it shows when the bytes are read.
  static_cast<void>(::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                                    POSIX_FADV_WILLNEED));
}

Status PosixFile::write_parts_at(std::uint64_t offset, const ConstBytes* parts, std::size_t count) {
  FOEDUS_INVARIANT(count <= kWritePartsMax, count);
  iovec left[kWritePartsMax];
  std::uint64_t end = offset;
  std::size_t n = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (parts[i].bytes == 0) continue;
    left[n++] = {const_cast<void*>(parts[i].data), parts[i].bytes};
    end += parts[i].bytes;
  }
  if (exceeds_file_size_limit(end)) return failed("write", offset, EFBIG);
  iovec* next = left;
  iovec* const stop = left + n;
  int idle = 0;
  while (next != stop) {
    ssize_t written = ::pwritev(fd_, next, static_cast<int>(stop - next),
                                static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write", offset, errno);
    // Direct I/O can only go on at the begin of a block. A device that became full may have written
    // a part of one.
    if (is_direct_) written -= written % static_cast<ssize_t>(kBlockBytes);
    if (written == 0 && ++idle < kIdleWritesMax) continue;  // the next call returns the error
    if (written == 0) return failed("write", offset, EIO);  // no progress and no reason
    offset += static_cast<std::uint64_t>(written);
    while (next != stop && static_cast<std::size_t>(written) >= next->iov_len) {
      written -= static_cast<ssize_t>(next->iov_len);
      ++next;
    }
    if (written > 0) {
      next->iov_base = static_cast<char*>(next->iov_base) + written;
      next->iov_len -= static_cast<std::size_t>(written);
    }
  }
  return {};
}

Status PosixFile::sync() {
  // A sync is not repeated after EINTR: what a failed one has dropped is not reported again.
  if (::fdatasync(fd_) == 0) return {};
  return failed("sync", 0, errno);
}

Status PosixFile::preallocate(std::uint64_t bytes) {
  if (exceeds_file_size_limit(bytes)) return failed("grow", bytes, EFBIG);
  FOEDUS_TRY(const std::uint64_t now, size());
  if (now >= bytes) return {};
  // The range begins at the file's end: tmpfs visits every page of it, even those that exist.
  int result;
  do {
    result =
        ::fallocate(fd_, 0, static_cast<off_t>(now), static_cast<off_t>(bytes - now));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS) return failed("grow", bytes, errno);
  return truncate(bytes);
}

bool PosixFile::has_blocks(std::uint64_t bytes) const {
  int result;
  do {
    result = ::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

Status PosixFile::truncate(std::uint64_t bytes) {
  if (exceeds_file_size_limit(bytes)) return failed("cut", bytes, EFBIG);
  int result;
  do {
    result = ::ftruncate(fd_, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0 ? Status() : failed("cut", bytes, errno);
}

Result<std::uint64_t> PosixFile::size() const {
  struct stat about;
  while (::fstat(fd_, &about) != 0) {
    if (errno != EINTR) return failed("look at", 0, errno);
  }
  return static_cast<std::uint64_t>(about.st_size);
}

}  // namespace foedus::device
