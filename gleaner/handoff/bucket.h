#pragma once
// Blocks: what mappers ship to reducers. A block holds records of one storage and one partition in
// the order G2, each as an entry: where it came from, then the log record as it was logged.
//
//   G9   Entries begin at multiples of 8 and blocks at multiples of 64, so that a record is read
//        where it lies. The same entries, without headers, fill the chunks of sorted runs
//        (reduce/FORMAT.md); a log record names its storage itself.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "foedus-core/log/log_record.h"
#include "foedus-core/page/page_id.h"
#include "gleaner/handoff/record_stream.h"

namespace foedus::gleaner {

struct RecordEntry {
  std::uint64_t position;  // +8 -> 8
  std::uint64_t sequence;  // +8 -> 16
  std::uint32_t session;   // +4 -> 20
  std::uint32_t zero;      // +4 -> 24
  // then the log record

  const log::LogRecord* log() const { return reinterpret_cast<const log::LogRecord*>(this + 1); }
  std::uint64_t bytes() const { return sizeof(RecordEntry) + log()->record_bytes; }
  StreamRecord record() const { return {position, log(), session, sequence}; }
  static const RecordEntry* at(const char* bytes) {
    return reinterpret_cast<const RecordEntry*>(bytes);
  }
};
static_assert(sizeof(RecordEntry) == 24);
static_assert(std::has_unique_object_representations_v<RecordEntry>);
static_assert(sizeof(RecordEntry) % alignof(log::LogRecord) == 0);

struct BlockHeader {
  static constexpr std::size_t kAlignment = 64;

  std::uint64_t block_bytes;    // +8 -> 8   a multiple of 64: header, entries, unused bytes
  std::uint64_t entry_bytes;    // +8 -> 16  of all entries, which follow the header
  std::uint64_t record_count;   // +8 -> 24
  page::StorageId storage_id;   // +4 -> 28
  std::uint32_t partition;      // +4 -> 32

  const char* entries_begin() const { return reinterpret_cast<const char*>(this + 1); }
  const char* entries_end() const { return entries_begin() + entry_bytes; }
  char* entries_begin() { return reinterpret_cast<char*>(this + 1); }

  static constexpr std::uint64_t bytes_for(std::uint64_t entry_bytes) {
    return (sizeof(BlockHeader) + entry_bytes + kAlignment - 1) & ~std::uint64_t{kAlignment - 1};
  }
};
static_assert(sizeof(BlockHeader) == 32);
static_assert(std::has_unique_object_representations_v<BlockHeader>);

}  // namespace foedus::gleaner
