#pragma once
// The logical log record (paper appendix D.2): what a committed write did to one record of one
// storage, in terms of key and payload only. Byte-exact description: FORMAT.md.
//
//   L1  A record begins at a multiple of 8 and is a multiple of 8 bytes long; padding is zero.
//   L2  All records of one transaction carry the same TID; their order in the ring is their order.
//   L3  A record of storage 0 is filler. Only its first 8 bytes (length and storage) are certain to
//       exist. It means nothing and may stand anywhere.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"

namespace foedus::log {

// Stable numbers: they are written to log files.
enum class LogRecordType : std::uint8_t {
  kPut = 1,            // the whole payload; the record is there afterwards, new or not
  kErase = 2,          // the record is not there afterwards
  kWriteAt = 3,        // payload bytes [payload_offset, payload_offset + payload)
  kIncrement = 4,      // payload is a 64-bit number, added to the one at payload_offset
  kAppend = 5,         // sequential storage: a new record
  kCreateStorage = 6,  // engine/catalog: key is the name, payload its parameters
  kDropStorage = 7,    // engine/catalog: the storage named by storage_id
};

struct LogRecord {
  std::uint32_t record_bytes;    // +4 -> 4   whole record, padding included
  page::StorageId storage_id;    // +4 -> 8
  std::uint64_t tid;             // +8 -> 16  page::Tid::word() without flags; set at commit
  LogRecordType type;            // +1 -> 17
  std::uint8_t padding_bytes;    // +1 -> 18  zero bytes at the end, 0..7
  std::uint16_t key_bytes;       // +2 -> 20
  std::uint32_t payload_offset;  // +4 -> 24
  // then key_bytes of key, zeroes up to a multiple of 8, the payload, padding_bytes zeroes

  bool is_filler() const { return storage_id == page::StorageId{0}; }

  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }
  static constexpr std::size_t size_of(std::size_t key_bytes, std::size_t payload_bytes) {
    return 24 + aligned(key_bytes) + aligned(payload_bytes);
  }

  const char* key_data() const { return reinterpret_cast<const char*>(this) + sizeof(LogRecord); }
  char* key_data() { return reinterpret_cast<char*>(this) + sizeof(LogRecord); }
  const char* payload_data() const { return key_data() + aligned(key_bytes); }
  char* payload_data() { return key_data() + aligned(key_bytes); }
  std::uint32_t payload_bytes() const {
    return static_cast<std::uint32_t>(record_bytes - sizeof(LogRecord) - aligned(key_bytes) -
                                      padding_bytes);
  }
  std::string_view key() const { return {key_data(), key_bytes}; }
  std::string_view payload() const { return {payload_data(), payload_bytes()}; }
  // Returns the key of a record of an array, which is the index.
  std::uint64_t index() const;

  // Makes the `bytes` bytes at `at` a filler. REQUIRES: bytes is a positive multiple of 8.
  static void fill(char* at, std::size_t bytes);

  // Writes the header and all padding of a record of this shape at `this`; key and payload bytes
  // are the caller's to fill in.
  void prepare(LogRecordType record_type, page::StorageId storage, std::size_t key_size,
               std::size_t payload_size, std::uint32_t offset) {
    constexpr std::uint64_t kZero = 0;
    record_bytes = static_cast<std::uint32_t>(size_of(key_size, payload_size));
    storage_id = storage;
    tid = 0;
    type = record_type;
    padding_bytes = static_cast<std::uint8_t>(aligned(payload_size) - payload_size);
    key_bytes = static_cast<std::uint16_t>(key_size);
    payload_offset = offset;
    // Zeroes the last word of key and of payload, so that padding is zero. The caller writes over
    // the rest.
    if (key_size % 8 != 0) std::memcpy(payload_data() - 8, &kZero, 8);
    if (padding_bytes != 0) {
      std::memcpy(reinterpret_cast<char*>(this) + record_bytes - 8, &kZero, 8);
    }
  }
};
static_assert(sizeof(LogRecord) == 24);

}  // namespace foedus::log
