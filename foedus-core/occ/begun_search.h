#pragma once
// BegunSearch: what a prefetch of a key leaves for the search of that key.

#include <cstdint>

#include "foedus-core/page/dual_page_pointer.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::occ {

// A search that was begun ahead of the record's use. It names the page where the record seems to
// be, which has not been looked at yet, and the page above; or the way to a snapshot page.
struct alignas(64) BegunSearch {
  std::uint64_t txn = 0;  // by which transaction of the session
  const StorageControl* storage = nullptr;
  std::uint64_t number = 0;  // the storage's own name of the key that is searched for
  page::PageHeader* page = nullptr;
  void* parent = nullptr;  // the storage's own
  // The snapshot half of the pointer at which the search ends, where that has no volatile half;
  // else null. `parent` is the pointer then, `page` holds it (null: it is a root), and it seems to
  // lead to `cold_page`.
  page::SnapshotPageId cold_top = {};
  page::SnapshotPageId cold_page = {};
};

}  // namespace foedus::occ
