#pragma once
// Shows byte strings, kinds and sizes to a person.

#include <cstdint>
#include <string>
#include <string_view>

#include "foedus-core/page/page_id.h"
#include "foedus-core/storage_meta/storage_meta.h"

namespace foedus::cli {

// Returns printable ASCII unchanged, except for " and \, which become \xNN as all other bytes do.
// Bytes after `bytes_max` become "…".
std::string preview(std::string_view bytes, std::size_t bytes_max = 64);

// "12.3 MiB"; below 10 KiB "1234 bytes".
std::string size_of(std::uint64_t bytes);

// "page 5 of snapshot-00000001-0"
std::string name_of(page::SnapshotPageId id);

// "1 page", "2 pages"
std::string count_of(std::uint64_t count, std::string_view noun);

}  // namespace foedus::cli
