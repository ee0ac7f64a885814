#include "experiments/tiers/small_rows.h"

#include <algorithm>

#include "experiments/common/worker_threads.h"
#include "experiments/ycsb/ycsb_row.h"

namespace experiments::tiers {

foedus::Result<FoedusTable> open_small_rows(FoedusBackend* backend) {
  return backend->open_table({.name = "small", .kind = TableKind::kOrdered});
}

foedus::Status put_small_rows(FoedusBackend* backend, const Plan& plan, std::uint64_t rows) {
  FOEDUS_TRY(const FoedusTable table, open_small_rows(backend));
  return run_workers(plan.sessions, [&](std::uint32_t number) -> foedus::Status {
    FOEDUS_TRY(FoedusWorker worker, backend->new_worker());
    constexpr std::uint64_t kRowsPerTxn = 50;
    const std::uint64_t end = rows * (number + 1) / plan.sessions;
    for (std::uint64_t begin = rows * number / plan.sessions; begin < end; begin += kRowsPerTxn) {
      FOEDUS_CHECK(worker.transact([&](FoedusTxn& txn) -> foedus::Status {
        for (std::uint64_t row = begin; row < std::min(begin + kRowsPerTxn, end); ++row) {
          const YcsbKey key(row, true);
          FOEDUS_CHECK(txn.insert(table, {.index = row, .bytes = key.view()}, key.view()));
        }
        return {};
      }));
    }
    return {};
  });
}

}  // namespace experiments::tiers
