#pragma once
// Checks a history (FORMAT.md), line by line as it is written or read.
//
// TIDs give the order of versions. So strict serializability is a graph without a cycle, with an
// edge or two for each read and write. The checker keeps one window of the history: the
// transactions between two moments without a running one. Of earlier windows it keeps the state
// that they left, and the versions that a snapshot may still show. That is enough: a transaction
// that ended before such a moment precedes all that began after it, so no cycle can go back.
//
//   I1  Serializable transactions that committed have no cycle of ww, wr, rw, real time, and order
//       of epochs. That includes those whose process died before it reported them: their TID stands
//       in the history before a reader can see them.
//   I2  A read returns a committed version, whole, and not an intermediate one.
//   I3  A snapshot shows the state at the end of its epoch: all commits up to it, none after.
//   I4  After a crash the recovered state is that at the end of one epoch, not older than any that
//       was acknowledged as durable.
//   I5  The ticket of a transaction without a TID covers all versions that it read and that were
//       not durable before it ended.
//   I6  A TID is above those of what its transaction read and overwrote, and the session's last. It
//       need not be above that of an erasure that it saw by a miss: the record may be purged, and
//       its TID with it. Each writer has a TID.
//   I7  Epochs do not go back over windows: a commit is of no earlier one than those before its
//       window, and of a later one than was durable then. Nor does the newest snapshot.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tests/isolation/checker/state.h"
#include "tests/isolation/history.h"

namespace foedus::isolation {

struct Anomaly {
  std::string name;  // G0, G1a, G1b, G1c, G-single, G2-item, G2, …-realtime, …-epoch, and others
  std::string text;  // for a person: transactions, keys, edges
};

struct CheckStats {
  std::uint64_t txns = 0;       // lines of transactions
  std::uint64_t writers = 0;    // serializable, committed
  std::uint64_t readers = 0;    // serializable, committed, read only
  std::uint64_t snapshots = 0;  // of a snapshot
  std::uint64_t not_committed = 0;
  std::uint64_t reads = 0;  // records, misses, rows and values that were checked
  std::uint64_t edges = 0;
  std::uint64_t windows = 0;
  std::uint64_t crashes = 0;
  std::uint64_t lost = 0;        // versions that a crash undid, none acknowledged
  std::uint64_t unreported = 0;  // committed, but the process died before the report
};

// The state between windows.
struct CheckerState {
  std::map<std::uint32_t, StorageLine> storages;
  std::unordered_map<std::uint64_t, std::uint32_t> key_numbers;  // by storage and key
  std::vector<KeyState> keys;
  std::map<std::uint32_t, std::vector<std::uint32_t>> keys_of;  // by storage
  std::map<std::uint32_t, SequenceState> sequences;
  std::unordered_set<std::uint32_t> many;                      // keys with more than one version
  std::unordered_map<std::uint64_t, std::uint64_t> last_tids;  // by process and session
  std::unordered_map<std::uint64_t, std::uint64_t> lost;       // id to epoch, of undone commits
  std::uint64_t acknowledged = 0;         // newest epoch that was acknowledged as durable
  std::uint64_t acknowledged_before = 0;  // acknowledged before the last crash
  std::uint64_t recovered = 0;            // epoch
  std::uint64_t horizon = 0;              // no snapshot is older
  std::uint64_t epoch_floor = 0;          // I7: no commit of the open window is older
  std::uint64_t newest_snapshot = 0;      // I7: newest snapshot before the open window
  bool is_after_crash = false;            // the open window is the first after a crash
  CheckStats stats;

  // Returns the number of a record; kNone: it was never written.
  std::uint32_t find(std::uint32_t storage, std::uint64_t key) const;
  std::uint32_t find_or_add(std::uint32_t storage, std::uint64_t key);
};

class Checker {
 public:
  explicit Checker(std::size_t anomalies_max = 20) : anomalies_max_(anomalies_max) {}
  // Takes the lines in order; those of transactions in any order within a window.
  void add(Line line);
  // Ends the history.
  void finish();

  const std::vector<Anomaly>& anomalies() const { return anomalies_; }
  bool has_enough() const { return anomalies_.size() >= anomalies_max_; }
  const CheckStats& stats() const { return state_.stats; }

 private:
  void add_txn(TxnLine txn);
  void report(std::string name, std::string text);
  void check_window();
  void check_epochs();
  void check_newest_snapshots();
  // Forgets versions that neither a later read nor a snapshot can show.
  void close_window(std::uint64_t horizon);
  // Undoes commits of epochs after the recovered one.
  void recover(std::uint64_t epoch);
  void undo(std::uint64_t txn, std::uint64_t epoch);

  const std::size_t anomalies_max_;
  CheckerState state_;
  std::vector<TxnLine> window_;
  std::uint64_t window_begin_ns_ = 0;
  bool has_crashed_ = false;
  std::vector<Anomaly> anomalies_;
};

}  // namespace foedus::isolation
