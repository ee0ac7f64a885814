#pragma once
// RecordStream: what a reducer hands to a composer, the log records of one storage and one range of
// positions in the composer's order.
//
//   G1  A position is 64 bits by which a storage's records are partitioned and sorted first. An
//       array's position is the index, a hash storage's the hash of the key. A Master-Tree's is the
//       first slice of the key (big-endian, a shorter key filled up with zeroes). A sequential
//       storage's is 0.
//   G2  Records are in the order of position, key bytes (as strings, unsigned, a prefix first),
//       TID, session, sequence. So all records of one key are together, the oldest first. The order
//       is the same whichever mappers and runs they came through.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/status.h"

namespace foedus::gleaner {

// Positions begin..last, both inclusive, so that the largest position needs no special case.
struct PositionRange {
  std::uint64_t begin = 0;
  std::uint64_t last = ~std::uint64_t{0};

  bool contains(std::uint64_t position) const { return begin <= position && position <= last; }
  bool operator==(const PositionRange&) const = default;
};

struct StreamRecord {
  std::uint64_t position;
  const log::LogRecord* log;
  std::uint32_t session;   // breaks ties of epoch and ordinal (sequential storages)
  std::uint64_t sequence;  // the order in which the session published its records
};

// Returns true if a storage of that kind can have logged the record. Checks the type, the lengths,
// and the limits of keys and payloads.
bool can_be_of(StorageKind kind, const log::LogRecord& record);

// Return the position of a key or of a record's key (G1). An array's key is the bytes of the index.
// REQUIRES: can_be_of(); the storage has keys.
std::uint64_t position_of(StorageKind kind, std::string_view key);
std::uint64_t position_of(StorageKind kind, const log::LogRecord& record);

// Compares word by word, because most keys have one or two words and padding is zero (log L1). If a
// padding is not zero, compares bytes.
inline bool have_equal_keys(const log::LogRecord& a, const log::LogRecord& b) {
  if (a.key_bytes != b.key_bytes) return false;
  const std::size_t bytes = log::LogRecord::aligned(a.key_bytes);
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t words[2];
    std::memcpy(&words[0], a.key_data() + at, 8);
    std::memcpy(&words[1], b.key_data() + at, 8);
    if (words[0] != words[1]) return a.key() == b.key();
  }
  return true;
}

// Returns true if `a` comes before `b` in the order of G2. REQUIRES: records of one storage.
bool is_before(const StreamRecord& a, const StreamRecord& b);

class RecordStream {
 public:
  virtual ~RecordStream() = default;

  // Returns the next record, valid until the next call. Null at the end and after a failure;
  // status() says which.
  virtual const StreamRecord* next() = 0;
  // Returns true only if next() has returned the last record of its key. False: there may be more.
  bool is_last_of_key() const { return is_last_of_key_; }
  // Returns why the stream ended: success, or kCorruption or kIoError of a sorted run.
  const Status& status() const { return status_; }

 protected:
  Status status_;
  bool is_last_of_key_ = false;
};

}  // namespace foedus::gleaner
