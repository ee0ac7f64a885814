#include "experiments/peers/side_of.h"
#include "experiments/peers/wiredtiger_backend.h"

namespace experiments {

static_assert(Backend<WiredtigerBackend>);

foedus::Result<std::unique_ptr<Side>> open_wiredtiger_side(const Place& place, const Task& task) {
  WiredtigerBackend::Options options;
  options.dir = place.dir;
  options.sync = place.sync;
  FOEDUS_TRY(std::unique_ptr<WiredtigerBackend> backend, WiredtigerBackend::open(options));
  return std::unique_ptr<Side>(new SideOf<WiredtigerBackend>(std::move(backend), task));
}

}  // namespace experiments
