// Which thread uses a session (E31), which database it is of, and who is handed one: words of
// engine/sessions/session_slot.h itself; its users are quoted. A plain variable stands for the
// session.
#include "foedus-core/engine/sessions/session_slot.h"

#include "tests/models/harness/threads.h"

namespace {

using namespace foedus;
using engine::SessionState;

struct Session {
  engine::SessionSlot slot;
  model::Plain<int> context{0};

  void use(int number) {
    context.set(number);
    model::require(context.get() == number, "one thread at a time uses a session");
  }
};

// Two threads claim the same session, each twice.
struct Claims : model::Suite<Claims, 2> {
  Session session;

  void thread(unsigned index) {
    for (int i = 0; i < 2; ++i) {
      if (!session.slot.try_change(SessionState::kFree, SessionState::kBusy)) continue;
      session.use(static_cast<int>(index) + 1);
      session.slot.release(SessionState::kFree);
    }
  }
};

// One thread runs a transaction, the other closes the database, or is refused and undoes its steps.
struct Closes : model::Suite<Closes, 2> {
  Session sessions[2];

  void run() {
    for (Session& session : sessions) {
      if (!session.slot.try_change(SessionState::kFree, SessionState::kBusy)) continue;
      session.use(1);
      session.slot.release(SessionState::kFree);
    }
  }
  void close() {
    bool is_taken[2];
    for (int i = 0; i < 2; ++i) {
      is_taken[i] = sessions[i].slot.try_change(SessionState::kFree, SessionState::kClosed);
    }
    if (is_taken[0] && is_taken[1]) {
      for (Session& session : sessions) session.use(2);
      return;
    }
    for (int i = 0; i < 2; ++i) {
      // from foedus-core/engine/sessions/session_pool.cc:
      //     for (const auto& [slot, state] : taken) slot->release(state);
      if (is_taken[i]) sessions[i].slot.release(SessionState::kFree);
    }
  }
  void thread(unsigned index) { index == 0 ? run() : close(); }
};

// One thread ends its use of a session and hands it to the other, which waits.
struct HandsOver : model::Suite<HandsOver, 2> {
  Session session;
  base::AtomicWord<Session*> given;

  void give() {
    session.use(1);
    // from foedus-core/engine/sessions/session_pool.cc:
    //     first->given.store_release(session);
    given.store_release(&session);
  }
  void wait() {
    // from foedus-core/engine/sessions/session_pool.cc:
    //     EngineSession* session = self.given.load_acquire();
    //     if (session != nullptr) return session;
    Session* const found = given.load_acquire();
    if (found == nullptr) return;
    model::require(found->context.get() == 1, "what the last thread left is seen");
  }
  void thread(unsigned index) { index == 0 ? give() : wait(); }
};

// A slot is leased to a database while a Session of that database, and one of another, read it.
struct Lease : model::Suite<Lease, 2> {
  Session session;

  void lease() {
    session.context.set(7);
    // from foedus-core/engine/sessions/open_databases.cc:
    //     slot->database.store_release(database);
    session.slot.database.store_release(7);
  }
  void look() {
    // from foedus-core/engine/database.cc:
    //     if (slot_->database.load_acquire() != database_) {
    if (session.slot.database.load_acquire() != 7) return;
    model::require(session.context.get() == 7, "the session of that database is there");
  }
  void thread(unsigned index) { index == 0 ? lease() : look(); }
};

// The watch revokes a transaction whose owner begins one operation, and another one after it.
struct Revokes : model::Suite<Revokes, 2> {
  static constexpr std::uint64_t kNumber = 1;
  Session session;

  void before() { session.slot.turn.store_relaxed(kNumber); }
  void operate() {
    // from foedus-core/engine/sessions/operation_mark.cc:
    //     if (slot->inside.compare_exchange_acq_rel(other, self)) {
    //       base::fence_seq_cst();
    std::uint32_t other = 0;
    if (!session.slot.inside.compare_exchange_acq_rel(other, 1)) return;
    base::fence_seq_cst();
    if (session.slot.is_in(kNumber)) session.use(1);
    // from foedus-core/engine/sessions/operation_mark.h:
    //       slot_->inside.store_release(0);
    session.slot.inside.store_release(0);
  }
  void watch() {
    // from foedus-core/engine/sessions/txn_watch.cc:
    //     if (!slot.turn.compare_exchange_acq_rel(turn, turn | TxnTurn::kRevoked)) return;
    std::uint64_t turn = kNumber;
    if (!session.slot.turn.compare_exchange_acq_rel(turn, turn | occ::TxnTurn::kRevoked)) return;
    // from foedus-core/engine/sessions/txn_watch.cc:
    //     base::fence_seq_cst();
    base::fence_seq_cst();
    // from foedus-core/engine/sessions/txn_watch.cc:
    //     if (slot.inside.load_acquire() != 0) return;
    if (session.slot.inside.load_acquire() != 0) return;
    session.use(2);
  }
  void thread(unsigned index) {
    if (index == 1) return watch();
    operate();
    operate();
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "session slots",
      {model::scenario<Claims, model::kExhaustive>("two threads claim a session"),
       model::scenario<Closes, model::kExhaustive>("a transaction and close()"),
       model::scenario<HandsOver, model::kExhaustive>("a session is handed over"),
       model::scenario<Lease, model::kExhaustive>("a lease and a look"),
       model::scenario<Revokes, model::kExhaustive>("a transaction is revoked")},
      {{"session_slot_model.cc operate compare_exchange_acq_rel", rl::mo_relaxed,
        "it takes nothing over: the fence behind it, and the end's release, are what counts"},
       {"session_slot_model.cc watch compare_exchange_acq_rel", rl::mo_relaxed,
        "it takes nothing over: the load of `inside` behind the fence does"}}};
  return protocol.check(argc, argv);
}
