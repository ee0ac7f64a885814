#pragma once
// ReadRange: which part of a record's payload a read wants, and where it goes.

#include <cstdint>

namespace foedus::occ {

// The part that a read wants of a payload, and the payload's size.
struct ReadRange {
  char* out = nullptr;              // in
  std::uint32_t out_bytes = 0;      // in: room at `out`
  std::uint32_t offset = 0;         // in: first payload byte wanted
  std::uint32_t payload_bytes = 0;  // out: size of the whole payload

  // Bytes that go to `out` from a payload of `size` bytes.
  std::uint32_t wanted_of(std::uint32_t size) const {
    if (offset >= size) return 0;
    return size - offset < out_bytes ? size - offset : out_bytes;
  }
};

}  // namespace foedus::occ
