#include "tests/soak/pool.h"

#include <string_view>
#include <utility>

namespace foedus::soak {

namespace {

constexpr std::uint64_t kLinesMax = 100'000;
constexpr std::uint64_t kSlotsAtOnce = 4;
constexpr std::uint64_t kLongRows = 64;  // one row of this many does not fit into a page
constexpr std::uint32_t kFillAtOnce = 200;

std::uint64_t mix_of(std::uint32_t slot, std::uint64_t changes) {
  base::Random random(slot * 0x9e3779b97f4a7c15u + changes * 0xd6e8feb86659fd93u + 1);
  return random.below(1u << 30);
}

Status wrong(std::uint32_t slot, const std::string& what) {
  return Status::error(ErrorCode::kCorruption, "slot " + std::to_string(slot) + " " + what);
}

}  // namespace

const KeyedStorage& Pool::storage_of(std::uint32_t slot, std::uint64_t changes) const {
  if (mix_of(slot, changes) % 2 == 0) return tree_;
  return hash_;
}

std::string Pool::row_of(std::uint32_t slot, std::uint64_t changes) const {
  const std::uint64_t mixed = mix_of(slot, changes);
  const bool is_long = mixed / 2 % kLongRows == 0;
  const std::uint64_t bytes = is_long ? 6'000 : mixed / (2 * kLongRows) % row_bytes_max_;
  std::string row = std::to_string(slot) + "." + std::to_string(changes) + ".";
  row.append(bytes, static_cast<char>('a' + mixed % 26));
  return row;
}

Result<Pool> Pool::open(Database* db, std::uint32_t slots, std::uint32_t row_bytes_max) {
  Pool pool(db, slots, row_bytes_max);
  FOEDUS_TRY(pool.tree_, db->open_masstree("pool-tree"));
  FOEDUS_TRY(pool.hash_, db->open_hash("pool-hash"));
  FOEDUS_TRY(pool.changes_, db->open_array("pool-changes", slots, sizeof(std::uint64_t)));
  FOEDUS_CHECK(pool.fill());
  for (const StorageInfo& storage : db->storages()) {
    constexpr std::string_view kLines = "pool-lines-";
    if (!storage.name.starts_with(kLines)) continue;
    pool.lines_number_ = std::stoull(storage.name.substr(kLines.size()));
    FOEDUS_CHECK(db->drop_storage(storage.name));
  }
  FOEDUS_CHECK(pool.new_lines());
  return pool;
}

Status Pool::new_lines() {
  const auto name = [](std::uint64_t number) { return "pool-lines-" + std::to_string(number); };
  if (line_count_ != 0) FOEDUS_CHECK(db_->drop_storage(name(lines_number_)));
  line_count_ = 0;
  FOEDUS_TRY(lines_, db_->open_sequential(name(++lines_number_)));
  return {};
}

// Fills slots that have no row yet, a part of them in each transaction.
Status Pool::fill() const {
  for (std::uint32_t begin = 0; begin < slots_; begin += kFillAtOnce) {
    FOEDUS_CHECK(db_->transact([&](Txn& txn) -> Status {
      for (std::uint32_t slot = begin; slot < slots_ && slot < begin + kFillAtOnce; ++slot) {
        FOEDUS_TRY(const auto changes, txn.get_as<std::uint64_t>(changes_, slot));
        if (changes != 0) continue;
        FOEDUS_CHECK(txn.insert(storage_of(slot, 1), key(slot, 1), row_of(slot, 1)));
        FOEDUS_CHECK(txn.put(changes_, slot, std::uint64_t{1}));
      }
      return {};
    }));
  }
  return {};
}

Status Pool::change_slot(Txn& txn, std::uint32_t slot) const {
  FOEDUS_TRY(const auto changes, txn.get_as<std::uint64_t>(changes_, slot));
  FOEDUS_CHECK(txn.erase(storage_of(slot, changes), key(slot, changes)));
  const std::uint64_t next = changes + 1;
  FOEDUS_CHECK(txn.insert(storage_of(slot, next), key(slot, next), row_of(slot, next)));
  return txn.put(changes_, slot, next);
}

Status Pool::change(base::Random* random, bool writes_lines) {
  const std::uint64_t count = 1 + random->below(kSlotsAtOnce);
  const std::uint64_t seed = random->below(~std::uint64_t{0});
  FOEDUS_CHECK(db_->transact([&](Txn& txn) -> Status {
    base::Random slots(seed);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto slot = static_cast<std::uint32_t>(slots.below(slots_));
      FOEDUS_CHECK(change_slot(txn, slot));
      if (writes_lines) FOEDUS_CHECK(txn.append(lines_, std::to_string(slot)));
    }
    return {};
  }));
  if (!writes_lines) return {};
  line_count_ += count;
  return line_count_ > kLinesMax ? new_lines() : Status();
}

Status Pool::look_at(Txn& txn, std::uint32_t slot) const {
  FOEDUS_TRY(const auto changes, txn.get_as<std::uint64_t>(changes_, slot));
  if (changes == 0) return {};  // a snapshot that was made while the slots were filled
  const Result<std::string> row = txn.get(storage_of(slot, changes), key(slot, changes));
  if (row.code() == ErrorCode::kNotFound) {
    return wrong(slot, "has no row of change " + std::to_string(changes));
  }
  FOEDUS_CHECK(row.status());
  if (*row != row_of(slot, changes)) return wrong(slot, "has a wrong row: " + row->substr(0, 40));
  return {};
}

Status Pool::look(base::Random* random) const {
  const std::uint64_t seed = random->below(~std::uint64_t{0});
  const auto look_at_some = [&](Txn& txn) -> Status {
    base::Random slots(seed);
    for (std::uint64_t i = 0; i < kSlotsAtOnce; ++i) {
      FOEDUS_CHECK(look_at(txn, static_cast<std::uint32_t>(slots.below(slots_))));
    }
    return {};
  };
  if (random->below(4) != 0) return db_->transact(look_at_some, {.read_only = true});
  const Status status = db_->snapshot(look_at_some, {.newest_existing = true});
  return status.code() == ErrorCode::kNotFound ? Status() : status;  // no snapshot yet
}

Status Pool::check() const {
  return db_->transact(
      [this](Txn& txn) -> Status {
        std::uint64_t in_tree = 0;
        for (std::uint32_t slot = 0; slot < slots_; ++slot) {
          FOEDUS_CHECK(look_at(txn, slot));
          FOEDUS_TRY(const auto changes, txn.get_as<std::uint64_t>(changes_, slot));
          in_tree += &storage_of(slot, changes) == &tree_ ? 1 : 0;
        }
        std::uint64_t rows = 0;
        Scan scan = txn.scan(tree_, {}, {});
        for ([[maybe_unused]] const Row& row : scan) ++rows;
        if (scan.failure().has_value()) return *scan.failure();
        if (rows == in_tree) return {};
        return Status::error(ErrorCode::kCorruption,
                             "the tree has " + std::to_string(rows) + " rows, not " +
                                 std::to_string(in_tree));
      },
      {.read_only = true});
}

}  // namespace foedus::soak
