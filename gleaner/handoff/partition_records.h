#pragma once
// PartitionRecords: what a reducer hands to a composer, the sorted records of one partition,
// storage by storage.

#include <cstddef>
#include <optional>
#include <span>

#include "foedus-core/page/page_id.h"
#include "foedus/status.h"
#include "gleaner/handoff/block.h"
#include "gleaner/handoff/record_stream.h"

namespace foedus::gleaner {

// All records of one storage in a partition.
struct StorageStream {
  page::StorageId storage{};
  RecordStream* records = nullptr;
};

// Some or all records of one storage, sorted in memory.
struct SortedGroup {
  page::StorageId storage{};
  const char* memory = nullptr;  // where the entries are
  std::span<const SortItem> items;

  const RecordEntry& entry(std::size_t index) const { return *items[index].entry(memory); }
};

class PartitionRecords {
 public:
  virtual ~PartitionRecords() = default;

  // Returns the next storage that has records, in the order of ids; nothing after the last. The
  // stream is valid until the next call, which skips its unread records. REQUIRES: one thread.
  virtual Result<std::optional<StorageStream>> next_storage() = 0;
  // Returns the records in memory in the order of storages, which are all but those of spilled
  // runs. They do not change while the streams are read. Any thread.
  virtual std::span<const SortedGroup> in_memory() const = 0;
};

}  // namespace foedus::gleaner
