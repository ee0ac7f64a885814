#pragma once
// The check of one window: versions in the order of TIDs, then every read finds its version and
// gives its edges, then cycles.

#include <string>
#include <unordered_map>
#include <vector>

#include "tests/isolation/checker/checker.h"
#include "tests/isolation/checker/graph.h"

namespace foedus::isolation {

class WindowCheck {
 public:
  WindowCheck(CheckerState* state, const std::vector<TxnLine>& txns, std::size_t anomalies_max);
  void run();
  std::vector<Anomaly> take_anomalies() { return std::move(anomalies_); }
  // Returns the records that got a version.
  const std::vector<std::uint32_t>& written() const { return written_; }

 private:
  // A record that the current transaction has written, and its state for that transaction.
  struct OwnWrite {
    std::uint32_t key;
    RecordState state;
  };
  // The result of a read of a record: this state, or only whether it is there.
  enum class Seen : std::uint8_t { kState, kPresence };
  struct Read {
    std::uint32_t node;
    std::uint32_t storage;
    std::uint64_t key;
    Seen seen;
    RecordState state;
    std::span<const std::uint64_t> words;  // of the state, for explanations
  };
  // Points for each element of a sequence: "all up to here", and "all from here".
  struct SequencePoints {
    std::vector<std::uint32_t> up_to;
    std::vector<std::uint32_t> from;
  };

  // ---- checker_window.cc: nodes, versions, order ---------------------------------------------
  void choose_nodes();
  void replay_writes();
  void replay(std::uint32_t node);
  void check_own_read(std::uint32_t node, const Op& op);
  void check_own_range(std::uint32_t node, const Op& op);
  void write(std::uint32_t node, const Op& op);
  void push_versions(std::uint32_t node);
  void push_element(std::uint32_t node, const Op& op);
  void finish_chains();
  void add_orders();
  void add_real_time();
  void report_cycles();
  std::string describe_cycle(const Cycle& cycle) const;

  // ---- checker_reads.cc ----------------------------------------------------------------------
  void check_reads(std::uint32_t node);
  // Calls read(key, state, words) for every record of the range that has a row, and miss(key) for
  // every other one that was ever written.
  template <typename OnRow, typename OnMiss>
  void walk_range(const Op& op, OnRow&& row, OnMiss&& miss);
  void check_range(std::uint32_t node, const Op& op);
  void check_read(const Read& read, bool is_predicate);
  void read_version(const Read& read, std::uint32_t number, std::uint32_t position,
                    EdgeKind overwritten);
  void check_presence(const Read& read, std::uint32_t number);
  void check_own_premise(const Read& read, std::uint32_t number, std::uint32_t own);
  std::uint32_t find_version(const KeyState& key, std::uint32_t number,
                             const RecordState& state) const;
  void note_seen(std::uint32_t node, std::uint64_t tid, bool is_present);
  void check_ticket(std::uint32_t node);
  void check_snapshot(const TxnLine& txn);
  void check_snapshot_record(const TxnLine& txn, const Read& read);

  // ---- checker_sequence.cc -------------------------------------------------------------------
  void order_sequences();
  void add_sequence_points();
  bool is_missed(std::uint32_t node, const SequenceState& sequence, std::size_t element);
  bool take_own_values(std::uint32_t node, const Op& op, std::span<const std::uint64_t>* values);
  void check_scan(std::uint32_t node, const Op& op);
  void unseen_from(std::uint32_t node, const SequenceState& sequence, std::size_t begin);
  void check_snapshot_scan(const TxnLine& txn, const Op& op);

  // ---- checker_explain.cc --------------------------------------------------------------------
  void explain(const Read& read, std::uint32_t number);
  std::string explain_values(std::span<const std::uint64_t> values, std::string* why);
  void add_list_order(const Read& read, std::uint32_t number);
  const TxnLine* txn_of(std::uint64_t id);
  std::string name_key(std::uint32_t number) const;
  void report(std::string name, std::string text);
  std::string json_of(const TxnLine& txn) const;

  const TxnLine& txn(std::uint32_t node) const { return *nodes_[node]; }
  std::uint64_t tid_of(std::uint32_t node) const {
    return txn(node).epoch << kOrdinalBits | txn(node).ordinal;
  }
  bool is_writer(std::uint32_t node) const { return txn(node).ordinal != 0; }
  OwnWrite* own_write(std::uint32_t key);

  CheckerState& state_;
  const std::vector<TxnLine>& txns_;
  const std::size_t anomalies_max_;
  std::vector<const TxnLine*> nodes_;  // serializable and committed
  std::vector<std::uint32_t> by_tid_;  // writers
  Graph graph_{0};
  std::vector<std::uint32_t> written_;
  std::unordered_map<std::uint64_t, std::uint32_t> position_of_;   // of a key's state
  std::unordered_map<std::uint64_t, std::uint64_t> intermediate_;  // of a key's state: txn
  std::unordered_map<std::uint64_t, const TxnLine*> by_id_;        // filled when first needed
  std::map<std::uint32_t, SequencePoints> sequence_points_;
  std::vector<OwnWrite> own_;              // of the current transaction
  std::vector<std::uint64_t> own_pushed_;  // of the current one: storage, value, …
  std::uint64_t newest_seen_ = 0;          // of the current one: TID
  std::vector<Anomaly> anomalies_;
};

}  // namespace foedus::isolation
