#pragma once
// Rows of 8 bytes under keys of 8 bytes, as the SIGMOD'18 paper reads them where it compares with
// FPTree (§5.5, A.5).

#include <cstdint>

#include "experiments/common/foedus_backend.h"
#include "experiments/tiers/figure.h"

namespace experiments::tiers {

inline constexpr std::size_t kSmallRowBytes = 8;

foedus::Result<FoedusTable> open_small_rows(FoedusBackend* backend);

// Inserts rows 0 .. rows - 1, whose keys are YcsbKey(row, true), in the order of keys.
foedus::Status put_small_rows(FoedusBackend* backend, const Plan& plan, std::uint64_t rows);

}  // namespace experiments::tiers
