#include "foedus-core/device/posix/uring_io.h"

#include <errno.h>

#include <algorithm>

#include "foedus-core/base/invariant.h"
#include "foedus-core/device/posix/file.h"
#include "foedus-core/device/posix/file_device.h"

namespace foedus::device {

std::unique_ptr<UringIo> UringIo::make() {
  std::unique_ptr<UringIo> queue(new UringIo());
  if (::io_uring_queue_init(kRequestsMax, &queue->ring_, 0) != 0) return nullptr;
  queue->open_ring_.reset(&queue->ring_);
  return queue;
}

// Waits for what is in flight (V9), before the ring is unmapped and closed. In a child of fork()
// that is the child's share only.
UringIo::~UringIo() {
  Done done;
  while (next(true, &done)) {
  }
}

bool UringIo::add_read(const std::shared_ptr<const File>& file, std::uint64_t offset,
                       const Bytes* parts, std::size_t count, std::uint32_t tag) {
  FOEDUS_INVARIANT(count >= 1 && count <= kPartsMax, count);
  if (count_ == kRequestsMax || is_of_parent()) return false;
  if (parts_count_ + count > kPartsUnsentMax) send();
  if (parts_count_ + count > kPartsUnsentMax || is_broken_) return false;
  io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
  if (entry == nullptr) return false;
  const int fd = static_cast<const PosixFile&>(*file).descriptor();
  iovec* const to = parts_ + parts_count_;
  for (std::size_t i = 0; i < count; ++i) to[i] = {parts[i].data, parts[i].bytes};
  if (count == 1) {
    ::io_uring_prep_read(entry, fd, to->iov_base, static_cast<unsigned>(to->iov_len), offset);
  } else {
    ::io_uring_prep_readv(entry, fd, to, static_cast<unsigned>(count), offset);
    parts_count_ += static_cast<std::uint32_t>(count);
  }
  entry->user_data = tag;
  note_added(file, tag);
  return true;
}

// Leaves two kinds of writes to write_at(). A write beyond the file size limit would raise SIGXFSZ
// (V7). A write to a mapped file has to be counted for MappedFile::sync().
bool UringIo::add_write(const std::shared_ptr<File>& file, std::uint64_t offset, const void* from,
                        std::size_t bytes, std::uint32_t tag) {
  if (count_ == kRequestsMax || is_of_parent() || is_broken_) return false;
  const auto& posix = static_cast<const PosixFile&>(*file);
  if (!posix.is_written_by_calls() || exceeds_file_size_limit(offset + bytes)) return false;
  io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
  if (entry == nullptr) return false;
  ::io_uring_prep_write(entry, posix.descriptor(), from, static_cast<unsigned>(bytes), offset);
  entry->user_data = tag;
  note_added(file, tag);
  return true;
}

void UringIo::note_added(const std::shared_ptr<const File>& file, std::uint32_t tag) {
  files_[unsent_count_] = file;
  unsent_[unsent_count_++] = tag;
  ++count_;
}

// Sends all that was added, in that order.
void UringIo::send() {
  while (unsent_count_ != 0 && !is_broken_ && !is_of_parent()) {
    const int taken = ::io_uring_submit(&ring_);
    if (taken == -EINTR) continue;
    // The system lacks memory for now, or space for more completions: next() tries again.
    if (taken == -EAGAIN || taken == -EBUSY || taken == 0) return;
    if (taken < 0) {
      is_broken_ = true;
      return;
    }
    const auto sent = std::min(static_cast<std::uint32_t>(taken), unsent_count_);
    std::copy(unsent_ + sent, unsent_ + unsent_count_, unsent_);
    std::move(files_ + sent, files_ + unsent_count_, files_);
    std::fill_n(files_ + unsent_count_ - sent, sent, nullptr);
    unsent_count_ -= sent;
    if (unsent_count_ == 0) parts_count_ = 0;
  }
}

bool UringIo::next(bool waits, Done* done) {
  if (count_ == 0 || is_of_parent()) return false;
  io_uring_cqe* end = nullptr;
  if (::io_uring_peek_cqe(&ring_, &end) != 0) {
    if (!waits) return false;
    send();
    // Nothing is in flight, and still the system takes nothing: a wait would have no end.
    if (unsent_count_ == count_) is_broken_ = true;
    if (is_broken_ && unsent_count_ != 0) {
      *done = Done{unsent_[--unsent_count_], 0};
      files_[unsent_count_] = nullptr;
      --count_;
      return true;
    }
    while (::io_uring_wait_cqe(&ring_, &end) != 0) {
    }
  }
  *done = Done{static_cast<std::uint32_t>(end->user_data),
               end->res < 0 ? 0 : static_cast<std::size_t>(end->res)};
  ::io_uring_cqe_seen(&ring_, end);
  --count_;
  return true;
}

}  // namespace foedus::device
