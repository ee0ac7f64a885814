// Writing rows of a table together with the entries of its indexes.
//
//   Y1  An entry of an index belongs to a row that has it. Each transaction that changes a row also
//       takes away the entries that the row has no more, in complete indexes and in others. In a
//       unique index that is not complete, the entry may be that of another row of the same value.
//   Y2  A complete index has all entries of all rows. An index is complete if the definition row
//       says so. Each transaction that reads or changes an index reads that row, so it conflicts
//       with a transaction that changes the row: a writer never leaves out an index that was added,
//       and a reader never finds an index in parts.
//   Y3  A write that is refused changes nothing. Sizes are looked at before the first write. That a
//       key or a unique value is taken is known from an insert that fails: then the inserts before
//       it are taken back. If a write fails otherwise after its first change, it rolls the
//       transaction back.
//
// A search before each insert could tell, too. But a search that finds nothing is a conflict with
// every insert into the same page, and then threads could not insert neighbours at one time.
//
// Two rows never get one entry of a unique index: of two transactions that insert one record, one
// conflicts.
#include <span>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/table/entry_key.h"
#include "foedus/key.h"
#include "foedus/table_storages.h"

namespace foedus::internal {

// A change of the entries of a row from `before`, which the transaction has read, to `after`.
struct TableStorages::Change {
  std::string_view key;
  const IndexEntries& before;
  const IndexEntries& after;
  std::uint64_t complete;  // writable()

  // Calls visit(entry, is_added) for each entry in which `before` and `after` differ.
  template <typename Visit>
  Status for_each_difference(const Visit& visit) const {
    std::span<const IndexEntries::Entry> old = before.all();
    std::span<const IndexEntries::Entry> now = after.all();
    while (!old.empty() || !now.empty()) {
      const int order = compare(old, now);
      if (order < 0) FOEDUS_CHECK(visit(old.front(), false));
      if (order > 0) FOEDUS_CHECK(visit(now.front(), true));
      if (order <= 0) old = old.subspan(1);
      if (order >= 0) now = now.subspan(1);
    }
    return {};
  }

 private:
  // Returns a negative number if the first of `old` comes first, 0 if both are equal.
  static int compare(std::span<const IndexEntries::Entry> old,
                     std::span<const IndexEntries::Entry> now) {
    if (now.empty()) return -1;
    if (old.empty()) return 1;
    const IndexEntries::Entry& a = old.front();
    const IndexEntries::Entry& b = now.front();
    if (a.index != b.index) return a.index < b.index ? -1 : 1;
    return a.columns.compare(b.columns);
  }
};

Status TableStorages::write(Txn& txn, std::string_view key, std::string_view payload,
                            const IndexEntries& entries, RowWrite how) const {
  return base::catching([&]() -> Status {
    FOEDUS_TRY(const std::uint64_t complete, writable(txn));
    if (indexes_.empty()) {
      if (how == RowWrite::kPut) return txn.put(rows_, key, payload);
      return how == RowWrite::kInsert ? txn.insert(rows_, key, payload)
                                      : txn.update(rows_, key, payload);
    }
    FOEDUS_CHECK(check_sizes(key, payload, entries));
    IndexEntries before;
    const Change change{key, before, entries, complete};
    if (how != RowWrite::kUpdate) {
      Status inserted = txn.insert(rows_, key, payload);
      if (inserted.is_ok()) return add_entries(txn, change);
      if (inserted.code() != ErrorCode::kAlreadyExists || how == RowWrite::kInsert) return inserted;
    }
    FOEDUS_TRY(const std::string old, txn.get(rows_, key));
    FOEDUS_CHECK(at_row(definition_->extract(old, &before), key));
    return overwrite(txn, change, payload);
  });
}

Status TableStorages::replace(Txn& txn, std::string_view key, std::string_view payload,
                              const IndexEntries& before, const IndexEntries& after) const {
  return base::catching([&]() -> Status {
    FOEDUS_TRY(const std::uint64_t complete, writable(txn));
    FOEDUS_CHECK(check_sizes(key, payload, after));
    return overwrite(txn, {key, before, after, complete}, payload);
  });
}

Status TableStorages::erase(Txn& txn, std::string_view key) const {
  return base::catching([&]() -> Status {
    FOEDUS_TRY(const std::uint64_t complete, writable(txn));
    if (indexes_.empty()) return txn.erase(rows_, key);
    FOEDUS_TRY(const std::string old, txn.get(rows_, key));
    IndexEntries before;
    const IndexEntries none;
    FOEDUS_CHECK(at_row(definition_->extract(old, &before), key));
    FOEDUS_CHECK(txn.erase(rows_, key));
    return change_entries(txn, {key, before, none, complete});
  });
}

// Completes the insert of a row, which is written, or takes it back.
Status TableStorages::add_entries(Txn& txn, const Change& change) const {
  std::size_t claimed = 0;
  Status status = claim_unique(txn, change, &claimed);
  if (status.code() == ErrorCode::kAlreadyExists) {
    Status undone = give_back(txn, change, claimed);
    if (undone.is_ok()) undone = txn.erase(rows_, change.key);
    return undone.is_ok() ? status : half_written(txn, std::move(undone));
  }
  if (!status.is_ok()) return half_written(txn, std::move(status));
  return change_entries(txn, change);
}

// Overwrites a row that is there.
Status TableStorages::overwrite(Txn& txn, const Change& change, std::string_view payload) const {
  std::size_t claimed = 0;
  Status status = claim_unique(txn, change, &claimed);
  if (status.code() == ErrorCode::kAlreadyExists) {
    Status undone = give_back(txn, change, claimed);
    return undone.is_ok() ? status : half_written(txn, std::move(undone));
  }
  if (status.is_ok()) status = txn.update(rows_, change.key, payload);
  if (status.is_ok()) return change_entries(txn, change);
  return claimed == 0 ? status : half_written(txn, std::move(status));
}

// Inserts the new entries of unique indexes, and counts them in *claimed. kAlreadyExists: another
// row has one of them.
Status TableStorages::claim_unique(Txn& txn, const Change& change, std::size_t* claimed) const {
  return base::catching([&] {
    return change.for_each_difference(
        [&](const IndexEntries::Entry& entry, bool is_added) -> Status {
          if (!is_added || !definition_of(entry.index).is_unique) return {};
          Status inserted = txn.insert(indexes_[entry.index].storage, entry.columns, change.key);
          if (inserted.is_ok()) ++*claimed;
          if (inserted.code() != ErrorCode::kAlreadyExists) return inserted;
          return at_row(Status::error(ErrorCode::kAlreadyExists,
                                      described(entry.index) + " has another row of this value"),
                        change.key);
        });
  });
}

// Erases the first ones of the entries that claim_unique() inserts.
Status TableStorages::give_back(Txn& txn, const Change& change, std::size_t claimed) const {
  return change.for_each_difference([&](const IndexEntries::Entry& entry, bool is_added) -> Status {
    if (claimed == 0 || !is_added || !definition_of(entry.index).is_unique) return {};
    --claimed;
    return txn.erase(indexes_[entry.index].storage, entry.columns);
  });
}

// Writes the entries that claim_unique() leaves. The row is written.
Status TableStorages::change_entries(Txn& txn, const Change& change) const {
  Status status = base::catching([&] {
    return change.for_each_difference([&](const IndexEntries::Entry& entry, bool is_added) {
      return is_added ? add_entry(txn, change, entry) : erase_entry(txn, change, entry);
    });
  });
  return status.is_ok() ? status : half_written(txn, std::move(status));
}

Status TableStorages::add_entry(Txn& txn, const Change& change,
                                const IndexEntries::Entry& entry) const {
  if (definition_of(entry.index).is_unique) return {};
  Status inserted = txn.insert(indexes_[entry.index].storage,
                               table::entry_key(entry, false, change.key), std::string_view());
  if (inserted.code() != ErrorCode::kAlreadyExists) return inserted;
  return corrupt(txn, entry.index, change.key, "has an entry already that is new to the row");
}

Status TableStorages::erase_entry(Txn& txn, const Change& change,
                                  const IndexEntries::Entry& entry) const {
  const bool is_unique = definition_of(entry.index).is_unique;
  const Masstree& storage = indexes_[entry.index].storage;
  const Key name = table::entry_key(entry, is_unique, change.key);
  if (!is_complete(change.complete, entry.index)) {
    const Result<std::string> found = txn.get(storage, name);
    if (found.code() == ErrorCode::kNotFound) return {};  // not filled in yet
    FOEDUS_CHECK(found);
    // Rows may still have one value, of which one has the entry (Y1).
    if (is_unique && *found != change.key) return {};
  }
  Status erased = txn.erase(storage, name);
  if (erased.code() != ErrorCode::kNotFound) return erased;
  return corrupt(txn, entry.index, change.key, "lacks an entry of the row");
}

// Ends a transaction that has written a part of a row. One that is doomed cannot commit anyway, and
// its conflict is to be reported.
Status TableStorages::half_written(Txn& txn, Status status) const {
  if (status.code() == ErrorCode::kConflict) return status;
  txn.rollback();
  return status.with_hint("the transaction was rolled back, as a part of the row was written");
}

Status TableStorages::check_sizes(std::string_view key, std::string_view payload,
                                  const IndexEntries& entries) const {
  if (payload.size() > kMaxPayloadBytes) {
    return at_row(Status::error(ErrorCode::kTooLarge,
                                "the row has " + std::to_string(payload.size()) +
                                    " bytes, more than " + std::to_string(kMaxPayloadBytes)),
                  key);
  }
  for (const IndexEntries::Entry& entry : entries.all()) {
    const bool is_unique = definition_of(entry.index).is_unique;
    const std::size_t bytes = entry.columns.size() + (is_unique ? 0 : key.size());
    if (bytes <= kMaxKeyBytes) continue;
    // A column that is too long for a key was cut there, so the whole size is not known.
    return at_row(Status::error(ErrorCode::kTooLarge,
                                "the row's entry in " + described(entry.index) + " has at least " +
                                    std::to_string(bytes) + " bytes" +
                                    (is_unique ? "" : " with the row's key") + ", more than " +
                                    std::to_string(kMaxKeyBytes)),
                  key);
  }
  return {};
}

}  // namespace foedus::internal
