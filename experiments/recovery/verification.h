#pragma once
// Whether a recovered database holds what the victim's durable operations left, and nothing that
// none of its operations wrote. Of a sample of the rows.

#include <cstdint>

#include "experiments/recovery/victim.h"

namespace experiments::recovery {

struct Verified {
  std::uint64_t rows = 0;
  std::uint64_t fields_updated = 0;  // by operations that were durable when the victim said so
  std::uint64_t fields_newer = 0;    // by later ones that became durable, too
};

// kCorruption: a row is missing or torn, a durable update is lost, or a field has a version that no
// operation gave it.
foedus::Result<Verified> verify(FoedusBackend& backend, const FoedusTable& table,
                                const Shape& shape, const VictimReport& victim);

}  // namespace experiments::recovery
