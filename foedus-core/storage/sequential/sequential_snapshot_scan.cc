#include "foedus-core/storage/sequential/sequential_snapshot_scan.h"

#include <utility>

#include "foedus-core/storage/sequential/sequential_snapshot_order.h"

namespace foedus::storage::sequential {

Status SnapshotScan::open(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root) {
  close();
  if (root.is_null()) return {};
  ctx_ = &ctx;
  control_ = control;
  const auto runs_page = [this](page::SnapshotPageId id) -> Result<const SequentialRunsPage*> {
    FOEDUS_TRY(const page::PageHeader* const page, read(id));
    return reinterpret_cast<const SequentialRunsPage*>(page);
  };
  FOEDUS_TRY(runs_pages_, runs_pages_of(root, control->id(), runs_page));
  FOEDUS_TRY(const SequentialRunsPage* const newest, runs_page(root));
  last_epoch_ = Epoch(newest->last_run().last_epoch);
  return {};
}

void SnapshotScan::close() {
  runs_pages_.clear();
  runs_page_ = 0;
  runs_ = nullptr;
  run_ = 0;
  run_page_ = 0;
  page_ = nullptr;
  offset_ = 0;
  last_epoch_ = Epoch();
  ctx_ = nullptr;
  control_ = nullptr;
}

Result<const SequentialSnapshotRecord*> SnapshotScan::next() {
  while (page_ == nullptr || offset_ == page_->data_end) {
    const bool at_end = runs_page_ == runs_pages_.size() &&
                        (runs_ == nullptr || run_ == runs_->run_count);
    if (at_end) return static_cast<const SequentialSnapshotRecord*>(nullptr);
    if (runs_ == nullptr || run_ == runs_->run_count) {
      FOEDUS_CHECK(load_runs());
    } else if (run_page_ == runs_->runs[run_].page_count) {
      ++run_;
      run_page_ = 0;
    } else {
      FOEDUS_CHECK(next_page());
    }
  }
  const SequentialSnapshotRecord* const record = page_->record_at(offset_);
  offset_ += SequentialSnapshotRecord::size_of(record->payload_bytes);
  return record;
}

Status SnapshotScan::load_runs() {
  FOEDUS_TRY(const page::PageHeader* const page, read(runs_pages_[runs_page_]));
  runs_ = reinterpret_cast<const SequentialRunsPage*>(page);
  ++runs_page_;
  run_ = 0;
  run_page_ = 0;
  return {};
}

// The next page of the run at hand.
Status SnapshotScan::next_page() {
  const page::SnapshotPageId id = runs_->runs[run_].first_page.plus(run_page_);
  FOEDUS_TRY(const page::PageHeader* const page, read(id));
  const auto* const records = reinterpret_cast<const SequentialSnapshotPage*>(page);
  if (!records->is_of(control_->id(), run_page_) || !has_whole_records(*records)) {
    return std::move(not_that_page(id).at_table(control_->meta.name));
  }
  page_ = records;
  offset_ = 0;
  ++run_page_;
  return {};
}

Result<const page::PageHeader*> SnapshotScan::read(page::SnapshotPageId id) {
  const page::PageHeader* const page = ctx_->cold_page(id);
  if (page == nullptr) return ctx_->no_page(control_);
  return page;
}

}  // namespace foedus::storage::sequential
