#include <ostream>

#include "tools/foedus/demo/demo.h"

namespace foedus::cli {

ExitStatus run_demo(const DemoPlan& /*plan*/, std::ostream* /*out*/, std::ostream* err) {
  *err << "foedus demo: this build has no demo. It needs the packages libcpp-httplib-dev and "
          "libjs-chart.js when it is configured\n";
  return ExitStatus::kCannotRead;
}

}  // namespace foedus::cli
