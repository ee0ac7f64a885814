#pragma once
// PageBytes: memory for one page, aligned to the size of a page as readers and layouts require.

#include <cstring>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"

namespace foedus::page {

struct alignas(kPageBytes) PageBytes {
  char bytes[kPageBytes];

  PageHeader* header() { return reinterpret_cast<PageHeader*>(bytes); }
  const PageHeader* header() const { return reinterpret_cast<const PageHeader*>(bytes); }
  template <typename Page>
  Page* as() {
    static_assert(sizeof(Page) == kPageBytes);
    return reinterpret_cast<Page*>(bytes);
  }
  // Clears the page, and sets its storage, kind and level. The page id stays null: the writer of
  // the snapshot file sets it.
  void initialize(StorageId storage, PageKind kind, std::uint8_t level) {
    std::memset(bytes, 0, sizeof(bytes));
    header()->initialize(VolatilePageId(), storage, kind, level);
  }
};
static_assert(sizeof(PageBytes) == kPageBytes);

}  // namespace foedus::page
