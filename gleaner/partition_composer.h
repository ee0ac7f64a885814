#pragma once
// PartitionComposer: composes what one reducer offers, storage by storage, into one file. One task
// for each partition; they share nothing but the pages of the snapshot before.
//
//   G43 What a task writes depends on its reducer's stream alone: files do not tell how the tasks
//       took turns.

#include <cstdint>
#include <optional>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/task.h"
#include "foedus-core/snapshot/live_pages.h"
#include "foedus-core/snapshot/page_run_reader.h"
#include "foedus-core/snapshot/snapshot_writer.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/status.h"
#include "gleaner/compose/composition.h"
#include "gleaner/handoff/partition_table.h"
#include "gleaner/reduce/reducer.h"

namespace foedus::gleaner {

// By the storage's kind.
Result<std::vector<Subtree>> compose(const Composition& composition, const PositionRange& range,
                                     RecordStream* records);
Result<page::SnapshotPageId> join(const Composition& composition,
                                  const std::vector<Subtree>& subtrees);

class PartitionComposer final : public base::Task {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    base::WaitPoint* finished = nullptr;
    const PartitionTable* table = nullptr;
    const std::vector<storage_meta::StorageMeta>* storages = nullptr;  // those of the table
    const std::vector<page::SnapshotPageId>* roots = nullptr;          // before, same places
    snapshot::SnapshotFiles* previous = nullptr;
    Reducer* reducer = nullptr;
    snapshot::SnapshotWriter* writer = nullptr;
    std::uint32_t partition = 0;
  };
  explicit PartitionComposer(const Parts& parts)
      : parts_(parts),
        old_pages_(parts.previous),
        subtrees_(parts.storages->size()),
        ledgers_(parts.storages->size()) {}

  const char* name() const override { return "foedus-composer"; }
  bool is_background() const override { return true; }
  // A storage; the last one wakes who waits.
  std::uint64_t step() override;
  std::uint64_t step_failed(const std::bad_alloc& thrown) noexcept override;
  // order: acquire, pairs with the release in step(): what it made is seen.
  bool is_done() const { return done_.load_acquire() != 0; }

  // ---- once it is done -----------------------------------------------------------------------

  const Status& status() const { return status_; }
  std::uint64_t cpu_us() const { return cpu_us_; }  // processor time of all steps
  // Of the storage in that place; nothing if the partition has no record of it.
  const std::optional<std::vector<Subtree>>& subtrees(std::size_t index) const {
    return subtrees_[index];
  }
  // Those of a storage of which the partition has no record, but others have.
  Result<std::vector<Subtree>> compose_nothing(std::size_t index);
  Composition composition(std::size_t index);
  // For any thread that writes nothing with it.
  Composition composition_of(page::StorageId storage) const;
  // Pages that the partition made and superseded of that storage.
  const snapshot::PageLedger& ledger(std::size_t index) const { return ledgers_[index]; }

 private:
  std::uint64_t end();
  Status compose_next(bool* has_more);

  const Parts parts_;

  // Used by step(), then by who waits.
  snapshot::PageRunReader old_pages_;
  Status status_;
  std::uint64_t cpu_us_ = 0;
  std::vector<std::optional<std::vector<Subtree>>> subtrees_;
  std::vector<snapshot::PageLedger> ledgers_;

  base::AtomicWord<std::uint32_t> done_;
};

}  // namespace foedus::gleaner
