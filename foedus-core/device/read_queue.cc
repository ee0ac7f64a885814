#include "foedus-core/device/read_queue.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"

namespace foedus::device {

bool DeferredReads::add(const std::shared_ptr<const File>& file, std::uint64_t offset,
                        const Bytes* parts, std::size_t count, std::uint32_t tag) {
  FOEDUS_INVARIANT(count >= 1 && count <= kPartsMax, count);
  if (count_ == kReadsMax) return false;
  Read& read = reads_[(begin_ + count_++) % kReadsMax];
  read.file = file;
  read.offset = offset;
  read.count = count;
  read.tag = tag;
  std::copy_n(parts, count, read.parts);
  for (std::size_t i = 0; i < count; offset += parts[i++].bytes) {
    file->will_read(offset, parts[i].bytes);
  }
  return true;
}

bool DeferredReads::add_write(const std::shared_ptr<File>& file, std::uint64_t offset,
                              const void* from, std::size_t bytes, std::uint32_t tag) {
  if (count_ == kReadsMax) return false;
  Read& write = reads_[(begin_ + count_++) % kReadsMax];
  write.to_write = file;
  write.offset = offset;
  write.tag = tag;
  write.from = {from, bytes};
  return true;
}

bool DeferredReads::next(bool waits, Done* done) {
  if (count_ == 0 || !waits) return false;
  Read& read = reads_[begin_++ % kReadsMax];
  --count_;
  *done = Done{read.tag, 0};
  base::trying([&] {
    if (read.to_write != nullptr) {
      const ConstBytes& from = read.from;
      if (read.to_write->write_at(read.offset, from.data, from.bytes).is_ok()) {
        done->bytes = from.bytes;
      }
      return;
    }
    const Result<std::size_t> bytes = read.file->read_parts_at(read.offset, read.parts, read.count);
    if (bytes.is_ok()) done->bytes = *bytes;
  });
  read.file.reset();
  read.to_write.reset();
  return true;
}

}  // namespace foedus::device
