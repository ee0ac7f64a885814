#include "tests/isolation/checker/window.h"

#include <algorithm>
#include <array>
#include <utility>

namespace foedus::isolation {

namespace {

struct Keyed {
  std::uint64_t key;
  std::uint32_t value;
};

// Sorts stably, in linear time: a pass for each byte in which keys differ.
void radix_sort(std::vector<Keyed>* items) {
  std::uint64_t differs = 0;
  for (const Keyed& item : *items) differs |= item.key ^ items->front().key;
  std::vector<Keyed> sorted(items->size());
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if ((differs >> shift & 0xff) == 0) continue;
    std::array<std::size_t, 257> first{};
    for (const Keyed& item : *items) ++first[(item.key >> shift & 0xff) + 1];
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    for (const Keyed& item : *items) sorted[first[item.key >> shift & 0xff]++] = item;
    items->swap(sorted);
  }
}

bool has_write(const TxnLine& line) {
  for (OpReader ops(line.ops); !ops.at_end();) {
    const OpKind kind = ops.next().kind;
    if (is_write(kind) || kind == OpKind::kPush) return true;
  }
  return false;
}

constexpr std::uint64_t key_of_state(std::uint32_t number, std::uint64_t digest) {
  return digest ^ (static_cast<std::uint64_t>(number) + 1) * 0x9e3779b97f4a7c15u;
}

}  // namespace

WindowCheck::WindowCheck(CheckerState* state, const std::vector<TxnLine>& txns,
                         std::size_t anomalies_max)
    : state_(*state), txns_(txns), anomalies_max_(anomalies_max) {}

void WindowCheck::run() {
  choose_nodes();
  graph_ = Graph(static_cast<std::uint32_t>(nodes_.size()));
  replay_writes();
  finish_chains();
  order_sequences();
  add_sequence_points();
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) check_reads(node);
  for (const TxnLine& line : txns_) {
    if (line.kind != TxnKind::kSerializable && line.outcome == Outcome::kCommitted) {
      check_snapshot(line);
    }
  }
  add_orders();
  add_real_time();
  state_.stats.edges += graph_.edge_count();
  report_cycles();
}

void WindowCheck::choose_nodes() {
  for (const TxnLine& line : txns_) {
    if (line.kind != TxnKind::kSerializable) {
      if (line.outcome == Outcome::kCommitted) ++state_.stats.snapshots;
      continue;
    }
    const bool is_unreported = line.outcome == Outcome::kUnknown && line.ordinal != 0;
    if (line.outcome != Outcome::kCommitted && !is_unreported) {
      ++state_.stats.not_committed;
      continue;
    }
    if (is_unreported) ++state_.stats.unreported;
    ++(line.ordinal != 0 ? state_.stats.writers : state_.stats.readers);
    if (line.ordinal == 0 && has_write(line)) {
      report("lost-write", "transaction " + std::to_string(line.id) +
                               " has written and committed, and has no TID\n" + json_of(line));
    }
    nodes_.push_back(&line);
  }
}

void WindowCheck::replay_writes() {
  std::vector<Keyed> order;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (is_writer(node)) order.push_back({txn(node).session, node});
  }
  if (order.empty()) return;
  radix_sort(&order);
  for (Keyed& item : order) item.key = tid_of(item.value);
  radix_sort(&order);
  for (const Keyed& item : order) {
    by_tid_.push_back(item.value);
    replay(item.value);
  }
}

WindowCheck::OwnWrite* WindowCheck::own_write(std::uint32_t key) {
  for (OwnWrite& own : own_) {
    if (own.key == key) return &own;
  }
  return nullptr;
}

void WindowCheck::replay(std::uint32_t node) {
  const TxnLine& line = txn(node);
  own_.clear();
  std::uint64_t& last =
      state_.last_tids[static_cast<std::uint64_t>(line.process) << 32 | line.session];
  if (tid_of(node) <= last) {
    report("tid-order", "transaction " + std::to_string(line.id) +
                            " has a TID that is not above its session's last\n" + json_of(line));
  }
  last = tid_of(node);
  for (OpReader ops(line.ops); !ops.at_end();) {
    const Op op = ops.next();
    if (op.kind == OpKind::kRead || op.kind == OpKind::kExists) {
      if (!own_.empty()) check_own_read(node, op);
    } else if (op.kind == OpKind::kRange) {
      if (!own_.empty()) check_own_range(node, op);
    } else if (op.kind == OpKind::kPush) {
      push_element(node, op);
    } else if (is_write(op.kind)) {
      write(node, op);
    }
  }
  push_versions(node);
}

// Checks a read of own writes: it shows them over the version before.
void WindowCheck::check_own_read(std::uint32_t node, const Op& op) {
  const std::uint32_t number = state_.find(op.storage, op.key);
  const OwnWrite* const own = number == kNone ? nullptr : own_write(number);
  if (own == nullptr) return;
  const Shape shape = state_.storages[op.storage].shape;
  const bool holds = op.kind == OpKind::kExists
                         ? own->state.present == op.flag
                         : own->state == RecordState::observed(shape, op.flag, op.rest);
  if (holds) return;
  report("internal", "transaction " + std::to_string(txn(node).id) +
                         " does not read its own write of " + name_key(number) + "\n" +
                         json_of(txn(node)));
}

void WindowCheck::check_own_range(std::uint32_t node, const Op& op) {
  const Covered covered = covered_by(op);
  const Shape shape = state_.storages[op.storage].shape;
  for (const OwnWrite& own : own_) {
    const KeyState& key = state_.keys[own.key];
    if (key.storage != op.storage || !covered.holds(key.key)) continue;
    RecordState found;
    auto rows = op.rest;
    for (std::uint32_t i = 0; i < op.count; ++i) {
      const RowView row = take_row(&rows);
      if (row.key == key.key) found = RecordState::observed(shape, true, row.state);
    }
    if (found == own.state) continue;
    report("internal", "a range of transaction " + std::to_string(txn(node).id) +
                           " does not show its own write of " + name_key(own.key) + "\n" +
                           json_of(txn(node)));
  }
}

void WindowCheck::write(std::uint32_t node, const Op& op) {
  const std::uint32_t number = state_.find_or_add(op.storage, op.key);
  OwnWrite* own = own_write(number);
  if (own == nullptr) {
    own = &own_.emplace_back(OwnWrite{number, state_.keys[number].versions.back().state});
  } else {
    // No other transaction may see the state between two writes of one transaction.
    intermediate_[key_of_state(number, own->state.digest())] = txn(node).id;
  }
  own->state.apply(op);
}

void WindowCheck::push_versions(std::uint32_t node) {
  const std::uint64_t tid = tid_of(node);
  for (const OwnWrite& own : own_) {
    KeyState& key = state_.keys[own.key];
    const Version& before = key.versions.back();
    const bool is_first = key.versions.size() == key.window_begin;
    if (before.tid >= tid) {
      report("tid-order", "two versions of " + name_key(own.key) + " have TIDs that do not rise\n" +
                              json_of(txn(node)));
    }
    Version version;
    version.state = own.state;
    version.tid = tid;
    version.txn = txn(node).id;
    version.node = node;
    version.begin_max = std::max(is_first ? 0 : before.begin_max, txn(node).begin_ns);
    if (is_first) {
      written_.push_back(own.key);
    } else {
      graph_.add(before.node, node, EdgeKind::kWw, own.key);
    }
    if (own.state.present) {
      position_of_[key_of_state(own.key, own.state.digest())] =
          static_cast<std::uint32_t>(key.versions.size());
    }
    key.versions.push_back(version);
  }
}

void WindowCheck::push_element(std::uint32_t node, const Op& op) {
  SequenceState& sequence = state_.sequences[op.storage];
  sequence.storage = op.storage;
  sequence.elements.push_back({op.value, tid_of(node), txn(node).id, txn(node).session, node});
}

void WindowCheck::finish_chains() {
  for (const std::uint32_t number : written_) {
    KeyState& key = state_.keys[number];
    std::uint64_t end_min = ~std::uint64_t{0};
    for (std::uint32_t i = key.last(); i >= key.window_begin; --i) {
      Version& version = key.versions[i];
      const std::uint64_t end = txn(version.node).end_ns;
      if (end != 0) end_min = std::min(end_min, end);
      version.end_min = end_min;
    }
  }
}

std::uint32_t WindowCheck::find_version(const KeyState& key, std::uint32_t number,
                                        const RecordState& state) const {
  if (key.versions[key.base()].state == state) return key.base();
  const auto at = position_of_.find(key_of_state(number, state.digest()));
  if (at == position_of_.end() || at->second > key.last()) return kNone;
  return key.versions[at->second].state == state ? at->second : kNone;
}

// Orders all of an epoch before all of the next, because recovered states and snapshots end with an
// epoch.
void WindowCheck::add_orders() {
  std::uint32_t point = kNone;
  std::uint32_t before = kNone;
  std::uint64_t epoch = 0;
  for (const std::uint32_t node : by_tid_) {
    if (txn(node).epoch != epoch) {
      epoch = txn(node).epoch;
      before = point;
      point = graph_.add_node();
      if (before != kNone) graph_.add(before, point, EdgeKind::kNeutral, kNone);
    }
    if (before != kNone) graph_.add(before, node, EdgeKind::kNeutral, kNone);
    graph_.add(node, point, EdgeKind::kEpoch, kNone);
  }
}

// Orders transactions that ended before one began before that one. There is a point for each run of
// ends, linked to the one before, so two edges for a transaction suffice instead of one for each
// pair.
void WindowCheck::add_real_time() {
  std::vector<Keyed> events;
  events.reserve(nodes_.size() * 2);
  // Begins come first: an end and a begin in the same nanosecond are concurrent.
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    events.push_back({txn(node).begin_ns * 2, node});
    if (txn(node).end_ns != 0) events.push_back({txn(node).end_ns * 2 + 1, node});
  }
  if (events.empty()) return;
  radix_sort(&events);
  std::uint32_t point = kNone;
  std::uint32_t gathering = kNone;
  for (const Keyed& event : events) {
    if ((event.key & 1) != 0) {
      if (gathering == kNone) gathering = graph_.add_node();
      graph_.add(event.value, gathering, EdgeKind::kRealTime, kNone);
      continue;
    }
    if (gathering != kNone) {
      if (point != kNone) graph_.add(point, gathering, EdgeKind::kNeutral, kNone);
      point = std::exchange(gathering, kNone);
    }
    if (point != kNone) graph_.add(point, event.value, EdgeKind::kNeutral, kNone);
  }
}

// Cycles are reported first: an overwritten transaction causes many unexplained reads.
void WindowCheck::report_cycles() {
  std::vector<Anomaly> cycles;
  for (const Cycle& cycle : graph_.cycles(anomalies_max_)) {
    cycles.push_back({cycle.name, describe_cycle(cycle)});
  }
  anomalies_.insert(anomalies_.begin(), cycles.begin(), cycles.end());
}

// T1 -ww tree/7-> T2 …, then the transactions as they stand in the history.
std::string WindowCheck::describe_cycle(const Cycle& cycle) const {
  std::string text;
  std::vector<std::uint32_t> members;
  const auto is_txn = [this](std::uint32_t node) { return node < nodes_.size(); };
  // The description begins with an edge out of a transaction.
  std::size_t first = 0;
  while (first < cycle.edges.size() && !is_txn(cycle.edges[first].from)) ++first;
  for (std::size_t i = 0; i < cycle.edges.size(); ++i) {
    const Edge& edge = cycle.edges[(first + i) % cycle.edges.size()];
    if (is_txn(edge.from)) {
      members.push_back(edge.from);
      if (!text.empty()) text += " ";
      text += "T" + std::to_string(txn(edge.from).id);
    }
    if (edge.kind == EdgeKind::kNeutral) continue;
    text += " -" + std::string(to_string(edge.kind));
    if (edge.key != kNone) text += " " + name_key(edge.key);
    text += "->";
  }
  if (!members.empty()) text += " T" + std::to_string(txn(members.front()).id);
  text += "\n";
  for (const std::uint32_t node : members) text += json_of(txn(node));
  return text;
}

}  // namespace foedus::isolation
