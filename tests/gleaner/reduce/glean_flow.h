#pragma once
// Mappers and reducers, stepped by one thread in an order that a seed decides.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/line_allocator.h"
#include "gleaner/map/mapper.h"
#include "gleaner/reduce/reducer.h"
#include "tests/gleaner/reduce/random_log.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::gleaner::testing {

// A source whose records each have memory of their own, freed with the next record: a sanitizer
// notices a use after that.
class ListSource : public RecordSource {
 public:
  explicit ListSource(std::vector<const LoggedRecord*> records) : records_(std::move(records)) {}

  bool next(SourceRecord* record) override {
    if (next_ == records_.size()) {
      status_ = end_;
      return false;
    }
    const LoggedRecord& from = *records_[next_++];
    current_ = std::make_unique<std::uint64_t[]>(from.bytes.size() / 8);
    std::memcpy(current_.get(), from.bytes.data(), from.bytes.size());
    *record = {from.session, from.sequence,
               reinterpret_cast<const log::LogRecord*>(current_.get())};
    return true;
  }
  void fail_at_end(Status status) { end_ = std::move(status); }

 private:
  const std::vector<const LoggedRecord*> records_;
  std::size_t next_ = 0;
  std::unique_ptr<std::uint64_t[]> current_;
  Status end_;
};

// A ManualRuntime that counts wakes, by the wait point.
class WakesCounted : public foedus::testing::ManualRuntime {
 public:
  using ManualRuntime::ManualRuntime;
  void wake(base::WaitPoint* point) override { ++wakes_[point]; }
  std::uint64_t wakes_of(base::WaitPoint* point) { return wakes_[point]; }

 private:
  std::map<base::WaitPoint*, std::uint64_t> wakes_;
};

struct Flow {
  std::uint32_t mappers = 1;
  std::uint32_t partitions = 1;
  std::uint64_t reducer_bytes = 8u << 20;
  std::uint64_t seed = 1;
};

// A record of a partition's stream, as text that is equal only if all its parts are.
struct StreamedRecord {
  std::uint32_t storage;
  std::uint64_t position;
  std::uint32_t session;
  std::uint64_t sequence;
  std::string bytes;
  bool operator==(const StreamedRecord&) const = default;
};
using Streamed = std::vector<std::vector<StreamedRecord>>;

class GleanFlow {
 public:
  GleanFlow(const Flow& flow, const PartitionTable* table,
            const std::vector<LoggedRecord>& records)
      : flow_(flow), table_(table), runtime_(flow.seed), random_(flow.seed) {
    std::vector<Inbox*> inboxes;
    for (std::uint32_t i = 0; i < flow.partitions; ++i) {
      ReducerOptions options;
      options.snapshot = page::SnapshotNumber{7};
      options.soc = i;
      options.mappers = flow.mappers;
      options.memory = memory_of(flow.reducer_bytes);
      options.memory_bytes = flow.reducer_bytes;
      reducers.push_back(std::make_unique<Reducer>(&runtime_, &finished_, &device, table, options));
      inboxes.push_back(reducers.back()->inbox());
    }
    for (auto& share : distribute(records)) {
      sources.push_back(std::make_unique<ListSource>(std::move(share)));
      MapperOptions options;
      options.covered = Epoch(kCoveredEpoch);
      options.newest = Epoch(kNewestEpoch);
      mappers.push_back(std::make_unique<Mapper>(&runtime_, &finished_, table, sources.back().get(),
                                                 inboxes, options));
    }
  }

  // Runs all tasks to their ends. Returns the first error, of reducers first.
  Status run() {
    for (auto& reducer : reducers) runtime_.start(reducer.get());
    for (auto& mapper : mappers) runtime_.start(mapper.get());
    runtime_.wait(&finished_, base::Runtime::kForever, [this] {
      return std::ranges::all_of(reducers, [](auto& task) { return task->is_done(); }) &&
             std::ranges::all_of(mappers, [](auto& task) { return task->is_done(); });
    });
    for (auto& mapper : mappers) runtime_.stop(mapper.get());
    for (auto& reducer : reducers) runtime_.stop(reducer.get());
    for (auto& reducer : reducers) FOEDUS_CHECK(reducer->status());
    for (auto& mapper : mappers) FOEDUS_CHECK(mapper->status());
    return {};
  }

  Result<Streamed> read() {
    Streamed all;
    for (auto& reducer : reducers) {
      all.emplace_back();
      for (;;) {
        FOEDUS_TRY(const std::optional<StorageStream> stream, reducer->next_storage());
        if (!stream.has_value()) break;
        for (;;) {
          const StreamRecord* const record = stream->records->next();
          FOEDUS_CHECK(stream->records->status());
          if (record == nullptr) break;
          all.back().push_back(
              {static_cast<std::uint32_t>(stream->storage), record->position, record->session,
               record->sequence,
               std::string(reinterpret_cast<const char*>(record->log), record->log->record_bytes)});
        }
      }
    }
    return all;
  }

  std::uint64_t runs() const {
    std::uint64_t sum = 0;
    for (const auto& reducer : reducers) sum += reducer->counts().runs;
    return sum;
  }

  // Returns how often a thread was woken that waits for the end of the tasks.
  std::uint64_t wakes() { return runtime_.wakes_of(&finished_); }

  foedus::testing::FailingDevice device;
  std::vector<std::unique_ptr<Reducer>> reducers;
  std::vector<std::unique_ptr<ListSource>> sources;
  std::vector<std::unique_ptr<Mapper>> mappers;

 private:
  // Deals pieces of sessions, as segments have them, to mappers; some pieces of a session are
  // mixed.
  std::vector<std::vector<const LoggedRecord*>> distribute(
      const std::vector<LoggedRecord>& records) {
    std::vector<std::vector<const LoggedRecord*>> shares(flow_.mappers);
    std::map<std::uint32_t, std::uint64_t> mapper_of;
    for (const LoggedRecord& record : records) {
      auto [mapper, is_new] = mapper_of.try_emplace(record.session);
      if (is_new || random_.below(50) == 0) mapper->second = random_.below(flow_.mappers);
      shares[mapper->second].push_back(&record);
    }
    return shares;
  }

  char* memory_of(std::uint64_t bytes) {
    memory_.push_back(std::make_unique<base::LineVector<char>>(bytes));
    return memory_.back()->data();
  }

  const Flow flow_;
  const PartitionTable* const table_;
  WakesCounted runtime_;
  base::Random random_;
  base::WaitPoint finished_;
  std::vector<std::unique_ptr<base::LineVector<char>>> memory_;
};

}  // namespace foedus::gleaner::testing
