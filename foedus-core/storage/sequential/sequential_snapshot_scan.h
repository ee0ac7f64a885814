#pragma once
// SnapshotScan: reads the records of a sequential storage's snapshot in their order (S5), through
// the page cache. It keeps no cached page. It copies the current page, once for all its records,
// which costs less than a look into the cache for each. So a scan of any length needs one frame
// (O14).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::storage::sequential {

class SnapshotScan {
 public:
  SnapshotScan() = default;
  SnapshotScan(const SnapshotScan&) = delete;
  SnapshotScan& operator=(const SnapshotScan&) = delete;

  // Opens the scan before the first record of the snapshot; a null root has none. kIoError,
  // kCorruption: a page cannot be read, or is not what other pages say. kOutOfMemory: no room in
  // the cache.
  Status open(occ::TxnContext& ctx, occ::StorageControl* control, page::SnapshotPageId root);
  void close();

  // Returns the newest epoch of the snapshot's records; 0: there are none.
  Epoch last_epoch() const { return last_epoch_; }

  // Returns the next record, valid until the next call; null: there is none. Fails as open() does,
  // and may be called again then.
  Result<const SequentialSnapshotRecord*> next();

 private:
  Status next_page();
  Status load_runs();
  Status copy(page::SnapshotPageId id, page::PageHeader* to);
  void read_ahead(const SequentialRun& run);

  // Copies of the pages at hand; kept for the next scan.
  struct Pages {
    SequentialRunsPage runs;
    SequentialSnapshotPage records;
  };

  occ::TxnContext* ctx_ = nullptr;
  occ::StorageControl* control_ = nullptr;
  std::vector<page::SnapshotPageId> runs_pages_;  // the oldest first
  std::size_t runs_page_ = 0;                     // the next one to load
  std::unique_ptr<Pages> pages_;
  bool has_runs_ = false;        // pages_->runs is the one at hand
  std::uint32_t run_ = 0;        // the current one of pages_->runs
  std::uint32_t run_page_ = 0;   // of that run: the next page to load
  bool has_records_ = false;     // pages_->records is the one at hand
  std::uint32_t offset_ = 0;     // of the next record in pages_->records
  std::uint32_t asked_end_ = 0;  // pages of that run before it were asked for
  std::uint32_t ahead_ = 0;      // pages that are in flight at a time
  Epoch last_epoch_;
};

}  // namespace foedus::storage::sequential
