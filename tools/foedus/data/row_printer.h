#pragma once
// Prints records for a person, one a line.

#include <iosfwd>

#include "tools/foedus/data/any_storage.h"

namespace foedus::cli {

// Returns a sink that prints key, tabulator and value; of a sequential storage the value alone.
RowSink print_rows(const AnyStorage& storage, ByteForm form, bool has_keys_only, std::ostream* out);

}  // namespace foedus::cli
