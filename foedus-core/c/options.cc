// Options of foedus_c.h.
#include "foedus-core/c/handles.h"
#include "foedus-core/named_options/named_options.h"

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

foedus_options* foedus_options_new() { return new (std::nothrow) foedus_options; }

void foedus_options_free(foedus_options* options) {
  if (is_valid(options)) delete options;
}

int foedus_options_set(foedus_options* options, const char* name, const char* value,
                       foedus_error* error) {
  if (!is_valid(options)) return report_no_handle("options", error);
  if (name == nullptr || value == nullptr) return report_invalid("an option is NULL", error);
  return reporting(error,
                   [&] { return named_options::set_option(name, value, &options->options); });
}

int foedus_options_set_log_sink(foedus_options* options, foedus_log_sink sink, void* argument,
                                foedus_error* error) {
  if (!is_valid(options)) return report_no_handle("options", error);
  return reporting(error, [&]() -> Status {
    options->options.log_sink = {};
    if (sink != nullptr) {
      options->options.log_sink = [sink, argument](LogLevel level, std::string_view line) {
        sink(argument, static_cast<int>(level), line.data(), line.size());
      };
    }
    return {};
  });
}

foedus_txn_options* foedus_txn_options_new() { return new (std::nothrow) foedus_txn_options; }

void foedus_txn_options_free(foedus_txn_options* options) {
  if (is_valid(options)) delete options;
}

int foedus_txn_options_set(foedus_txn_options* options, const char* name, const char* value,
                           foedus_error* error) {
  if (!is_valid(options)) return report_no_handle("txn_options", error);
  if (name == nullptr || value == nullptr) return report_invalid("an option is NULL", error);
  return reporting(error,
                   [&] { return named_options::set_option(name, value, &options->options); });
}
