#pragma once
// DiskImage: the bytes of a simulated file, in chunks that copies of it share until one of them
// writes. A copy costs a pointer for each chunk; a chunk that was never written is zero and takes
// no memory.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace foedus::testing {

class DiskImage {
 public:
  std::uint64_t size() const { return size_; }
  // New bytes are zero, also where the image was longer before.
  void resize(std::uint64_t bytes);
  // Grows the image if it ends before that.
  void write(std::uint64_t offset, const char* from, std::size_t bytes);
  // REQUIRES: offset + bytes <= size().
  void read(std::uint64_t offset, char* to, std::size_t bytes) const;
  std::vector<char> bytes() const;
  // Returns a hash of the bytes and the size.
  std::uint64_t digest() const;

 private:
  static constexpr std::size_t kChunkBytes = 4096;
  using Chunk = std::array<char, kChunkBytes>;

  // Returns a chunk of this image alone, to write to.
  Chunk& own(std::size_t index);

  std::vector<std::shared_ptr<Chunk>> chunks_;  // null: zeroes; bytes after size_ are zero
  std::uint64_t size_ = 0;
};

}  // namespace foedus::testing
