// An order book: the orders of an exchange in one Master-Tree, whose keys put them in the order in
// which they are to be served.
//
// key(symbol, side, price, number) builds a key of four columns. Keys sort as their columns do, so
// a scan of the prefix key(symbol, side) meets the best price first, and at one price the oldest
// order. Bids have their price negated: there the highest price is the best.

#include <foedus/foedus.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>

namespace {

enum class Side : std::uint8_t { kAsk = 0, kBid = 1 };  // an enum is a column, too

// Returns the key of an order; decode<std::string, Side, std::int64_t, int> gives its columns back.
foedus::Key order_key(const std::string& symbol, Side side, std::int64_t price, int number) {
  return foedus::key(symbol, side, side == Side::kBid ? -price : price, number);
}

// Buys from the cheapest asks up to `price`; what is left of `quantity` becomes a bid. Other
// traders may do the same at once: an ask that comes, goes or changes meanwhile makes the function
// run again.
foedus::Status buy(foedus::Database& db, foedus::Masstree book, const std::string& symbol,
                   std::int64_t price, std::int64_t quantity, int number) {
  return db.transact([&](foedus::Txn& txn) -> foedus::Status {
    std::int64_t wanted = quantity;
    auto asks = txn.scan_prefix(book, foedus::key(symbol, Side::kAsk));
    for (auto [key, payload] : asks) {
      FOEDUS_TRY(const auto columns, foedus::decode<std::string, Side, std::int64_t, int>(key));
      if (wanted == 0 || std::get<2>(columns) > price) break;
      const auto offered = foedus::view_as<std::int64_t>(payload);  // the row is a quantity
      const std::int64_t taken = std::min(wanted, offered);
      FOEDUS_CHECK(taken == offered ? txn.erase(book, key) : txn.put(book, key, offered - taken));
      wanted -= taken;
    }
    if (auto failure = asks.failure()) return *failure;
    if (wanted == 0) return {};
    return txn.put(book, order_key(symbol, Side::kBid, price, number), wanted);
  });
}

foedus::Result<std::string> describe(foedus::Database& db, foedus::Masstree book,
                                     const foedus::Key& prefix) {
  return db.transact([&](foedus::Txn& txn) -> foedus::Result<std::string> {
    std::string lines;  // printed by the caller: this function may run more than once
    auto rows = txn.scan_prefix(book, prefix);
    for (auto [key, payload] : rows) {
      FOEDUS_TRY(const auto columns, foedus::decode<std::string, Side, std::int64_t, int>(key));
      const auto& [symbol, side, price, number] = columns;
      lines += symbol + (side == Side::kBid ? " bid " : " ask ") + std::to_string(std::abs(price)) +
               " x " + std::to_string(foedus::view_as<std::int64_t>(payload)) + " #" +
               std::to_string(number) + "\n";
    }
    if (auto failure = rows.failure()) return *failure;
    return lines;
  });
}

foedus::Status run(const std::string& dir) {
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir}));
  FOEDUS_TRY(auto book, db.open_masstree("book"));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    FOEDUS_CHECK(txn.put(book, order_key("ACME", Side::kAsk, 103, 1), std::int64_t{5}));
    FOEDUS_CHECK(txn.put(book, order_key("ACME", Side::kAsk, 101, 2), std::int64_t{2}));
    FOEDUS_CHECK(txn.put(book, order_key("ACME", Side::kAsk, 101, 3), std::int64_t{4}));
    FOEDUS_CHECK(txn.put(book, order_key("ACME", Side::kBid, 99, 4), std::int64_t{1}));
    return txn.put(book, order_key("ACDC", Side::kAsk, 7, 5), std::int64_t{9});
  }));
  FOEDUS_CHECK(buy(db, book, "ACME", 102, 3, 6));  // 2 of order 2, 1 of order 3
  FOEDUS_CHECK(buy(db, book, "ACME", 100, 8, 7));  // too low: a bid, better than order 4
  FOEDUS_TRY(const auto one, describe(db, book, foedus::key("ACME")));
  FOEDUS_TRY(const auto some, describe(db, book, foedus::key_prefix("ACD")));  // and what follows
  std::printf("%ssymbols that begin with ACD:\n%s", one.c_str(), some.c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const foedus::Status status = run(argc > 1 ? argv[1] : "order_book");
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.is_ok() ? 0 : 1;
}

// prints:
//   ACME ask 101 x 3 #3
//   ACME ask 103 x 5 #1
//   ACME bid 100 x 8 #7
//   ACME bid 99 x 1 #4
//   symbols that begin with ACD:
//   ACDC ask 7 x 9 #5
