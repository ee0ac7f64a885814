#include "foedus-core/storage/sequential/sequential_snapshot_scan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foedus-core/storage/sequential/sequential_snapshot_order.h"

namespace foedus::storage::sequential {

namespace {

// Pages that are read ahead at once; fewer at first, so that a look at some records costs little.
constexpr std::uint32_t kAheadFirst = 2;
constexpr std::uint32_t kAheadMax = 32;

}  // namespace

Status SnapshotScan::open(occ::TxnContext& ctx, occ::StorageControl* control,
                          page::SnapshotPageId root) {
  close();
  if (root.is_null()) return {};
  if (pages_ == nullptr) pages_ = std::make_unique<Pages>();
  ctx_ = &ctx;
  control_ = control;
  const auto runs_page = [this](page::SnapshotPageId id) -> Result<const SequentialRunsPage*> {
    FOEDUS_CHECK(copy(id, &pages_->runs.header));
    return &pages_->runs;
  };
  FOEDUS_TRY(runs_pages_, runs_pages_of(root, control->id(), runs_page));
  FOEDUS_TRY(const SequentialRunsPage* const newest, runs_page(root));
  last_epoch_ = Epoch(newest->last_run().last_epoch);
  return {};
}

void SnapshotScan::close() {
  runs_pages_.clear();
  runs_page_ = 0;
  has_runs_ = false;
  run_ = 0;
  run_page_ = 0;
  has_records_ = false;
  offset_ = 0;
  asked_end_ = 0;
  ahead_ = kAheadFirst;
  last_epoch_ = Epoch();
  ctx_ = nullptr;
  control_ = nullptr;
}

Result<const SequentialSnapshotRecord*> SnapshotScan::next() {
  while (!has_records_ || offset_ == pages_->records.data_end) {
    const bool has_run = has_runs_ && run_ != pages_->runs.run_count;
    if (!has_run && runs_page_ == runs_pages_.size()) {
      return static_cast<const SequentialSnapshotRecord*>(nullptr);
    }
    if (!has_run) {
      FOEDUS_CHECK(load_runs());
    } else if (run_page_ == pages_->runs.runs[run_].page_count) {
      ++run_;
      run_page_ = 0;
      asked_end_ = 0;
    } else {
      FOEDUS_CHECK(next_page());
    }
  }
  const SequentialSnapshotRecord* const record = pages_->records.record_at(offset_);
  offset_ += SequentialSnapshotRecord::size_of(record->payload_bytes);
  return record;
}

Status SnapshotScan::load_runs() {
  has_runs_ = false;
  FOEDUS_CHECK(copy(runs_pages_[runs_page_], &pages_->runs.header));
  has_runs_ = true;
  ++runs_page_;
  run_ = 0;
  run_page_ = 0;
  asked_end_ = 0;
  return {};
}

// Loads the next page of the run at hand.
Status SnapshotScan::next_page() {
  const SequentialRun& run = pages_->runs.runs[run_];
  const page::SnapshotPageId id = run.first_page.plus(run_page_);
  if (asked_end_ <= run_page_ + ahead_ / 2) read_ahead(run);
  has_records_ = false;
  FOEDUS_CHECK(copy(id, &pages_->records.header));
  const SequentialSnapshotPage& records = pages_->records;
  if (!records.is_of(control_->id(), run_page_) || !has_whole_records(records)) {
    return std::move(not_that_page(id).at_storage(control_->meta.name));
  }
  has_records_ = true;
  offset_ = 0;
  ++run_page_;
  return {};
}

// Starts the reads of pages ahead. If one is refused, next_page() reads that page when it comes to
// it.
void SnapshotScan::read_ahead(const SequentialRun& run) {
  occ::ColdPages& pages = ctx_->cold_pages();
  const std::uint32_t end = run_page_ + std::min(ahead_, run.page_count - run_page_);
  asked_end_ = std::max(asked_end_, run_page_);
  while (asked_end_ < end) {
    const page::SnapshotPageId id = run.first_page.plus(asked_end_);
    if (pages.will_read(id) == snapshot::Begun::kRefused) break;
    ++asked_end_;
  }
  pages.send();
  ahead_ = std::min(ahead_ * 2, kAheadMax);
}

Status SnapshotScan::copy(page::SnapshotPageId id, page::PageHeader* to) {
  const occ::ColdReads reads(&ctx_->cold_pages());
  const page::PageHeader* const page = ctx_->cold_pages().page(id);
  if (page == nullptr) return ctx_->no_page(control_);
  std::memcpy(static_cast<void*>(to), static_cast<const void*>(page), page::kPageBytes);
  return {};
}

}  // namespace foedus::storage::sequential
