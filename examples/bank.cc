// A bank: threads move money between accounts, and no transfer is lost, not even by a crash.
//
// A transaction is a function that is passed to transact(). If another transaction was in its way,
// it runs again; so it has no effect but on the database. With Durability::kSync, transact()
// returns once the transfer is on the device.

#include <foedus/foedus.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Account {  // a row: any trivially copyable type
  std::int64_t cents;
};
constexpr std::uint32_t kAccounts = 20;
constexpr foedus::TxnOptions kOnTheDevice = {.durability = foedus::Durability::kSync};

// Moves `cents`. Returns kRolledBack, and has changed nothing, if `from` has less than that.
foedus::Status transfer(foedus::Database& db, foedus::Masstree accounts, std::uint32_t from,
                        std::uint32_t to, std::int64_t cents) {
  return db.transact(
      [&](foedus::Txn& txn) -> foedus::Status {
        FOEDUS_TRY(auto payer, txn.get_as<Account>(accounts, foedus::key(from)));
        FOEDUS_TRY(auto payee, txn.get_as<Account>(accounts, foedus::key(to)));
        if (payer.cents < cents) return foedus::Status::rolled_back();
        payer.cents -= cents;
        payee.cents += cents;
        FOEDUS_CHECK(txn.put(accounts, foedus::key(from), payer));
        return txn.put(accounts, foedus::key(to), payee);
      },
      kOnTheDevice);
}

foedus::Status run(const std::string& dir) {
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir}));
  FOEDUS_TRY(auto accounts, db.open_masstree("accounts"));  // created if it is missing
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    for (std::uint32_t owner = 0; owner < kAccounts; ++owner) {
      FOEDUS_CHECK(txn.put(accounts, foedus::key(owner), Account{10'000}));
    }
    return {};
  }));

  std::atomic<int> made = 0;
  std::vector<std::thread> tellers;
  for (std::uint32_t teller = 0; teller < 4; ++teller) {
    tellers.emplace_back([&, teller] {
      for (std::uint32_t i = 0; i < 50; ++i) {
        const std::uint32_t from = (teller + i) % kAccounts;
        if (transfer(db, accounts, from, (from + 7) % kAccounts, 25).is_ok()) ++made;
      }
    });
  }
  for (std::thread& teller : tellers) teller.join();
  std::printf("transfers: %d\n", made.load());

  const foedus::Status refused = transfer(db, accounts, 1, 2, 1'000'000);
  std::printf("too much: %s\n", std::string(to_string(refused.code())).c_str());

  FOEDUS_TRY(const std::int64_t sum,
             db.transact([&](foedus::Txn& txn) -> foedus::Result<std::int64_t> {
               std::int64_t cents = 0;
               auto rows = txn.scan(accounts, foedus::key(0), foedus::key(kAccounts));
               for (auto [key, row] : rows) cents += foedus::view_as<Account>(row).cents;
               if (auto failure = rows.failure()) return *failure;  // why the rows ended early
               return cents;
             }));
  std::printf("sum: %lld\n", static_cast<long long>(sum));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const foedus::Status status = run(argc > 1 ? argv[1] : "bank");
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.is_ok() ? 0 : 1;
}

// prints:
//   transfers: 200
//   too much: rolled_back
//   sum: 200000
