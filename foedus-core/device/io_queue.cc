#include "foedus-core/device/io_queue.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"

namespace foedus::device {

bool DeferredIo::add_read(const std::shared_ptr<const File>& file, std::uint64_t offset,
                          const Bytes* parts, std::size_t count, std::uint32_t tag) {
  FOEDUS_INVARIANT(count >= 1 && count <= kPartsMax, count);
  if (count_ == kRequestsMax) return false;
  Request& request = requests_[(begin_ + count_++) % kRequestsMax];
  request.file = file;
  request.offset = offset;
  request.count = count;
  request.tag = tag;
  std::copy_n(parts, count, request.parts);
  for (std::size_t i = 0; i < count; offset += parts[i++].bytes) {
    file->will_read(offset, parts[i].bytes);
  }
  return true;
}

bool DeferredIo::add_write(const std::shared_ptr<File>& file, std::uint64_t offset,
                           const void* from, std::size_t bytes, std::uint32_t tag) {
  if (count_ == kRequestsMax) return false;
  Request& write = requests_[(begin_ + count_++) % kRequestsMax];
  write.to_write = file;
  write.offset = offset;
  write.tag = tag;
  write.from = {from, bytes};
  return true;
}

bool DeferredIo::next(bool waits, Done* done) {
  if (count_ == 0 || !waits) return false;
  Request& request = requests_[begin_++ % kRequestsMax];
  --count_;
  *done = Done{request.tag, 0};
  base::trying([&] {
    if (request.to_write != nullptr) {
      const ConstBytes& from = request.from;
      if (request.to_write->write_at(request.offset, from.data, from.bytes).is_ok()) {
        done->bytes = from.bytes;
      }
      return;
    }
    const Result<std::size_t> bytes =
        request.file->read_parts_at(request.offset, request.parts, request.count);
    if (bytes.is_ok()) done->bytes = *bytes;
  });
  request.file.reset();
  request.to_write.reset();
  return true;
}

}  // namespace foedus::device
