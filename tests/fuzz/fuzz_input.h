#pragma once
// The common part of fuzz targets. The last byte of an input says whether its checksums are to be
// recomputed, so that half of a fuzzer's inputs pass them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/device/device.h"

namespace foedus::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : bytes_(reinterpret_cast<const char*>(data), size == 0 ? 0 : size - 1),
        is_mended_(size != 0 && data[size - 1] % 2 == 0) {}
  const std::string& bytes() const { return bytes_; }
  bool is_mended() const { return is_mended_; }
  // Returns the first `count` bytes, with zeroes after the end of the input.
  std::string first(std::size_t count) const {
    std::string bytes = bytes_.substr(0, count);
    bytes.resize(count, '\0');
    return bytes;
  }

 private:
  const std::string bytes_;
  const bool is_mended_;
};

template <typename T>
T load(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}
template <typename T>
void store(std::string* bytes, std::size_t offset, T value) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

// A file in memory, for reads only.
class InputFile final : public device::File {
 public:
  explicit InputFile(std::string bytes) : bytes_(std::move(bytes)) {}

  const std::string& path() const override { return path_; }
  Result<std::size_t> read_at(std::uint64_t offset, void* to, std::size_t bytes) const override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(bytes, bytes_.size() - offset);
    std::memcpy(to, bytes_.data() + offset, count);
    return count;
  }
  Status write_parts_at(std::uint64_t, const device::ConstBytes*, std::size_t) override {
    return ErrorCode::kNotSupported;
  }
  Status sync() override { return ErrorCode::kNotSupported; }
  Status preallocate(std::uint64_t) override { return ErrorCode::kNotSupported; }
  Status truncate(std::uint64_t) override { return ErrorCode::kNotSupported; }
  Result<std::uint64_t> size() const override { return std::uint64_t{bytes_.size()}; }
  bool is_direct() const override { return false; }

 private:
  const std::string path_ = "/fuzz/input";
  const std::string bytes_;
};

// A directory of some files.
class InputDevice final : public device::Device {
 public:
  explicit InputDevice(std::map<std::string, std::string, std::less<>> files)
      : files_(std::move(files)) {}

  const std::string& path() const override { return path_; }
  Result<std::unique_ptr<device::File>> open(std::string_view name, device::Access) override {
    const auto found = files_.find(name);
    if (found == files_.end()) return ErrorCode::kNotFound;
    return std::unique_ptr<device::File>(std::make_unique<InputFile>(found->second));
  }
  Result<std::vector<std::string>> list() const override {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files_) names.push_back(name);
    return names;
  }
  Status remove(std::string_view) override { return ErrorCode::kNotSupported; }
  Status rename(std::string_view, std::string_view) override { return ErrorCode::kNotSupported; }
  Status sync_directory() override { return ErrorCode::kNotSupported; }

 private:
  const std::string path_ = "/fuzz";
  const std::map<std::string, std::string, std::less<>> files_;
};

}  // namespace foedus::fuzz
