#include "tests/kills/victim.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/tpcc/acks.h"
#include "experiments/tpcc/consistency.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/run.h"

namespace foedus::kills {

namespace {

using experiments::FoedusBackend;
using Population = experiments::tpcc::Population<FoedusBackend>;

constexpr std::uint64_t kTellersWaitUs = 2'000;
constexpr std::uint64_t kTransfersPerSync = 64;
constexpr std::uint64_t kTransfersPerLook = 512;
constexpr std::size_t kAcksPerTxn = 100;

Options options_of(const VictimPlan& plan) {
  Options options;
  options.dir = plan.dir;
  options.socs = plan.socs;
  if (plan.is_spread) {
    options.files.dirs = {plan.dir + "-a", plan.dir + "-b"};
    options.log.loggers_per_soc = 1 + plan.number % 3;
    if (plan.number % 4 >= 2) std::swap(options.files.dirs[0], options.files.dirs[1]);
  }
  if (plan.is_tiered) {
    options.tiers.ssd_dirs = {plan.dir + "-ssd"};
    options.tiers.nvm_bytes = 4u << 20;
  }
  options.files.device = plan.device;
  options.memory_bytes = plan.memory_bytes;
  options.log.buffer_bytes = 1u << 20;
  options.log.segment_bytes = 4u << 20;
  options.epoch_interval_us = 2'000;
  options.sessions_max = plan.tellers + plan.tpcc_sessions + 8;
  options.snapshots_kept = 2;
  options.glean.interval_us = 50'000;
  options.glean.log_bytes = 2u << 20;
  if (plan.number % 2 == 0) options.glean.touch_bytes = 0;
  options.pages.volatile_percent = plan.number % 3 == 0 ? 60 : 0;
  options.glean.memory_bytes = 16u << 20;
  options.pages.cache_bytes = 8u << 20;
  return options;
}

experiments::tpcc::Scale small_scale() {
  return {.warehouses = 2,
          .districts = 4,
          .customers_per_district = 60,
          .items = 200,
          .orders = 60};
}

class Victim {
 public:
  Victim(const VictimPlan& plan, Ledger* ledger, FoedusBackend backend)
      : plan_(plan), ledger_(*ledger), backend_(std::move(backend)) {}

  Status run() {
    ledger_.snapshot = db().stats().snapshot;
    FOEDUS_TRY(Bank bank, Bank::open(&db()));
    bank_.emplace(std::move(bank));
    FOEDUS_CHECK(audit());
    if (plan_.tpcc_sessions != 0) FOEDUS_CHECK(find_tpcc());
    FOEDUS_CHECK(turn_storage());
    Status status = work();
    if (!status.is_ok()) return status;
    return backend_.close();
  }

 private:
  Database& db() { return backend_.database(); }

  // ---- the result -------------------------------------------------------------------------------
  Status audit() {
    FOEDUS_CHECK(db().transact([this](Txn& txn) { return bank_->read(txn, &ledger_.found); }));
    if (plan_.checks_all) {
      FOEDUS_CHECK(db().transact(
          [this](Txn& txn) { return bank_->check_receipts(txn, ledger_.found); }));
    }
    // order: release, pairs with the keeper's acquire: `found` is complete.
    ledger_.stage.store(Stage::kAudited, std::memory_order_release);
    while (ledger_.stage.load(std::memory_order_acquire) != Stage::kAtWork) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return {};
  }

  Status find_tpcc() {
    FOEDUS_TRY(population_, experiments::tpcc::find_population(backend_));
    if (!population_.has_value()) {
      FOEDUS_TRY(Population made, experiments::tpcc::populate(
                                      backend_, small_scale(),
                                      experiments::tpcc::StorageChoice::kMixed, plan_.seed,
                                      experiments::tpcc::date_now(), 1));
      population_.emplace(std::move(made));
    }
    FOEDUS_CHECK(verify_acks());
    if (!plan_.checks_all) return {};
    return experiments::tpcc::check_consistency(backend_, population_->tables, 1);
  }

  // Verifies the acknowledgements that no process has verified yet, or all.
  Status verify_acks() {
    if (!std::filesystem::exists(plan_.ack_file)) return {};
    FOEDUS_TRY(const auto acks, experiments::tpcc::read_acks(plan_.ack_file));
    FOEDUS_TRY(auto worker, backend_.new_worker());
    std::size_t at = plan_.checks_all ? 0 : ledger_.acks_verified;
    while (at < acks.size()) {
      const std::size_t end = std::min(at + kAcksPerTxn, acks.size());
      FOEDUS_CHECK(worker.read_only([&](FoedusBackend::Txn& txn) -> Status {
        for (std::size_t i = at; i < end; ++i) {
          FOEDUS_CHECK(experiments::tpcc::verify_ack<FoedusBackend>(txn, population_->tables,
                                                                    acks[i]));
        }
        return {};
      }));
      at = end;
    }
    ledger_.acks_verified = acks.size();
    return {};
  }

  // Creates a storage of this life, and drops that of the last one.
  Status turn_storage() {
    const auto name = [](std::uint32_t number) { return "life-" + std::to_string(number); };
    FOEDUS_TRY(const Masstree mine, db().open_masstree(name(plan_.number)));
    FOEDUS_CHECK(db().transact([&](Txn& txn) { return txn.put(mine, "born", plan_.number); }));
    for (const StorageInfo& storage : db().storages()) {
      const bool is_old = storage.name.starts_with("life-") && storage.name != name(plan_.number);
      if (is_old) FOEDUS_CHECK(db().drop_storage(storage.name));
    }
    return {};
  }

  // ---- work ------------------------------------------------------------------------------------
  Status work() {
    std::vector<Status> ends(plan_.tellers);
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < plan_.tellers; ++t) {
      threads.emplace_back([this, t, &ends] { ends[t] = serve(t); });
    }
    Status status = plan_.tpcc_sessions != 0 ? run_tpcc() : pause();
    // order: relaxed, a request to stop at some time.
    stops_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads) thread.join();
    for (const Status& end : ends) {
      if (status.is_ok()) status = end;
    }
    return status;
  }

  Status pause() const {
    std::this_thread::sleep_for(std::chrono::duration<double>(plan_.seconds));
    return {};
  }

  // Runs TPC-C, again and again if space is short: a run ends at such an error.
  Status run_tpcc() {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(plan_.seconds);
    for (std::uint64_t round = 0;; ++round) {
      experiments::tpcc::RunPlan plan;
      plan.sessions = plan_.tpcc_sessions;
      plan.seconds =
          std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
      if (plan.seconds <= 0) return {};
      plan.remote_percent = 10;
      plan.seed = plan_.seed * 1'000'003 + plan_.number * 101 + round;
      plan.last_name_constant = population_->load.last_name_constant;
      plan.ack_path = plan_.ack_file;
      experiments::tpcc::Run<FoedusBackend> run(backend_, population_->tables, plan);
      const Status status = run.run().status();
      if (!status.is_ok() && !is_short_of_room(status)) return status;
    }
  }

  bool is_short_of_room(const Status& status) {
    if (status.code() != ErrorCode::kOutOfSpace && status.code() != ErrorCode::kOutOfMemory) {
      return false;
    }
    ledger_.out_of_space.fetch_add(1, std::memory_order_relaxed);  // order: a count
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  }

  struct Unacknowledged {
    Epoch epoch;
    std::uint64_t number;
  };

  void acknowledge(Ledger::Teller* teller, std::deque<Unacknowledged>* waiting) {
    const Epoch durable = db().durable_epoch();
    while (!waiting->empty() && waiting->front().epoch <= durable) {
      // order: relaxed; the keeper reads it when this process is dead.
      teller->acknowledged.store(waiting->front().number + 1, std::memory_order_relaxed);
      waiting->pop_front();
    }
  }

  // Makes the transfers of one teller, one after another.
  Status serve(std::uint32_t t) {
    Ledger::Teller& teller = ledger_.tellers[t];
    FOEDUS_TRY(Session session, db().new_session());
    std::deque<Unacknowledged> waiting;
    std::uint64_t number = ledger_.found.transfers[t];
    while (!stops_.load(std::memory_order_relaxed)) {  // order: see work()
      acknowledge(&teller, &waiting);
      // order: relaxed, read after this process is dead; the store comes before the transaction, in
      // this process.
      teller.begun.store(number + 1, std::memory_order_relaxed);
      Result<Ticket> ticket = transfer(session, t, number);
      if (!ticket.is_ok()) {
        if (ticket.code() == ErrorCode::kConflict || is_short_of_room(ticket.status())) continue;
        return ticket.status();
      }
      waiting.push_back({ticket->epoch(), number});
      if (number % kTransfersPerSync == 0) {
        const Status durable = ticket->wait_durable();
        if (!durable.is_ok() && !is_short_of_room(durable)) return durable;
        if (durable.is_ok()) FOEDUS_CHECK(expect_durable(ticket->epoch()));
      }
      if (number % kTransfersPerLook == 0) FOEDUS_CHECK(look(session));
      ++number;
    }
    return {};
  }

  Status expect_durable(Epoch epoch) {
    if (db().durable_epoch() >= epoch) return {};
    return Status::error(ErrorCode::kCorruption, "a durable ticket above the durable epoch");
  }

  Result<Ticket> transfer(Session& session, std::uint32_t t, std::uint64_t number) const {
    FOEDUS_TRY(Txn txn, session.begin());
    const Status status = bank_->transfer(txn, plan_.seed, t, number);
    if (status.is_ok()) return txn.commit();
    // The reads may be inconsistent, and then the sum tells nothing.
    const Status verified = txn.verify();
    txn.rollback();
    return verified.is_ok() ? status : verified;
  }

  // Checks that the sum of money is constant, now or in a snapshot.
  Status look(Session& session) const {
    for (const Isolation isolation : {Isolation::kSerializable, Isolation::kSnapshot}) {
      const bool of_snapshot = isolation == Isolation::kSnapshot;
      Result<Txn> begun = session.begin({.isolation = isolation, .newest_existing = of_snapshot});
      if (of_snapshot && begun.code() == ErrorCode::kNotFound) continue;  // no snapshot yet
      FOEDUS_TRY(Txn txn, std::move(begun));
      BankRows rows;
      const Status status = bank_->read_cents(txn, &rows);
      const bool is_empty = of_snapshot &&  // the snapshot is older than the bank
                            status.code() == ErrorCode::kNotFound;
      const Status ended = status.is_ok() ? txn.commit().status() : txn.verify();
      txn.rollback();
      if (ended.code() == ErrorCode::kConflict || is_empty) continue;
      if (status.code() == ErrorCode::kConflict) continue;
      FOEDUS_CHECK(status);
      FOEDUS_CHECK(ended);
      if (rows.sum() != BankRows().sum()) {
        return Status::error(ErrorCode::kCorruption, "the accounts hold " +
                                                         std::to_string(rows.sum()) + " cents");
      }
    }
    return {};
  }

  const VictimPlan& plan_;
  Ledger& ledger_;
  FoedusBackend backend_;
  std::optional<Bank> bank_;
  std::optional<Population> population_;
  std::atomic<bool> stops_{false};
};

}  // namespace

Status run_victim(const VictimPlan& plan, Ledger* ledger) {
  watch_places(&ledger->places);
  FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options_of(plan), Durability::kAsync));
  return Victim(plan, ledger, std::move(backend)).run();
}

}  // namespace foedus::kills
