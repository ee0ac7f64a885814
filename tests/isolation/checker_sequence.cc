// Sequences. Appends do not conflict, so that two of one epoch of which neither transaction saw the
// other have a place by TID, not by time: an append has no edge to the next. A scan comes after the
// writers of all that it saw, and before those of all that it did not.
#include <algorithm>

#include "tests/isolation/checker_window.h"

namespace foedus::isolation {

void WindowCheck::add_sequence_points() {
  for (auto& [number, sequence] : state_.sequences) {
    const std::size_t begin = sequence.window_begin;
    const std::size_t count = sequence.elements.size() - begin;
    SequencePoints& points = sequence_points_[number];
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t writer = sequence.elements[begin + i].node;
      points.up_to.push_back(graph_.add_node());
      points.from.push_back(graph_.add_node());
      graph_.add(writer, points.up_to[i], EdgeKind::kWr, kNone);
      graph_.add(points.from[i], writer, EdgeKind::kNeutral, kNone);
      if (i == 0) continue;
      graph_.add(points.up_to[i - 1], points.up_to[i], EdgeKind::kNeutral, kNone);
      graph_.add(points.from[i - 1], points.from[i], EdgeKind::kNeutral, kNone);
    }
  }
}

// It saw none of elements [begin, …), its own aside.
void WindowCheck::unseen_from(std::uint32_t node, const SequenceState& sequence,
                              std::size_t begin) {
  const SequencePoints& points = sequence_points_[sequence.storage];
  const std::size_t size = sequence.elements.size();
  if (is_writer(node)) {
    // The last of its own parts the rest: one by one before it, a point behind it.
    const auto above = std::upper_bound(
        sequence.elements.begin() + static_cast<std::ptrdiff_t>(begin), sequence.elements.end(),
        tid_of(node),
        [](std::uint64_t tid, const Element& element) { return tid < element.tid; });
    for (const auto end = static_cast<std::size_t>(above - sequence.elements.begin()); begin < end;
         ++begin) {
      graph_.add(node, sequence.elements[begin].node, EdgeKind::kRwPredicate, kNone);
    }
  }
  if (begin < size) {
    graph_.add(node, points.from[begin - sequence.window_begin], EdgeKind::kRwPredicate, kNone);
  }
}

void WindowCheck::check_scan(std::uint32_t node, const Op& op) {
  const TxnLine& line = txn(node);
  SequenceState& sequence = state_.sequences[op.storage];
  sequence.storage = op.storage;
  const auto& elements = sequence.elements;
  std::span<const std::uint64_t> values = op.rest;
  state_.stats.reads += values.size();
  const bool is_cut = values.size() >= op.limit;
  // Its own come last.
  std::vector<std::uint64_t> own;
  for (std::size_t i = 0; i < own_pushed_.size(); i += 2) {
    if (own_pushed_[i] == op.storage) own.push_back(own_pushed_[i + 1]);
  }
  if (!own.empty()) {
    std::size_t common = 0;
    while (common < own.size() && common < values.size() && values[values.size() - 1 - common] / kValuesPerTxn == line.id) ++common;
    const auto tail = values.last(common);
    if ((common != own.size() && !is_cut) ||
        !std::equal(tail.begin(), tail.end(), own.begin())) {
      report("internal", "a scan does not end with its own appends\n" + json_of(line));
    }
    values = values.first(values.size() - common);
  }
  const SequencePoints& points = sequence_points_[op.storage];
  std::size_t at = 0;
  std::size_t whole = 0;  // elements before the first hole
  bool has_hole = false;
  for (const std::uint64_t value : values) {
    std::size_t hole = at;
    while (hole < elements.size() && elements[hole].value != value) ++hole;
    if (hole == elements.size()) {
      explain({node, op.storage, 0, Seen::kState, {}, values}, kNone);
      return;
    }
    for (; at < hole; ++at) {
      if (at < sequence.window_begin) {
        report(state_.is_after_crash ? "partial-survival" : "G-single-realtime",
               "a scan misses value " + std::to_string(elements[at].value) + " of transaction " +
                   std::to_string(elements[at].txn) + ", which ended before\n" + json_of(line));
        return;
      }
      if (elements[at].node == node) continue;  // appended behind the scan
      has_hole = true;
      graph_.add(node, elements[at].node, EdgeKind::kRwPredicate, kNone);
    }
    if (has_hole) graph_.add(elements[at].node, node, EdgeKind::kWr, kNone);
    note_seen(node, elements[at].tid, true);
    ++at;
    if (!has_hole) whole = at;
  }
  if (whole > sequence.window_begin) {
    graph_.add(points.up_to[whole - 1 - sequence.window_begin], node, EdgeKind::kNeutral, kNone);
  }
  if (is_cut) return;
  if (at < sequence.window_begin) {
    report(state_.is_after_crash ? "partial-survival" : "G-single-realtime",
           "a scan ends before value " + std::to_string(elements[at].value) + " of transaction " +
               std::to_string(elements[at].txn) + ", which ended before\n" + json_of(line));
    return;
  }
  unseen_from(node, sequence, at);
}

void WindowCheck::check_snapshot_scan(const TxnLine& line, const Op& op) {
  const SequenceState& sequence = state_.sequences[op.storage];
  state_.stats.reads += op.rest.size();
  const auto end = std::upper_bound(sequence.elements.begin(), sequence.elements.end(), line.epoch,
                                    [](std::uint64_t epoch, const Element& element) {
                                      return epoch < element.tid >> kOrdinalBits;
                                    });
  const auto count = static_cast<std::uint64_t>(end - sequence.elements.begin());
  bool holds = op.rest.size() == std::min<std::uint64_t>(count, op.limit);
  for (std::size_t i = 0; holds && i < op.rest.size(); ++i) {
    holds = op.rest[i] == sequence.elements[i].value;
  }
  if (holds) return;
  report("snapshot", "the snapshot of epoch " + std::to_string(line.epoch) + " shows " +
                         std::to_string(op.rest.size()) + " values of a sequence that had " +
                         std::to_string(count) + ", or others\n" + json_of(line));
}

}  // namespace foedus::isolation
