#pragma once
// BulkLoad: fills a new Master-Tree with sorted rows, faster than transactions do. The rows go
// straight to pages of the next snapshot: they take no log, no memory for volatile pages, and no
// sort.
//
//     FOEDUS_TRY(foedus::BulkLoad load, db.load_masstree("parts"));
//     while (read_row(&key, &row)) FOEDUS_CHECK(load.add(key, row));   // in the order of the keys
//     FOEDUS_TRY(foedus::Masstree parts, load.finish());
//
// Until finish() has returned, no storage of that name is there, and none can be made. Then all of
// it is there, durably. If the program ends before, nothing of it is.

#include <memory>
#include <string_view>

#include "foedus/status.h"
#include "foedus/storage.h"

namespace foedus {

namespace engine {
class BulkLoader;
}  // namespace engine

// Made by Database::load_masstree(). Belongs to one thread at a time. Transactions and gleans go on
// meanwhile.
class BulkLoad {
 public:
  BulkLoad(BulkLoad&& other) noexcept;
  BulkLoad& operator=(BulkLoad&&) = delete;
  // Gives the load up, unless finish() has succeeded.
  ~BulkLoad();

  // Adds a row; key and payload are copied. kInvalidArgument: the key is not above that of the row
  // before, as byte strings. kTooLarge: the key, or the payload, is over its limit. After these two
  // errors the load can go on. kOutOfSpace, kIoError: the load has failed, and every later call
  // returns the same.
  Status add(std::string_view key, std::string_view payload);
  // Makes the storage. Waits for a glean that takes the pages over. After an error of that glean
  // the call can be repeated; if the program ends instead, the storage may be there at the next
  // open. Returns the same storage again when it is called again.
  Result<Masstree> finish();

 private:
  friend class Database;
  explicit BulkLoad(std::unique_ptr<engine::BulkLoader> loader);

  std::unique_ptr<engine::BulkLoader> loader_;  // null: moved from
};

}  // namespace foedus
