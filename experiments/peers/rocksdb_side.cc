#include "experiments/peers/rocksdb_backend.h"
#include "experiments/peers/side_of.h"

namespace experiments {

static_assert(Backend<RocksdbBackend>);

namespace {

foedus::Result<std::unique_ptr<Side>> open_side(const Place& place, const Task& task,
                                                RocksdbConcurrency concurrency) {
  RocksdbBackend::Options options;
  options.dir = place.dir;
  options.sync = place.sync;
  options.concurrency = concurrency;
  FOEDUS_TRY(std::unique_ptr<RocksdbBackend> backend, RocksdbBackend::open(options));
  return std::unique_ptr<Side>(new SideOf<RocksdbBackend>(std::move(backend), task));
}

}  // namespace

foedus::Result<std::unique_ptr<Side>> open_rocksdb_pessimistic_side(const Place& place,
                                                                    const Task& task) {
  return open_side(place, task, RocksdbConcurrency::kPessimistic);
}

foedus::Result<std::unique_ptr<Side>> open_rocksdb_optimistic_side(const Place& place,
                                                                   const Task& task) {
  return open_side(place, task, RocksdbConcurrency::kOptimistic);
}

}  // namespace experiments
