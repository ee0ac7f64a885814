#pragma once
// SnapshotScan: the records of a sequential storage's snapshot in their order (S5), through the
// page cache.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "foedus-core/occ/storage_control.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::storage::sequential {

class SnapshotScan {
 public:
  SnapshotScan() = default;
  SnapshotScan(const SnapshotScan&) = delete;
  SnapshotScan& operator=(const SnapshotScan&) = delete;

  // Before the first record of the snapshot; a null root has none. kIoError, kCorruption: a page
  // cannot be read, or is not what others say. kOutOfMemory: no room in the cache.
  Status open(occ::TxnContext& ctx, occ::StorageControl* control, page::SnapshotPageId root);
  void close();

  // The newest epoch of the snapshot's records; 0: there are none.
  Epoch last_epoch() const { return last_epoch_; }

  // The next record, valid until the transaction ends; null: there is none. Fails as open() does,
  // and may be called again then.
  Result<const SequentialSnapshotRecord*> next();

 private:
  Status next_page();
  Status load_runs();
  Result<const page::PageHeader*> read(page::SnapshotPageId id);

  occ::TxnContext* ctx_ = nullptr;
  occ::StorageControl* control_ = nullptr;
  std::vector<page::SnapshotPageId> runs_pages_;   // the oldest first
  std::size_t runs_page_ = 0;                      // the next one to load
  const SequentialRunsPage* runs_ = nullptr;       // the one at hand
  std::uint32_t run_ = 0;                          // of runs_: the one at hand
  std::uint32_t run_page_ = 0;                     // of that run: the next one to load
  const SequentialSnapshotPage* page_ = nullptr;   // the one at hand
  std::uint32_t offset_ = 0;                       // of its next record
  Epoch last_epoch_;
};

}  // namespace foedus::storage::sequential
