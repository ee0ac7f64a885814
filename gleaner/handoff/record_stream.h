#pragma once
// RecordStream: log records of one storage and one range of positions, in the order in which a
// composer wants them; what a reducer hands to a composer.
//
//   G1  A position is 64 bits by which a storage's records are partitioned and sorted first. In
//       arrays it is the index, in hash storages the hash of the key, in Master-Trees the first
//       slice of the key (big-endian, a shorter key filled up with zeroes), else 0.
//   G2  They are in the order of position, key bytes (as strings, unsigned, a prefix first), TID,
//       session, sequence. So all records of one key are together, the oldest first, and the order
//       is the same whatever mapper or run they came through.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "foedus-core/log/log_record.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/status.h"

namespace foedus::gleaner {

// Positions begin..last, both inclusive, so that the last one needs no rule of its own.
struct PositionRange {
  std::uint64_t begin = 0;
  std::uint64_t last = ~std::uint64_t{0};

  bool contains(std::uint64_t position) const { return begin <= position && position <= last; }
  bool operator==(const PositionRange&) const = default;
};

struct StreamRecord {
  std::uint64_t position;
  const log::LogRecord* log;
  std::uint32_t session;   // sequential storages: ties of one epoch and ordinal
  std::uint64_t sequence;  // of records of one session: the order in which it published them
};

// Whether a storage of that kind can have logged the record, as far as type and lengths say, and
// the limits of keys and payloads.
bool can_be_of(StorageKind kind, const log::LogRecord& record);

// G1. REQUIRES: can_be_of(). Of a key: of a storage that has keys, or of an array's index in the
// bytes of a log record's key.
std::uint64_t position_of(StorageKind kind, std::string_view key);
std::uint64_t position_of(StorageKind kind, const log::LogRecord& record);

// Word by word, as keys are mostly one or two and padding is zero (log L1); with anything else in
// there, by bytes.
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

// G2. REQUIRES: records of one storage.
bool is_before(const StreamRecord& a, const StreamRecord& b);

class RecordStream {
 public:
  virtual ~RecordStream() = default;

  // The next record, valid until the next call; null at the end, and on a failure, as status() then
  // says.
  virtual const StreamRecord* next() = 0;
  // True only if next() has returned the last record of its key. False: it may be, or may not.
  bool is_last_of_key() const { return is_last_of_key_; }
  // kCorruption, kIoError: of a sorted run.
  const Status& status() const { return status_; }

 protected:
  Status status_;
  bool is_last_of_key_ = false;
};

}  // namespace foedus::gleaner
