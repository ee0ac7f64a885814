#pragma once
// Replaces the system calls of FileDevice: each is counted, and the one that a test chooses fails,
// is cut short, or ends the process. To be included by one file of an executable.

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "tests/faults/for_test.h"

namespace foedus::faults {

enum class Fault : std::uint8_t {
  kInterrupted,  // EINTR
  kShort,        // a part of the bytes, without an error
  kIoError,
  kNoSpace,
  kEndBefore,  // the process ends
  kEndMiddle,  // of a write: after half of its bytes; otherwise before
  kEndAfter,
};
inline constexpr std::array kFaultNames = {"EINTR",      "short",      "EIO",      "ENOSPC",
                                           "end before", "end midway", "end after"};

// The kind of a call.
enum class Kind : std::uint8_t { kRead, kWrite, kSync, kChange, kLook };

inline constexpr std::uint64_t kNever = ~std::uint64_t{0};
inline std::atomic<bool> is_counting{false};
inline std::atomic<std::uint64_t> calls{0};
inline std::atomic<std::uint64_t> fails_at{kNever};
inline std::atomic<std::uint64_t> failed{0};
inline Fault fault = Fault::kIoError;
inline bool is_sticky = false;  // all later calls except reads and looks, too
inline constexpr int kEnded = 77;

inline void arm(Fault what, std::uint64_t call, bool sticky) {
  fault = what;
  is_sticky = sticky;
  calls = 0;
  failed = 0;
  fails_at = call;
  is_counting = true;
}
inline void disarm() { fails_at = kNever; }

inline bool is_struck(Kind kind) {
  if (for_test != 0 || !is_counting.load()) return false;
  const std::uint64_t number = calls.fetch_add(1);
  const std::uint64_t at = fails_at.load();
  const bool changes = kind != Kind::kRead && kind != Kind::kLook;
  if (number != at && !(number > at && is_sticky && changes)) return false;
  failed.fetch_add(1);
  return true;
}

// Returns the bytes of a short transfer, or all if there is no shorter one: direct I/O is cut at
// blocks only.
inline std::size_t part_of(int fd, std::size_t bytes) {
  const bool is_direct = (::syscall(SYS_fcntl, fd, F_GETFL) & O_DIRECT) != 0;
  const std::size_t part = is_direct ? bytes / 2 / 4096 * 4096 : bytes / 2;
  return part == 0 ? bytes : part;
}

// Makes the call function(count), with all of its bytes or a part of them.
template <typename Function>
auto strike(Kind kind, std::size_t bytes, std::size_t part, Function&& function)
    -> decltype(function(bytes)) {
  if (!is_struck(kind)) return function(bytes);
  switch (fault) {
    case Fault::kShort:
      return function(part);
    case Fault::kEndBefore:
      _exit(kEnded);
    case Fault::kEndMiddle:
      if (kind == Kind::kWrite) static_cast<void>(function(part));
      _exit(kEnded);
    case Fault::kEndAfter:
      static_cast<void>(function(bytes));
      _exit(kEnded);
    case Fault::kInterrupted:
      errno = EINTR;
      return -1;
    case Fault::kIoError:
      errno = EIO;
      return -1;
    case Fault::kNoSpace:
      errno = kind == Kind::kRead || kind == Kind::kLook ? EIO : ENOSPC;
  }
  return -1;
}

// Makes a call that moves no bytes.
template <typename Function>
int strike(Kind kind, Function&& function) {
  return strike(kind, 0, 0, [&](std::size_t) { return function(); });
}

template <typename Function>
ssize_t strike_read(int fd, std::size_t bytes, Function&& function) {
  return strike(Kind::kRead, bytes, part_of(fd, bytes), function);
}

// A device that has failed a write may have written a part of it.
template <typename Function>
ssize_t strike_write(int fd, std::size_t bytes, Function&& function) {
  const std::uint64_t before = failed.load();
  const std::size_t part = part_of(fd, bytes);
  const ssize_t written = strike(Kind::kWrite, bytes, part, function);
  const bool was_refused = written < 0 && failed.load() != before && fault != Fault::kInterrupted;
  if (was_refused && part < bytes) {
    const int error_number = errno;
    static_cast<void>(function(part));
    errno = error_number;
  }
  return written;
}

template <typename Result = int, typename... Arguments>
Result system_call(long number, Arguments... arguments) {
  return static_cast<Result>(::syscall(number, arguments...));
}

template <long kNumber>
ssize_t move_parts(int fd, const iovec* parts, int count, off_t offset, std::size_t bytes) {
  iovec some[64];
  int used = 0;
  for (; used < count && bytes != 0; ++used) {
    some[used] = {parts[used].iov_base, std::min(bytes, parts[used].iov_len)};
    bytes -= some[used].iov_len;
  }
  return used == 0 ? 0 : system_call<ssize_t>(kNumber, fd, some, used, offset, 0);
}

inline std::size_t bytes_of(const iovec* parts, int count) {
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

}  // namespace foedus::faults

extern "C" {

namespace faults = foedus::faults;

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  return faults::strike(faults::Kind::kLook, [&] {
    return faults::system_call(SYS_openat, AT_FDCWD, path, flags, mode);
  });
}
int openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  const auto kind = (flags & O_CREAT) != 0 ? faults::Kind::kChange : faults::Kind::kLook;
  return faults::strike(
      kind, [&] { return faults::system_call(SYS_openat, directory, path, flags, mode); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  return faults::strike(faults::Kind::kChange,
                        [&] { return faults::system_call(SYS_mkdirat, AT_FDCWD, path, mode); });
}
int fstat(int fd, struct stat* about) noexcept {
  return faults::strike(faults::Kind::kLook, [&] {
    return faults::system_call(SYS_newfstatat, fd, "", about, AT_EMPTY_PATH);
  });
}
int flock(int fd, int operation) noexcept {
  return faults::strike(faults::Kind::kLook,
                        [&] { return faults::system_call(SYS_flock, fd, operation); });
}
int fdatasync(int fd) {
  return faults::strike(faults::Kind::kSync,
                        [&] { return faults::system_call(SYS_fdatasync, fd); });
}
int fsync(int fd) {
  return faults::strike(faults::Kind::kSync, [&] { return faults::system_call(SYS_fsync, fd); });
}
int syncfs(int fd) noexcept {
  return faults::strike(faults::Kind::kSync, [&] { return faults::system_call(SYS_syncfs, fd); });
}
int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  return faults::strike(faults::Kind::kChange, [&] {
    return faults::system_call(SYS_fallocate, fd, mode, offset, bytes);
  });
}
int ftruncate(int fd, off_t bytes) noexcept {
  return faults::strike(faults::Kind::kChange,
                        [&] { return faults::system_call(SYS_ftruncate, fd, bytes); });
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  return faults::strike(faults::Kind::kChange,
                        [&] { return faults::system_call(SYS_unlinkat, directory, path, flags); });
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return faults::strike(faults::Kind::kChange, [&] {
    return faults::system_call(SYS_renameat, from_directory, from, to_directory, to);
  });
}
ssize_t pread(int fd, void* to, size_t bytes, off_t offset) {
  return faults::strike_read(fd, bytes, [&](std::size_t part) {
    return faults::system_call<ssize_t>(SYS_pread64, fd, to, part, offset);
  });
}
ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  return faults::strike_read(fd, faults::bytes_of(parts, count), [&](std::size_t bytes) {
    return faults::move_parts<SYS_preadv>(fd, parts, count, offset, bytes);
  });
}
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  return faults::strike_write(fd, bytes, [&](std::size_t part) {
    return faults::system_call<ssize_t>(SYS_pwrite64, fd, from, part, offset);
  });
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return faults::strike_write(fd, faults::bytes_of(parts, count), [&](std::size_t bytes) {
    return faults::move_parts<SYS_pwritev>(fd, parts, count, offset, bytes);
  });
}

}  // extern "C"
