#include "foedus-core/snapshot/snapshot_writer.h"

#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/options.h"

namespace foedus::snapshot {

SnapshotWriter::SnapshotWriter(std::unique_ptr<device::File> file, page::SnapshotNumber snapshot,
                               std::uint32_t soc, std::size_t buffer_pages, std::uint32_t pages_max,
                               std::unique_ptr<device::IoQueue> queue)
    : file_(std::move(file)),
      snapshot_(snapshot),
      soc_(soc),
      buffer_pages_(buffer_pages),
      pages_max_(pages_max),
      writes_(queue == nullptr ? 1 : kQueueBuffers),
      queue_(std::move(queue)) {
  for (std::uint32_t i = 0; i < writes_.size(); ++i) {
    buffers_.push_back(std::make_unique_for_overwrite<Page[]>(buffer_pages));
    if (i != filling_) free_.push_back(i);
  }
  make_page_0(snapshot, soc, buffers_[filling_][0].bytes);
  buffered_ = 1;
}

Result<std::unique_ptr<SnapshotWriter>> SnapshotWriter::create(
    device::Device* device, page::SnapshotNumber snapshot, std::uint32_t soc,
    std::size_t buffer_bytes, std::uint32_t pages_max, std::unique_ptr<device::IoQueue> queue) {
  FOEDUS_INVARIANT(snapshot != page::SnapshotNumber{0} && soc < kMaxSocs, snapshot, soc);
  FOEDUS_INVARIANT(buffer_bytes != 0 && buffer_bytes % page::kPageBytes == 0, buffer_bytes);
  FOEDUS_INVARIANT(pages_max >= 1 && pages_max <= kFilePagesMax, pages_max);
  const std::string name = snapshot_name(snapshot, soc);
  if (static_cast<std::uint32_t>(snapshot) > kSnapshotNumberMax) {
    return Status::error(ErrorCode::kTooLarge, device->path() + "/" + name +
                                                   ": the last number of a snapshot is " +
                                                   std::to_string(kSnapshotNumberMax));
  }
  FOEDUS_TRY(const auto numbers, find_manifests(device));
  if (!numbers.empty() && numbers.back() >= snapshot) {
    return Status::error(ErrorCode::kAlreadyExists, device->path() + "/" + name +
                                                        " may belong to " +
                                                        manifest_name(numbers.back()));
  }
  const Status removed = device->remove(name);
  if (!removed.is_ok() && removed.code() != ErrorCode::kNotFound) return removed;
  FOEDUS_TRY(auto file, device->open(name, device::Access::kCreateDirect));
  return std::unique_ptr<SnapshotWriter>(new SnapshotWriter(std::move(file), snapshot, soc,
                                                            buffer_bytes / page::kPageBytes,
                                                            pages_max, std::move(queue)));
}

page::SnapshotPageId SnapshotWriter::next_id() const {
  if (next_page_ == pages_max_) return {};
  return {snapshot_, soc_, next_page_};
}

Result<page::SnapshotPageId> SnapshotWriter::append(const page::PageHeader* page) {
  FOEDUS_INVARIANT(!is_finished_, path());
  // order: relaxed; no other thread has the page.
  FOEDUS_INVARIANT(page->lock.load_relaxed() == 0, path(), next_page_);
  if (!status_.is_ok()) return status_;
  if (next_page_ == pages_max_) {
    status_ = Status::error(ErrorCode::kTooLarge, path() + " has all the " +
                                                      std::to_string(pages_max_) +
                                                      " pages that a file can have");
    return status_;
  }
  if (buffered_ == buffer_pages_) FOEDUS_CHECK(write_buffer());
  const page::SnapshotPageId id = next_id();
  const std::uint64_t word = id.word();
  char* const to = buffers_[filling_][buffered_].bytes;
  std::memcpy(to, static_cast<const void*>(page), page::kPageBytes);
  std::memcpy(to + offsetof(page::PageHeader, page_id), &word, sizeof(word));
  const std::uint32_t crc = checksum_of(to, page::kPageBytes);
  std::memcpy(to + kChecksumOffset, &crc, sizeof(crc));
  ++buffered_;
  ++next_page_;
  return id;
}

// Writes the buffer, or begins to and goes on with a free one.
Status SnapshotWriter::write_buffer() {
  FOEDUS_INVARIANT(buffered_ >= 1 && buffered_ <= next_page_, buffered_, next_page_);
  const std::uint64_t offset = (next_page_ - buffered_) * page::kPageBytes;
  const std::size_t bytes = buffered_ * page::kPageBytes;
  const char* const from = buffers_[filling_][0].bytes;
  buffered_ = 0;
  if (queue_ == nullptr || !queue_->add_write(file_, offset, from, bytes, filling_)) {
    status_ = file_->write_at(offset, from, bytes);
    return status_;
  }
  queue_->send();
  writes_[filling_] = {offset, bytes};
  if (free_.empty()) FOEDUS_CHECK(end_write());
  filling_ = free_.back();
  free_.pop_back();
  return {};
}

// Waits for a write in flight. The queue does not report errors: the call that writes the bytes
// again does.
Status SnapshotWriter::end_write() {
  device::IoQueue::Done done;
  const bool has_ended = queue_->next(true, &done);
  FOEDUS_INVARIANT(has_ended, path());
  free_.push_back(done.tag);
  const Write& write = writes_[done.tag];
  if (done.bytes < write.bytes) {
    status_ = file_->write_at(write.offset, buffers_[done.tag][0].bytes, write.bytes);
  }
  return status_;
}

Status SnapshotWriter::finish() {
  FOEDUS_INVARIANT(!is_finished_, path());
  is_finished_ = true;
  if (!status_.is_ok()) return status_;
  FOEDUS_CHECK(write_buffer());
  while (free_.size() + 1 < buffers_.size()) FOEDUS_CHECK(end_write());
  status_ = file_->sync();
  return status_;
}

}  // namespace foedus::snapshot
