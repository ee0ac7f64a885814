// Reads: each read finds its version, and adds an edge from that one's writer and one to the writer
// of the next.
#include <algorithm>

#include "tests/isolation/checker/window.h"

namespace foedus::isolation {

namespace {

// Ranges wider than this are compared with existing records, not key by key.
constexpr std::uint64_t kWideRange = 256;

}  // namespace

void WindowCheck::check_reads(std::uint32_t node) {
  own_.clear();
  own_pushed_.clear();
  newest_seen_ = 0;
  const TxnLine& line = txn(node);
  for (OpReader ops(line.ops); !ops.at_end();) {
    const Op op = ops.next();
    if (op.kind == OpKind::kRange) {
      check_range(node, op);
      continue;
    }
    if (op.kind == OpKind::kScan) {
      check_scan(node, op);
      continue;
    }
    if (op.kind == OpKind::kPush) {
      own_pushed_.insert(own_pushed_.end(), {op.storage, op.value});
      continue;
    }
    const std::uint32_t number = state_.find(op.storage, op.key);
    if (number != kNone && own_write(number) != nullptr) continue;  // checked by replay()
    Read read{node, op.storage, op.key, Seen::kPresence, {}, op.rest};
    if (op.kind == OpKind::kRead) {
      const Shape shape = state_.storages[op.storage].shape;
      read.state = RecordState::observed(shape, op.flag, op.rest);
      if (op.flag) read.seen = Seen::kState;
      check_read(read, !op.flag);
    } else if (op.kind == OpKind::kExists) {
      read.state.present = op.flag;
      check_read(read, true);
    } else {
      // The precondition of the write counts as a read, too.
      read.state.present = needs_presence(op.kind);
      if (op.kind == OpKind::kInsert || read.state.present) check_read(read, true);
      own_.push_back({number, {}});
    }
  }
  check_ticket(node);
}

template <typename OnRow, typename OnMiss>
void WindowCheck::walk_range(const Op& op, OnRow&& on_row, OnMiss&& on_miss) {
  const Covered covered = covered_by(op);
  std::vector<std::uint64_t> found;
  found.reserve(op.count);
  auto rows = op.rest;
  for (std::uint32_t i = 0; i < op.count; ++i) {
    const RowView row = take_row(&rows);
    if (!found.empty() && (op.flag ? row.key >= found.back() : row.key <= found.back())) {
      report("range-order", "rows of a range do not follow each other");
    }
    if (!covered.holds(row.key)) report("range-order", "a row lies outside of its range");
    found.push_back(row.key);
    on_row(row);
  }
  if (op.flag) std::reverse(found.begin(), found.end());
  const auto is_missing = [&](std::uint64_t key) {
    return !std::binary_search(found.begin(), found.end(), key);
  };
  if (covered.high > covered.low && covered.high - covered.low <= kWideRange) {
    for (std::uint64_t key = covered.low; key < covered.high; ++key) {
      if (is_missing(key) && state_.find(op.storage, key) != kNone) on_miss(key);
    }
    return;
  }
  for (const std::uint32_t number : state_.keys_of[op.storage]) {
    const std::uint64_t key = state_.keys[number].key;
    if (covered.holds(key) && is_missing(key)) on_miss(key);
  }
}

void WindowCheck::check_range(std::uint32_t node, const Op& op) {
  const Shape shape = state_.storages[op.storage].shape;
  const auto is_own = [&](std::uint64_t key) {
    const std::uint32_t number = state_.find(op.storage, key);
    return number != kNone && own_write(number) != nullptr;
  };
  walk_range(
      op,
      [&](const RowView& row) {
        if (is_own(row.key)) return;
        check_read({node, op.storage, row.key, Seen::kState,
                    RecordState::observed(shape, true, row.state), row.state},
                   false);
      },
      [&](std::uint64_t key) {
        if (!is_own(key)) check_read({node, op.storage, key, Seen::kPresence, {}, {}}, true);
      });
}

// I6 concerns present records: the TID of a purged one may not be known any more.
void WindowCheck::note_seen(std::uint32_t node, std::uint64_t tid, bool is_present) {
  newest_seen_ = std::max(newest_seen_, tid);
  if (!is_present) return;
  if (!is_writer(node) || tid < tid_of(node)) return;
  report("tid-order", "transaction " + std::to_string(txn(node).id) +
                          " has read what has no lesser TID\n" + json_of(txn(node)));
}

void WindowCheck::check_read(const Read& read, bool is_predicate) {
  ++state_.stats.reads;
  const std::uint32_t number = state_.find(read.storage, read.key);
  if (number == kNone) {
    const RecordState initial = RecordState::initial(state_.storages[read.storage]);
    const bool holds =
        read.seen == Seen::kState ? read.state == initial : read.state.present == initial.present;
    if (!holds) explain(read, kNone);
    return;
  }
  if (read.seen == Seen::kPresence) return check_presence(read, number);
  const std::uint32_t position = find_version(state_.keys[number], number, read.state);
  if (position == kNone) return explain(read, number);
  note_seen(read.node, state_.keys[number].versions[position].tid, true);
  read_version(read, number, position, is_predicate ? EdgeKind::kRwPredicate : EdgeKind::kRw);
}

// Notes a read of the version at `position`: it comes after that one's writer and before the writer
// of the next.
void WindowCheck::read_version(const Read& read, std::uint32_t number, std::uint32_t position,
                               EdgeKind overwritten) {
  const KeyState& key = state_.keys[number];
  if (position >= key.window_begin) {
    graph_.add(key.versions[position].node, read.node, EdgeKind::kWr, number);
  }
  if (position < key.last()) {
    graph_.add(read.node, key.versions[position + 1].node, overwritten, number);
  }
}

// Checks a read that saw only whether the record was there. Of the versions that agree with it,
// real time leaves those between two positions; the read comes after the writer of the first of
// them and before the writer that follows the last. If real time leaves none, the nearest one will
// make a cycle.
void WindowCheck::check_presence(const Read& read, std::uint32_t number) {
  const KeyState& key = state_.keys[number];
  const bool wanted = read.state.present;
  const TxnLine& line = txn(read.node);
  if (is_writer(read.node)) {
    // A transaction that also writes the record saw the version before its own.
    const auto own = std::lower_bound(
        key.versions.begin() + key.window_begin, key.versions.end(), tid_of(read.node),
        [](const Version& version, std::uint64_t tid) { return version.tid < tid; });
    if (own != key.versions.end() && own->node == read.node) {
      return check_own_premise(read, number,
                               static_cast<std::uint32_t>(own - key.versions.begin()));
    }
  }
  const auto begin = key.versions.begin() + key.window_begin;
  const auto overwritten = std::partition_point(
      begin, key.versions.end(), [&](const Version& v) { return v.end_min < line.begin_ns; });
  const auto not_begun = std::partition_point(begin, key.versions.end(), [&](const Version& v) {
    return line.end_ns == 0 || v.begin_max <= line.end_ns;
  });
  const auto lowest = static_cast<std::uint32_t>(overwritten - key.versions.begin()) - 1;
  const auto highest = static_cast<std::uint32_t>(not_begun - key.versions.begin()) - 1;
  const auto matches = [&](std::uint32_t i) { return key.versions[i].state.present == wanted; };
  std::uint32_t low = lowest;
  while (low <= highest && !matches(low)) ++low;
  std::uint32_t high = highest;
  if (low > highest) {
    low = lowest;
    while (low > key.base() && !matches(low)) --low;
    if (!matches(low)) low = highest;
    while (low < key.last() && !matches(low)) ++low;
    if (!matches(low)) return explain(read, number);
    high = low;
  }
  while (high > low && !matches(high)) --high;
  note_seen(read.node, key.versions[low].tid, wanted);
  if (low >= key.window_begin) {
    graph_.add(key.versions[low].node, read.node, EdgeKind::kWr, number);
  }
  if (high < key.last()) {
    graph_.add(read.node, key.versions[high + 1].node, EdgeKind::kRwPredicate, number);
  }
}

void WindowCheck::check_own_premise(const Read& read, std::uint32_t number, std::uint32_t own) {
  const KeyState& key = state_.keys[number];
  for (std::uint32_t i = own; i-- > key.base();) {
    if (key.versions[i].state.present != read.state.present) continue;
    note_seen(read.node, key.versions[i].tid, read.state.present);
    return read_version(read, number, i, EdgeKind::kRwPredicate);
  }
  explain(read, number);
}

// Checks I5.
void WindowCheck::check_ticket(std::uint32_t node) {
  const TxnLine& line = txn(node);
  const std::uint64_t covered = std::max(line.epoch, line.durable_epoch);
  if (is_writer(node) || covered >= newest_seen_ >> kOrdinalBits) return;
  report("ticket", "the ticket of transaction " + std::to_string(line.id) + " is of epoch " +
                       std::to_string(line.epoch) + ", but it has seen epoch " +
                       std::to_string(newest_seen_ >> kOrdinalBits) + ", not durable" + "\n" +
                       json_of(line));
}

// ---- snapshots

void WindowCheck::check_snapshot(const TxnLine& line) {
  if (line.epoch < state_.horizon) {
    report("format", "snapshot " + std::to_string(line.id) + " is older than the horizon");
    return;
  }
  for (OpReader ops(line.ops); !ops.at_end();) {
    const Op op = ops.next();
    const Shape shape = state_.storages[op.storage].shape;
    if (op.kind == OpKind::kScan) {
      check_snapshot_scan(line, op);
    } else if (op.kind == OpKind::kRead) {
      const RecordState seen = RecordState::observed(shape, op.flag, op.rest);
      check_snapshot_record(line, {kNone, op.storage, op.key, Seen::kState, seen, op.rest});
    } else if (op.kind == OpKind::kExists) {
      Read read{kNone, op.storage, op.key, Seen::kPresence, {}, {}};
      read.state.present = op.flag;
      check_snapshot_record(line, read);
    } else if (op.kind == OpKind::kRange) {
      walk_range(
          op,
          [&](const RowView& row) {
            const RecordState seen = RecordState::observed(shape, true, row.state);
            check_snapshot_record(line,
                                  {kNone, op.storage, row.key, Seen::kState, seen, row.state});
          },
          [&](std::uint64_t key) {
            check_snapshot_record(line, {kNone, op.storage, key, Seen::kState, {}, {}});
          });
    }
  }
}

// Checks I3.
void WindowCheck::check_snapshot_record(const TxnLine& line, const Read& read) {
  ++state_.stats.reads;
  const std::uint32_t number = state_.find(read.storage, read.key);
  Version shown;
  shown.state = RecordState::initial(state_.storages[read.storage]);
  if (number != kNone) {
    const KeyState& key = state_.keys[number];
    const auto above = std::upper_bound(
        key.versions.begin() + 1, key.versions.end(), line.epoch,
        [](std::uint64_t epoch, const Version& version) { return epoch < version.epoch(); });
    shown = *(above - 1);
  }
  const bool holds = read.seen == Seen::kState ? read.state == shown.state
                                               : read.state.present == shown.state.present;
  if (holds) return;
  const StorageLine& storage = state_.storages[read.storage];
  report("snapshot", "the snapshot of epoch " + std::to_string(line.epoch) + " shows " +
                         describe(storage.shape, read.state) + " for " + storage.name + "/" +
                         std::to_string(read.key) + ", which was " +
                         describe(storage.shape, shown.state) + " by transaction " +
                         std::to_string(shown.txn) + " of epoch " + std::to_string(shown.epoch()) +
                         "\n" + json_of(line));
}

}  // namespace foedus::isolation
