#include "tests/kills/damage.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "foedus/foedus.h"
#include "tests/kills/bank.h"

namespace foedus::kills {

namespace {

constexpr std::string_view kNames[] = {"none", "old-files", "teller", "money", "slip", "receipt"};

std::string kept_beside(const std::string& dir) { return dir + "-kept"; }

Status copy_files(const std::string& from, const std::string& to) {
  std::error_code failure;
  std::filesystem::remove_all(to, failure);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, failure);
  if (failure) return Status::system_error(ErrorCode::kIoError, to, failure.value());
  return {};
}

Status harm_slip(Txn& txn, const Hash& slips) {
  const Key first = key(0u, 0u);
  const Result<std::string> slip = txn.get(slips, first);
  if (slip.is_ok()) return txn.erase(slips, first);
  if (slip.code() != ErrorCode::kNotFound) return slip.status();
  return txn.insert(slips, first, std::string(8, '\0'));
}

Status harm_receipts(Txn& txn, const Sequential& receipts) {
  std::string last;
  Scan scan = txn.scan(receipts);
  for (const Row& row : scan) last = row.payload;
  if (scan.failure().has_value()) return *scan.failure();
  return txn.append(receipts, last);
}

Status harm(Damage damage, Database* db) {
  FOEDUS_TRY(const Masstree tellers, db->open_masstree("bank-tellers"));
  FOEDUS_TRY(const Array accounts, db->open_array("bank-array", kAccounts, sizeof(std::int64_t)));
  FOEDUS_TRY(const Hash slips, db->open_hash("bank-slips"));
  FOEDUS_TRY(const Sequential receipts, db->open_sequential("bank-receipts"));
  return db->transact(
      [&](Txn& txn) -> Status {
        switch (damage) {
          case Damage::kTeller: return txn.increment(tellers, key(0u), 0, -1);
          case Damage::kMoney: return txn.increment(accounts, 7, 0, 1);
          case Damage::kSlip: return harm_slip(txn, slips);
          case Damage::kReceipt: return harm_receipts(txn, receipts);
          default: return ErrorCode::kInvalidArgument;
        }
      },
      {.durability = Durability::kSync});
}

Status open_and_harm(Damage damage, const std::string& dir) {
  Options options;
  options.dir = dir;
  options.memory_bytes = 256u << 20;
  FOEDUS_TRY(Database db, Database::open(options));
  FOEDUS_CHECK(harm(damage, &db));
  return db.close();
}

}  // namespace

std::optional<Damage> damage_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Damage>(i);
  }
  return std::nullopt;
}

Status keep_files(const std::string& dir) { return copy_files(dir, kept_beside(dir)); }

Status do_damage(Damage damage, const std::string& dir) {
  if (damage == Damage::kNone) return {};
  if (damage == Damage::kOldFiles) return copy_files(kept_beside(dir), dir);
  const pid_t child = fork();
  if (child < 0) return Status::system_error(ErrorCode::kIoError, "fork", errno);
  if (child == 0) {
    const Status status = open_and_harm(damage, dir);
    if (!status.is_ok()) std::fprintf(stderr, "damage: %s\n", status.message().c_str());
    _exit(status.is_ok() ? 0 : 1);
  }
  int ended = 0;
  if (waitpid(child, &ended, 0) != child || ended != 0) {
    return Status::error(ErrorCode::kIoError, "the damage could not be done");
  }
  return {};
}

}  // namespace foedus::kills
