#pragma once
// The work of the sessions in the test of cache lines: transactions in all storages, each session
// with records of its own, in pages of its own.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/foedus.h"

namespace foedus::testing::lines {

inline constexpr std::uint32_t kSessions = 4;
inline constexpr std::uint64_t kShare = 2000;  // records of each session in each storage
inline constexpr std::uint64_t kUsed = 1000;   // in their middle: pages at the borders are not used
inline constexpr std::size_t kRowBytes = 100;

struct Tables {
  Masstree tree;
  Hash hash;
  Array array;
  Sequential log;
  std::vector<std::string> hash_keys[kSessions];

  std::vector<occ::StorageControl*> controls() const;
};

void load(Database& database, Tables* tables);

// Returns the key of record `i`, or the `between`-th of the keys after it, which are inserted
// later.
Key tree_key(std::uint64_t session, std::uint64_t i, std::uint64_t between = 0);

// Runs the `number`-th transaction of a session.
using Work = Status (*)(Txn& txn, const Tables& tables, std::uint64_t session,
                        std::uint64_t number);

// One read and one overwrite of rows of 100 bytes.
Status small_txn(Txn& txn, const Tables& tables, std::uint64_t session, std::uint64_t number);

// Reads and writes in all storages.
Status mixed_txn(Txn& txn, const Tables& tables, std::uint64_t session, std::uint64_t number);

// Reads and writes in all storages, and inserts keys in tree and hash; one of three stays.
Status growing_txn(Txn& txn, const Tables& tables, std::uint64_t session, std::uint64_t number);

}  // namespace foedus::testing::lines
