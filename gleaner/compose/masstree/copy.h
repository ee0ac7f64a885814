#pragma once
// Copies keys from one border page, of a snapshot or in the making, to the end of another one.
// Records of both lie one after another in the order of keys (M42), so those of a run of keys are
// one piece of bytes. Nothing in a record depends on its place.

#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::gleaner {

// Returns up to which index the keys [begin, end) of `from` fit after those of `to`. Keys of one
// slice are not separated (M5).
unsigned fitting_end(storage::masstree::BorderPage* from, unsigned begin, unsigned end,
                     const storage::masstree::BorderPage& to);

// Copies keys to the end of `to`. REQUIRES: fitting_end() is `end`; the keys are above all of `to`,
// which is not shared.
void copy_keys(storage::masstree::BorderPage* from, unsigned begin, unsigned end,
               storage::masstree::BorderPage* to);

// Removes all keys but the first `stay`, and zeroes their bytes.
void keep_keys(storage::masstree::BorderPage* page, unsigned stay);

}  // namespace foedus::gleaner
