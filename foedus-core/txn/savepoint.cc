#include "foedus-core/txn/savepoint.h"

#include <cstdint>

#include "foedus-core/txn/commit_phases.h"

namespace foedus::txn {

Status rollback_to(occ::TxnContext* txn, const occ::Savepoints::Point& point) {
  FOEDUS_CHECK(read_preconditions(txn, point.writes));
  occ::WriteSet& writes = txn->sets().writes();
  const std::uint32_t kept = point.writes;
  writes.reserve_cut();
  release_overflow(txn, kept);
  txn->log().cut(point.log);
  writes.cut(kept);
  txn->located_writes().cut(kept);
  txn->sets().savepoints().end_from(point.number + 1);
  return {};
}

}  // namespace foedus::txn
