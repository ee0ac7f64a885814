#pragma once
// device_rate(): what the device under the snapshots gives by itself, to compare a store's reads.

#include <cstdint>
#include <string>

#include "foedus/status.h"

namespace experiments::cold_reads {

// Random pages of 4 KiB a second that direct reads of the snapshot files in `directory` give with
// `in_flight` of them at a time, for `seconds`. kNotFound: there is no snapshot file.
foedus::Result<double> device_rate(const std::string& directory, std::uint32_t in_flight,
                                   double seconds, std::uint64_t seed);

}  // namespace experiments::cold_reads
