#pragma once
// Parts that tests of snapshot files share: pages whose bytes follow from their number, files of
// them, and manifests that name them.

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/snapshot/files/orphaned_files.h"
#include "foedus-core/snapshot/snapshot_reader.h"
#include "foedus-core/snapshot/snapshot_writer.h"
#include "tests/testing/failing_device.h"

#define ASSERT_OK(expression)                                        \
  do {                                                               \
    const auto& checked = (expression);                              \
    ASSERT_TRUE(checked.is_ok()) << message_of(checked);             \
  } while (false)

namespace foedus::snapshot {

using ::foedus::testing::Call;
using ::foedus::testing::FailingDevice;
using page::kPageBytes;
using page::SnapshotNumber;
using page::SnapshotPageId;
using page::StorageId;

inline std::string message_of(const Status& status) { return status.message(); }
template <typename T>
std::string message_of(const Result<T>& result) {
  return result.status().message();
}

// Memory for some pages.
class Pages {
 public:
  explicit Pages(std::size_t count) : pages_(new Page[count]) {}
  page::PageHeader* at(std::size_t i) {
    return reinterpret_cast<page::PageHeader*>(pages_[i].bytes);
  }
  const char* bytes(std::size_t i) const { return pages_[i].bytes; }

 private:
  struct Page {
    alignas(kPageBytes) char bytes[kPageBytes];
  };
  std::unique_ptr<Page[]> pages_;
};

// Fills a page; its bytes after the header follow from `seed`.
inline void fill(page::PageHeader* page, std::uint64_t seed) {
  base::Random random(seed);
  page->initialize(page::VolatilePageId(seed), StorageId{7}, page::PageKind::kMasstreeBorder, 0);
  char* const bytes = reinterpret_cast<char*>(page);
  for (std::size_t at = sizeof(*page); at < kPageBytes; at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes + at, &word, sizeof(word));
  }
}

inline std::uint64_t seed_of(SnapshotPageId id) { return id.word() * 31 + 7; }

// Returns whether the page is the one that write_file() makes for `id`.
inline bool is_filled(const page::PageHeader* page, SnapshotPageId id) {
  Pages expected(1);
  fill(expected.at(0), seed_of(id));
  constexpr std::size_t kBehind = offsetof(page::PageHeader, kind);
  return page->page_id == id.word() && page->storage_id == StorageId{7} &&
         std::memcmp(expected.bytes(0) + kBehind,
                     reinterpret_cast<const char*>(page) + kBehind, kPageBytes - kBehind) == 0;
}

inline Status append_pages(SnapshotWriter* writer, std::uint32_t pages) {
  Pages page(1);
  for (std::uint32_t i = 0; i < pages; ++i) {
    fill(page.at(0), seed_of(writer->next_id()));
    FOEDUS_CHECK(writer->append(page.at(0)).status());
  }
  return {};
}

// Writes and finishes a file of the snapshot and SOC with pages 1 .. pages.
inline Status write_file(device::Device* device, std::uint32_t snapshot, std::uint32_t soc,
                         std::uint32_t pages, std::size_t buffer_bytes = 4 * kPageBytes) {
  FOEDUS_TRY(const auto writer, SnapshotWriter::create(device, SnapshotNumber{snapshot}, soc,
                                                       buffer_bytes));
  FOEDUS_CHECK(append_pages(writer.get(), pages));
  return writer->finish();
}

inline Status read_and_compare(PageReader* files, SnapshotPageId id) {
  Pages page(1);
  FOEDUS_CHECK(files->read(id, page.at(0)));
  if (is_filled(page.at(0), id)) return {};
  return Status::error(ErrorCode::kCorruption, "another page than was written");
}

// Returns a manifest with two storages, whose pages lie in the files of SOC 0 and 1 of this
// snapshot and of the one before. Each file has three pages, of which all are live, or one of those
// of the snapshot before.
inline Manifest manifest_of(std::uint32_t number) {
  Manifest manifest;
  manifest.number = SnapshotNumber{number};
  manifest.covered = Epoch(number * 10);
  manifest.newest_seen = Epoch(number * 10 + 2);
  manifest.next_storage_id = StorageId{9};
  for (std::uint32_t i = number > 1 ? number - 1 : 1; i <= number; ++i) {
    for (std::uint32_t soc = 0; soc < 2; ++soc) {
      manifest.files.push_back({SnapshotNumber{i}, soc, 3, i == number ? 3u : 1u});
    }
  }
  manifest.storages.push_back({StorageId{3},
                               StorageKind::kArray,
                               "accounts",
                               1'000,
                               96,
                               0,
                               SnapshotPageId(SnapshotNumber{number}, 1, 3),
                               {},
                               {}});
  manifest.storages.push_back({StorageId{8},
                               StorageKind::kHash,
                               "names",
                               0,
                               0,
                               12,
                               SnapshotPageId(SnapshotNumber{number}, 0, 2),
                               {1, ~std::uint64_t{0}, 5},
                               {}});
  for (const ManifestFile& file : manifest.files) {
    manifest.storages[1 - file.soc].live.push_back(
        {file.snapshot, file.soc, file.live_pages, file.live_pages - 1});
  }
  return manifest;
}

// Writes the files of manifest_of(number), then the manifest.
inline Status make_snapshot(device::Device* device, std::uint32_t number) {
  for (std::uint32_t soc = 0; soc < 2; ++soc) FOEDUS_CHECK(write_file(device, number, soc, 3));
  return write_manifest(device, manifest_of(number));
}

// Checks that all pages of all files of the manifest are there, as they were written.
inline Status check_snapshot(device::Device* device, const Manifest& manifest) {
  SnapshotFiles files(device);
  for (const ManifestFile& file : manifest.files) {
    for (std::uint32_t i = 1; i <= file.pages; ++i) {
      FOEDUS_CHECK(read_and_compare(&files, SnapshotPageId(file.snapshot, file.soc, i)));
    }
  }
  return {};
}

}  // namespace foedus::snapshot
