#pragma once
// TextLog: the file LOG of a directory, with text for people, and earlier ones: LOG.1, the one
// before, up to LOG.3. Nothing reads it, so it has no part in what Device promises: no byte of it
// is synced, and it may be missing.
//
//   V35 An entry LOG that is no regular file is left as it is, and there is no text log then. A new
//       LOG is made exclusively and never through a link, so nothing outside of the directory is
//       written. If LOG is the name of a file that has others, only the name moves to LOG.1.
//   V36 A failure is no error of the engine: append() drops the text, and says so once on stderr.
//       The next text is tried again.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace foedus::device {

class TextLog {
 public:
  static constexpr std::uint32_t kFiles = 4;  // LOG included

  // Moves an earlier LOG to LOG.1, and so on, and makes a new one, which grows up to about
  // `bytes_max`. Null: that is not possible, and stderr says why. REQUIRES: the caller holds the
  // directory (V6).
  static std::unique_ptr<TextLog> open(const std::string& directory, std::uint64_t bytes_max);
  ~TextLog();
  TextLog(const TextLog&) = delete;
  TextLog& operator=(const TextLog&) = delete;

  // Returns whether files of a text log have such a name.
  static bool is_name(std::string_view name);

  // Appends whole lines, before which a file that is full is moved to LOG.1. One thread at a time.
  void append(std::string_view text);

 private:
  TextLog(std::string directory, int directory_fd, std::uint64_t bytes_max)
      : directory_(std::move(directory)), directory_fd_(directory_fd), bytes_max_(bytes_max) {}
  bool begin_file();
  bool write(std::string_view text);
  bool complain(const char* what, int error_number);

  const std::string directory_;
  const int directory_fd_;
  const std::uint64_t bytes_max_;
  int fd_ = -1;  // -1: the last begin_file() has failed
  std::uint64_t bytes_ = 0;
  bool has_complained_ = false;
};

}  // namespace foedus::device
