#pragma once
// A run of a log that keeps changes, and a consumer of them.

#include <map>
#include <vector>

#include "foedus-core/log/change_reader.h"
#include "tests/log/log_harness.h"

namespace foedus::log::testing {

// A run that keeps changes, but none for longer than a snapshot or a reader needs them.
struct ChangeRun : LogRun {
  explicit ChangeRun(FailingDevice* device, std::uint32_t socs = 1,
                     std::uint64_t segment_bytes = 1u << 20, std::uint64_t seed = 1)
      : LogRun(device, socs, segment_bytes, seed) {
    keep_changes(1);
  }
};

struct Seen {
  std::uint64_t epoch;
  std::uint64_t value;
  bool operator==(const Seen&) const = default;
};

// What a consumer has stored: changes, and its position with them.
struct Consumer {
  std::vector<Seen> seen;
  Epoch position;
  std::size_t batches = 0;

  // Takes at most `most` batches from a new reader; fewer if there are no more.
  Status consume(Log* log, std::size_t most = ~std::size_t{0}) {
    FOEDUS_TRY(const auto reader, ChangeReader::open(log, position));
    return consume_from(reader.get(), most);
  }
  Status consume_from(ChangeReader* reader, std::size_t most = ~std::size_t{0}) {
    for (std::size_t taken = 0; taken < most; ++taken) {
      FOEDUS_TRY(const ChangeBatch batch, reader->next());
      EXPECT_GE(batch.position, position);
      EXPECT_EQ(batch.changes.empty(), !batch.epoch.is_valid());
      if (batch.epoch.is_valid()) {
        EXPECT_GT(batch.epoch, position);
        EXPECT_EQ(batch.epoch, batch.position);
      }
      position = batch.position;
      if (batch.changes.empty()) break;
      take(batch);
    }
    return {};
  }

 private:
  void take(const ChangeBatch& batch) {
    ++batches;
    std::uint64_t tid = 0;
    std::uint32_t transaction = 0;
    for (const Change& change : batch.changes) {
      const LogRecord& record = *change.record;
      EXPECT_EQ(page::Tid(record.tid).epoch(), batch.epoch);
      EXPECT_GE(record.tid, tid);
      EXPECT_GE(change.transaction, transaction);
      tid = record.tid;
      transaction = change.transaction;
      EXPECT_EQ(record.payload(), payload_of(record.index(), record.payload_bytes()));
      seen.push_back({batch.epoch.number(), record.index()});
    }
  }
};

// Returns the commits of the sessions up to `cut`, each session's in order, by value.
inline std::map<std::uint64_t, std::uint64_t> expected(const LogRun& run, Epoch cut) {
  std::map<std::uint64_t, std::uint64_t> epochs;
  for (const auto& session : run.sessions) {
    for (const Written& written : session->history()) {
      if (written.epoch <= cut.number()) epochs[written.value] = written.epoch;
    }
  }
  return epochs;
}

// Checks that every commit was seen once, with its epoch.
inline void expect_seen(const std::vector<Seen>& seen,
                        const std::map<std::uint64_t, std::uint64_t>& epochs) {
  std::map<std::uint64_t, std::uint64_t> found;
  for (const Seen& change : seen) {
    EXPECT_TRUE(found.emplace(change.value, change.epoch).second) << change.value;
  }
  EXPECT_EQ(found, epochs);
}

}  // namespace foedus::log::testing
