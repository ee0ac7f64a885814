#pragma once
// ReclaimOptions: how much room superseded pages may take before it is given back.

#include <cstdint>

namespace foedus::gleaner {

// All can be changed from one call to the next.
struct ReclaimOptions {
  // Pages of all files, in percent of the live ones: above the limit, files become victims until
  // the goal would be met. So the files of a snapshot take no more than the limit, and those of
  // the next one before it is reclaimed, what a glean adds to that. 100 < goal <= limit. A goal
  // near the limit makes many short calls of few long ones, which would hold gleans up. Where most
  // live pages are of hash storages it is 150 at the most (victims.cc).
  std::uint32_t total_percent_max = 200;
  std::uint32_t total_percent_goal = 175;
  // Files below this many pages altogether are not worth the syncs.
  std::uint32_t total_pages_min = 256;
  // Each file is open while pages of it are read. With more, the smallest ones become one: half of
  // them, so that a page is moved on again when its file is small among many, not at each glean.
  std::uint32_t files_max = 64;  // at least 2
  // If files have at least so many pages on the average, up to four times files_max are kept: to
  // merge large files for their number would write again all that was loaded.
  std::uint32_t large_file_pages = 4096;
  // One call merges files for their number until it has moved so many pages; the next call goes on.
  // The next glean, and writers that wait for its room, wait for this call, too.
  std::uint64_t merged_pages_max = 32'768;
  // Live pages that one call moves at most, or half of what a file can have, for they become one;
  // the first victim is taken whatever it has. What is left to do is left to the next call.
  std::uint64_t moved_pages_max = ~std::uint64_t{0};
};

}  // namespace foedus::gleaner
