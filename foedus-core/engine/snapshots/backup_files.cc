#include "foedus-core/engine/snapshots/backup_files.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/snapshot/files/format.h"

namespace foedus::engine {

namespace {

using page::kPageBytes;
using page::PageBytes;
using Pages = std::unique_ptr<PageBytes[]>;

constexpr std::uint64_t kBufferPages = 256;  // 1 MiB is read and written at a time
constexpr std::uint64_t kComparedPages = 64;

std::string name_of(const snapshot::ManifestFile& file) {
  return snapshot::snapshot_name(file.snapshot, file.soc);
}

Status corrupt(const device::File& file, const std::string& what) {
  return Status::error(ErrorCode::kCorruption, file.path() + what);
}

// Opens a snapshot file, and checks its length.
Result<std::unique_ptr<device::File>> open_whole(device::Device* device,
                                                 const snapshot::ManifestFile& file) {
  FOEDUS_TRY(auto opened,
             device::open_existing(device, name_of(file), device::Access::kReadDirect));
  FOEDUS_TRY(const std::uint64_t bytes, opened->size());
  if (bytes == file_bytes(file)) return opened;
  return corrupt(*opened, " has " + std::to_string(bytes) + " bytes, not the " +
                              std::to_string(file_bytes(file)) + " of its " +
                              std::to_string(file.pages) + " pages");
}

Status read_pages(const device::File& file, std::uint64_t first, std::uint64_t count, Pages* to) {
  const std::uint64_t bytes = count * kPageBytes;
  FOEDUS_TRY(const std::size_t read, file.read_at(first * kPageBytes, to->get(), bytes));
  return read == bytes ? Status() : corrupt(file, " became shorter");
}

// Returns whether a page is what was written to this place of the file (F1).
bool is_whole(const PageBytes& page, const snapshot::ManifestFile& file, std::uint64_t number) {
  if (number == 0) {
    PageBytes expected;
    snapshot::make_page_0(file.snapshot, file.soc, expected.bytes);
    return std::memcmp(page.bytes, expected.bytes, kPageBytes) == 0;
  }
  const page::SnapshotPageId id(file.snapshot, file.soc, static_cast<std::uint32_t>(number));
  return page.header()->crc32c == snapshot::checksum_of(page.bytes, kPageBytes) &&
         page.header()->page_id == id.word();
}

Status copy_file(const BackupOrder& order, const snapshot::ManifestFile& file) {
  FOEDUS_TRY(const auto from, open_whole(order.from, file));
  FOEDUS_TRY(const auto to, order.to->open(name_of(file), device::Access::kCreateDirect));
  Pages buffer = std::make_unique<PageBytes[]>(kBufferPages);
  const std::uint64_t pages = std::uint64_t{file.pages} + 1;
  for (std::uint64_t first = 0; first < pages; first += kBufferPages) {
    const std::uint64_t count = std::min(kBufferPages, pages - first);
    FOEDUS_CHECK(read_pages(*from, first, count, &buffer));
    for (std::uint64_t i = 0; i < count; ++i) {
      if (is_whole(buffer[i], file, first + i)) continue;
      return corrupt(*from, ", page " + std::to_string(first + i) + ": it is not what was written");
    }
    FOEDUS_CHECK(to->write_at(first * kPageBytes, buffer.get(), count * kPageBytes));
  }
  return to->sync();  // E55
}

// Adds the file as a link, whose bytes are durable: they were synced before a manifest of the
// database listed the file (F2).
Status link_file(const BackupOrder& order, const snapshot::ManifestFile& file) {
  FOEDUS_CHECK(order.from->link(name_of(file), order.to));
  return open_whole(order.to, file).status();
}

}  // namespace

Status add_file(const BackupOrder& order, const snapshot::ManifestFile& file,
                BackupReport* report) {
  if (order.files != BackupFiles::kCopy) {
    Status linked = link_file(order, file);
    if (linked.is_ok()) ++report->files_linked;
    const bool is_final = order.files == BackupFiles::kLink;
    if (is_final || linked.code() != ErrorCode::kNotSupported) return linked;
  }
  FOEDUS_CHECK(copy_file(order, file));
  ++report->files_copied;
  report->bytes_copied += file_bytes(file);
  return {};
}

Status compare_file(const BackupOrder& order, const snapshot::ManifestFile& file) {
  FOEDUS_TRY(const auto ours, open_whole(order.from, file));
  FOEDUS_TRY(const auto theirs, open_whole(order.to, file));
  const std::uint64_t pages = std::uint64_t{file.pages} + 1;
  const std::uint64_t sampled = std::min(pages, kComparedPages);
  // All pages are compared by pieces as large as the buffer, a sample page by page. The sample has
  // the first and the last page.
  const std::uint64_t pieces =
      order.compare_all ? (pages + kBufferPages - 1) / kBufferPages : sampled;
  Pages one = std::make_unique<PageBytes[]>(kBufferPages);
  Pages other = std::make_unique<PageBytes[]>(kBufferPages);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t first = order.compare_all
                                    ? i * kBufferPages
                                    : i * (pages - 1) / std::max<std::uint64_t>(sampled - 1, 1);
    const std::uint64_t count = order.compare_all ? std::min(kBufferPages, pages - first) : 1;
    FOEDUS_CHECK(read_pages(*ours, first, count, &one));
    FOEDUS_CHECK(read_pages(*theirs, first, count, &other));
    if (std::memcmp(one.get(), other.get(), count * kPageBytes) != 0) {
      return other_database(order, file);
    }
  }
  return {};
}

Status other_database(const BackupOrder& order, const snapshot::ManifestFile& file) {
  return Status::error(ErrorCode::kInvalidArgument,
                       order.to->path() + "/" + name_of(file) + " is not the " +
                           order.from->path() + "/" + name_of(file) +
                           " of this database: the backup is damaged or of another database; " +
                           "make the backup in an empty directory");
}

}  // namespace foedus::engine
