#pragma once
// PageBlock: memory of one page, where readers and layouts want it: at a multiple of its size.

#include <cstring>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"

namespace foedus::gleaner {

struct alignas(page::kPageBytes) PageBlock {
  char bytes[page::kPageBytes];

  page::PageHeader* header() { return reinterpret_cast<page::PageHeader*>(bytes); }
  template <typename Page>
  Page* as() {
    static_assert(sizeof(Page) == page::kPageBytes);
    return reinterpret_cast<Page*>(bytes);
  }
  // All zero but the identity, its place in a file excepted: that is the writer's to give.
  void initialize(page::StorageId storage, page::PageKind kind, std::uint8_t level) {
    std::memset(bytes, 0, sizeof(bytes));
    header()->initialize(page::VolatilePageId(), storage, kind, level);
  }
};
static_assert(sizeof(PageBlock) == page::kPageBytes);

}  // namespace foedus::gleaner
