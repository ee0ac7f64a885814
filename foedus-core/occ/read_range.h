#pragma once
// Arguments and results of a read of a record's payload.

#include <cstdint>

namespace foedus::occ {

// The result of a look at a record. kMoved: the record is now in another page or in a next layer,
// so the caller has to search for its key again.
enum class ReadOutcome : std::uint8_t { kPresent, kAbsent, kMoved, kConflict };

// The part that a read wants of a payload, and the payload's size. A read that fails may leave any
// bytes at `out`.
struct ReadRange {
  char* out = nullptr;              // in: where the wanted bytes go
  std::uint32_t out_bytes = 0;      // in: room at `out`
  std::uint32_t offset = 0;         // in: first payload byte wanted
  std::uint32_t payload_bytes = 0;  // out: size of the whole payload

  // Returns how many bytes of a payload of `size` bytes go to `out`.
  std::uint32_t wanted_of(std::uint32_t size) const {
    if (offset >= size) return 0;
    return size - offset < out_bytes ? size - offset : out_bytes;
  }
};

}  // namespace foedus::occ
