#pragma once
// Options by name, as foedus_c.h, programs that take them as text, and the file LOG name them.

#include <string_view>

#include "foedus-core/base/json.h"
#include "foedus/options.h"
#include "foedus/txn.h"

namespace foedus::named_options {

// Sets the option of that name. kInvalidArgument: see foedus_options_set().
Status set_option(std::string_view name, std::string_view value, Options* options);
Status set_option(std::string_view name, std::string_view value, TxnOptions* options);

// Writes all options as members of the JSON object that is open, a group as an object.
void put_options(const Options& options, base::Json* json);

}  // namespace foedus::named_options
