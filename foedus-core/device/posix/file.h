#pragma once
// PosixFile: one open file of a FileDevice.

#include <cstddef>
#include <cstdint>
#include <string>

#include "foedus-core/device/device.h"

namespace foedus::device {

class PosixFile : public File {
 public:
  // Owns `fd`.
  PosixFile(std::string path, int fd, bool is_direct)
      : path_(std::move(path)), fd_(fd), is_direct_(is_direct) {}
  ~PosixFile() override;
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  const std::string& path() const override { return path_; }
  Result<std::size_t> read_at(std::uint64_t offset, void* to, std::size_t bytes) const override;
  Result<std::size_t> read_parts_at(std::uint64_t offset, const Bytes* parts,
                                    std::size_t count) const override;
  void will_read(std::uint64_t offset, std::size_t bytes) const override;
  Status write_parts_at(std::uint64_t offset, const ConstBytes* parts, std::size_t count) override;
  Status sync() override;
  Status preallocate(std::uint64_t bytes) override;
  Status truncate(std::uint64_t bytes) override;
  Result<std::uint64_t> size() const override;
  bool is_direct() const override { return is_direct_; }

  // Returns true if a write of the file is nothing but a write to descriptor().
  virtual bool is_written_by_calls() const { return true; }

  // Asks for space on the device for each of the first `bytes` bytes; returns true if they have it
  // afterwards. False: also, the file system cannot promise it.
  bool has_blocks(std::uint64_t bytes) const;

  // Returns the descriptor, which is open for as long as this object lives.
  int descriptor() const { return fd_; }

 private:
  Status failed(const char* what, std::uint64_t offset, int error_number) const;

  const std::string path_;
  const int fd_;
  const bool is_direct_;
};

}  // namespace foedus::device
