#pragma once
// FileDevice: a directory of a POSIX file system, held by one user at a time.
//
//   V5  Names are opened below the directory's own descriptor, never through a symbolic link, and
//       only if they are regular files; to be written, only if they have no other name (a hard
//       link): whatever lies in the directory, nothing outside it is touched.
//   V6  A file "foedus.lock" with an exclusive flock() says that the directory is in use. The lock
//       belongs to the open file, so a second FileDevice of the same process is refused too. The
//       kernel drops it when the process dies, so a lock file that is left means nothing. A child
//       of fork() shares the open file: the destructor in the parent gives the lock up for both,
//       the one in the child only closes. The directory itself is locked as well, because a cleanup
//       by hand may remove the lock file.
//   V7  A write beyond RLIMIT_FSIZE is refused with EFBIG before the kernel can raise SIGXFSZ.
//   V8  open_to_read() takes the same lock shared and changes nothing: no byte, no name, no time of
//       the directory or of a file in it. So no user changes files while a reader looks at them,
//       and open() is refused while there are readers. A directory without a lock file (a copy,
//       say) was never opened, so no user has it open now.

#include <memory>
#include <string>
#include <string_view>

#include "foedus-core/base/system/process.h"
#include "foedus-core/device/device.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::device {

// Returns true if a write up to `end_bytes` would exceed the process's RLIMIT_FSIZE (V7).
bool exceeds_file_size_limit(std::uint64_t end_bytes);

// How the bytes of files are reached.
enum class FileAccess : std::uint8_t {
  kCalls,
  kMapped,  // mapped_file.h, where the memory below is persistent, else by calls
  // As kMapped; also, files that are opened to be read are mapped whatever they lie on.
  kMappedToRead,
};

class FileDevice : public Device {
 public:
  static constexpr std::string_view kLockName = "foedus.lock";
  static constexpr std::string_view kProbeName = "foedus.probe";

  // Opens `directory`, makes it if it is missing (its parent must exist), makes its own entry
  // durable, and locks it.
  // kBusy: another process or FileDevice holds it. kNotSupported: `direct_io` is kRequire and the
  // file system has none. kIoError: anything else.
  static Result<std::unique_ptr<FileDevice>> open(const std::string& directory,
                                                  Facility direct_io,
                                                  FileAccess access = FileAccess::kCalls);
  // Opens an existing directory to read its files (V8). Any change is kNotSupported from then on.
  // kNotFound: there is no such directory. kBusy: a FileDevice of open() holds it. kIoError.
  static Result<std::unique_ptr<FileDevice>> open_to_read(const std::string& directory);
  ~FileDevice() override;
  FileDevice(const FileDevice&) = delete;
  FileDevice& operator=(const FileDevice&) = delete;

  // Returns true if `path` leads to this directory, by whatever name; false also if it leads
  // nowhere.
  bool is_at(const std::string& path) const;
  // Returns true if files are mapped; none of them has direct I/O then.
  bool maps_files() const { return maps_files_; }
  // Returns true if files of Access::kCreateDirect and kReadDirect get direct I/O.
  bool has_direct_io() const { return has_direct_io_; }

  const std::string& path() const override { return path_; }
  Result<std::unique_ptr<File>> open(std::string_view name, Access access) override;
  Result<std::vector<std::string>> list() const override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Status link(std::string_view name, Device* other) override;
  Status sync_directory() override;
  Status discard(std::string_view name, const Range* ranges, std::size_t count) override;
  std::unique_ptr<IoQueue> make_io_queue() override;

 private:
  FileDevice(std::string path, int directory_fd);
  Status take_lock();
  bool try_lock_directory(int operation) const;
  Status take_shared_lock();
  Status busy() const;
  Status check_may_change() const;
  Status probe_direct_io(Facility direct_io);
  std::string path_of(std::string_view name) const;
  Status failed_name(const char* what, std::string_view name, int error_number,
                     ErrorCode code) const;
  // Returns why `name` is no plain file name; ok if it is one.
  Status check_name(std::string_view name) const;

  // Constant after open().
  const std::string path_;
  const int directory_fd_;
  const std::uint64_t generation_ = base::process_generation();
  bool is_to_read_ = false;
  int lock_fd_ = -1;
  bool maps_files_ = false;
  bool maps_to_read_ = false;
  bool has_direct_io_ = false;
};

}  // namespace foedus::device
