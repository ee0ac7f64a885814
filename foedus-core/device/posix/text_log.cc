#include "foedus-core/device/posix/text_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "foedus-core/device/posix/file_device.h"

namespace foedus::device {

namespace {

constexpr std::string_view kName = "LOG";

// Opens, again when that was interrupted.
template <typename Open>
int opened(Open&& open) {
  for (;;) {
    const int fd = open();
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

// Returns the name of the `number`th file, of which 0 is the one that is written.
std::string name_of(std::uint32_t number) {
  return number == 0 ? std::string(kName) : std::string(kName) + "." + std::to_string(number);
}

}  // namespace

bool TextLog::is_name(std::string_view name) {
  for (std::uint32_t i = 0; i < kFiles; ++i) {
    if (name == name_of(i)) return true;
  }
  return false;
}

std::unique_ptr<TextLog> TextLog::open(const std::string& directory, std::uint64_t bytes_max) {
  const int fd =
      opened([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  std::unique_ptr<TextLog> log(new TextLog(directory, fd, bytes_max));
  if (fd < 0) {
    log->complain("cannot open the directory", errno);
    return nullptr;
  }
  if (!log->begin_file()) return nullptr;
  return log;
}

TextLog::~TextLog() {
  for (const int fd : {fd_, directory_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

// Moves each file to the next name, which replaces the oldest, and makes a new one.
bool TextLog::begin_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  bytes_ = 0;
  const std::string name = name_of(0);
  struct stat about;
  if (::fstatat(directory_fd_, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISREG(about.st_mode)) return complain("is no regular file", 0);  // V35
    for (std::uint32_t i = kFiles - 1; i != 0; --i) {
      // A file that cannot be moved is replaced by the next one, or keeps LOG from being made.
      const int moved =
          ::renameat(directory_fd_, name_of(i - 1).c_str(), directory_fd_, name_of(i).c_str());
      static_cast<void>(moved);
    }
  }
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  fd_ = opened([&] { return ::openat(directory_fd_, name.c_str(), kFlags, 0644); });
  return fd_ >= 0 || complain("cannot be made", errno);
}

void TextLog::append(std::string_view text) {
  const bool is_full = bytes_ != 0 && bytes_ + text.size() > bytes_max_;
  if ((fd_ < 0 || is_full) && !begin_file()) return;
  if (write(text)) bytes_ += text.size();
}

bool TextLog::write(std::string_view text) {
  if (exceeds_file_size_limit(bytes_ + text.size())) return complain("is too large", EFBIG);  // V7
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return complain("cannot be written", written < 0 ? errno : ENOSPC);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Says on stderr, once, why there is no text log. Returns false.
bool TextLog::complain(const char* what, int error_number) {
  if (has_complained_) return false;
  has_complained_ = true;
  char text[128] = "";
  const char* const why = error_number == 0 ? "" : ::strerror_r(error_number, text, sizeof(text));
  std::fprintf(stderr, "foedus: %s/LOG %s%s%s; the database goes on without it\n",
               directory_.c_str(), what, error_number == 0 ? "" : ": ", why);
  return false;
}

}  // namespace foedus::device
