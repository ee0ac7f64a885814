#include "foedus-core/device/posix/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace foedus::device {

std::optional<std::string> read_text(const std::string& path) {
  constexpr std::size_t kBytesMax = 1u << 20;
  constexpr std::size_t kPieceBytes = 4096;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  ssize_t read = 1;
  while (read > 0 && text.size() < kBytesMax) {
    char piece[kPieceBytes];
    do {
      read = ::read(fd, piece, sizeof(piece));
    } while (read < 0 && errno == EINTR);
    if (read > 0) text.append(piece, static_cast<std::size_t>(read));
  }
  ::close(fd);
  if (read < 0) return std::nullopt;
  return text;
}

}  // namespace foedus::device
