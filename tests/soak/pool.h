#pragma once
// Pool: a constant number of rows, one for each slot, in all kinds of storages.
//
//   A slot holds one row, in the Master-Tree or in the hash, under a key with the slot and the
//   number of its changes; the array has that number for each slot. A change of a slot is one
//   transaction: it erases the row, inserts another one, and counts. The sequential storage has a
//   line for each change by one of the sessions, and is created again before it grows large.

#include <cstdint>
#include <string>

#include "foedus-core/base/system/clock.h"
#include "foedus/foedus.h"

namespace foedus::soak {

class Pool {
 public:
  // Opens the storages, and fills them if they are new.
  static Result<Pool> open(Database* db, std::uint32_t slots, std::uint32_t row_bytes_max);

  // Changes a few slots. `writes_lines` is true for one session alone, which creates the storage of
  // lines again when it is due.
  Status change(base::Random* random, bool writes_lines);
  // Checks a few slots, at times in the newest snapshot.
  Status look(base::Random* random) const;
  // Checks all rows. kCorruption names the fault.
  Status check() const;

 private:
  Pool(Database* db, std::uint32_t slots, std::uint32_t row_bytes_max)
      : db_(db), slots_(slots), row_bytes_max_(row_bytes_max) {}
  Status fill() const;
  Status new_lines();
  const KeyedStorage& storage_of(std::uint32_t slot, std::uint64_t changes) const;
  std::string row_of(std::uint32_t slot, std::uint64_t changes) const;
  Status change_slot(Txn& txn, std::uint32_t slot) const;
  Status look_at(Txn& txn, std::uint32_t slot) const;

  Database* db_;
  std::uint32_t slots_;
  std::uint32_t row_bytes_max_;
  Masstree tree_;
  Hash hash_;
  Array changes_;
  // Used by the session that writes lines.
  Sequential lines_;
  std::uint64_t line_count_ = 0;
  std::uint64_t lines_number_ = 0;
};

}  // namespace foedus::soak
