#pragma once
// Checks a history (FORMAT.md), line by line as it is written or read.
//
// The order of versions is known: TIDs. So strict serializability is a graph without a cycle, and
// the graph has an edge or two for each read and write. The checker keeps one window of the
// history, the transactions between two moments at which nobody ran one, and of all before it the
// state that they left, and the versions that a snapshot may still show. That is enough, because
// what ended before such a moment comes before what began after it, and no cycle can go back.
//
//   I1  Serializable transactions that committed, also those that the process did not live to
//       report (their TID stands in the history before anybody can see them): no cycle of ww, wr,
//       rw, real time, and order of epochs.
//   I2  A read shows a version that was committed, whole, and not an intermediate one.
//   I3  A snapshot shows the state at the end of its epoch: all of it and before, none after.
//   I4  After a crash: what was recovered is the state at the end of one epoch, not older than any
//       that was acknowledged as durable.
//   I5  The ticket of a transaction without a TID covers all that it saw and that was not durable
//       before it ended.
//   I6  A TID is above those of what its transaction read and overwrote, and the session's last.
//       Not above that of an erasure that it saw by a miss: the record may be gone, and its TID
//       with it. Who wrote has one.
//   I7  Epochs do not go back over windows: a commit is of no earlier one than those before its
//       window, and of a later one than was durable then. Nor does the newest snapshot.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tests/isolation/checker_state.h"
#include "tests/isolation/history.h"

namespace foedus::isolation {

struct Anomaly {
  std::string name;  // G0, G1a, G1b, G1c, G-single, G2-item, G2, …-realtime, …-epoch, and others
  std::string text;  // for a person: which transactions, keys, edges
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
  std::uint64_t unreported = 0;  // committed, and the process died before it said so
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
  std::unordered_map<std::uint64_t, std::uint64_t> lost;       // id to epoch, of what a crash undid
  std::uint64_t acknowledged = 0;         // newest epoch that was said to be durable
  std::uint64_t acknowledged_before = 0;  // the same, before the last crash
  std::uint64_t recovered = 0;            // epoch
  std::uint64_t horizon = 0;              // no snapshot is older
  std::uint64_t epoch_floor = 0;          // I7: no commit of the open window is older
  std::uint64_t newest_snapshot = 0;      // I7: epoch of what was shown before the open window
  bool is_after_crash = false;            // the open window is the first behind one
  CheckStats stats;

  // The number of a record; kNone: nobody has written it.
  std::uint32_t find(std::uint32_t storage, std::uint64_t key) const;
  std::uint32_t find_or_add(std::uint32_t storage, std::uint64_t key);
};

class Checker {
 public:
  explicit Checker(std::size_t anomalies_max = 20) : anomalies_max_(anomalies_max) {}
  // The lines in order; of transactions, any order within a window.
  void add(Line line);
  // The end of the history.
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
  // Forgets what neither a later read nor a snapshot can be about.
  void close_window(std::uint64_t horizon);
  // Undoes what is of a later epoch than the one recovered.
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
