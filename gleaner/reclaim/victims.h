#pragma once
// Chooses the files of a snapshot that are reclaimed: their live pages move on, and the files go.

#include <vector>

#include "foedus-core/snapshot/files/manifest.h"
#include "gleaner/reclaim/reclaim_options.h"

namespace foedus::gleaner {

// Returns the victims in the order of the manifest's files; empty: there is nothing to reclaim.
// Files with the smallest share of live pages are chosen first, then the oldest, because a page is
// freed there at the least cost.
std::vector<snapshot::ManifestFile> choose_victims(const snapshot::Manifest& manifest,
                                                   const ReclaimOptions& options);

}  // namespace foedus::gleaner
