// Goal: the model passes the checks for every backend of a comparison, and a wrong backend does
// not. Method: they run over std::map, unchanged and with one fault at a time. peers_run_test.py
// runs the same checks over each peer.

#include "experiments/peers/conformance.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/experiments/map_backend.h"

namespace experiments::peers_conformance_test {
namespace {

TEST(ConformanceTest, holds_for_the_model) {
  MapBackend backend;
  const foedus::Status status = Conformance<MapBackend>::check(backend);
  EXPECT_TRUE(status.is_ok()) << status.message();
  const foedus::Status sums = check_no_lost_update(backend);
  EXPECT_TRUE(sums.is_ok()) << sums.message();
}

enum class Fault { kBoundIncluded, kLimitIgnored, kReverseIgnored, kInsertOverwrites };

// MapTxn with one fault.
template <Fault kFault>
class FaultyTxn : public MapTxn {
 public:
  using MapTxn::MapTxn;

  foedus::Status insert(Table table, const KeyView& key, std::string_view row) {
    return kFault == Fault::kInsertOverwrites ? put(table, key, row)
                                              : MapTxn::insert(table, key, row);
  }
  template <class V>
  foedus::Status scan(Table table, const ScanRange& range, V&& visit) {
    ScanRange changed = range;
    std::string high(range.high);
    if (kFault == Fault::kBoundIncluded && !high.empty()) changed.high = high += '\0';
    if (kFault == Fault::kLimitIgnored) changed.limit = ~std::uint64_t{0};
    if (kFault == Fault::kReverseIgnored) changed.reverse = false;
    return MapTxn::scan(table, changed, visit);
  }
};

template <Fault kFault>
class FaultyBackend : public MapBackend {
 public:
  using Txn = FaultyTxn<kFault>;
  class Worker : public MapWorker {
   public:
    using MapWorker::MapWorker;
    template <class F>
    foedus::Status transact(F&& function) {
      return MapWorker::template transact_with<Txn>(function);
    }
    template <class F>
    foedus::Status read_only(F&& function) {
      return MapWorker::template read_only_with<Txn>(function);
    }
  };
  foedus::Result<Worker> new_worker() { return Worker(mutable_store()); }
  std::uint64_t last_commit_token(Worker& worker) { return worker.last_commit(); }
};

template <Fault kFault>
void expect_noticed() {
  FaultyBackend<kFault> backend;
  EXPECT_EQ(Conformance<FaultyBackend<kFault>>::check(backend).code(),
            foedus::ErrorCode::kCorruption);
}

TEST(ConformanceTest, notices_wrong_answers) {
  expect_noticed<Fault::kBoundIncluded>();
  expect_noticed<Fault::kLimitIgnored>();
  expect_noticed<Fault::kReverseIgnored>();
  expect_noticed<Fault::kInsertOverwrites>();
}

}  // namespace
}  // namespace experiments::peers_conformance_test
