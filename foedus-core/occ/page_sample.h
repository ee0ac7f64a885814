#pragma once
// PageSample: where a volatile page with records lies, and which SOC changed it last: what the
// gleaner divides a storage by (paper §7.2).

#include <cstdint>

namespace foedus::occ {

struct PageSample {
  std::uint64_t position;  // of its first record, as log records are sorted; see below
  std::uint32_t soc;
};

// Each kind has, in <kind>_stats.h:
//
//   // Adds the volatile pages with records, in no order. Positions: the index (array), the hash,
//   // the first slice of the key (Master-Tree; pages of its first layer only). Transactions may
//   // run: pages that move meanwhile may be missing or there twice. REQUIRES: the caller is pinned.
//   void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
//                     std::vector<occ::PageSample>* samples);

}  // namespace foedus::occ
