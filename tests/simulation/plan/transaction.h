#pragma once
// Transaction: the operations of a transaction of the simulation and their results. At its commit
// the same operations on the model must have the same results: one thread makes all commits, so the
// order in which they return is the serial order.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/simulation/life.h"
#include "tests/simulation/plan/model.h"

namespace foedus::simulation {

struct Operation {
  enum class Kind : std::uint8_t {
    kGet,
    kReadAt,
    kContains,
    kGetForUpdate,
    kScan,
    kPut,
    kInsert,
    kUpdate,
    kErase,
    kWriteAt,
    kIncrement,
    kAppend
  };
  // The result; rows of a scan, or one payload without a key.
  struct Seen {
    ErrorCode code = ErrorCode::kOk;
    std::vector<std::pair<std::string, std::string>> rows;
    bool operator==(const Seen&) const = default;
  };

  Kind kind = Kind::kGet;
  std::uint32_t storage = 0;
  StorageKind storage_kind = StorageKind::kMasstree;
  std::string key;  // arrays: index_key()
  std::uint64_t index = 0;
  std::string high;     // kScan
  std::string payload;  // of writes
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;  // kReadAt
  std::int64_t delta = 0;
  std::uint64_t limit = ~std::uint64_t{0};
  bool reverse = false;
  Seen seen;
};

std::string to_string(const Operation& operation);

// Returns a random operation on one of the storages of `content`. `serial` counts appends.
Operation make_operation(base::Random* random, const Content& content,
                         const std::vector<std::string>& keys, std::uint32_t session,
                         bool read_only, bool for_update, std::uint64_t* serial);

// Does the operation. Returns an error that ends the transaction; other results are in `seen`.
Status perform(Txn* txn, occ::StorageControl* control, Operation* operation);

// Does the operation on the model. Its changes go to `changes`.
Operation::Seen expect(const Operation& operation, Content* content, std::vector<Change>* changes);

}  // namespace foedus::simulation
