#pragma once
// ArrayScan: the records of a range of an array, in the order of their indices.
//
//     foedus::ArrayScan rows = txn.scan(prices, 100, 200);
//     for (const foedus::ArrayRow& row : rows) sum += foedus::view_as<int>(row.payload);
//     if (const auto failure = rows.failure()) return *failure;

#include "foedus/cxx20.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "foedus/scan_iterator.h"
#include "foedus/status.h"
#include "foedus/storage.h"

namespace foedus {

class Txn;
namespace engine {
struct SessionSlot;
}  // namespace engine

// A record of an array; valid until the scan is advanced or destroyed.
struct ArrayRow {
  std::uint64_t index = 0;
  std::string_view payload;
};

struct ArrayScanOptions {
  std::uint64_t limit = ~std::uint64_t{0};  // maximum number of records
  bool reverse = false;                     // from high to low
};

// Returned by Txn::scan(); an input range for range-for, with a single pass. Ends early at any
// error, for example a conflict: check failure() after the loop. If the transaction has ended
// before the scan, the next step of the scan fails with kClosed. While the scan is open the
// transaction may call any operation. A scan sees its transaction's writes ahead of its position.
class ArrayScan {
 public:
  using iterator = internal::ScanIterator<ArrayScan, ArrayRow>;

  ArrayScan(ArrayScan&& other) noexcept = default;
  ArrayScan& operator=(ArrayScan&&) = delete;

  // Positions the scan at its first call.
  iterator begin() {
    if (!started_) {
      started_ = true;
      next();
    }
    return iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

  // Returns why the records ended before the range did; empty if they did not.
  std::optional<Status> failure() const {
    return failure_.is_ok() ? std::nullopt : std::optional<Status>(failure_);
  }

 private:
  friend iterator;
  friend class Txn;
  ArrayScan() = default;
  void next();
  // Returns the n-th index of the range.
  std::uint64_t index_of(std::uint64_t n) const { return reverse_ ? high_ - 1 - n : low_ + n; }

  engine::SessionSlot* slot_ = nullptr;  // slot of the transaction's session
  std::uint64_t turn_ = 0;               // Txn::turn_ of the transaction
  Array storage_;
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
  std::uint64_t count_ = 0;       // records to read in all
  std::uint64_t read_ = 0;        // of them
  std::uint64_t prefetched_ = 0;  // of them
  bool reverse_ = false;
  bool started_ = false;
  bool at_end_ = false;
  std::unique_ptr<std::byte[]> payload_;  // of the row
  ArrayRow row_;
  Status failure_;
};

}  // namespace foedus
