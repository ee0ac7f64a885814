#pragma once
// StagingArea: a file "staging-<n>" on non-volatile memory that holds the buckets of one partition
// of a staging buffer (buffer.h). A bucket has a word with its state, the keys of its slots, and
// the slots, of one page each. FORMAT.md has the bytes.
//
//   never used, empty --mark(kInUse)--> in use --write() of slot after slot--> in use
//   in use --mark(kEmpty)--> empty
//
//   V27 A page is durable when write() returns, and so is the key of its slot. The key's checksum
//       covers the page, its target and number, the bucket, the slot, and the sequence number of
//       this use of the bucket. So recovery sees that a slot does not count if it was torn, or if
//       an earlier use has left it. The page of a torn slot was not acknowledged.
//   V28 A use of a bucket has a sequence number of its own, durable before the first slot is
//       written. Of two versions of a page, the newer one is that with the higher sequence number,
//       and within one use that in the higher slot.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/device/counted_syncs.h"
#include "foedus-core/device/device.h"
#include "foedus/status.h"

namespace foedus::device {

// Names a page by the number of its file and its place there.
struct StagedKey {
  std::uint64_t target = 0;
  std::uint64_t page = 0;  // it begins at this multiple of kBlockBytes
};
struct StagedPage {
  StagedKey key;
  const void* bytes = nullptr;  // kBlockBytes of them
};

class StagingArea {
 public:
  struct Shape {
    std::uint32_t buckets;
    std::uint32_t slots;  // of a bucket
    bool operator==(const Shape&) const = default;
  };
  enum class Mark : std::uint8_t { kEmpty, kInUse };
  struct State {
    std::uint64_t sequence = 0;  // 0: the bucket was never used
    Mark mark = Mark::kEmpty;
  };

  // Opens an area; `access`: kReadWrite, or kRead to look at it only. Null: there is none, or a
  // crash came before it was finished, so that it holds nothing. kCorruption, kWrongVersion,
  // kIoError.
  static Result<std::unique_ptr<StagingArea>> find(Device* device, std::string_view name,
                                                   Access access = Access::kReadWrite);
  // Makes an area of empty buckets, in place of a file of that name. kOutOfSpace, kIoError.
  static Result<std::unique_ptr<StagingArea>> make(Device* device, std::string_view name,
                                                   const Shape& shape);
  StagingArea(const StagingArea&) = delete;
  StagingArea& operator=(const StagingArea&) = delete;

  // Returns how many bytes an area takes.
  static std::uint64_t bytes_of(const Shape& shape) {
    return StagingArea(shape).bucket_offset(shape.buckets);
  }

  const Shape& shape() const { return shape_; }
  const std::string& path() const { return to_write_->path(); }

  // Returns the state of each bucket. kCorruption: the word of one is damaged.
  Result<std::vector<State>> states() const;
  // Changes the mark of a bucket, durably. The mark is one aligned word, which is old or new after
  // a crash. Any thread may call this or write(), but only one at a time for each bucket.
  Status mark(std::uint32_t bucket, std::uint64_t sequence, Mark mark);
  // Writes pages to slots one after the other (V27). On failure nothing is known of these slots.
  Status write(std::uint32_t bucket, std::uint64_t sequence, std::uint32_t first_slot,
               const StagedPage* pages, std::size_t count);
  // Reads the page of a slot. Any thread. If the slot is written meanwhile, the bytes mean nothing.
  Status read(std::uint32_t bucket, std::uint32_t slot, void* to) const;
  // Returns the key of each slot of a bucket in use; none where the slot does not count (V27).
  Result<std::vector<std::optional<StagedKey>>> keys(std::uint32_t bucket,
                                                     std::uint64_t sequence) const;

 private:
  struct Key;

  explicit StagingArea(const Shape& shape) : shape_(shape) {}
  Status open_to_read(Device* device, std::string_view name);
  Status check_size() const;
  std::uint64_t head_bytes() const;
  std::uint64_t bucket_bytes() const;
  std::uint64_t bucket_offset(std::uint32_t bucket) const;
  std::uint64_t key_offset(std::uint32_t bucket, std::uint32_t slot) const;
  std::uint64_t slot_offset(std::uint32_t bucket, std::uint32_t slot) const;
  Key key_of(std::uint32_t bucket, std::uint64_t sequence, std::uint32_t slot,
             const StagedPage& page) const;

  const Shape shape_;
  std::unique_ptr<File> to_write_;
  std::unique_ptr<File> to_read_;
  CountedSyncs syncs_;
};

}  // namespace foedus::device
