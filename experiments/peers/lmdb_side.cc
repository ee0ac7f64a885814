#include "experiments/peers/lmdb_backend.h"
#include "experiments/peers/side_of.h"

namespace experiments {

static_assert(Backend<LmdbBackend>);

foedus::Result<std::unique_ptr<Side>> open_lmdb_side(const Place& place, const Task& task) {
  LmdbBackend::Options options;
  options.dir = place.dir;
  options.sync = place.sync;
  FOEDUS_TRY(std::unique_ptr<LmdbBackend> backend, LmdbBackend::open(options));
  return std::unique_ptr<Side>(new SideOf<LmdbBackend>(std::move(backend), task));
}

}  // namespace experiments
