#pragma once
// Bank: money in accounts of three kinds of storages, moved by tellers. A transfer depends on the
// run's seed, its teller and its number alone, and transfers commute. Therefore the number of each
// teller's transfers determines every row.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "foedus/foedus.h"

namespace foedus::kills {

inline constexpr std::uint32_t kTellersMax = 8;
inline constexpr std::uint32_t kAccounts = 300;  // of each kind
inline constexpr std::uint32_t kKinds = 3;       // Master-Tree, hash, array
inline constexpr std::uint32_t kSlips = 32;      // of each teller

inline Status wrong(const std::string& what) {
  return Status::error(ErrorCode::kCorruption, what);
}

// The compared rows: transfers of each teller, cents of each account, and for each slip the number
// of the transfer that left it; kNoSlip: none.
struct BankRows {
  static constexpr std::uint64_t kNoSlip = ~std::uint64_t{0};
  std::array<std::uint64_t, kTellersMax> transfers;
  std::array<std::array<std::int64_t, kAccounts>, kKinds> cents;
  std::array<std::array<std::uint64_t, kSlips>, kTellersMax> slips;

  BankRows();  // before the first transfer
  std::int64_t sum() const;
  bool operator==(const BankRows&) const = default;
};

struct Transfer {
  std::uint32_t from_kind, from, to_kind, to;
  std::int64_t cents;
};
Transfer transfer_of(std::uint64_t seed, std::uint32_t teller, std::uint64_t number);
// Applies the transfer `rows->transfers[teller]` to the rows.
void apply_next(std::uint64_t seed, std::uint32_t teller, BankRows* rows);
// Describes the differences; empty if there are none.
std::string difference(const BankRows& found, const BankRows& expected);

class Bank {
 public:
  // Opens the storages, and fills them if they are empty.
  static Result<Bank> open(Database* db);

  // Makes a transfer in one transaction. kCorruption: the teller's row does not have `number`.
  Status transfer(Txn& txn, std::uint64_t seed, std::uint32_t teller, std::uint64_t number) const;
  Status read(Txn& txn, BankRows* rows) const;
  // Reads only the cents.
  Status read_cents(Txn& txn, BankRows* rows) const;
  // Checks all receipts: each transfer below rows.transfers left one. kCorruption names the fault.
  Status check_receipts(Txn& txn, const BankRows& rows) const;

 private:
  Status fill(Database* db) const;
  Status add(Txn& txn, std::uint32_t kind, std::uint32_t account, std::int64_t cents,
             bool blindly) const;

  Masstree tellers_;  // with the slips
  Masstree tree_;
  Hash hash_;
  Array array_;
  Hash slips_;
  Sequential receipts_;
};

}  // namespace foedus::kills
