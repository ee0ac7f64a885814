// Sequences. Appends do not conflict, so two appends of one epoch that did not see each other are
// ordered by TID, not by time: an append has no edge to the next. A scan comes after the writers of
// all values that it saw, and before those of all others.
#include <algorithm>

#include "tests/isolation/checker/window.h"

namespace foedus::isolation {

// Sorts the values of the window and merges them with the others. The time is linear, except for
// the values of one epoch.
void WindowCheck::order_sequences() {
  const auto comes_before = [](const Element& left, const Element& right) {
    return left.is_before(right);
  };
  for (auto& [number, sequence] : state_.sequences) {
    auto& elements = sequence.elements;
    sequence.old_end = sequence.window_begin;
    if (sequence.window_begin == elements.size()) continue;
    const auto added = elements.begin() + static_cast<std::ptrdiff_t>(sequence.window_begin);
    auto first = added;
    while (first != elements.begin() && comes_before(*added, *(first - 1))) --first;
    std::inplace_merge(first, added, elements.end(), comes_before);
    sequence.window_begin = static_cast<std::size_t>(first - elements.begin());
    sequence.old_end = elements.size();
    while (sequence.old_end != 0 && elements[sequence.old_end - 1].node != kNone) {
      --sequence.old_end;
    }
  }
}

void WindowCheck::add_sequence_points() {
  for (auto& [number, sequence] : state_.sequences) {
    SequencePoints& points = sequence_points_[number];
    for (std::size_t i = sequence.window_begin; i < sequence.elements.size(); ++i) {
      const std::uint32_t writer = sequence.elements[i].node;
      points.up_to.push_back(graph_.add_node());
      points.from.push_back(graph_.add_node());
      if (writer != kNone) {
        graph_.add(writer, points.up_to.back(), EdgeKind::kWr, kNone);
        graph_.add(points.from.back(), writer, EdgeKind::kNeutral, kNone);
      }
      if (i == sequence.window_begin) continue;
      graph_.add(*(points.up_to.end() - 2), points.up_to.back(), EdgeKind::kNeutral, kNone);
      graph_.add(*(points.from.end() - 2), points.from.back(), EdgeKind::kNeutral, kNone);
    }
  }
}

// Notes that the transaction saw the sequence without this element. Returns true if it had to see
// it, as it was there before the window; otherwise the transaction comes before the element's
// writer.
bool WindowCheck::is_missed(std::uint32_t node, const SequenceState& sequence,
                            std::size_t element) {
  const Element& missed = sequence.elements[element];
  if (missed.node != kNone) {
    graph_.add(node, missed.node, EdgeKind::kRwPredicate, kNone);
    return false;
  }
  report(state_.is_after_crash ? "partial-survival" : "G-single-realtime",
         "a scan does not show value " + std::to_string(missed.value) + " of transaction " +
             std::to_string(missed.txn) + ", which ended before, in its place\n" +
             json_of(txn(node)));
  return true;
}

// Notes that the transaction saw none of elements [begin, …), except its own.
void WindowCheck::unseen_from(std::uint32_t node, const SequenceState& sequence,
                              std::size_t begin) {
  const SequencePoints& points = sequence_points_[sequence.storage];
  std::size_t alone = begin;
  if (is_writer(node)) {
    // The last own element divides the rest: single edges before it, a point after it.
    const auto above = std::upper_bound(
        sequence.elements.begin() + static_cast<std::ptrdiff_t>(begin), sequence.elements.end(),
        tid_of(node), [](std::uint64_t tid, const Element& element) { return tid < element.tid; });
    alone = static_cast<std::size_t>(above - sequence.elements.begin());
  }
  alone = std::max(alone, sequence.old_end);
  for (; begin < alone; ++begin) {
    if (is_missed(node, sequence, begin)) return;
  }
  if (begin < sequence.elements.size()) {
    graph_.add(node, points.from[begin - sequence.window_begin], EdgeKind::kRwPredicate, kNone);
  }
}

// Removes the transaction's own appends, which must come last in a scan. Returns false if they do
// not.
bool WindowCheck::take_own_values(std::uint32_t node, const Op& op,
                                  std::span<const std::uint64_t>* values) {
  std::vector<std::uint64_t> own;
  for (std::size_t i = 0; i < own_pushed_.size(); i += 2) {
    if (own_pushed_[i] == op.storage) own.push_back(own_pushed_[i + 1]);
  }
  const auto is_own = [&](std::uint64_t value) { return value / kValuesPerTxn == txn(node).id; };
  std::size_t count = 0;
  while (count < values->size() && is_own((*values)[values->size() - 1 - count])) ++count;
  const auto tail = values->last(count);
  const bool is_cut = values->size() >= op.limit;
  *values = values->first(values->size() - count);
  return count <= own.size() && (count == own.size() || is_cut) &&
         std::equal(tail.begin(), tail.end(), own.begin());
}

void WindowCheck::check_scan(std::uint32_t node, const Op& op) {
  SequenceState& sequence = state_.sequences[op.storage];
  sequence.storage = op.storage;
  const auto& elements = sequence.elements;
  std::span<const std::uint64_t> values = op.rest;
  state_.stats.reads += values.size();
  if (!take_own_values(node, op, &values)) {
    report("internal", "a scan does not end with its own appends\n" + json_of(txn(node)));
    return;
  }
  const SequencePoints& points = sequence_points_[op.storage];
  std::size_t at = 0;
  std::size_t whole = 0;  // elements before the first hole
  bool has_hole = false;
  for (const std::uint64_t value : values) {
    std::size_t place = at;
    while (place < elements.size() && elements[place].value != value) ++place;
    if (place == elements.size()) {
      return explain({node, op.storage, 0, Seen::kState, {}, values}, kNone);
    }
    for (; at < place; ++at) {
      if (elements[at].node == node) continue;  // appended after the scan
      has_hole = true;
      if (is_missed(node, sequence, at)) return;
    }
    if (has_hole && elements[at].node != kNone) {
      graph_.add(elements[at].node, node, EdgeKind::kWr, kNone);
    }
    note_seen(node, elements[at].tid, true);
    ++at;
    if (!has_hole) whole = at;
  }
  if (whole > sequence.window_begin) {
    graph_.add(points.up_to[whole - 1 - sequence.window_begin], node, EdgeKind::kNeutral, kNone);
  }
  // Own appends come last: a scan that saw one has seen all others, whatever the limit.
  const bool saw_own = values.size() != op.rest.size();
  if (op.rest.size() < op.limit || saw_own) unseen_from(node, sequence, at);
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
