#pragma once
// A history of transactions over registers, and the check that it is serializable. Every write is a
// read-modify-write and every version has a unique number, so the order of versions of a key is
// known. The check is a search for a cycle (G0, G1c, G-single, G2) in linear time; it also finds
// reads of versions that were never committed (G1a, G1b).

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace foedus::testing {

using Version = std::uint64_t;  // 0: the key was not there, or never written

struct RegisterRead {
  std::uint64_t key;
  Version version;
};
struct RegisterWrite {
  std::uint64_t key;
  Version before;
  Version after;
};
// One committed transaction.
struct HistoryTxn {
  std::vector<RegisterRead> reads;
  std::vector<RegisterWrite> writes;
};

// Returns an empty string if the history is serializable; otherwise a description of the anomaly.
inline std::string check_serializable(const std::vector<HistoryTxn>& history) {
  struct KeyVersion {
    std::uint64_t key;
    Version version;
    bool operator==(const KeyVersion&) const = default;
  };
  struct Hash {
    std::size_t operator()(const KeyVersion& v) const {
      return v.key * 0x9e3779b97f4a7c15u ^ v.version;
    }
  };
  std::unordered_map<KeyVersion, std::size_t, Hash> writer_of;      // version -> its writer
  std::unordered_map<KeyVersion, std::size_t, Hash> overwriter_of;  // version -> the next writer
  for (std::size_t t = 0; t < history.size(); ++t) {
    for (const RegisterWrite& write : history[t].writes) {
      writer_of[{write.key, write.after}] = t;
      if (!overwriter_of.emplace(KeyVersion{write.key, write.before}, t).second) {
        return "lost update: key " + std::to_string(write.key) + " version " +
               std::to_string(write.before) + " was overwritten twice";
      }
    }
  }
  std::vector<std::vector<std::size_t>> after(history.size());
  const auto edge = [&after](std::size_t from, std::size_t to) {
    if (from != to) after[from].push_back(to);
  };
  for (std::size_t t = 0; t < history.size(); ++t) {
    const auto depends = [&](std::uint64_t key, Version version) -> bool {
      if (version != 0) {
        const auto writer = writer_of.find({key, version});
        if (writer == writer_of.end()) return false;
        edge(writer->second, t);
      }
      const auto overwriter = overwriter_of.find({key, version});
      if (overwriter != overwriter_of.end()) edge(t, overwriter->second);
      return true;
    };
    for (const RegisterRead& read : history[t].reads) {
      if (!depends(read.key, read.version))
        return "aborted read of key " + std::to_string(read.key);
    }
    for (const RegisterWrite& write : history[t].writes) {
      if (!depends(write.key, write.before)) {
        return "write over an aborted version of key " + std::to_string(write.key);
      }
    }
  }
  // A topological order exists if and only if there is no cycle.
  std::vector<std::size_t> incoming(history.size(), 0);
  for (const auto& targets : after) {
    for (const std::size_t to : targets) ++incoming[to];
  }
  std::vector<std::size_t> ready;
  for (std::size_t t = 0; t < history.size(); ++t) {
    if (incoming[t] == 0) ready.push_back(t);
  }
  std::size_t ordered = 0;
  while (!ready.empty()) {
    const std::size_t t = ready.back();
    ready.pop_back();
    ++ordered;
    for (const std::size_t to : after[t]) {
      if (--incoming[to] == 0) ready.push_back(to);
    }
  }
  if (ordered == history.size()) return {};
  return std::to_string(history.size() - ordered) + " of " + std::to_string(history.size()) +
         " transactions are on or behind a cycle";
}

}  // namespace foedus::testing
