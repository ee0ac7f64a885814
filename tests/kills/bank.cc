#include "tests/kills/bank.h"

#include <cstring>
#include <utility>

#include "foedus-core/base/system/clock.h"

namespace foedus::kills {

namespace {

constexpr std::int64_t kOpeningCents = 1'000'000;
constexpr std::uint64_t kSlipBytesMax = 3'000;  // some slips do not fit into a page

std::uint64_t mix_of(std::uint64_t seed, std::uint32_t teller, std::uint64_t number) {
  return (seed * 1'000'003 + teller) * 0x9e3779b97f4a7c15u + number * 0xd6e8feb86659fd93u + 1;
}

// One round over the slips writes them, and the next one erases them.
bool writes_slip(std::uint64_t number) { return number / kSlips % 2 == 0; }

Key slip_key(std::uint32_t teller, std::uint64_t slip) { return key(teller, slip); }

std::string slip_of(std::uint64_t seed, std::uint32_t teller, std::uint64_t number) {
  base::Random random(mix_of(seed, teller, ~number));
  const std::uint64_t bytes =
      random.below(16) == 0 ? 2 * kSlipBytesMax : random.below(kSlipBytesMax / 8);
  std::string text(8 + bytes, static_cast<char>('a' + number % 26));
  std::memcpy(text.data(), &number, 8);
  return text;
}

struct Receipt {
  std::uint64_t teller;
  std::uint64_t number;
};

}  // namespace

BankRows::BankRows() {
  transfers.fill(0);
  for (auto& kind : cents) kind.fill(kOpeningCents);
  for (auto& teller : slips) teller.fill(kNoSlip);
}

std::int64_t BankRows::sum() const {
  std::int64_t sum = 0;
  for (const auto& kind : cents) {
    for (const std::int64_t one : kind) sum += one;
  }
  return sum;
}

Transfer transfer_of(std::uint64_t seed, std::uint32_t teller, std::uint64_t number) {
  base::Random random(mix_of(seed, teller, number));
  const auto below = [&random](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random.below(bound));
  };
  Transfer made{};
  made.from_kind = below(kKinds);
  made.from = below(kAccounts);
  made.to_kind = below(kKinds);
  made.to = below(kAccounts);
  made.cents = static_cast<std::int64_t>(1 + random.below(1'000));
  return made;
}

void apply_next(std::uint64_t seed, std::uint32_t teller, BankRows* rows) {
  const std::uint64_t number = rows->transfers[teller]++;
  const Transfer made = transfer_of(seed, teller, number);
  rows->cents[made.from_kind][made.from] -= made.cents;
  rows->cents[made.to_kind][made.to] += made.cents;
  rows->slips[teller][number % kSlips] = writes_slip(number) ? number : BankRows::kNoSlip;
}

std::string difference(const BankRows& found, const BankRows& expected) {
  std::string text;
  const auto compare = [&text](const std::string& what, auto have, auto want) {
    if (have == want || text.size() > 1'000) return;
    text += what + " is " + std::to_string(have) + ", not " + std::to_string(want) + "; ";
  };
  compare("the sum", found.sum(), expected.sum());
  for (std::uint32_t t = 0; t < kTellersMax; ++t) {
    compare("teller " + std::to_string(t), found.transfers[t], expected.transfers[t]);
    for (std::uint32_t i = 0; i < kSlips; ++i) {
      compare("slip " + std::to_string(t) + "." + std::to_string(i), found.slips[t][i],
              expected.slips[t][i]);
    }
  }
  for (std::uint32_t k = 0; k < kKinds; ++k) {
    for (std::uint32_t i = 0; i < kAccounts; ++i) {
      compare("account " + std::to_string(k) + "." + std::to_string(i), found.cents[k][i],
              expected.cents[k][i]);
    }
  }
  return text;
}

Result<Bank> Bank::open(Database* db) {
  Bank bank;
  FOEDUS_TRY(bank.tellers_, db->open_masstree("bank-tellers"));
  FOEDUS_TRY(bank.tree_, db->open_masstree("bank-tree"));
  FOEDUS_TRY(bank.hash_, db->open_hash("bank-hash"));
  FOEDUS_TRY(bank.array_, db->open_array("bank-array", kAccounts, sizeof(std::int64_t)));
  FOEDUS_TRY(bank.slips_, db->open_hash("bank-slips"));
  FOEDUS_TRY(bank.receipts_, db->open_sequential("bank-receipts"));
  FOEDUS_CHECK(bank.fill(db));
  return bank;
}

Status Bank::fill(Database* db) const {
  return db->transact(
      [this](Txn& txn) -> Status {
        const auto first = txn.get_as<std::uint64_t>(tellers_, key(0u));
        if (first.code() != ErrorCode::kNotFound) return first.status();
        for (std::uint32_t t = 0; t < kTellersMax; ++t) {
          FOEDUS_CHECK(txn.insert(tellers_, key(t), std::uint64_t{0}));
        }
        for (std::uint32_t i = 0; i < kAccounts; ++i) {
          FOEDUS_CHECK(txn.insert(tree_, key(i), kOpeningCents));
          FOEDUS_CHECK(txn.insert(hash_, key(i), kOpeningCents));
          FOEDUS_CHECK(txn.put(array_, i, kOpeningCents));
        }
        return {};
      },
      {.durability = Durability::kSync});
}

Status Bank::add(Txn& txn, std::uint32_t kind, std::uint32_t account, std::int64_t cents,
                 bool blindly) const {
  if (kind == 2) {
    if (blindly) return txn.increment(array_, account, 0, cents);
    FOEDUS_TRY(const std::int64_t now, txn.get_as<std::int64_t>(array_, account));
    return txn.put(array_, account, now + cents);
  }
  const KeyedStorage& storage =
      kind == 0 ? static_cast<const KeyedStorage&>(tree_) : static_cast<const KeyedStorage&>(hash_);
  if (blindly) return txn.increment(storage, key(account), 0, cents);
  FOEDUS_TRY(const std::int64_t now, txn.get_as<std::int64_t>(storage, key(account)));
  return txn.put(storage, key(account), now + cents);
}

Status Bank::transfer(Txn& txn, std::uint64_t seed, std::uint32_t teller,
                      std::uint64_t number) const {
  FOEDUS_TRY(const std::uint64_t behind, txn.get_as<std::uint64_t>(tellers_, key(teller)));
  if (behind != number) {
    return wrong("teller " + std::to_string(teller) + " has " + std::to_string(behind) +
                 " transfers, not " + std::to_string(number));
  }
  FOEDUS_CHECK(txn.put(tellers_, key(teller), number + 1));
  const Transfer made = transfer_of(seed, teller, number);
  FOEDUS_CHECK(add(txn, made.from_kind, made.from, -made.cents, number % 3 == 0));
  FOEDUS_CHECK(add(txn, made.to_kind, made.to, made.cents, number % 3 == 1));
  const Key slip = slip_key(teller, number % kSlips);
  if (writes_slip(number)) {
    FOEDUS_CHECK(txn.insert(slips_, slip, slip_of(seed, teller, number)));
  } else {
    FOEDUS_CHECK(txn.erase(slips_, slip));
  }
  const Receipt receipt{teller, number};
  return txn.append(receipts_,
                    std::string_view(reinterpret_cast<const char*>(&receipt), sizeof(receipt)));
}

Status Bank::read_cents(Txn& txn, BankRows* rows) const {
  for (std::uint32_t i = 0; i < kAccounts; ++i) {
    FOEDUS_TRY(rows->cents[0][i], txn.get_as<std::int64_t>(tree_, key(i)));
    FOEDUS_TRY(rows->cents[1][i], txn.get_as<std::int64_t>(hash_, key(i)));
    FOEDUS_TRY(rows->cents[2][i], txn.get_as<std::int64_t>(array_, i));
  }
  return {};
}

Status Bank::read(Txn& txn, BankRows* rows) const {
  FOEDUS_CHECK(read_cents(txn, rows));
  for (std::uint32_t t = 0; t < kTellersMax; ++t) {
    FOEDUS_TRY(rows->transfers[t], txn.get_as<std::uint64_t>(tellers_, key(t)));
    for (std::uint32_t i = 0; i < kSlips; ++i) {
      Result<std::string> slip = txn.get(slips_, slip_key(t, i));
      rows->slips[t][i] = BankRows::kNoSlip;
      if (slip.code() == ErrorCode::kNotFound) continue;
      FOEDUS_CHECK(slip.status());
      if (slip->size() < 8) return wrong("a slip has lost its number");
      std::memcpy(&rows->slips[t][i], slip->data(), 8);
    }
  }
  return {};
}

Status Bank::check_receipts(Txn& txn, const BankRows& rows) const {
  // A teller's transfers are in the order of their numbers, because each saw the one before.
  std::array<std::uint64_t, kTellersMax> seen{};
  Scan scan = txn.scan(receipts_);
  for (const Row& row : scan) {
    Receipt receipt{};
    if (row.payload.size() != sizeof(receipt)) return wrong("a receipt of another size");
    std::memcpy(&receipt, row.payload.data(), sizeof(receipt));
    if (receipt.teller >= kTellersMax || seen[receipt.teller] != receipt.number) {
      return wrong("receipt " + std::to_string(receipt.teller) + "." +
                   std::to_string(receipt.number) + " is not the next one");
    }
    ++seen[receipt.teller];
  }
  if (scan.failure().has_value()) return *scan.failure();
  if (seen != rows.transfers) return wrong("there are not as many receipts as transfers");
  return {};
}

}  // namespace foedus::kills
