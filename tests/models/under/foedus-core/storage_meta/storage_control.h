#pragma once
// Stands in for storage_meta/storage_control.h. A commit checks once whether the storage was
// dropped; here it never is.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/page/page_id.h"

namespace foedus::occ {

struct StorageControl {
  base::AtomicWord<std::uint64_t> drop_epoch;
  base::AtomicWord<std::uint64_t> volatile_pages;
  page::StorageId id() const { return page::StorageId{1}; }
  bool is_dropped() const { return false; }
};

}  // namespace foedus::occ
