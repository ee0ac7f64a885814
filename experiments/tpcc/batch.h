#pragma once
// LoadBatch: one thread's way to write rows during the load. Each batch is a transaction of
// moderate size; run again, it starts from the same random numbers, and its bytes count once.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "experiments/common/random.h"
#include "experiments/tpcc/tables.h"
#include "experiments/tpcc/transactions/payment.h"

namespace experiments::tpcc {

template <Backend B>
class LoadBatch {
 public:
  using Table = typename B::Table;

  LoadBatch(typename B::Worker& worker, const Tables<B>& tables, Random random)
      : worker_(worker), tables_(tables), random_(random) {}

  // Rows low .. high, at most `rows_per_batch` of them in a transaction, fewer where the store has
  // no room for so many; write(n) writes row n.
  template <typename Write>
  foedus::Status rows(std::uint32_t low, std::uint32_t high, std::uint32_t rows_per_batch,
                      Write&& write) {
    for (std::uint64_t first = low; first <= high;) {
      const std::uint64_t end = std::min<std::uint64_t>(first + rows_per_batch, high + 1ull);
      const Random random_before = random_;
      const auto write_batch = [&](typename B::Txn& txn) -> foedus::Status {
        txn_ = &txn;
        random_ = random_before;
        batch_bytes_ = 0;
        for (std::uint64_t n = first; n < end; ++n) {
          FOEDUS_CHECK(write(static_cast<std::uint32_t>(n)));
        }
        return {};
      };
      const foedus::Status written = worker_.transact(write_batch);
      if (written.code() == foedus::ErrorCode::kTooLarge && rows_per_batch > 1) {
        rows_per_batch /= 2;
        random_ = random_before;
        continue;
      }
      FOEDUS_CHECK(written);
      data_bytes_ += batch_bytes_;
      first = end;
    }
    return {};
  }

  // To be called by `write` only. A row at a place: its key takes no bytes where tables are arrays.
  template <typename Row>
  foedus::Status place(const Table& table, const PackedKey& key, const Row& row) {
    const bool is_array = tables_.storage == StorageChoice::kMixed;
    batch_bytes_ += sizeof(Row) + (is_array ? 0 : key.bytes().size());
    return txn_->put(table, key, payload_of(row));
  }
  foedus::Status insert(const Table& table, const KeyView& key, std::string_view row) {
    batch_bytes_ += key.bytes.size() + row.size();
    return txn_->insert(table, key, row);
  }
  // `number` must be unique in the database: it is part of the key where history has one.
  foedus::Status append_history(std::uint64_t number, const HistoryRow& row) {
    const bool has_key = tables_.storage != StorageChoice::kMixed;
    batch_bytes_ += sizeof(row) + (has_key ? sizeof(std::uint64_t) : 0);
    return tpcc::append_history<B>(*txn_, tables_, 0, number, row);
  }

  Random& random() { return random_; }
  std::uint64_t data_bytes() const { return data_bytes_; }

 private:
  typename B::Worker& worker_;
  const Tables<B>& tables_;
  Random random_;
  typename B::Txn* txn_ = nullptr;  // during rows() only
  std::uint64_t batch_bytes_ = 0;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace experiments::tpcc
