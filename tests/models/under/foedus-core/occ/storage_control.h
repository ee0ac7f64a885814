#pragma once
// Stands in for occ/storage_control.h. Whether a storage was dropped is asked once a commit, and is
// never so here.

#include <cstdint>

#include "foedus-core/base/atomic_word.h"

namespace foedus::occ {

struct StorageControl {
  base::AtomicWord<std::uint64_t> drop_epoch;
  bool is_dropped() const { return false; }
};

}  // namespace foedus::occ
