#pragma once
// Reading a database that nobody changes meanwhile.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/common/backend.h"

namespace experiments::tpcc {

// Calls visit(key, row) for all rows of [low, high), some thousand in a transaction, so that
// neither read sets nor undo logs of a store grow with the table. visit returns a Status.
template <Backend B, typename Visit>
foedus::Status scan_in_chunks(typename B::Worker& worker, const typename B::Table& table,
                              std::string_view low, std::string_view high, Visit&& visit) {
  constexpr std::uint64_t kRowsPerTxn = 2000;
  std::vector<std::pair<std::string, std::string>> rows;
  for (std::string from(low);;) {
    const auto read_chunk = [&](typename B::Txn& txn) -> foedus::Status {
      rows.clear();
      return txn.scan(table, {.low = from, .high = high, .limit = kRowsPerTxn},
                      [&](std::string_view key, std::string_view row) {
                        rows.emplace_back(key, row);
                        return true;
                      });
    };
    FOEDUS_CHECK(worker.read_only(read_chunk));
    for (const auto& [key, row] : rows) FOEDUS_CHECK(visit(key, row));
    if (rows.size() < kRowsPerTxn) return {};
    from = rows.back().first + '\0';  // the next key that may be there
  }
}

}  // namespace experiments::tpcc
