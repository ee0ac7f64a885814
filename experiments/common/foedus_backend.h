#pragma once
// FoedusBackend: the engine as a Backend. One explicit Session per worker; conflicts are run again
// by this file rather than by Database::transact(), so that each one is counted by its reason and
// the loop costs no indirect call.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "experiments/common/backend.h"
#include "foedus/foedus.h"

namespace experiments {

// A table's handle: the one that `kind` says is set.
struct FoedusTable {
  TableKind kind = TableKind::kOrdered;
  foedus::Array array;
  foedus::KeyedStorage keyed;  // Master-Tree or hash
  foedus::Masstree tree;
  foedus::Sequential sequential;
};

class FoedusTxn {
 public:
  using Table = FoedusTable;

  explicit FoedusTxn(foedus::Txn* txn) : txn_(txn) {}

  foedus::Status get(const Table& table, const KeyView& key, std::span<std::byte> out) {
    if (table.kind == TableKind::kArray) return txn_->get(table.array, key.index, out);
    return whole(table, txn_->get(table.keyed, key.bytes, out), out.size());
  }
  foedus::Status get_for_update(const Table& table, const KeyView& key, std::span<std::byte> out) {
    if (table.kind == TableKind::kArray) return txn_->get_for_update(table.array, key.index, out);
    return whole(table, txn_->get_for_update(table.keyed, key.bytes, out), out.size());
  }
  foedus::Status read_at(const Table& table, const KeyView& key, std::uint32_t offset,
                         std::span<std::byte> out) {
    if (table.kind == TableKind::kArray) return txn_->read_at(table.array, key.index, offset, out);
    return txn_->read_at(table.keyed, key.bytes, offset, out);
  }
  // Reads part_of(0) to part_of(count - 1), whose loads overlap.
  template <typename PartOf>
  foedus::Status read_many(const Table& table, std::size_t count, const PartOf& part_of) {
    if (table.kind == TableKind::kArray) {
      return count <= kFew ? read_many_of_array<kFew>(table, count, part_of)
                           : read_many_of_array<kMany>(table, count, part_of);
    }
    constexpr std::size_t kAhead = 16;  // more would push each other out of the first-level cache
    for (std::size_t i = 0; i < std::min(count, kAhead); ++i) prefetch(table, part_of(i).key);
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) prefetch(table, part_of(i + kAhead).key);
      const auto part = part_of(i);
      FOEDUS_CHECK(read_at(table, part.key, part.offset, part.out));
    }
    return {};
  }
  // Rows of an array are always there, so an insert into one is a put.
  foedus::Status insert(const Table& table, const KeyView& key, std::string_view row) {
    if (table.kind == TableKind::kArray) return txn_->put(table.array, key.index, row);
    return txn_->insert(table.keyed, key.bytes, row);
  }
  foedus::Status put(const Table& table, const KeyView& key, std::string_view row) {
    if (table.kind == TableKind::kArray) return txn_->put(table.array, key.index, row);
    return txn_->put(table.keyed, key.bytes, row);
  }
  foedus::Status write_at(const Table& table, const KeyView& key, std::uint32_t offset,
                          std::string_view part) {
    if (table.kind == TableKind::kArray) {
      return txn_->write_at(table.array, key.index, offset, part);
    }
    return txn_->write_at(table.keyed, key.bytes, offset, part);
  }
  foedus::Status erase(const Table& table, const KeyView& key) {
    return txn_->erase(table.keyed, key.bytes);  // refused by name for a table without keys
  }
  foedus::Status append(const Table& table, std::string_view row) {
    return txn_->append(table.sequential, row);
  }
  void prefetch(const Table& table, const KeyView& key) {
    if (table.kind == TableKind::kArray) {
      txn_->prefetch(table.array, key.index);
    } else {
      txn_->prefetch(table.keyed, key.bytes);
    }
  }

  template <typename Visit>
  foedus::Status scan(const Table& table, const ScanRange& range, Visit&& visit) {
    if (table.kind == TableKind::kAppend) {
      if (range.reverse) return foedus::ErrorCode::kInvalidArgument;
      return drain(txn_->scan(table.sequential, {.limit = range.limit}), visit);
    }
    const foedus::ScanOptions options{.limit = range.limit, .reverse = range.reverse};
    return drain(txn_->scan(table.tree, range.low, range.high, options), visit);
  }

 private:
  template <typename Visit>
  static foedus::Status drain(foedus::Scan rows, Visit& visit) {
    for (const foedus::Row& row : rows) {
      if (!visit(row.key, row.payload)) return {};
    }
    if (auto failure = rows.failure()) return *std::move(failure);
    return {};
  }
  static foedus::Status whole(const Table& table, foedus::Result<std::size_t> size,
                              std::size_t expected) {
    if (!size.is_ok()) return size.status();
    if (*size != expected) return wrong_size(table, *size, expected);
    return {};
  }
  // So many at once: what a call for few would set up for many costs as much as their reads.
  static constexpr std::size_t kFew = 16;
  static constexpr std::size_t kMany = 256;
  template <std::size_t kAtOnce, typename PartOf>
  foedus::Status read_many_of_array(const Table& table, std::size_t count, const PartOf& part_of) {
    std::array<foedus::ArrayReadRequest, kAtOnce> requests;
    for (std::size_t begin = 0; begin < count; begin += requests.size()) {
      const std::size_t some = std::min(count - begin, requests.size());
      for (std::size_t i = 0; i < some; ++i) {
        const auto part = part_of(begin + i);
        const KeyView key = part.key;
        requests[i] = {key.index, part.offset, part.out};
      }
      FOEDUS_CHECK(txn_->get_many(table.array, {requests.data(), some}));
    }
    return {};
  }
  static foedus::Status wrong_size(const Table& table, std::size_t found, std::size_t expected);

  foedus::Txn* txn_;
};

class FoedusWorker {
 public:
  FoedusWorker(foedus::Database* db, foedus::Session session, foedus::Durability durability)
      : db_(db), session_(std::move(session)), durability_(durability) {}

  template <typename F>
  foedus::Status transact(F&& f) {
    return run(f, {.durability = durability_});
  }
  // With kSync it waits too: what it read must survive before it is told.
  template <typename F>
  foedus::Status read_only(F&& f) {
    return run(f, {.durability = durability_, .read_only = true});
  }

  // Reads the newest snapshot.
  template <typename F>
  foedus::Status snapshot(F&& f) {
    return run(f, {.isolation = foedus::Isolation::kSnapshot,
                   .durability = durability_,
                   .newest_existing = true});
  }

  Counters counters() const;
  // The epoch of the last commit; 0 if there was nothing to wait for.
  std::uint64_t last_epoch() const { return last_epoch_; }

 private:
  // With the back-off below this is some 10 s of failure: then the conflict is handed out.
  static constexpr std::uint32_t kTriesMax = 100'000;
  static constexpr std::uint32_t kTriesForRoom = 50;

  template <typename F>
  foedus::Status run(F& f, const foedus::TxnOptions& options) {
    std::uint32_t tries_for_room = 0;
    for (std::uint32_t tries = 1;; ++tries) {
      foedus::Status status = run_once(f, options, tries > 1);
      if (status.is_ok()) {
        ++commits_;
        return status;
      }
      if (status.code() == foedus::ErrorCode::kOutOfMemory) [[unlikely]] {
        if (tries_for_room++ != kTriesForRoom && make_room()) continue;
      }
      if (status.code() != foedus::ErrorCode::kConflict) {
        ++rollbacks_;
        return status;
      }
      ++conflicts_[static_cast<std::size_t>(status.conflict_reason())];
      if (tries == kTriesMax) return status;
      back_off(tries);
    }
  }

  template <typename F>
  foedus::Status run_once(F& f, const foedus::TxnOptions& options, bool is_retry) {
    FOEDUS_TRY(foedus::Txn txn, is_retry ? session_.retry(options) : session_.begin(options));
    FoedusTxn view(&txn);
    foedus::Status status = f(view);
    if (status.is_ok()) {
      FOEDUS_TRY(const foedus::Ticket ticket, txn.commit());
      last_epoch_ = ticket.epoch().number();
      return {};
    }
    // An error may come from reads that do not fit together: then it is a conflict.
    if (status.code() != foedus::ErrorCode::kConflict) {
      if (foedus::Status verified = txn.verify(); !verified.is_ok()) status = std::move(verified);
    }
    txn.rollback();
    return status;
  }

  // Memory is spent: makes a snapshot, which gives back volatile pages. False: it cannot.
  [[gnu::cold]] bool make_room();
  // Waits about 2^tries pauses of the processor, at random, and yields it from some length on.
  void back_off(std::uint32_t tries);

  foedus::Database* db_;
  foedus::Session session_;
  foedus::Durability durability_;
  std::uint64_t rooms_made_ = 0;
  std::uint64_t last_epoch_ = 0;
  std::uint64_t commits_ = 0;
  std::uint64_t rollbacks_ = 0;
  std::uint64_t back_off_state_ = 0x9e3779b97f4a7c15;
  std::array<std::uint64_t, foedus::kConflictReasonCount> conflicts_{};
};

class FoedusBackend {
 public:
  using Table = FoedusTable;
  using Txn = FoedusTxn;
  using Worker = FoedusWorker;

  static foedus::Result<FoedusBackend> open(foedus::Options options, foedus::Durability durability);

  foedus::Result<Table> open_table(const TableSpec& spec);
  foedus::Result<Worker> new_worker();

  std::uint64_t last_commit_token(Worker& worker) { return worker.last_epoch(); }
  std::uint64_t durable_token() { return db_->durable_epoch().number(); }
  foedus::Status wait_durable() { return db_->wait_durable(); }
  std::string name() const { return "foedus"; }
  // As Database::reserve_memory().
  std::uint64_t reserve_memory(std::uint64_t bytes) { return db_->reserve_memory(bytes); }
  void fill_stats(StatsLine& line);
  foedus::Status close() { return db_->close(); }
  foedus::Database& database() { return *db_; }

 private:
  FoedusBackend(foedus::Database db, foedus::Durability durability)
      : db_(std::make_unique<foedus::Database>(std::move(db))), durability_(durability) {}

  std::unique_ptr<foedus::Database> db_;
  foedus::Durability durability_;
};

// What the flags of options.h describe. What the engine has to say goes to glog.
foedus::Options foedus_options_by_flags();
// `mode`: what --glean may be.
void set_gleans_by_flags(std::string_view mode, foedus::Options* options);
foedus::Durability durability_by_flags();
foedus::Result<FoedusBackend> open_foedus_by_flags();

static_assert(Backend<FoedusBackend>);

}  // namespace experiments
