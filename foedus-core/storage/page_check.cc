#include "foedus-core/storage/page_check.h"

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/array/array_page_check.h"
#include "foedus-core/storage/hash/layout/page_check.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus-core/storage/sequential/sequential_page_check.h"
#include "foedus/options.h"

namespace foedus::storage {

namespace {

using page::OverflowPage;
using page::PageKind;

template <typename Page>
Page& as(const page::PageHeader& page) {
  return reinterpret_cast<Page&>(const_cast<page::PageHeader&>(page));
}

page::BrokenRule broken_overflow_rule(const OverflowPage& page) {
  if (page.header.level != 0) return "a payload above the lowest level";
  if (page.payload_bytes == 0 || page.payload_bytes > kMaxPayloadBytes) {
    return "a payload of an impossible size";
  }
  const bool is_last = page.next_page == 0;
  if (!page::may_go_on_at(page.header, page::SnapshotPageId(page.next_page))) {
    return "its payload goes on elsewhere";
  }
  const std::uint32_t bytes_of_last = (page.payload_bytes - 1) % OverflowPage::kDataBytes + 1;
  const bool has_part = page.bytes_here == (is_last ? bytes_of_last : OverflowPage::kDataBytes) &&
                        page.payload_bytes >= page.bytes_here;
  return has_part ? nullptr : "a part of a payload that is none";
}

}  // namespace

page::BrokenRule broken_rule(const page::PageHeader& page, Epoch newest) {
  if (const page::BrokenRule rule = page::broken_header_rule(page); rule != nullptr) return rule;
  switch (page.kind) {
    case PageKind::kArrayInterior: return array::broken_rule(as<array::ArrayInteriorPage>(page));
    case PageKind::kArrayBorder: return array::broken_rule(as<array::ArrayBorderPage>(page));
    case PageKind::kHashInterior: return hash::broken_rule(as<hash::HashInteriorPage>(page));
    case PageKind::kHashBin: return hash::broken_rule(as<hash::HashBinPage>(page), newest);
    case PageKind::kMasstreeInterior:
      return masstree::broken_rule(as<masstree::InteriorPage>(page));
    case PageKind::kMasstreeBorder:
      return masstree::broken_rule(as<masstree::BorderPage>(page), newest);
    case PageKind::kSequential:
      return sequential::broken_rule(as<sequential::SequentialSnapshotPage>(page), newest);
    case PageKind::kSequentialHeads:
      return sequential::broken_rule(as<sequential::SequentialRunsPage>(page), newest);
    case PageKind::kOverflow: return broken_overflow_rule(as<OverflowPage>(page));
    case PageKind::kNone: break;
  }
  return "it is of no kind";
}

}  // namespace foedus::storage
