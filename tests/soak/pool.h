#pragma once
// Pool: as many rows as there are slots, always, in all kinds of storages.
//
//   A slot holds one row, in the Master-Tree or in the hash, under a key that says the slot and how
//   often it was changed; the array has that number for each slot. To change a slot is to erase its
//   row and to insert another one, and to count: one transaction. The sequential storage has a line
//   for each change by one of the sessions, and is made anew before it grows large.

#include <cstdint>
#include <string>

#include "foedus-core/base/clock.h"
#include "foedus/foedus.h"

namespace foedus::soak {

class Pool {
 public:
  // Opens its storages, and fills them if they are new.
  static Result<Pool> open(Database* db, std::uint32_t slots, std::uint32_t row_bytes_max);

  // Changes a few slots. `writes_lines`: for one session alone, which makes new lines when due.
  Status change(base::Random* random, bool writes_lines);
  // Looks at a few slots, in the newest snapshot now and then.
  Status look(base::Random* random) const;
  // All rows. kCorruption says what is wrong.
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
  // Of the session that writes lines.
  Sequential lines_;
  std::uint64_t line_count_ = 0;
  std::uint64_t lines_number_ = 0;
};

}  // namespace foedus::soak
