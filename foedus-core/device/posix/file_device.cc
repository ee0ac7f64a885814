#include "foedus-core/device/posix/file_device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/device/posix/file.h"
#include "foedus-core/device/posix/mapped_file.h"
#include "foedus-core/device/posix/uring_io.h"

namespace foedus::device {

namespace {

// O_NONBLOCK: if the name is that of a FIFO, the open does not wait for its writer.
constexpr int kAlways = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Returns an error, which keeps its code and number if there is no memory for its text.
Status failed(const char* what, std::string_view path, int error_number,
              ErrorCode code = ErrorCode::kIoError) {
  std::string text;
  base::trying([&] { text.append(what).append(" ").append(path); });
  const bool is_refused = error_number == EACCES || error_number == EPERM;
  return Status::system_error(code, std::move(text), error_number,
                              is_refused ? "let the user of this process read and write it" : "");
}

// Returns the error of a directory, named by the program's user, that cannot be made or opened.
Status failed_directory(const char* what, const std::string& path, int error_number) {
  std::string text;
  std::string hint;
  base::trying([&] {
    text.append(what).append(" ").append(path);
    const std::size_t name = path.find_last_of('/', path.find_last_not_of('/'));
    const std::string parent = name == path.npos ? "." : name == 0 ? "/" : path.substr(0, name);
    switch (error_number) {
      case ENOENT: hint = "make " + parent + " first"; break;
      case ENOTDIR: hint = "choose another directory: a part of this path is a file"; break;
      case EACCES: hint = "let the user of this process write to " + parent; break;
      default: break;
    }
  });
  return Status::system_error(ErrorCode::kIoError, std::move(text), error_number, hint);
}

// Owns a descriptor until release().
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void release() { fd_ = -1; }

 private:
  int fd_;
};

// Makes a call, again when it was interrupted, and returns its answer.
template <typename Call>
auto uninterrupted(Call&& call) {
  for (;;) {
    const auto answer = call();
    if (answer >= 0 || errno != EINTR) return answer;
  }
}

// Makes a call that takes a name away. An interrupted call may have done so: if the name is gone at
// the next try, that is a success.
template <typename Call>
int uninterrupted_removal(Call&& call) {
  const int first = call();
  if (first == 0 || errno != EINTR) return first;
  const int again = uninterrupted(call);
  return again != 0 && errno == ENOENT ? 0 : again;
}

int open_directory(const std::string& path) {
  return uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
}

int flags_of(Access access) {
  switch (access) {
    case Access::kRead:
    case Access::kReadDirect: return O_RDONLY;
    case Access::kReadWrite:
    case Access::kReadWriteDirect: return O_RDWR;
    case Access::kCreate:
    case Access::kCreateDirect: return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

int open_below(int directory_fd, const std::string& name, int flags) {
  return uninterrupted(
      [&] { return ::openat(directory_fd, name.c_str(), flags | kAlways, 0644); });
}

// Checks that the opened entry is a file and, if it is to be written, of this directory alone (V5):
// another name of it may lie outside.
Status check_entry(int fd, const std::string& path, bool is_to_write) {
  struct stat about;
  if (uninterrupted([&] { return ::fstat(fd, &about); }) != 0) {
    return failed("cannot look at", path, errno);
  }
  if (!S_ISREG(about.st_mode)) {
    return Status::error(ErrorCode::kIoError,
                         path + " is not a regular file; move it out of the directory");
  }
  if (is_to_write && about.st_nlink > 1) {
    return Status::error(ErrorCode::kIoError, path + " has another name, perhaps outside of the " +
                                                  "directory, and is to be written; copy it and " +
                                                  "put the copy in its place");
  }
  return {};
}

// Syncs the parent: until then the entry of the directory itself is not durable (V3). The user or a
// process that was killed may have made it without a sync. A parent that may be passed through but
// not read is synced with all of its file system.
Status sync_parent(const std::string& directory, int directory_fd) {
  const std::string parent = directory + "/..";
  const int fd = open_directory(parent);
  if (fd < 0 && errno != EACCES) return failed("cannot open the parent of", directory, errno);
  int synced = fd < 0 ? ::syncfs(directory_fd) : ::fsync(fd);
  // The parent lies on a file system that cannot be written to, and the directory is a mount point
  // there: its entry needs no sync.
  if (synced != 0 && errno == EINVAL) synced = ::syncfs(directory_fd);
  const int error_number = synced == 0 ? 0 : errno;
  if (fd >= 0) ::close(fd);
  if (error_number != 0) return failed("cannot sync the parent of", directory, error_number);
  return {};
}

}  // namespace

FileDevice::FileDevice(std::string path, int directory_fd)
    : path_(std::move(path)), directory_fd_(directory_fd) {}

FileDevice::~FileDevice() {
  const bool is_own = base::check_process(generation_).is_ok();  // V6
  for (const int fd : {lock_fd_, directory_fd_}) {
    if (fd < 0) continue;
    if (is_own) ::flock(fd, LOCK_UN);
    ::close(fd);
  }
}

Result<std::unique_ptr<FileDevice>> FileDevice::open(const std::string& directory,
                                                     Facility direct_io, FileAccess access) {
  const bool made = uninterrupted([&] { return ::mkdir(directory.c_str(), 0755); }) == 0;
  if (!made && errno != EEXIST) return failed_directory("cannot make directory", directory, errno);
  Descriptor fd(open_directory(directory));
  if (fd.get() < 0 && errno == ENOTDIR) {
    return failed_directory("cannot open directory", directory, errno);
  }
  if (fd.get() < 0) return failed("cannot open directory", directory, errno);
  std::unique_ptr<FileDevice> device(new FileDevice(directory, fd.get()));
  fd.release();
  FOEDUS_CHECK(sync_parent(directory, device->directory_fd_));
  FOEDUS_CHECK(device->take_lock());
  const bool may_map = access != FileAccess::kCalls;
  device->maps_files_ = may_map && device::maps_files(device->directory_fd_);
  device->maps_to_read_ = access == FileAccess::kMappedToRead;
  if (!device->maps_files_) FOEDUS_CHECK(device->probe_direct_io(direct_io));
  return device;
}

Result<std::unique_ptr<FileDevice>> FileDevice::open_to_read(const std::string& directory) {
  Descriptor fd(open_directory(directory));
  if (fd.get() < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIoError;
    return failed("cannot open directory", directory, errno, code);
  }
  std::unique_ptr<FileDevice> device(new FileDevice(directory, fd.get()));
  fd.release();
  device->is_to_read_ = true;
  FOEDUS_CHECK(device->take_shared_lock());
  return device;
}

bool FileDevice::is_at(const std::string& path) const {
  struct stat own;
  struct stat other;
  if (uninterrupted([&] { return ::fstat(directory_fd_, &own); }) != 0) return false;
  if (uninterrupted([&] { return ::stat(path.c_str(), &other); }) != 0) return false;
  return own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

Status FileDevice::take_lock() {
  const std::string name(kLockName);
  lock_fd_ = open_below(directory_fd_, name, O_RDWR | O_CREAT);
  if (lock_fd_ < 0) return failed("cannot open lock file", path_of(name), errno);
  FOEDUS_CHECK(check_entry(lock_fd_, path_of(name), true));
  int error_number = 0;
  while (::flock(lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    error_number = errno;
    break;
  }
  if (error_number != 0 && error_number != EWOULDBLOCK) {
    return failed("cannot lock", path_of(name), error_number);
  }
  if (error_number == EWOULDBLOCK) {
    // If the lock can be shared, only readers have it, and the number in the file means nothing
    // (V8).
    const bool is_read = ::flock(lock_fd_, LOCK_SH | LOCK_NB) == 0;
    if (is_read) {
      return Status::error(ErrorCode::kBusy, "directory " + path_ +
                                                 " is being read; wait until its reader has ended");
    }
    return busy();
  }
  if (!try_lock_directory(LOCK_EX)) return busy();
  // The number is for messages only; a failure to write it changes nothing.
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (!exceeds_file_size_limit(pid.size()) && ::ftruncate(lock_fd_, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(lock_fd_, pid.data(), pid.size(), 0);
  }
  return {};
}

// Locks the directory itself (V6). If the file system does not lock directories, the lock file
// alone counts.
bool FileDevice::try_lock_directory(int operation) const {
  while (::flock(directory_fd_, operation | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno != EWOULDBLOCK;
  }
  return true;
}

// Returns kBusy, with the process that has the directory, as far as its lock file tells.
Status FileDevice::busy() const {
  char holder[32] = "";
  const ssize_t read = ::pread(lock_fd_, holder, sizeof(holder) - 1, 0);
  const long pid = read > 0 ? std::strtol(holder, nullptr, 10) : 0;
  std::string text = "directory " + path_ + " is in use";
  if (pid == ::getpid()) {
    text += " by this process; use the Database that has it, or close that first";
  } else if (pid > 0) {
    text += " by process " + std::to_string(pid) + "; close it there first";
  } else {
    text += "; close its other user first";
  }
  return Status::error(ErrorCode::kBusy, text);
}

Status FileDevice::take_shared_lock() {
  const std::string name(kLockName);
  lock_fd_ = open_below(directory_fd_, name, O_RDONLY);
  if (lock_fd_ < 0 && errno != ENOENT) {  // V8
    return failed("cannot open lock file", path_of(name), errno);
  }
  if (lock_fd_ >= 0) FOEDUS_CHECK(check_entry(lock_fd_, path_of(name), false));
  while (lock_fd_ >= 0 && ::flock(lock_fd_, LOCK_SH | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return busy();
    if (errno != EINTR) return failed("cannot lock", path_of(name), errno);
  }
  return try_lock_directory(LOCK_SH) ? Status() : busy();
}

Status FileDevice::probe_direct_io(Facility direct_io) {
  if (direct_io == Facility::kOff) return {};
  const std::string name(kProbeName);
  const auto unlink = [&] { return ::unlinkat(directory_fd_, name.c_str(), 0); };
  if (uninterrupted(unlink) != 0 && errno != ENOENT) {
    return failed("cannot remove", path_of(name), errno);
  }
  const int fd = open_below(directory_fd_, name, O_RDWR | O_CREAT | O_EXCL | O_DIRECT);
  int error_number = fd < 0 ? errno : 0;
  if (fd >= 0) {
    alignas(kBlockBytes) static const char zeroes[kBlockBytes] = {};
    if (exceeds_file_size_limit(kBlockBytes)) {
      error_number = EFBIG;
    } else if (uninterrupted([&] { return ::pwrite(fd, zeroes, kBlockBytes, 0); }) < 0) {
      error_number = errno;
    }
    ::close(fd);
  }
  static_cast<void>(uninterrupted(unlink));  // what is left is removed by the next open
  has_direct_io_ = error_number == 0;
  if (has_direct_io_ || direct_io == Facility::kTry) return {};
  return Status::system_error(ErrorCode::kNotSupported, "no direct I/O in " + path_, error_number);
}

std::string FileDevice::path_of(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

Status FileDevice::failed_name(const char* what, std::string_view name, int error_number,
                               ErrorCode code) const {
  std::string path;
  base::trying([&] { path = path_of(name); });
  return failed(what, path, error_number, code);
}

Status FileDevice::check_name(std::string_view name) const {
  const bool is_plain = !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
                        name.find('/') == name.npos && name.find('\0') == name.npos;
  if (is_plain) return {};
  return Status::error(ErrorCode::kInvalidArgument,
                       "'" + std::string(name) + "' is no name of a file in " + path_);
}

Status FileDevice::check_may_change() const {
  if (!is_to_read_) return {};
  return Status::error(ErrorCode::kNotSupported, "directory " + path_ + " was opened to read it");
}

Result<std::unique_ptr<File>> FileDevice::open(std::string_view name, Access access) {
  FOEDUS_CHECK(check_name(name));
  const bool reads_only = access == Access::kRead || access == Access::kReadDirect;
  if (!reads_only) FOEDUS_CHECK(check_may_change());
  const std::string path = path_of(name);
  const bool wants_direct = access == Access::kCreateDirect || access == Access::kReadDirect ||
                            access == Access::kReadWriteDirect;
  const bool is_mapped = maps_files_ || (reads_only && maps_to_read_);
  const bool direct = wants_direct && has_direct_io_ && !is_mapped;
  const int flags = flags_of(access) | (direct ? O_DIRECT : 0);
  Descriptor fd(open_below(directory_fd_, std::string(name), flags));
  if (fd.get() < 0) {
    const bool is_new = access == Access::kCreate || access == Access::kCreateDirect;
    if (errno == ENOENT && !is_new) return failed("no file", path, errno, ErrorCode::kNotFound);
    const ErrorCode code = errno == EEXIST ? ErrorCode::kAlreadyExists : ErrorCode::kIoError;
    return failed("cannot open", path, errno, code);
  }
  const bool is_old = access == Access::kReadWrite || access == Access::kReadWriteDirect;
  FOEDUS_CHECK(check_entry(fd.get(), path, is_old));
  std::unique_ptr<File> file;
  if (is_mapped) {
    const auto how = reads_only ? MappedFile::Access::kRead : MappedFile::Access::kReadWrite;
    auto changes = CallChanges::of(fd.get());
    file = std::make_unique<MappedFile>(path, fd.get(), how, std::move(changes));
  } else {
    file = std::make_unique<PosixFile>(path, fd.get(), direct);
  }
  fd.release();
  return file;
}

Result<std::vector<std::string>> FileDevice::list() const {
  Descriptor fd(open_below(directory_fd_, ".", O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(
      fd.get() < 0 ? nullptr : ::fdopendir(fd.get()), &::closedir);
  if (directory == nullptr) return failed("cannot list", path_, errno);
  fd.release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return failed("cannot list", path_, errno);
  return names;
}

Status FileDevice::remove(std::string_view name) {
  FOEDUS_CHECK(check_name(name));
  FOEDUS_CHECK(check_may_change());
  const std::string path(name);
  const auto unlink = [&] { return ::unlinkat(directory_fd_, path.c_str(), 0); };
  if (uninterrupted_removal(unlink) == 0) return {};
  return failed_name("cannot remove", name, errno,
                     errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIoError);
}

Status FileDevice::rename(std::string_view from, std::string_view to) {
  FOEDUS_CHECK(check_name(from));
  FOEDUS_CHECK(check_name(to));
  FOEDUS_CHECK(check_may_change());
  const std::string old_path(from);
  const std::string new_path(to);
  const auto move = [&] {
    return ::renameat(directory_fd_, old_path.c_str(), directory_fd_, new_path.c_str());
  };
  if (uninterrupted_removal(move) == 0) return {};
  return failed_name("cannot rename", from, errno, ErrorCode::kIoError);
}

Status FileDevice::link(std::string_view name, Device* other) {
  auto* const to = dynamic_cast<FileDevice*>(other);
  if (to == nullptr) return Device::link(name, other);
  FOEDUS_CHECK(check_name(name));
  FOEDUS_CHECK(to->check_may_change());
  const std::string path(name);
  const auto link = [&] {
    return ::linkat(directory_fd_, path.c_str(), to->directory_fd_, path.c_str(), 0);
  };
  if (uninterrupted(link) == 0) return {};
  ErrorCode code = ErrorCode::kIoError;
  switch (errno) {
    case EEXIST:
      code = ErrorCode::kAlreadyExists;
      break;
    case ENOENT:
      code = ErrorCode::kNotFound;
      break;
    case EXDEV:
    case EPERM:
    case EMLINK:
    case ENOSYS:
    case EOPNOTSUPP:
      code = ErrorCode::kNotSupported;
      break;
    default:
      break;
  }
  return failed_name("cannot link", name, errno, code);
}

Status FileDevice::discard(std::string_view name, const Range* ranges, std::size_t count) {
  FOEDUS_CHECK(check_name(name));
  FOEDUS_CHECK(check_may_change());
  // Made by calls, because MappedFile would fill the holes of a file that it opens to write (V18).
  Descriptor fd(open_below(directory_fd_, std::string(name), O_RDWR));
  if (fd.get() < 0) {
    return failed_name("cannot open", name, errno,
                       errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIoError);
  }
  FOEDUS_CHECK(check_entry(fd.get(), path_of(name), true));
  constexpr int kMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  for (std::size_t i = 0; i < count; ++i) {
    const auto offset = static_cast<off_t>(ranges[i].offset);
    const auto bytes = static_cast<off_t>(ranges[i].bytes);
    if (uninterrupted([&] { return ::fallocate(fd.get(), kMode, offset, bytes); }) == 0) continue;
    const bool is_refused = errno == EOPNOTSUPP || errno == ENOSYS;
    return failed_name("cannot give back space of", name, errno,
                       is_refused ? ErrorCode::kNotSupported : ErrorCode::kIoError);
  }
  return {};
}

std::unique_ptr<IoQueue> FileDevice::make_io_queue() { return UringIo::make(); }

Status FileDevice::sync_directory() {
  FOEDUS_CHECK(check_may_change());
  if (::fsync(directory_fd_) == 0) return {};
  return failed("cannot sync directory", path_, errno);
}

}  // namespace foedus::device
