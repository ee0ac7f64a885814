#pragma once
// Samples where the volatile pages of a Master-Tree lie, and which SOC changed them last; see
// storage/base/page_sample.h.

#include "foedus-core/page/page_pool.h"
#include "foedus-core/storage/base/page_sample.h"
#include "foedus-core/storage_meta/storage_control.h"

namespace foedus::storage::masstree {

void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
                  PageSamples* samples);

}  // namespace foedus::storage::masstree
