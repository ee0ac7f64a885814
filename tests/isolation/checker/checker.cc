#include "tests/isolation/checker/checker.h"

#include <algorithm>
#include <utility>

#include "tests/isolation/checker/window.h"

namespace foedus::isolation {

std::uint32_t CheckerState::find(std::uint32_t storage, std::uint64_t key) const {
  const auto at = key_numbers.find(mix(storage, key));
  return at == key_numbers.end() ? kNone : at->second;
}

std::uint32_t CheckerState::find_or_add(std::uint32_t storage, std::uint64_t key) {
  const auto number = static_cast<std::uint32_t>(keys.size());
  const auto [at, is_new] = key_numbers.emplace(mix(storage, key), number);
  if (!is_new) return at->second;
  KeyState& added = keys.emplace_back();
  added.storage = storage;
  added.key = key;
  added.versions.resize(1);
  added.versions[0].state = RecordState::initial(storages[storage]);
  keys_of[storage].push_back(number);
  return number;
}

void Checker::report(std::string name, std::string text) {
  if (!has_enough()) anomalies_.push_back({std::move(name), std::move(text)});
}

void Checker::add(Line line) {
  switch (line.kind) {
    case LineKind::kHeader:
      break;
    case LineKind::kStorage:
      state_.storages[static_cast<std::uint32_t>(line.storage.number)] = line.storage;
      break;
    case LineKind::kDrop:
      state_.sequences.erase(static_cast<std::uint32_t>(line.storage.number));
      break;
    case LineKind::kTxn:
      add_txn(std::move(line.txn));
      break;
    case LineKind::kDurable:
      state_.acknowledged = std::max(state_.acknowledged, line.epoch);
      break;
    case LineKind::kWindow:
      for (const TxnLine& txn : window_) {
        if (txn.end_ns <= line.ns) continue;
        report("format", "transaction " + std::to_string(txn.id) + " ends behind its window");
      }
      check_window();
      close_window(line.epoch);
      state_.epoch_floor = std::max(state_.epoch_floor, state_.acknowledged + 1);
      window_begin_ns_ = line.ns;
      break;
    case LineKind::kCrash:
      check_window();
      ++state_.stats.crashes;
      has_crashed_ = !line.has_epoch;
      if (line.has_epoch) recover(line.epoch);
      window_begin_ns_ = line.ns;
      break;
    case LineKind::kOpen:
      if (has_crashed_) recover(line.epoch);
      has_crashed_ = false;
      break;
  }
}

void Checker::add_txn(TxnLine txn) {
  ++state_.stats.txns;
  if (txn.begin_ns < window_begin_ns_) {
    report("format", "transaction " + std::to_string(txn.id) + " begins before its window");
  }
  if (txn.outcome == Outcome::kCommitted && txn.durable_ns != 0) {
    state_.acknowledged = std::max(state_.acknowledged, txn.epoch);
  }
  state_.acknowledged = std::max(state_.acknowledged, txn.durable_epoch);
  // A snapshot is made of durable commits.
  if (txn.outcome == Outcome::kCommitted && txn.kind != TxnKind::kSerializable) {
    state_.acknowledged = std::max(state_.acknowledged, txn.epoch);
  }
  window_.push_back(std::move(txn));
}

void Checker::finish() {
  check_window();
  close_window(state_.horizon);
}

// I7: epochs that became durable during the window count for the next one.
void Checker::check_epochs() {
  std::uint64_t newest = state_.epoch_floor;
  for (const TxnLine& txn : window_) {
    if (txn.kind != TxnKind::kSerializable || txn.ordinal == 0) continue;
    newest = std::max(newest, txn.epoch);
    if (txn.epoch >= state_.epoch_floor) continue;
    report("order-epoch", "transaction " + std::to_string(txn.id) + " is of epoch " +
                              std::to_string(txn.epoch) + ", before its window was epoch " +
                              std::to_string(state_.epoch_floor));
  }
  state_.epoch_floor = newest;
}

// I7: a transaction that asks for the newest snapshot after another such one has ended sees no
// older one.
void Checker::check_newest_snapshots() {
  std::vector<const TxnLine*> by_begin;
  for (const TxnLine& txn : window_) {
    if (txn.kind == TxnKind::kSnapshot && txn.outcome == Outcome::kCommitted) {
      by_begin.push_back(&txn);
    }
  }
  std::vector<const TxnLine*> by_end = by_begin;
  std::sort(by_begin.begin(), by_begin.end(),
            [](const TxnLine* a, const TxnLine* b) { return a->begin_ns < b->begin_ns; });
  std::sort(by_end.begin(), by_end.end(),
            [](const TxnLine* a, const TxnLine* b) { return a->end_ns < b->end_ns; });
  auto ended = by_end.begin();
  for (const TxnLine* const txn : by_begin) {
    for (; ended != by_end.end() && (*ended)->end_ns < txn->begin_ns; ++ended) {
      state_.newest_snapshot = std::max(state_.newest_snapshot, (*ended)->epoch);
    }
    if (txn->epoch >= state_.newest_snapshot) continue;
    report("snapshot", "the newest snapshot of transaction " + std::to_string(txn->id) +
                           " is of epoch " + std::to_string(txn->epoch) + ", one before was of " +
                           std::to_string(state_.newest_snapshot));
  }
  for (; ended != by_end.end(); ++ended) {
    state_.newest_snapshot = std::max(state_.newest_snapshot, (*ended)->epoch);
  }
}

void Checker::check_window() {
  if (window_.empty()) return;
  ++state_.stats.windows;
  check_epochs();
  check_newest_snapshots();
  WindowCheck check(&state_, window_, anomalies_max_);
  check.run();
  for (Anomaly& anomaly : check.take_anomalies()) {
    report(std::move(anomaly.name), std::move(anomaly.text));
  }
  // The next lines are of a later window, even if this one ended with a crash.
  for (const std::uint32_t number : check.written()) {
    KeyState& key = state_.keys[number];
    key.window_begin = static_cast<std::uint32_t>(key.versions.size());
    if (key.versions.size() > 1) state_.many.insert(number);
  }
  for (auto& [number, sequence] : state_.sequences) {
    for (std::size_t i = sequence.window_begin; i < sequence.elements.size(); ++i) {
      sequence.elements[i].node = kNone;
    }
    sequence.window_begin = sequence.elements.size();
  }
  state_.is_after_crash = false;
  window_.clear();
}

void Checker::close_window(std::uint64_t horizon) {
  state_.horizon = std::max(state_.horizon, horizon);
  std::erase_if(state_.many, [this](std::uint32_t number) {
    KeyState& key = state_.keys[number];
    // The first kept version is the newest one that the oldest snapshot shows.
    std::uint32_t first = key.last();
    while (first != 0 && key.versions[first].epoch() > state_.horizon) --first;
    if (first == 0) return key.versions.size() == 1;
    // The versions are copied, so that a record which is never written again keeps no spare
    // capacity.
    key.versions = std::vector<Version>(key.versions.begin() + first, key.versions.end());
    key.window_begin = static_cast<std::uint32_t>(key.versions.size());
    return key.versions.size() == 1;
  });
}

void Checker::undo(std::uint64_t txn, std::uint64_t epoch) {
  state_.lost.emplace(txn, epoch);
  if (epoch > state_.acknowledged) {
    ++state_.stats.lost;
    return;
  }
  report("lost-acknowledged", "transaction " + std::to_string(txn) + " of epoch " +
                                  std::to_string(epoch) + " was lost in a crash: recovered is " +
                                  std::to_string(state_.recovered) + ", acknowledged was " +
                                  std::to_string(state_.acknowledged));
}

void Checker::recover(std::uint64_t epoch) {
  state_.recovered = epoch;
  state_.is_after_crash = true;
  std::erase_if(state_.many, [&](std::uint32_t number) {
    KeyState& key = state_.keys[number];
    while (key.versions.size() > 1 && key.versions.back().epoch() > epoch) {
      undo(key.versions.back().txn, key.versions.back().epoch());
      key.versions.pop_back();
    }
    key.window_begin = static_cast<std::uint32_t>(key.versions.size());
    return key.versions.size() == 1;
  });
  for (auto& [number, sequence] : state_.sequences) {
    while (!sequence.elements.empty() && sequence.elements.back().tid >> kOrdinalBits > epoch) {
      undo(sequence.elements.back().txn, sequence.elements.back().tid >> kOrdinalBits);
      sequence.elements.pop_back();
    }
    sequence.window_begin = sequence.elements.size();
  }
  // Later acknowledgements concern later commits: numbers of epochs without a commit come again.
  state_.acknowledged_before = std::exchange(state_.acknowledged, 0);
  state_.epoch_floor = epoch + 1;
}

}  // namespace foedus::isolation
