#pragma once
// SnapshotWriter: writes one SOC's file of the snapshot in the making, front to back, each page
// once, in large writes that bypass the system's cache.
//
//   F5  A file counts when a manifest lists it, and a manifest may list a file only after finish()
//       has succeeded. A file that a writer finds under its name is an orphaned file: it removes
//       the file, and never opens it.
//   F6  The first error is final: the file is an orphaned file from then on (V2).
//
// create() ──► open ── append()* ── finish() ──► synced; its name becomes durable with the manifest
//               └── any error ──► failed: every call returns that error

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/device/io_queue.h"
#include "foedus-core/snapshot/cache/page_io.h"
#include "foedus-core/snapshot/files/format.h"

namespace foedus::snapshot {

class SnapshotWriter final : public PageWriter {
 public:
  static constexpr std::size_t kBufferBytes = 1u << 20;
  static constexpr std::uint32_t kQueueBuffers = 4;  // with a queue

  // Makes the file; nothing is written yet. `pages_max`: of the file, page 0 included.
  // kAlreadyExists: a manifest of this or a later number is there (F3). kTooLarge: a number above
  // kSnapshotNumberMax. kOutOfSpace, kIoError.
  // REQUIRES: soc < kMaxSocs; buffer_bytes is a positive multiple of kPageBytes, and taken from the
  // heap until the writer ends; 1 <= pages_max <= kFilePagesMax. `queue`: of the device. With it
  // there are kQueueBuffers such buffers, and a full one is written while the next is filled.
  static Result<std::unique_ptr<SnapshotWriter>> create(
      device::Device* device, page::SnapshotNumber snapshot, std::uint32_t soc,
      std::size_t buffer_bytes = kBufferBytes, std::uint32_t pages_max = kFilePagesMax,
      std::unique_ptr<device::IoQueue> queue = {});
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  page::SnapshotPageId next_id() const override;
  Result<page::SnapshotPageId> append(const page::PageHeader* page) override;
  // Writes what is left and syncs the file. REQUIRES: called once, as the last call.
  Status finish();

  // Returns how many pages were appended so far; they have the ids 1 .. pages() of the file.
  std::uint32_t pages() const { return next_page_ - 1; }
  const std::string& path() const { return file_->path(); }

 private:
  struct Page {
    alignas(page::kPageBytes) char bytes[page::kPageBytes];
  };

  SnapshotWriter(std::unique_ptr<device::File> file, page::SnapshotNumber snapshot,
                 std::uint32_t soc, std::size_t buffer_pages, std::uint32_t pages_max,
                 std::unique_ptr<device::IoQueue> queue);
  Status write_buffer();
  Status end_write();

  // Constant after create().
  const std::shared_ptr<device::File> file_;
  const page::SnapshotNumber snapshot_;
  const std::uint32_t soc_;
  const std::size_t buffer_pages_;
  const std::uint32_t pages_max_;

  struct Write {
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
  };

  // Used by the one thread that writes. buffers_[filling_] holds the last `buffered_` pages. The
  // others are free, or in flight, and then writes_ has what is written.
  std::vector<std::unique_ptr<Page[]>> buffers_;
  std::vector<Write> writes_;
  std::vector<std::uint32_t> free_;
  std::uint32_t filling_ = 0;
  const std::unique_ptr<device::IoQueue> queue_;  // ends before the buffers; null: there is none
  std::size_t buffered_ = 0;
  std::uint32_t next_page_ = 1;
  Status status_;
  bool is_finished_ = false;
};

}  // namespace foedus::snapshot
