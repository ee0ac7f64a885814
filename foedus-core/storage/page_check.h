#pragma once
// Dispatch by the kind of a page: what can be said against it where it is read from a snapshot.

#include "foedus-core/page/page_check.h"

namespace foedus::storage {

// Null: the page is one that this program may have written, whoever did write it; nothing in it
// leads out of it but by the ids of pages, of which P17 holds. Whether it is the page that a
// pointer is for, who follows the pointer asks. REQUIRES: the page has the id that it was read by;
// no record of its snapshot is of an epoch above `newest`.
page::BrokenRule broken_rule(const page::PageHeader& page, Epoch newest);

}  // namespace foedus::storage
