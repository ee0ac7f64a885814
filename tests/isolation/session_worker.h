#pragma once
// One session of a workload: random transactions, each attempt of which goes onto its tape.

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus/foedus.h"
#include "tests/isolation/stores.h"
#include "tests/isolation/tape.h"

namespace foedus::isolation {

// State that all sessions, and all processes of a run, share.
struct SharedState {
  // For each slot of a list storage, the key to which transactions append.
  std::atomic<std::uint64_t> current[kStores][kSlotsMax];
  std::atomic<std::uint64_t> sequence_values;  // of the current sequence, about
  std::atomic<std::uint64_t> horizon;          // no snapshot that is asked for is older
  std::atomic<std::uint64_t> newest_commit;    // epoch of a commit that has returned
  std::atomic<bool> stops;                     // an operating error
};

// Objects that the sessions of one process use.
struct Workspace {
  Database* db = nullptr;
  Workload workload = Workload::kRegister;
  std::vector<Store> stores;
  std::optional<Sequential> sequence;
  std::uint32_t sequence_number = 0;
  SharedState* shared = nullptr;
  std::uint32_t process = 0;
  std::uint32_t for_update_percent = 0;
};

class SessionWorker {
 public:
  SessionWorker(Workspace* space, Session session, Tape tape, std::uint64_t seed);
  SessionWorker(const SessionWorker&) = delete;
  SessionWorker& operator=(const SessionWorker&) = delete;

  // Runs `txns` transactions, whatever attempts they need, unless the tape is full before.
  void run(std::uint64_t txns);
  // Reads this session's share of all records, after a crash.
  void audit(std::uint32_t share, std::uint32_t shares);
  const Status& failure() const { return failure_; }

  // Handles the sync points of this thread's commit.
  static void sync_point_hook(const char* place);

 private:
  // The plan of a transaction. REQUIRES: random_ has its state of the first try.
  struct Plan {
    TxnKind kind = TxnKind::kSerializable;
    bool reads_only = false;
    bool rolls_back = false;
    std::uint64_t covers = 0;  // the epoch that its snapshot has to cover; 0: any will do
    TxnOptions options;
    bool is_retry = false;
  };
  Plan make_plan();
  // Returns false after a conflict, which is to be tried again.
  template <typename Body>
  bool attempt(const Plan& plan, Body&& body);
  void raise_newest_commit(std::uint64_t epoch);
  Status random_body(Txn& txn, const Plan& plan);
  Status random_operation(Txn& txn, bool reads_only);
  Status random_register_write(Txn& txn, const Store& store);
  Status random_read(Txn& txn, const Store& store, bool may_lock);
  void note_commit(const Plan& plan, Result<Ticket> ticket);
  void note_tid();
  void fail(Status status);

  bool wants_lock() { return random_.below(100) < space_.for_update_percent; }
  std::uint64_t random_key(const Store& store);
  std::uint64_t new_value() { return line_.id * kValuesPerTxn + values_++; }

  // ---- operations, each of which is noted: session_operations.cc ------------------------------
  Status read(Txn& txn, const Store& store, std::uint64_t key, bool locks, Words* state,
              bool* present);
  Status read_many(Txn& txn, const Store& store);
  Status contains(Txn& txn, const Store& store, std::uint64_t key);
  Status range(Txn& txn, const Store& store, std::uint64_t low, std::uint64_t high, bool reverse,
               std::uint64_t limit);
  Status scan(Txn& txn, std::uint64_t limit);
  Status put(Txn& txn, const Store& store, std::uint64_t key, OpKind kind);
  Status write_part(Txn& txn, const Store& store, std::uint64_t key, bool second);
  Status add(Txn& txn, const Store& store, std::uint64_t key);
  Status erase(Txn& txn, const Store& store, std::uint64_t key);
  Status append(Txn& txn, const Store& store, std::uint64_t slot);
  Status push(Txn& txn);
  Status note_write(const Status& status, OpKind kind, const Store& store, std::uint64_t key,
                    bool flag, std::uint64_t value);
  void note_read(const Store& store, std::uint64_t key, bool present, const Words& state);

  Workspace& space_;
  Session session_;
  engine::EngineSession* const engine_session_;
  Tape tape_;
  base::Random random_;
  std::uint64_t sequence_ = 0;  // of attempts
  std::uint64_t values_ = 0;    // of this attempt
  TxnLine line_;                // of this attempt
  bool is_on_tape_ = false;
  Status failure_;
};

}  // namespace foedus::isolation
