#pragma once
// UringIo: an IoQueue on io_uring. Reads and writes go to the system together, and their
// completions are found in memory that the system shares with the process. Containers often refuse
// io_uring; pooled_io.h has the queue for them.

#include <liburing.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>

#include "foedus-core/base/system/process.h"
#include "foedus-core/device/io_queue.h"

namespace foedus::device {

class UringIo final : public IoQueue {
 public:
  // Returns null if the system refuses io_uring, or has no memory for it.
  static std::unique_ptr<UringIo> make();
  ~UringIo() override;
  UringIo(const UringIo&) = delete;
  UringIo& operator=(const UringIo&) = delete;

  // REQUIRES: `file` is a PosixFile.
  bool add_read(const std::shared_ptr<const File>& file, std::uint64_t offset, const Bytes* parts,
                std::size_t count, std::uint32_t tag) override;
  bool add_write(const std::shared_ptr<File>& file, std::uint64_t offset, const void* from,
                 std::size_t bytes, std::uint32_t tag) override;
  void send() override;
  bool next(bool waits, Done* done) override;

 private:
  static constexpr std::uint32_t kPartsUnsentMax = 4 * kPartsMax;

  // Unmaps and closes a ring.
  struct Exit {
    void operator()(io_uring* ring) const { ::io_uring_queue_exit(ring); }
  };

  UringIo() = default;
  void note_added(const std::shared_ptr<const File>& file, std::uint32_t tag);
  bool is_of_parent() const { return generation_ != base::process_generation(); }

  const std::uint64_t generation_ = base::process_generation();
  io_uring ring_ = {};
  std::unique_ptr<io_uring, Exit> open_ring_;  // `ring_`; null: its setup has failed
  std::uint32_t count_ = 0;  // added and not given back
  bool is_broken_ = false;   // the system takes no more: next() gives what was not sent as failed
  // Added and not sent yet, in the order of the ring. The system copies their parts when it takes
  // them.
  std::uint32_t unsent_count_ = 0;
  std::uint32_t unsent_[kRequestsMax] = {};          // their tags
  std::shared_ptr<const File> files_[kRequestsMax];  // their files; once sent, the system has them
  std::uint32_t parts_count_ = 0;
  iovec parts_[kPartsUnsentMax] = {};
};

}  // namespace foedus::device
