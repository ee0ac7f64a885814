#pragma once
// SnapshotCaches: the caches through which sessions read snapshot pages: the page cache, caches of
// single cache lines of pages on NVM, and the cache of SSD pages on NVM; and the files below them.
//
//   session ──► LineCache (by SOC) ──► PageCache ──► SnapshotFiles ──► NvmPages ──► device
//
// All parts are made once, before the first session. Each has its own synchronization.

#include <memory>
#include <vector>

#include "foedus-core/base/memory_budget.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/device.h"
#include "foedus-core/engine/setup/operator_log.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/numa/topology.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/snapshot/cache/line_cache.h"
#include "foedus-core/snapshot/cache/page_cache.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/snapshot/nvm_pages.h"
#include "foedus-core/snapshot/snapshot_reader.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::engine {

// The parts by which a session reads snapshot pages. They outlive the session.
struct PageReads {
  snapshot::PageCache* cache = nullptr;         // null: there are no snapshots
  snapshot::PageReader* page_reader = nullptr;  // null: pages are read through `cache`
  snapshot::LineCache* lines = nullptr;         // null: no single lines are cached
  occ::LineReads line_reads = occ::LineReads::kCached;
};

class SnapshotCaches {
 public:
  struct Parts {
    const Options* options = nullptr;
    base::Runtime* runtime = nullptr;
    device::Device* device = nullptr;
    const numa::Topology* topology = nullptr;
    base::MemoryBudget* budget = nullptr;
    epoch::EpochClock* clock = nullptr;
    page::PagePool* lender = nullptr;  // null: the page cache borrows no volatile pages
    const OperatorLog* operator_log = nullptr;
  };
  static Result<std::unique_ptr<SnapshotCaches>> make(const Parts& parts);
  SnapshotCaches(const SnapshotCaches&) = delete;
  SnapshotCaches& operator=(const SnapshotCaches&) = delete;

  snapshot::PageCache* pages() { return cache_.get(); }
  snapshot::SnapshotFiles* files() { return files_.get(); }
  // Returns the parts by which a session of SOC `soc` reads snapshot pages.
  PageReads reads_of(std::uint32_t soc) const;
  // Adopts for `manifest`, the newest one, the copies of SSD pages on NVM that an earlier run or
  // the previous snapshot left (K27). After a failure, which is logged, pages are read from the
  // SSD. Called by the gleaner's task, or before that runs.
  void adopt_nvm_pages(const snapshot::Manifest& manifest);
  void add_stats(Stats* stats) const;

 private:
  explicit SnapshotCaches(const Parts& parts) : parts_(parts) {}
  Status make_all();
  Status make_io_pool();
  Status make_nvm_pages();
  void make_line_caches();

  const Parts parts_;
  // Constant after make(). Later members use earlier ones.
  std::unique_ptr<device::IoPool> io_pool_;        // null: the device has I/O queues of its own
  std::unique_ptr<snapshot::NvmPages> nvm_pages_;  // null: no SSD tier, or no memory for it
  std::unique_ptr<snapshot::SnapshotFiles> files_;
  std::unique_ptr<snapshot::PageCache> cache_;
  std::vector<std::unique_ptr<snapshot::LineCache>> lines_;  // by SOC; empty: lines are not cached
};

}  // namespace foedus::engine
