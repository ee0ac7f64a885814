// TPC-C (revision 5.11) on the engine. See experiments/README.md.

#include <glog/logging.h>

#include <cstdlib>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/options.h"
#include "experiments/tpcc/driver.h"
#include "experiments/tpcc/options.h"

namespace {

constexpr char kUsage[] =
    "TPC-C: tpcc --dir D [--warehouses W] [--sessions N] [--seconds S] ...\n"
    "Loads if the database is empty, checks, runs, checks, and prints one JSON line.";

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(experiments::parse_command_line(argc, argv, kUsage));
  FOEDUS_CHECK(experiments::tpcc::check_flags());
  const std::uint64_t start = experiments::tpcc::steady_ns();
  FOEDUS_TRY(experiments::FoedusBackend backend, experiments::open_foedus_by_flags());
  const std::uint64_t opened = experiments::tpcc::steady_ns();
  const std::uint32_t snapshot = backend.database().stats().snapshot;
  experiments::tpcc::Driver<experiments::FoedusBackend> driver(backend, "tpcc");
  FOEDUS_CHECK(driver.run());
  FOEDUS_CHECK(backend.close());
  experiments::JsonObject line = driver.line();
  line.add("snapshot_at_open", snapshot);
  line.add("open_seconds", static_cast<double>(opened - start) * 1e-9);
  experiments::print_line(line);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const foedus::Status status = run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "tpcc: " << status.message();
  return EXIT_FAILURE;
}
