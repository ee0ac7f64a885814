#pragma once
// Staged: a StagingBuffer with areas on one FailingDevice and files on another, driven by one
// thread. The bytes of a page carry its number and version.

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/device/staging/buffer.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/spread_disk.h"
#include "tests/testing/test_database.h"

namespace foedus::testing {

using device::kBlockBytes;
using device::StagingBuffer;
using device::StagingOptions;
using device::StagingSpread;
using device::StagingTarget;

inline constexpr std::uint64_t kStagedFiles = 3;
inline constexpr std::uint64_t kStagedPages = 12;  // of a file

inline std::string file_name(std::uint64_t id) { return "ssd-0000000" + std::to_string(id) + "-0"; }

// Returns the bytes of a version of a page: no part of them equals that of another version or page.
inline std::string page_of(std::uint64_t id, std::uint64_t page, std::uint64_t version) {
  const std::string begin =
      std::to_string(version) + " " + std::to_string(id) + " " + std::to_string(page) + " ";
  std::string bytes(kBlockBytes, '.');
  for (std::uint64_t at = 0; at < kBlockBytes; at += 64) {
    begin.copy(&bytes[at], begin.size());
    std::to_chars(&bytes[at + begin.size()], &bytes[at + 64], at / 64);
  }
  return bytes;
}

using Versions = std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>;

// Returns the version of a page whose bytes are whole, or -1 if they are of no version up to
// `most`.
inline std::int64_t version_of(std::uint64_t id, std::uint64_t page, std::uint64_t most,
                               const std::string& bytes) {
  if (bytes == std::string(kBlockBytes, '\0')) return 0;
  std::uint64_t version = 0;  // the number that a page's bytes begin with
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), version);
  const bool is_whole = version >= 1 && version <= most && bytes == page_of(id, page, version);
  return is_whole ? static_cast<std::int64_t>(version) : -1;
}

inline Result<std::shared_ptr<device::File>> open_file(device::Device* ssd, std::uint64_t id) {
  auto file = ssd->open(file_name(id), device::Access::kReadWrite);
  if (file.code() == ErrorCode::kNotFound) return std::shared_ptr<device::File>();
  FOEDUS_CHECK(file.status());
  return std::shared_ptr<device::File>(std::move(*file));
}

inline device::ResolveTarget resolving(device::Device* ssd) {
  return [ssd](std::uint64_t id) { return open_file(ssd, id); };
}

// An open buffer with areas in `a` and files in `b`, and the versions that it has acknowledged.
class Staged {
 public:
  Staged(SpreadDisk* disk, const StagingOptions& options, std::uint64_t seed = 1)
      : disk_(disk), options_(options), runtime_(seed) {}

  Status open() {
    FOEDUS_TRY(buffer_, StagingBuffer::open(
                            &disk_->a(), &runtime_, options_,
                            [this] { return disk_->b().make_io_queue(); }, resolving(&disk_->b())));
    for (std::uint64_t id = 1; id <= kStagedFiles; ++id) {
      FOEDUS_TRY(auto file, open_file(&disk_->b(), id));
      if (file != nullptr) targets_[id] = std::make_shared<StagingTarget>(id, std::move(file));
    }
    return {};
  }
  // Writes the next version of pages.
  Status write(std::uint64_t id, std::uint64_t page, std::uint64_t count = 1) {
    std::string bytes;
    const std::uint64_t version = ++last_;
    for (std::uint64_t i = 0; i < count; ++i) {
      bytes += page_of(id, page + i, version);
      tried_[{id, page + i}] = version;
    }
    FOEDUS_CHECK(buffer_->write(targets_.at(id), page, bytes.data(), count));
    for (std::uint64_t i = 0; i < count; ++i) acknowledged_[{id, page + i}] = version;
    return {};
  }
  // Writes random pages until one is refused. Returns how many were written.
  std::uint64_t write_some(std::uint64_t writes, std::uint64_t seed) {
    base::Random random(seed);
    for (std::uint64_t i = 0; i < writes; ++i) {
      const std::uint64_t id = 1 + random.below(kStagedFiles);
      const std::uint64_t count = 1 + random.below(4);
      const std::uint64_t page = random.below(kStagedPages - count + 1);
      if (!write(id, page, count).is_ok()) return i;
    }
    return writes;
  }
  // Returns the staged version of a page, or 0 if it is not staged.
  std::int64_t staged(std::uint64_t id, std::uint64_t page) {
    std::string bytes(kBlockBytes, '\0');
    if (!must(buffer_->read(*targets_.at(id), page, bytes.data()))) return 0;
    return version_of(id, page, last_, bytes);
  }
  // Returns a complaint, or an empty string if each page has the version that was acknowledged
  // last, or a later one that was tried.
  std::string difference() const { return difference_of(disk_, acknowledged_, tried_); }
  static std::string difference_of(SpreadDisk* disk, const Versions& acknowledged,
                                   const Versions& tried) {
    for (const auto& [name, most] : tried) {
      const auto found = acknowledged.find(name);
      const std::uint64_t least = found == acknowledged.end() ? 0 : found->second;
      const std::string bytes = in_file(disk, name.first, name.second);
      const std::int64_t version = version_of(name.first, name.second, most, bytes);
      if (version < static_cast<std::int64_t>(least)) {
        return "page " + std::to_string(name.second) + " of " + file_name(name.first) + " has " +
               std::to_string(version) + ", not " + std::to_string(least) + " or later";
      }
    }
    return "";
  }
  static std::string in_file(SpreadDisk* disk, std::uint64_t id, std::uint64_t page) {
    std::string bytes(kBlockBytes, '\0');
    const auto file = must(disk->b().open(file_name(id), device::Access::kRead));
    must(file->read_at(page * kBlockBytes, bytes.data(), kBlockBytes));
    return bytes;
  }
  std::int64_t written(std::uint64_t id, std::uint64_t page) const {
    return version_of(id, page, last_, in_file(disk_, id, page));
  }

  StagingBuffer* operator->() { return buffer_.get(); }
  const std::shared_ptr<StagingTarget>& target(std::uint64_t id) { return targets_.at(id); }
  const Versions& acknowledged() const { return acknowledged_; }
  const Versions& tried() const { return tried_; }
  void close() { buffer_.reset(); }

 private:
  SpreadDisk* const disk_;
  const StagingOptions options_;
  ManualRuntime runtime_;
  std::unique_ptr<StagingBuffer> buffer_;
  std::map<std::uint64_t, std::shared_ptr<StagingTarget>> targets_;
  std::uint64_t last_ = 0;
  Versions acknowledged_;
  Versions tried_;
};

// Small, so that buckets are used again and again.
inline StagingOptions small(StagingSpread spread = StagingSpread::kEven) {
  return {.partitions = 2, .buckets = 2, .slots = 4, .flushers = 1, .spread = spread};
}
// All pages in one partition.
inline StagingOptions one_partition(std::uint32_t buckets) {
  return {.partitions = 1, .buckets = buckets, .slots = 4, .flushers = 1};
}

inline void make_files(SpreadDisk* disk) {
  for (std::uint64_t id = 1; id <= kStagedFiles; ++id) {
    must(disk->b().open(file_name(id), device::Access::kCreate));
  }
  must(disk->b().sync_directory());
}

// Files to be staged for.
class StagedFilesTest : public ::testing::Test {
 protected:
  StagedFilesTest() { make_files(&disk); }
  ~StagedFilesTest() override {
    disk.a().set_observer({});
    disk.b().set_observer({});
  }
  // Opens the buffer again after the process has ended.
  void recover(const StagingOptions& options = small()) {
    Staged again(&disk, options);
    must(again.open());
  }
  SpreadDisk disk;
};

}  // namespace foedus::testing
