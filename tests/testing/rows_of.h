#pragma once
// rows_of(): returns all rows of a Master-Tree, as a transaction of their own sees them.

#include <map>
#include <string>

#include "tests/testing/test_database.h"

namespace foedus::testing {

using Rows = std::map<std::string, std::string>;

inline Rows rows_of(Database& db, const Masstree& tree) {
  return must(db.transact([&](Txn& txn) -> Result<Rows> {
    Rows found;
    Scan scan = txn.scan(tree, "", "");
    for (const Row& row : scan) found.emplace(row.key, row.payload);
    if (const auto failure = scan.failure()) return *failure;
    return found;
  }));
}

}  // namespace foedus::testing
