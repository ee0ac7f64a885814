#pragma once
// Blocks are what mappers ship to reducers. A block holds records of one partition, of any
// storages, in the order in which they came. Each record is an entry: its origin, then the log
// record as it was logged. For each entry an item, by which it is sorted, is stored from the
// block's end downwards.
//
//   header | entry | entry | entry ──►   unused   ◄── item | item | item |
//
//   G9   Entries begin at multiples of 8 and blocks at multiples of 64, so that a record is read in
//        place. The chunks of sorted runs are filled with the same entries, without headers and
//        items (reduce/FORMAT.md). A log record names its storage itself.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "foedus-core/log/ring/record.h"
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

// Sorting moves these 16 bytes, never the record.
struct SortItem {
  static constexpr std::uint64_t kUnitBytes = 8;
  // The most that a unit number can address.
  static constexpr std::uint64_t kMemoryBytesMax = kUnitBytes << 32;

  std::uint64_t position;
  std::uint32_t unit;     // offset of the entry in the reducer's memory, in units
  std::uint32_t storage;  // index in the PartitionTable

  const RecordEntry* entry(const char* memory) const {
    return RecordEntry::at(memory + unit * kUnitBytes);
  }
};
static_assert(sizeof(SortItem) == 16);

struct BlockHeader {
  static constexpr std::size_t kAlignment = 64;

  std::uint64_t block_bytes;   // a multiple of 64: header, entries, unused bytes, items
  std::uint64_t record_count;

  const SortItem* items_end() const {
    return reinterpret_cast<const SortItem*>(reinterpret_cast<const char*>(this) + block_bytes);
  }
  const SortItem* items_begin() const { return items_end() - record_count; }

  // Returns the length of a block that holds one entry of that length.
  static constexpr std::uint64_t bytes_for(std::uint64_t entry_bytes) {
    return (sizeof(BlockHeader) + entry_bytes + sizeof(SortItem) + kAlignment - 1) &
           ~std::uint64_t{kAlignment - 1};
  }
};
static_assert(sizeof(BlockHeader) == 16);
static_assert(BlockHeader::kAlignment % sizeof(SortItem) == 0);

}  // namespace foedus::gleaner
