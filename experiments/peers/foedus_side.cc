#include "experiments/common/foedus_backend.h"
#include "experiments/common/options.h"
#include "experiments/peers/side_of.h"

namespace experiments {

// The flags of common describe the engine, and --dir among them is that of the comparison: for the
// time of the call it names the engine's folder.
foedus::Result<std::unique_ptr<Side>> open_foedus_side(const Place& place, const Task& task) {
  const std::string dir_of_comparison = std::exchange(FLAGS_dir, place.dir);
  foedus::Result<FoedusBackend> opened = open_foedus_by_flags();
  FLAGS_dir = dir_of_comparison;
  FOEDUS_TRY(FoedusBackend backend, std::move(opened));
  return std::unique_ptr<Side>(
      new SideOf<FoedusBackend>(std::make_unique<FoedusBackend>(std::move(backend)), task));
}

}  // namespace experiments
