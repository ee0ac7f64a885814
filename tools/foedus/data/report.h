#pragma once
// Counters of a database and the report of a glean, as lines or as JSON. The shell prints them,
// too.

#include <functional>
#include <iosfwd>
#include <string_view>

#include "foedus/database.h"

namespace foedus::cli {

// Lines have the members that are not zero.
void write_stats(const Database& db, bool is_json, std::ostream* out);
void write_storages(const Database& db, std::ostream* out);
void write_report(const GleanReport& report, bool is_json, std::ostream* out);

// Returns a sink that shows the stages of a glean; empty if `progress` is.
GleanProgressSink show_glean(const std::function<void(std::string_view)>& progress);

}  // namespace foedus::cli
