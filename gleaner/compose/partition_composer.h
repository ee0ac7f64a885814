#pragma once
// PartitionComposer composes the records of one partition, storage by storage, into one file. Each
// partition has one such task; the tasks share only the pages of the previous snapshot.
//
//   G43 A task writes what its partition's records say and nothing else, so that the files do not
//       depend on how the tasks take turns.

#include <cstdint>
#include <optional>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/snapshot/files/live_pages.h"
#include "foedus-core/snapshot/page_run_reader.h"
#include "foedus-core/snapshot/snapshot_writer.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"
#include "gleaner/handoff/partition_records.h"
#include "gleaner/handoff/partition_table.h"

namespace foedus::gleaner {

class PartitionComposer final : public base::Task {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    base::WaitPoint* finished = nullptr;
    const PartitionTable* table = nullptr;
    const std::vector<storage_meta::StorageMeta>* storages = nullptr;  // those of the table
    const std::vector<page::SnapshotPageId>* roots = nullptr;  // the old ones, in the same order
    snapshot::SnapshotFiles* previous = nullptr;
    PartitionRecords* records = nullptr;
    snapshot::SnapshotWriter* writer = nullptr;
    std::uint32_t partition = 0;
  };
  explicit PartitionComposer(const Parts& parts)
      : parts_(parts),
        old_pages_(parts.previous),
        subtrees_(parts.storages->size()),
        accountings_(parts.storages->size()) {}

  const char* name() const override { return "foedus-composer"; }
  bool is_background() const override { return true; }
  // Composes one storage. The step that finds no more storage wakes the threads that wait at
  // `finished`.
  std::uint64_t step() override;
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override;
  // order: acquire, pairs with the release in end(): the subtrees and the status are complete.
  bool is_done() const { return done_.load_acquire() != 0; }

  // ---- once is_done() ------------------------------------------------------------------------

  const Status& status() const { return status_; }
  std::uint64_t cpu_us() const { return cpu_us_; }  // processor time of all steps
  // Returns the subtrees of the storage with this index; nothing if the partition has no record of
  // it.
  const std::optional<std::vector<Subtree>>& subtrees(std::size_t index) const {
    return subtrees_[index];
  }
  // Composes the range of a storage of which this partition has no record but others have some.
  Result<std::vector<Subtree>> compose_nothing(std::size_t index);
  Composition composition(std::size_t index);
  // Returns a composition that only reads. Any thread.
  Composition composition_of(page::StorageId storage) const;
  // Returns the counts of pages of that storage that the partition appended and superseded.
  const snapshot::PageAccounting& accounting(std::size_t index) const {
    return accountings_[index];
  }

 private:
  std::uint64_t end();
  Status compose_next(bool* has_more);

  const Parts parts_;

  // Used by step(); once is_done(), by the thread that gleans.
  snapshot::PageRunReader old_pages_;
  Status status_;
  std::uint64_t cpu_us_ = 0;
  std::vector<std::optional<std::vector<Subtree>>> subtrees_;
  std::vector<snapshot::PageAccounting> accountings_;

  base::AtomicWord<std::uint32_t> done_;
};

}  // namespace foedus::gleaner
