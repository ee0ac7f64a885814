#pragma once
// Which files of a snapshot are to be reclaimed: their live pages moved on, so that they go.

#include <vector>

#include "foedus-core/snapshot/manifest.h"
#include "gleaner/reclaim/reclaim_options.h"

namespace foedus::gleaner {

// Ascending as files of the manifest are; empty: nothing is to be done. Those with the smallest
// share of live pages come first, then the oldest: a page that is freed costs least there.
std::vector<snapshot::ManifestFile> choose_victims(const snapshot::Manifest& manifest,
                                                   const ReclaimOptions& options);

}  // namespace foedus::gleaner
