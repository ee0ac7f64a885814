#pragma once
// ReclaimOptions: how much space superseded pages may take before they are reclaimed.

#include <cstdint>

namespace foedus::gleaner {

// All options can change from one call to the next.
struct ReclaimOptions {
  // Pages of all files in percent of the live pages: above the limit, files become victims until
  // the goal would be met. So after a call, the files take no more than the limit. A glean may
  // exceed it by what it writes, until the next call. 100 < goal <= limit. A goal near the limit
  // makes many short calls instead of few long ones, for which gleans wait. If most live pages are
  // of hash storages, the goal is at most 150 (victims.cc).
  std::uint32_t total_percent_max = 200;
  std::uint32_t total_percent_goal = 175;
  // With fewer pages in all files together, reclaiming is not worth its syncs.
  std::uint32_t total_pages_min = 256;
  // Maximum number of files, at least 2, because each is open while its pages are read. Above it,
  // the smallest files, half of them, become one. So a page moves again only when its file is among
  // the smaller ones, not with each glean.
  std::uint32_t files_max = 64;
  // If files have more than this many pages on the average, more files are kept: one for every
  // large_file_pages pages, up to four times files_max. Otherwise a load would write all its data
  // again, because its large files would be merged for their number.
  std::uint32_t large_file_pages = 4096;
  // A call that merges files for their number stops after this many moved pages, but not while
  // there are too many files; the next call continues. The next glean waits for this call, and so
  // do writers that wait for that glean.
  std::uint64_t merged_pages_max = 32'768;
  // Live pages that one call moves at most. A call also moves no more than half of the pages that a
  // file can have, because they become one file. The first victim is moved whatever its size. The
  // next call continues with the rest.
  std::uint64_t moved_pages_max = ~std::uint64_t{0};
};

}  // namespace foedus::gleaner
