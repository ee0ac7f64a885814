#include "tests/isolation/session_worker.h"

#include <cstring>
#include <utility>

#include "foedus-core/engine/sessions/session.h"

namespace foedus::isolation {

namespace {

// Returns the session of the public one, whose context has the TID that a commit chose. An explicit
// instantiation may name a private member.
engine::EngineSession* engine_session_of(const Session& session);

template <engine::SessionSlot* Session::*kMember>
struct SessionMember {
  friend engine::EngineSession* engine_session_of(const Session& session) {
    return (session.*kMember)->session.load_relaxed();
  }
};
template struct SessionMember<&Session::slot_>;

thread_local SessionWorker* at_work = nullptr;

constexpr std::uint32_t kTriesMax = 30;
constexpr std::uint64_t kOpsMax = 6;
constexpr std::uint64_t kAuditWidth = 64;

}  // namespace

SessionWorker::SessionWorker(Workspace* space, Session session, Tape tape, std::uint64_t seed)
    : space_(*space),
      session_(std::move(session)),
      engine_session_(engine_session_of(session_)),
      tape_(tape),
      random_(seed) {
  line_.process = space_.process;
  line_.session = engine_session_->context().session();
}

void SessionWorker::sync_point_hook(const char* place) {
  if (at_work != nullptr && std::strcmp(place, "commit:published") == 0) at_work->note_tid();
}

// R2. Other sessions also commit rows of a log's tail in this thread; then the transaction has no
// writes, or no TID yet.
void SessionWorker::note_tid() {
  occ::WriteSet& writes = engine_session_->context().sets().writes();
  if (writes.is_empty()) return;
  const page::Tid tid(writes.entries().front().log->tid);
  if (tid.word() == 0) return;
  tape_.note_tid(tid.epoch().number(), tid.ordinal());
}

void SessionWorker::fail(Status status) {
  if (failure_.is_ok()) failure_ = std::move(status);
  // order: relaxed, the others stop sooner or later.
  space_.shared->stops.store(true, std::memory_order_relaxed);
}

SessionWorker::Plan SessionWorker::make_plan() {
  Plan plan;
  const std::uint64_t chance = random_.below(100);
  if (chance < 12) {
    plan.reads_only = true;
    plan.options.read_only = random_.below(2) == 0;
  } else if (chance < 18) {
    plan.kind = TxnKind::kSnapshot;
  } else if (chance < 21) {
    plan.kind = TxnKind::kAsOf;
  }
  plan.rolls_back = chance >= 97;
  if (plan.kind != TxnKind::kSerializable) {
    plan.reads_only = true;
    plan.options.isolation = Isolation::kSnapshot;
  }
  if (plan.kind == TxnKind::kAsOf) {
    const std::vector<SnapshotInfo> kept = space_.db->snapshots();
    if (kept.empty()) {
      plan.kind = TxnKind::kSnapshot;
    } else {
      const Epoch epoch = kept[random_.below(kept.size())].covered;
      const std::uint64_t horizon = space_.shared->horizon.load();
      plan.options.as_of = Epoch(std::max(epoch.number(), horizon));
    }
  }
  if (plan.kind == TxnKind::kSnapshot) {
    plan.options.newest_existing = random_.below(10) != 0;
    if (!plan.options.newest_existing) plan.covers = space_.shared->newest_commit.load();
  }
  if (random_.below(50) == 0) plan.options.durability = Durability::kSync;
  return plan;
}

void SessionWorker::run(std::uint64_t txns) {
  at_work = this;
  for (std::uint64_t i = 0; i < txns && !tape_.is_full(); ++i) {
    if (space_.shared->stops.load(std::memory_order_relaxed)) break;
    Plan plan = make_plan();
    const base::Random before = random_;
    const auto body = [&](Txn& txn) { return random_body(txn, plan); };
    for (std::uint32_t tries = 0; tries < kTriesMax && !attempt(plan, body); ++tries) {
      random_ = before;  // repeat the transaction
      plan.is_retry = plan.kind == TxnKind::kSerializable;
    }
  }
  at_work = nullptr;
}

template <typename Body>
bool SessionWorker::attempt(const Plan& plan, Body&& body) {
  line_.id = (static_cast<std::uint64_t>(line_.process) << 36) |
             (static_cast<std::uint64_t>(line_.session) << 28) | ++sequence_;
  line_.kind = plan.kind;
  line_.ops.clear();
  values_ = 0;
  is_on_tape_ = false;
  line_.begin_ns = now_ns();
  Result<Txn> begun = plan.is_retry ? session_.retry(plan.options) : session_.begin(plan.options);
  if (!begun.is_ok()) {
    // The snapshot asked for has expired.
    if (begun.code() != ErrorCode::kNotFound) fail(begun.status());
    return true;
  }
  const Status status = body(*begun);
  if (status.is_ok() && !plan.rolls_back) {
    if (!tape_.put(line_)) {
      begun->rollback();
      return true;
    }
    Result<Ticket> ticket = begun->commit();
    const bool conflicts = ticket.code() == ErrorCode::kConflict;
    note_commit(plan, std::move(ticket));
    return !conflicts;
  }
  begun->rollback();
  const bool conflicts = status.code() == ErrorCode::kConflict;
  if (tape_.put(line_)) {
    tape_.note_end(conflicts ? Outcome::kConflict : Outcome::kRolledBack, 0, now_ns(), 0, 0);
  }
  if (!status.is_ok() && !conflicts && status.code() != ErrorCode::kOutOfMemory) fail(status);
  return !conflicts;
}

void SessionWorker::note_commit(const Plan& plan, Result<Ticket> ticket) {
  const std::uint64_t end_ns = now_ns();
  if (ticket.code() == ErrorCode::kConflict) {
    tape_.note_end(Outcome::kConflict, 0, end_ns, 0, 0);
    return;
  }
  if (!ticket.is_ok()) return fail(ticket.status());  // the outcome stays unknown
  const std::uint64_t epoch = ticket->epoch().number();
  const std::uint64_t tid_epoch = tape_.last_tid_epoch();
  if (tid_epoch != 0 && tid_epoch != epoch) {
    fail(Status::error(ErrorCode::kCorruption, "a ticket of epoch " + std::to_string(epoch) +
                                                   " for a TID of " + std::to_string(tid_epoch)));
  }
  if (tid_epoch != 0) raise_newest_commit(tid_epoch);
  if (epoch < plan.covers) {
    fail(Status::error(ErrorCode::kCorruption, "a snapshot of epoch " + std::to_string(epoch) +
                                                   " lacks a commit of epoch " +
                                                   std::to_string(plan.covers)));
  }
  const bool is_durable =
      plan.options.durability == Durability::kSync && plan.kind == TxnKind::kSerializable;
  tape_.note_end(Outcome::kCommitted, epoch, end_ns, is_durable ? end_ns : 0,
                 space_.db->durable_epoch().number());
}

void SessionWorker::raise_newest_commit(std::uint64_t epoch) {
  std::atomic<std::uint64_t>& newest = space_.shared->newest_commit;
  std::uint64_t seen = newest.load();
  while (seen < epoch && !newest.compare_exchange_weak(seen, epoch)) {
  }
}

// ---- transactions

std::uint64_t SessionWorker::random_key(const Store& store) {
  if (space_.workload == Workload::kList) {
    const std::uint64_t slots = store.keys() / kListsPerSlot;
    const std::uint64_t slot = random_.below(random_.below(2) == 0 ? slots : slots / 8 + 1);
    const std::uint64_t turn = space_.shared->current[store.number()][slot].load();
    const std::uint64_t back = random_.below(random_.below(16) == 0 ? turn + 1 : 3);
    return slot * kListsPerSlot + (turn > back ? turn - back : 0);
  }
  return random_.below(random_.below(2) == 0 ? store.keys() : store.keys() / 64 + 4);
}

Status SessionWorker::random_body(Txn& txn, const Plan& plan) {
  const std::uint64_t operations = 1 + random_.below(kOpsMax);
  for (std::uint64_t i = 0; i < operations; ++i) {
    FOEDUS_CHECK(random_operation(txn, plan.reads_only));
  }
  // Scans are rare, because a scan conflicts with every append meanwhile.
  const bool is_snapshot = plan.kind != TxnKind::kSerializable;
  if (random_.below(is_snapshot ? 10 : 150) == 0) {
    FOEDUS_CHECK(scan(txn, random_.below(3) == 0 ? random_.below(200) + 1 : ~std::uint64_t{0}));
    if (!plan.reads_only && random_.below(2) == 0) return push(txn);
  }
  return {};
}

Status SessionWorker::random_operation(Txn& txn, bool reads_only) {
  const Store& store = space_.stores[random_.below(space_.stores.size())];
  if (reads_only || random_.below(100) < 50) {
    return random_read(txn, store, !reads_only);
  }
  if (random_.below(20) == 0) return push(txn);
  if (space_.workload == Workload::kRegister) return random_register_write(txn, store);
  const std::uint64_t slots = store.keys() / kListsPerSlot;
  return append(txn, store, random_.below(random_.below(2) == 0 ? slots : slots / 8 + 1));
}

Status SessionWorker::random_read(Txn& txn, const Store& store, bool may_lock) {
  const std::uint64_t chance = random_.below(100);
  if (store.is_ordered() && chance < 30) {
    const std::uint64_t low = random_key(store);
    const std::uint64_t width = 1 + random_.below(chance == 0 ? 100 : 12);
    const std::uint64_t limit = random_.below(3) == 0 ? 1 + random_.below(4) : ~std::uint64_t{0};
    const std::uint64_t high = std::min(low + width, store.keys());
    return range(txn, store, low, high, random_.below(3) == 0, limit);
  }
  if (!store.is_array() && chance < 38) return contains(txn, store, random_key(store));
  if (!store.is_array() && chance < 46) return read_many(txn, store);
  Words state;
  bool present = false;
  return read(txn, store, random_key(store), may_lock && wants_lock(), &state, &present);
}

Status SessionWorker::random_register_write(Txn& txn, const Store& store) {
  const std::uint64_t key = random_key(store);
  const std::uint64_t chance = random_.below(100);
  if (chance < 20) {
    Words state;
    bool present = false;
    FOEDUS_CHECK(read(txn, store, key, wants_lock(), &state, &present));
    return put(txn, store, key, present ? OpKind::kUpdate : OpKind::kInsert);
  }
  if (chance < 40) return put(txn, store, key, OpKind::kPut);
  if (chance < 52) return put(txn, store, key, OpKind::kInsert);
  if (chance < 60) return put(txn, store, key, OpKind::kUpdate);
  if (chance < 74) return write_part(txn, store, key, random_.below(2) == 0);
  if (chance < 86 || store.is_array()) return add(txn, store, key);
  return erase(txn, store, key);
}

// ---- behind a crash

void SessionWorker::audit(std::uint32_t share, std::uint32_t shares) {
  at_work = this;
  Plan plan;
  plan.reads_only = true;
  plan.options.read_only = true;
  for (const Store& store : space_.stores) {
    const bool is_list = space_.workload == Workload::kList;
    const std::uint64_t parts =
        is_list ? store.keys() / kListsPerSlot : (store.keys() + kAuditWidth - 1) / kAuditWidth;
    for (std::uint64_t part = share; part < parts && !tape_.is_full(); part += shares) {
      std::uint64_t low = part * kAuditWidth;
      std::uint64_t high = std::min(low + kAuditWidth, store.keys());
      if (is_list) {
        // The reads are of a slot's newest lists, as no others change.
        const std::uint64_t turn = space_.shared->current[store.number()][part].load();
        low = part * kListsPerSlot + (turn > 30 ? turn - 30 : 0);
        high = std::min(part * kListsPerSlot + turn + 3, store.keys());
      }
      const auto body = [&](Txn& txn) -> Status {
        if (store.is_ordered()) return range(txn, store, low, high, false, ~std::uint64_t{0});
        for (std::uint64_t key = low; key < high; ++key) {
          Words state;
          bool present = false;
          FOEDUS_CHECK(read(txn, store, key, false, &state, &present));
        }
        return {};
      };
      for (std::uint32_t tries = 0; tries < kTriesMax && !attempt(plan, body); ++tries) {
      }
    }
  }
  const auto body = [&](Txn& txn) { return scan(txn, ~std::uint64_t{0}); };
  if (share == 0) attempt(plan, body);
  at_work = nullptr;
}

}  // namespace foedus::isolation
