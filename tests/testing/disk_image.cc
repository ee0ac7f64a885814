#include "tests/testing/disk_image.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/invariant.h"

namespace foedus::testing {

void DiskImage::resize(std::uint64_t bytes) {
  const std::size_t count = (bytes + kChunkBytes - 1) / kChunkBytes;
  const bool cuts_chunk = bytes < size_ && bytes % kChunkBytes != 0;
  chunks_.resize(count);
  if (cuts_chunk && chunks_[count - 1] != nullptr) {
    Chunk& last = own(count - 1);
    std::fill(last.begin() + static_cast<std::ptrdiff_t>(bytes % kChunkBytes), last.end(), '\0');
  }
  size_ = bytes;
}

DiskImage::Chunk& DiskImage::own(std::size_t index) {
  std::shared_ptr<Chunk>& chunk = chunks_[index];
  if (chunk == nullptr) {
    chunk = std::make_shared<Chunk>();  // zeroes
  } else if (chunk.use_count() != 1) {
    chunk = std::make_shared<Chunk>(*chunk);
  }
  return *chunk;
}

void DiskImage::write(std::uint64_t offset, const char* from, std::size_t bytes) {
  if (size_ < offset + bytes) resize(offset + bytes);
  while (bytes != 0) {
    const std::size_t inside = offset % kChunkBytes;
    const std::size_t count = std::min(bytes, kChunkBytes - inside);
    std::memcpy(own(offset / kChunkBytes).data() + inside, from, count);
    offset += count;
    from += count;
    bytes -= count;
  }
}

void DiskImage::read(std::uint64_t offset, char* to, std::size_t bytes) const {
  FOEDUS_INVARIANT(offset + bytes <= size_, offset, bytes, size_);
  while (bytes != 0) {
    const std::size_t inside = offset % kChunkBytes;
    const std::size_t count = std::min(bytes, kChunkBytes - inside);
    const std::shared_ptr<Chunk>& chunk = chunks_[offset / kChunkBytes];
    if (chunk == nullptr) {
      std::memset(to, 0, count);
    } else {
      std::memcpy(to, chunk->data() + inside, count);
    }
    offset += count;
    to += count;
    bytes -= count;
  }
}

std::vector<char> DiskImage::bytes() const {
  std::vector<char> all(size_);
  read(0, all.data(), all.size());
  return all;
}

std::uint64_t DiskImage::digest() const {
  static const Chunk zeroes = {};
  std::uint64_t sum = size_;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i] == nullptr || *chunks_[i] == zeroes) continue;
    const std::uint64_t crc = base::crc32c(chunks_[i]->data(), kChunkBytes);
    sum += (crc + 1) * 0x9e3779b97f4a7c15u * (2 * i + 1);
  }
  return sum;
}

}  // namespace foedus::testing
