#include "foedus-core/storage/sequential/sequential_page_check.h"

#include <utility>

#include "foedus-core/storage/sequential/sequential_snapshot_order.h"

namespace foedus::storage::sequential {

using page::BrokenRule;
using page::SnapshotPageId;

BrokenRule broken_rule(const SequentialSnapshotPage& page, Epoch newest) {
  const page::PageHeader& header = page.header;
  if (!page.is_of(header.storage_id, header.kind_word)) return "it is no page of records";
  if (header.kind_word > SnapshotPageId::kPageMax) return "it is behind the end of every run";
  if (page.record_count == 0 || !has_whole_records(page)) {
    return "its records do not end where it says";
  }
  std::pair<std::uint64_t, std::uint32_t> before;
  for (const SequentialSnapshotRecord& record : records_of(page)) {
    if (!page::is_quiet(record.header, 0, newest)) return "a record with an impossible lock or TID";
    const std::pair at(record.header.load_tid().word(), record.session);
    if (at < before) return "records that are not in order";
    before = at;
  }
  return nullptr;
}

BrokenRule broken_rule(const SequentialRunsPage& page, Epoch newest) {
  if (!page.is_of(page.header.storage_id)) return "it is no page of runs";
  const bool is_full_before =
      page.full_page.is_null() || page::may_lead_to(page.header, page.full_page);
  if (!is_full_before) return "a pointer that leads nowhere";
  std::uint64_t before = 0;
  for (std::uint32_t i = 0; i < page.run_count; ++i) {
    const SequentialRun& run = page.runs[i];
    const std::uint64_t last = std::uint64_t{run.first_page.page()} + run.page_count - 1;
    const bool is_run = run.page_count != 0 && last <= SnapshotPageId::kPageMax &&
                        page::may_lead_to(page.header, run.first_page) &&
                        page::may_lead_to(page.header, run.first_page.plus(run.page_count - 1));
    if (!is_run) return "a run that is nowhere";
    const bool ascends = before < run.first_epoch && run.first_epoch <= run.last_epoch;
    if (!ascends || run.last_epoch > newest.number()) return "a run of impossible epochs";
    before = run.last_epoch;
  }
  return nullptr;
}

}  // namespace foedus::storage::sequential
