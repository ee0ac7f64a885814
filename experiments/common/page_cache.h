#pragma once
// The system's page cache, out of the way of a measurement.

#include <string>

namespace experiments {

// Gives up the pages of all files in `directory` that the system has in memory. Returns whether
// they have to be read from the device now: false where the files lie in memory anyway.
bool drop_page_cache(const std::string& directory);

}  // namespace experiments
