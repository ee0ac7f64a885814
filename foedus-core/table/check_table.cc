// Comparing the rows of a table with its indexes.
#include <string>
#include <vector>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/table/entry_key.h"
#include "foedus/table_storages.h"

namespace foedus::internal {

// Each entry of a row is in its index. If there are as many entries as rows have, there are no
// others.
Status TableStorages::check(Txn& txn) const {
  return base::catching([&]() -> Status {
    for (std::size_t at = 0; at < indexes_.size(); ++at) FOEDUS_CHECK(check_readable(txn, at));
    std::vector<std::uint64_t> expected(indexes_.size());
    FOEDUS_CHECK(check_rows(txn, &expected));
    for (std::size_t at = 0; at < indexes_.size(); ++at) {
      FOEDUS_TRY(const std::uint64_t entries, count(txn, at, {}, {}));
      if (entries != expected[at]) FOEDUS_CHECK(check_entries(txn, at));
    }
    return {};
  });
}

// Finds the entries of all rows, and counts them by index.
Status TableStorages::check_rows(Txn& txn, std::vector<std::uint64_t>* counts) const {
  Scan scan = txn.scan(rows_, {}, {});
  for (const Row& row : scan) {
    IndexEntries entries;
    FOEDUS_CHECK(at_row(definition_->extract(row.payload, &entries), row.key));
    for (const IndexEntries::Entry& entry : entries.all()) {
      const bool is_unique = definition_of(entry.index).is_unique;
      const Result<std::string> found =
          txn.get(indexes_[entry.index].storage, table::entry_key(entry, is_unique, row.key));
      if (found.code() == ErrorCode::kNotFound) {
        return corrupt(txn, entry.index, row.key, "lacks an entry of the row");
      }
      FOEDUS_CHECK(found);
      if (*found != (is_unique ? row.key : std::string_view())) {
        return corrupt(txn, entry.index, row.key, "has the entry of the row for another one");
      }
      ++(*counts)[entry.index];
    }
  }
  if (auto failure = scan.failure()) return *std::move(failure);
  return {};
}

// Finds the first entry of an index that its row does not have.
Status TableStorages::check_entries(Txn& txn, std::size_t index) const {
  Scan scan = txn.scan(indexes_[index].storage, {}, {});
  for (const Row& found : scan) {
    const std::string_view key = key_in(index, found);
    const Result<std::string> payload = txn.get(rows_, key);
    if (payload.code() == ErrorCode::kNotFound) return dangling(txn, index, key);
    FOEDUS_CHECK(payload);
    IndexEntries entries;
    FOEDUS_CHECK(at_row(definition_->extract(*payload, &entries), key));
    bool is_of_row = false;
    for (const IndexEntries::Entry& entry : entries.all()) {
      const bool is_unique = definition_of(index).is_unique;
      is_of_row = is_of_row || (entry.index == index &&
                                table::entry_key(entry, is_unique, key).view() == found.key);
    }
    if (!is_of_row) return corrupt(txn, index, key, "has an entry that the row does not have");
  }
  if (auto failure = scan.failure()) return *std::move(failure);
  return {};
}

}  // namespace foedus::internal
