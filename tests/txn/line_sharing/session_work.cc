#include "tests/txn/line_sharing/session_work.h"

#include <span>
#include <string_view>

#include "foedus-core/engine/storage_access.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "tests/testing/test_database.h"

namespace foedus::testing::lines {
namespace {

// The first bits of a hash choose the bin; two of them choose the session.
Key hash_key(std::uint64_t session, std::uint64_t i) {
  static_assert(kSessions == 4);
  for (std::uint64_t salt = 0;; ++salt) {
    Key candidate = key(i, salt);
    if (storage::hash::hash_of(candidate.view()) >> 62 == session) return candidate;
  }
}

std::uint64_t used(std::uint64_t number) { return (kShare - kUsed) / 2 + number * 7 % kUsed; }

}  // namespace

std::vector<occ::StorageControl*> Tables::controls() const {
  const auto control_of = foedus::internal::StorageAccess::control_of;
  return {control_of(tree), control_of(hash), control_of(array), control_of(log)};
}

Key tree_key(std::uint64_t session, std::uint64_t i, std::uint64_t between) {
  return key(big_endian<std::uint64_t>((session << 40) + (i << 16) + between));
}

void load(Database& database, Tables* tables) {
  tables->tree = must(database.open_masstree("tree"));
  tables->hash = must(database.open_hash("hash", {.records_expected = kSessions * kShare}));
  tables->array = must(database.open_array("array", kSessions * kShare, 8));
  tables->log = must(database.open_sequential("log"));
  const std::string row(kRowBytes, 'r');
  for (std::uint64_t session = 0; session < kSessions; ++session) {
    for (std::uint64_t i = 0; i < kShare; ++i) {
      tables->hash_keys[session].emplace_back(hash_key(session, i).view());
      must(database.transact([&](Txn& txn) -> Status {
        FOEDUS_CHECK(txn.insert(tables->tree, tree_key(session, i), row));
        FOEDUS_CHECK(txn.insert(tables->hash, tables->hash_keys[session][i], row));
        return txn.increment(tables->array, session * kShare + i, 0, 1);
      }));
    }
  }
}

Status small_txn(Txn& txn, const Tables& tables, std::uint64_t session, std::uint64_t number) {
  char row[kRowBytes];
  const auto out = std::as_writable_bytes(std::span<char>(row));
  FOEDUS_CHECK(txn.get(tables.tree, tree_key(session, used(number)), out).status());
  row[0] = static_cast<char>(number);
  return txn.put(tables.tree, tree_key(session, used(number + 1)), {row, sizeof(row)});
}

Status mixed_txn(Txn& txn, const Tables& tables, std::uint64_t session, std::uint64_t number) {
  FOEDUS_CHECK(small_txn(txn, tables, session, number));
  char row[kRowBytes];
  const auto out = std::as_writable_bytes(std::span<char>(row));
  const std::vector<std::string>& hash_keys = tables.hash_keys[session];
  FOEDUS_CHECK(txn.get(tables.hash, hash_keys[used(number)], out).status());
  FOEDUS_CHECK(txn.write_at(tables.hash, hash_keys[used(number + 1)], 10, "part"));
  const std::uint64_t first = session * kShare;
  FOEDUS_CHECK(txn.get(tables.array, first + used(number), out.first(8)));
  FOEDUS_CHECK(txn.increment(tables.array, first + used(number + 1), 0, 1));
  return txn.append(tables.log, "appended");
}

Status growing_txn(Txn& txn, const Tables& tables, std::uint64_t session, std::uint64_t number) {
  FOEDUS_CHECK(mixed_txn(txn, tables, session, number));
  const std::string_view row("a new row of some length");
  const auto tree_key_of = [&](std::uint64_t n) { return tree_key(session, used(n), 1 + n); };
  const auto hash_key_of = [&](std::uint64_t n) { return hash_key(session, kShare + n); };
  FOEDUS_CHECK(txn.insert(tables.tree, tree_key_of(number), row));
  FOEDUS_CHECK(txn.insert(tables.hash, hash_key_of(number), row));
  if (number % 3 == 0) return {};
  FOEDUS_CHECK(txn.erase(tables.tree, tree_key_of(number)));
  return txn.erase(tables.hash, hash_key_of(number));
}

}  // namespace foedus::testing::lines
