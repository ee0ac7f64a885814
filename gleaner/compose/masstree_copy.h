#pragma once
// Keys of one border page behind those of another one, as they are: of a page of a snapshot, or of
// one in the making. Records of both lie one behind the other in the order of keys (M42), so those
// of a run of keys are one piece of bytes; and they hold nothing that depends on their place.

#include "foedus-core/storage/masstree/masstree_page.h"

namespace foedus::gleaner {

// Returns how far the keys [begin, end) of `from` fit behind those of `to`: the index behind the
// last one that does. Keys of one slice are not separated (M5).
unsigned fitting_end(storage::masstree::BorderPage* from, unsigned begin, unsigned end,
                     const storage::masstree::BorderPage& to);

// REQUIRES: fitting_end() is `end`; they are behind all keys of `to`, which nobody else sees.
void copy_keys(storage::masstree::BorderPage* from, unsigned begin, unsigned end,
               storage::masstree::BorderPage* to);

// Takes away all keys but the first `stay`, and zeroes all that was theirs.
void keep_keys(storage::masstree::BorderPage* page, unsigned stay);

}  // namespace foedus::gleaner
