#include "tests/isolation/worker.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "foedus-core/base/system/sync_point.h"

namespace foedus::isolation {

namespace {

constexpr std::uint64_t kSequenceMax = 3'000;  // values, about; then the next sequence
constexpr std::string_view kSequenceName = "sequence-";

Options options_of(const RunOptions& run) {
  Options options;
  options.dir = run.dir;
  options.socs = run.socs;
  options.memory_bytes = run.memory_bytes;
  options.log.buffer_bytes = 1u << 20;
  options.log.segment_bytes = 4u << 20;
  options.sessions_max = run.sessions + 4;
  options.epoch_interval_us = run.epoch_interval_us;
  options.snapshots_kept = 3;
  options.glean.interval_us = run.gleans ? 100'000 : 0;
  options.glean.touch_bytes = 0;
  options.glean.log_bytes = run.gleans ? 4u << 20 : 0;
  options.pages.volatile_percent = 0;  // all pages that did not change are dropped
  options.glean.memory_bytes = 16u << 20;
  options.pages.cache_bytes = (512u << 10) * std::max(1u, run.socs) * 2;
  return options;
}

class Worker {
 public:
  Worker(const WorkerParts& parts, Database db) : parts_(parts), db_(std::move(db)) {}

  Status run() {
    const RunOptions& run = *parts_.options;
    space_.db = &db_;
    space_.workload = run.workload;
    space_.shared = parts_.shared;
    space_.process = parts_.process;
    space_.for_update_percent = run.for_update_percent;
    for (std::uint32_t i = 0; i < kStores; ++i) {
      if ((run.storages >> i & 1) == 0) continue;
      const std::uint64_t keys =
          run.workload == Workload::kList ? run.slots * kListsPerSlot : run.keys;
      FOEDUS_TRY(Store store, Store::open(db_, static_cast<Store::Kind>(i), run.workload, keys));
      announce(LineKind::kStorage, store.line());
      space_.stores.push_back(std::move(store));
    }
    FOEDUS_CHECK(find_sequence());
    for (std::uint32_t i = 0; i < run.sessions; ++i) {
      FOEDUS_TRY(Session session, db_.new_session());
      sessions_.push_back(
          std::make_unique<SessionWorker>(&space_, std::move(session), parts_.tapes[i],
                                          run.seed * 1'000'003 + parts_.process * 101 + i + 1));
    }
    parts_.shared->newest_commit.store(0);  // a crash may have undone it
    bool goes_on = true;
    if (parts_.process > 1) {
      FOEDUS_TRY(goes_on, window([&](SessionWorker& session, std::uint32_t i) {
                   session.audit(i, run.sessions);
                 }));
    }
    while (goes_on) {
      FOEDUS_CHECK(turn_sequence());
      FOEDUS_TRY(goes_on, window([&](SessionWorker& session, std::uint32_t) {
                   session.run(run.txns_per_window / run.sessions);
                 }));
    }
    note_result();
    sessions_.clear();
    return db_.close();
  }

 private:
  // Runs all sessions until they rest. Returns whether to go on.
  template <typename Work>
  Result<bool> window(Work&& work) {
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      threads.emplace_back([this, &work, i] { work(*sessions_[i], i); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& session : sessions_) FOEDUS_CHECK(session->failure());
    Line line;
    line.kind = LineKind::kWindow;
    line.process = parts_.process;
    const std::vector<SnapshotInfo> kept = db_.snapshots();
    const std::uint64_t oldest = kept.empty() ? 0 : kept.front().covered.number();
    line.epoch = std::max(oldest, parts_.shared->horizon.load());
    parts_.shared->horizon.store(line.epoch);
    line.ns = now_ns();
    note_result();
    return parts_.sink(line);
  }

  void announce(LineKind kind, StorageLine storage) {
    Line line;
    line.kind = kind;
    line.storage = std::move(storage);
    parts_.sink(line);
  }

  static StorageLine sequence_line(std::uint32_t number) {
    return {number, std::string(kSequenceName) + std::to_string(number), "sequential",
            Shape::kSequence};
  }

  // Finds the newest sequence. Older ones are left if a process died between the two steps below.
  Status find_sequence() {
    std::uint32_t newest = kFirstSequence;
    std::vector<std::uint32_t> found;
    for (const StorageInfo& storage : db_.storages()) {
      if (!storage.name.starts_with(kSequenceName)) continue;
      found.push_back(
          static_cast<std::uint32_t>(std::stoul(storage.name.substr(kSequenceName.size()))));
      newest = std::max(newest, found.back());
    }
    for (const std::uint32_t number : found) {
      if (number == newest) continue;
      FOEDUS_CHECK(db_.drop_storage(sequence_line(number).name));
      announce(LineKind::kDrop, sequence_line(number));
    }
    return use_sequence(newest);
  }

  Status use_sequence(std::uint32_t number) {
    FOEDUS_TRY(space_.sequence, db_.open_sequential(sequence_line(number).name));
    space_.sequence_number = number;
    announce(LineKind::kStorage, sequence_line(number));
    return {};
  }

  // Replaces a long sequence by the next one, because a scan reads all of it.
  Status turn_sequence() {
    if (parts_.shared->sequence_values.load() < kSequenceMax) return {};
    parts_.shared->sequence_values.store(0);
    const std::uint32_t old = space_.sequence_number;
    FOEDUS_CHECK(use_sequence(old + 1 < 60'000 ? old + 1 : kFirstSequence));
    FOEDUS_CHECK(db_.drop_storage(sequence_line(old).name));
    announce(LineKind::kDrop, sequence_line(old));
    return {};
  }

  void note_result() {
    const Stats stats = db_.stats();
    parts_.result->gleans = stats.gleans;
    parts_.result->pages_dropped = stats.volatile_pages_dropped;
    parts_.result->conflicts = 0;
    for (const std::uint64_t count : stats.conflicts) parts_.result->conflicts += count;
  }

  const WorkerParts& parts_;
  Database db_;
  Workspace space_;
  std::vector<std::unique_ptr<SessionWorker>> sessions_;
};

}  // namespace

Status run_worker(const WorkerParts& parts) {
  base::set_sync_point_hook(&SessionWorker::sync_point_hook);
  FOEDUS_TRY(Database db, Database::open(options_of(*parts.options)));
  Line line;
  line.kind = LineKind::kOpen;
  line.process = parts.process;
  line.epoch = db.stats().covered_epoch.number();
  line.ns = now_ns();
  parts.sink(line);
  return Worker(parts, std::move(db)).run();
}

}  // namespace foedus::isolation
