// Explains a read whose state is no version at its place.
#include <algorithm>
#include <set>

#include "tests/isolation/checker/window.h"
#include "tests/isolation/history_json.h"

namespace foedus::isolation {

void WindowCheck::report(std::string name, std::string text) {
  if (anomalies_.size() < anomalies_max_) anomalies_.push_back({std::move(name), std::move(text)});
}

std::string WindowCheck::json_of(const TxnLine& line) const {
  std::string text;
  append_json(line, &text);
  return text;
}

std::string WindowCheck::name_key(std::uint32_t number) const {
  const KeyState& key = state_.keys[number];
  const auto storage = state_.storages.find(key.storage);
  const std::string name = storage == state_.storages.end() || storage->second.name.empty()
                               ? std::to_string(key.storage)
                               : storage->second.name;
  return name + "/" + std::to_string(key.key);
}

const TxnLine* WindowCheck::txn_of(std::uint64_t id) {
  if (by_id_.empty()) {
    for (const TxnLine& line : txns_) by_id_.emplace(line.id, &line);
  }
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : at->second;
}

// Returns the name of the anomaly that the values alone show, or an empty string.
std::string WindowCheck::explain_values(std::span<const std::uint64_t> values, std::string* why) {
  for (const std::uint64_t value : values) {
    if (value == 0) continue;
    const std::uint64_t id = value / kValuesPerTxn;
    const TxnLine* const writer = txn_of(id);
    *why = "value " + std::to_string(value) + " is of transaction " + std::to_string(id);
    if (const auto lost = state_.lost.find(id); lost != state_.lost.end()) {
      *why += " of epoch " + std::to_string(lost->second) +
              ", which a crash undid: recovered was " + std::to_string(state_.recovered);
      return "resurrected";
    }
    if (writer == nullptr) continue;
    const bool is_node = std::find(nodes_.begin(), nodes_.end(), writer) != nodes_.end();
    if (is_node) continue;
    *why += ", which was not committed: " + std::string(to_string(writer->outcome)) + "\n" +
            json_of(*writer);
    return "G1a";
  }
  why->clear();
  return {};
}

// Adds the order of versions that a list itself shows, beside that of TIDs.
void WindowCheck::add_list_order(const Read& read, std::uint32_t number) {
  std::uint32_t before = kNone;
  for (const std::uint64_t value : read.words) {
    const TxnLine* const writer = txn_of(value / kValuesPerTxn);
    const auto node = std::find(nodes_.begin(), nodes_.end(), writer);
    if (writer == nullptr || node == nodes_.end()) continue;
    const auto after = static_cast<std::uint32_t>(node - nodes_.begin());
    if (before != kNone) graph_.add(before, after, EdgeKind::kWw, number);
    before = after;
  }
}

void WindowCheck::explain(const Read& read, std::uint32_t number) {
  const StorageLine& storage = state_.storages[read.storage];
  std::string text = "transaction " + std::to_string(txn(read.node).id) + " saw " + storage.name +
                     "/" + std::to_string(read.key) + " ";
  text += read.seen == Seen::kState ? describe(storage.shape, read.state)
                                    : std::string(read.state.present ? "present" : "absent");
  std::string why;
  // The counter of a register is no value.
  const bool is_register = storage.shape == Shape::kRegister && read.words.size() == 3;
  std::string name = explain_values(is_register ? read.words.first(2) : read.words, &why);
  if (name.empty() && storage.shape == Shape::kSequence) {
    name = "incompatible-order";
    why = "values that were not appended, or in another order";
  } else if (name.empty() && number == kNone) {
    name = "garbage-read";
    why = "nobody has written it";
  } else if (name.empty()) {
    const KeyState& key = state_.keys[number];
    const std::uint64_t place =
        read.state.digest() ^ (static_cast<std::uint64_t>(number) + 1) * 0x9e3779b97f4a7c15u;
    const bool is_old = std::any_of(
        key.versions.begin(), key.versions.begin() + key.base(), [&](const Version& version) {
          return read.seen == Seen::kState ? version.state == read.state
                                           : version.state.present == read.state.present;
        });
    bool is_of_before = read.seen == Seen::kPresence || is_old;
    std::set<std::uint64_t> writers;
    for (std::size_t i = 0; i < read.words.size() && !(is_register && i == 2); ++i) {
      if (read.words[i] != 0) writers.insert(read.words[i] / kValuesPerTxn);
    }
    const bool is_of_window = std::any_of(
        writers.begin(), writers.end(), [this](std::uint64_t id) { return txn_of(id) != nullptr; });
    if (!is_of_window) is_of_before = true;
    if (const auto at = intermediate_.find(place); at != intermediate_.end()) {
      name = "G1b";
      why = "what transaction " + std::to_string(at->second) + " overwrote itself";
    } else if (is_of_before) {
      const Version& base = key.versions[key.base()];
      name = state_.is_after_crash ? base.epoch() <= state_.acknowledged_before && base.tid != 0
                                         ? "lost-acknowledged"
                                         : "partial-survival"
                                   : "G-single-realtime";
      why = "older than " + describe(storage.shape, base.state) + " of transaction " +
            std::to_string(base.txn) + ", which ended before this one began";
    } else {
      name = storage.shape == Shape::kList ? "incompatible-order" : "torn-read";
      if (storage.shape == Shape::kList) add_list_order(read, number);
      why = "no version was like that";
    }
  }
  report(name, text + ": " + why + "\n" + json_of(txn(read.node)));
}

}  // namespace foedus::isolation
