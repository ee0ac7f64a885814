#include "experiments/common/page_cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>

namespace experiments {

bool drop_page_cache(const std::string& directory) {
  struct statfs file_system {};
  if (::statfs(directory.c_str(), &file_system) != 0) return false;
  if (file_system.f_type == TMPFS_MAGIC) return false;
  bool dropped = true;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    dropped &= ::fdatasync(file) == 0;  // pages that are not on the device stay
    dropped &= ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
    ::close(file);
  }
  return dropped;
}

}  // namespace experiments
