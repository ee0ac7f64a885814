#pragma once
// Samples where the volatile pages of an array lie, and which SOC changed them last; see
// occ/page_sample.h.

#include "foedus-core/occ/page_sample.h"
#include "foedus-core/occ/storage_control.h"
#include "foedus-core/page/page_pool.h"

namespace foedus::storage::array {

void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
                  occ::PageSamples* samples);

}  // namespace foedus::storage::array
