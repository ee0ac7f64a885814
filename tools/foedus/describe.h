#pragma once
// Descriptions that several commands print, as text and as JSON.

#include <ostream>
#include <string>

#include "foedus-core/base/json.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "tools/foedus/finding.h"
#include "tools/foedus/verify/page_walk.h"

namespace foedus::cli {

storage_meta::StorageMeta meta_of(const snapshot::ManifestStorage& storage);

// "storage 3 "tree": masstree"; with parameters for kinds that have some.
std::string line_of(const storage_meta::StorageMeta& meta);
// "12 records, 800 bytes of payload, 3 pages, 2 levels"
std::string line_of(const StorageCounts& counts, StorageKind kind);

// Write members of the JSON object that is open.
void put(base::Json* json, const storage_meta::StorageMeta& meta);
void put(base::Json* json, const StorageCounts& counts);

// Writes an array "findings", and the number of problems and of warnings.
void put(base::Json* json, const Findings& findings);

// 0 .. 100
std::uint64_t percent_of(std::uint64_t part, std::uint64_t whole);

}  // namespace foedus::cli
