#pragma once
// Where the volatile pages of a hash storage lie, and who changed them last; see occ/page_sample.h.

#include "foedus-core/occ/page_sample.h"
#include "foedus-core/occ/storage_control.h"
#include "foedus-core/page/page_pool.h"

namespace foedus::storage::hash {

void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
                  occ::PageSamples* samples);

}  // namespace foedus::storage::hash
