// Pages of sequential storages, and parts of large payloads.
#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/sequential/sequential_snapshot_order.h"
#include "tests/fuzz/page_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  using page::PageKind;
  using namespace storage::sequential;
  const fuzz::Input input(data, size);
  const auto page = std::make_unique<fuzz::PageBytes>();
  if (!fuzz::take_page(input, PageKind::kSequential, PageKind::kOverflow, page.get())) return 0;
  if (page->header()->kind == PageKind::kOverflow) {
    const auto& part = *page->as<page::OverflowPage>();
    fuzz::look_at(part.data, part.bytes_here);
  } else if (page->header()->kind == PageKind::kSequentialHeads) {
    const auto& runs = *page->as<SequentialRunsPage>();
    for (std::uint32_t i = 0; i < runs.run_count; ++i) {
      const auto last = runs.runs[i].first_page.plus(runs.runs[i].page_count - 1);
      if (last.snapshot() != runs.runs[i].first_page.snapshot()) __builtin_trap();
    }
  } else {
    const auto& records = *page->as<SequentialSnapshotPage>();
    std::uint32_t count = 0;
    for (const SequentialSnapshotRecord& record : records_of(records)) {
      fuzz::look_at(record.payload(), record.payload_bytes);
      ++count;
    }
    if (count != records.record_count) __builtin_trap();
  }
  return 0;
}
