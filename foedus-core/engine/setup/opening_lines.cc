#include "foedus-core/engine/setup/opening_lines.h"

#include <sstream>
#include <string_view>
#include <utility>

#include "foedus-core/base/json.h"
#include "foedus-core/engine/setup/granted_memory.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/named_options/named_options.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest_format.h"

// A test compiles the engine's sources without the definitions of its library.
#if !defined(FOEDUS_VERSION)
#define FOEDUS_VERSION "of a test"
#endif

namespace foedus::engine {

namespace {

// Returns "<title>: " and the members that `write` writes, as JSON.
template <typename Write>
std::string line_of(std::string_view title, Write&& write) {
  std::ostringstream out;
  base::Json json(&out);
  json.begin_object();
  write(&json);
  json.end_object();
  std::string line = std::string(title).append(": ").append(std::move(out).str());
  line.pop_back();  // the document's newline
  return line;
}

}  // namespace

std::vector<std::string> describe_opening(const EffectiveOptions& effective,
                                          const MachineFacts& machine) {
  const auto put_formats = [](base::Json* json) {
    json->number("log", log::kLogFormatVersion);
    json->number("savepoint", log::kSavepointVersion);
    json->number("snapshot", snapshot::kSnapshotFormatVersion);
    json->number("manifest", snapshot::kManifestFormatVersion);
  };
  const auto put_options = [&](base::Json* json) {
    named_options::put_options(effective.options, json);
  };
  const auto put_machine = [&](base::Json* json) {
    json->number("processors", machine.processors);
    json->text("memory", size_in_words(machine.physical_bytes));
    json->number("loggers", effective.loggers);
    json->boolean("huge_pages", effective.huge_pages);
    json->boolean("numa_binding", effective.numa_binding);
    json->boolean("direct_io", effective.direct_io);
  };
  return {line_of("foedus " FOEDUS_VERSION ", formats", put_formats),
          line_of("options", put_options), line_of("machine", put_machine)};
}

}  // namespace foedus::engine
