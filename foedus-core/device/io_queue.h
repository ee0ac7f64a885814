#pragma once
// IoQueue: reads and writes that one thread has in flight at a time, for devices that serve many
// requests at once. Pages that are needed soon are added and sent together, and taken as they
// arrive.
//
//   free --add_read(), add_write()--> added --send()--> in flight --next()--> free
//
//   V9  The destructor of a queue waits for the reads and writes in flight. Afterwards the memory
//       that they read into or write from is the caller's again. In a child of fork() it abandons
//       the parent's reads and writes.
//   V10 A file may be closed while a read or write of it is added or in flight. If its name is
//       gone, its space on the device becomes free when that read or write has ended.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "foedus-core/device/device.h"

namespace foedus::device {

class IoQueue {
 public:
  static constexpr std::uint32_t kRequestsMax = 64;  // in flight, writes included
  static constexpr std::uint32_t kPartsMax = 32;     // of one read

  // A read or a write that has ended. It does not say which error occurred: the caller does it
  // again, by File::read_at() or write_at().
  struct Done {
    std::uint32_t tag = 0;
    std::size_t bytes = 0;  // how many, from the first one on, were read or written
  };

  virtual ~IoQueue() = default;

  // Adds a read of what stands at `offset` of `file`, to places that are filled one after the
  // other. No other code touches them until next() has given `tag`; `parts` itself is copied. Waits
  // for nothing. False: kRequestsMax are in flight, or the system refuses more; nothing is read.
  // REQUIRES: the file is of the device that made the queue; if it is direct, offset, addresses and
  // bytes are multiples of kBlockBytes. At most kPartsMax parts. No read or write of this queue has
  // the same `tag` and waits for next() to give it.
  virtual bool add_read(const std::shared_ptr<const File>& file, std::uint64_t offset,
                        const Bytes* parts, std::size_t count, std::uint32_t tag) = 0;
  // Adds a write of `bytes` bytes, which stay as they are until next() has given `tag`. Writes of a
  // queue are made in any order, so two of overlapping bytes must not be in flight together. Waits
  // for nothing. False: as add_read(), or this queue takes no writes to `file`; File::write_at()
  // does. REQUIRES: as add_read(); bytes > 0.
  virtual bool add_write(const std::shared_ptr<File>& file, std::uint64_t offset, const void* from,
                         std::size_t bytes, std::uint32_t tag) {
    static_cast<void>(file);
    static_cast<void>(offset);
    static_cast<void>(from);
    static_cast<void>(bytes);
    static_cast<void>(tag);
    return false;
  }
  // Makes the device begin with what was added.
  virtual void send() = 0;
  // Gives a read or a write that has ended. If there is none, returns false, or with `waits` waits
  // for the next, if one was added at all.
  virtual bool next(bool waits, Done* done) = 0;
};

// DeferredIo: the queue of devices that have none of their own. add_read() announces reads
// (File::will_read()); next() makes reads and writes, in the order in which they were added.
class DeferredIo final : public IoQueue {
 public:
  bool add_read(const std::shared_ptr<const File>& file, std::uint64_t offset, const Bytes* parts,
                std::size_t count, std::uint32_t tag) override;
  bool add_write(const std::shared_ptr<File>& file, std::uint64_t offset, const void* from,
                 std::size_t bytes, std::uint32_t tag) override;
  void send() override {}
  bool next(bool waits, Done* done) override;

 private:
  struct Request {
    std::shared_ptr<const File> file;  // to be read; null: this is a write
    std::shared_ptr<File> to_write;
    std::uint64_t offset;
    std::size_t count;
    std::uint32_t tag;
    Bytes parts[kPartsMax];
    ConstBytes from;  // of a write
  };
  std::uint32_t begin_ = 0;  // requests_[begin_ % kRequestsMax] is the oldest of count_
  std::uint32_t count_ = 0;
  Request requests_[kRequestsMax] = {};
};

}  // namespace foedus::device
