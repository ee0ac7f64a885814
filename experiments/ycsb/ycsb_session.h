#pragma once
// YcsbSession: one worker of a YCSB run. It draws the operations of a transaction first and then
// runs them, so that a transaction that is run again after a conflict does the same once more.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/backend.h"
#include "experiments/common/histogram.h"
#include "experiments/common/random.h"
#include "experiments/ycsb/insert_sequence.h"
#include "experiments/ycsb/workload.h"
#include "experiments/ycsb/ycsb_row.h"
#include "experiments/ycsb/zipf.h"
#include "foedus/status.h"

namespace experiments {

struct YcsbConfig {
  Workload workload = kWorkloads[0];
  std::uint64_t rows = 100'000;
  double theta = 0.99;
  std::uint32_t ops_per_txn = 1;
  bool ordered_keys = false;
  TableKind storage = TableKind::kOrdered;
  std::uint32_t sessions = 2;
  std::uint64_t seed = 1;
};

// What a session, or all of a run together, did.
struct YcsbResult {
  std::uint64_t txns = 0;
  std::uint64_t ops = 0;
  std::uint64_t rows_scanned = 0;
  std::uint64_t checksum = 0;  // of all bytes read
  double seconds = 0;
  double stall_ms_max = 0;  // longest time below half of the median throughput
  Counters counters;
  std::map<std::string, Histogram> latency;  // by operation; "mixed": transactions of several
  // From the begin of a transaction until a crash could not undo it; of one in 64, where the
  // backend can tell.
  Histogram until_durable;

  void add(const YcsbResult& other) {
    txns += other.txns;
    ops += other.ops;
    rows_scanned += other.rows_scanned;
    checksum ^= other.checksum;
    counters.add(other.counters);
    for (const auto& [name, histogram] : other.latency) latency[name].merge(histogram);
    until_durable.merge(other.until_durable);
  }
};

template <Backend B>
class YcsbSession {
 public:
  using Table = typename B::Table;
  using Txn = typename B::Txn;
  using Worker = typename B::Worker;

  static constexpr std::uint32_t kScanRowsMax = 100;

  YcsbSession(B& backend, Table table, Worker worker, const YcsbConfig& config, const Zipf& zipf,
              InsertSequence& inserts, std::uint64_t stream)
      : backend_(backend),
        table_(table),
        worker_(std::move(worker)),
        config_(config),
        zipf_(zipf),
        scramble_(config.rows),
        inserts_(inserts),
        random_(config.seed, stream),
        plan_(config.ops_per_txn) {}

  // One transaction. An error is one that ends the run: conflicts are the worker's business.
  foedus::Status run_txn() {
    const bool reads_only = draw_plan();
    const auto start = Clock::now();
    auto body = [this](Txn& txn) { return execute(txn); };
    foedus::Status status = reads_only ? worker_.read_only(body) : worker_.transact(body);
    const auto end = Clock::now();
    for (const Op& op : plan_) {
      if (op.kind == OpKind::kInsert) inserts_.acknowledge(op.id);
    }
    FOEDUS_CHECK(status);
    latency_[latency_slot()].add(nanoseconds(end - start));
    if (!reads_only) watch_durability(start);
    ++result_.txns;
    result_.ops += plan_.size();
    return {};
  }

  YcsbResult result() const {
    YcsbResult result = result_;
    result.counters = worker_.counters();
    for (std::size_t i = 0; i < kOpKinds; ++i) {
      add_latency(result, to_string(static_cast<OpKind>(i)), latency_[i]);
    }
    add_latency(result, "mixed", latency_[kOpKinds]);
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Op {
    OpKind kind = OpKind::kRead;
    std::uint64_t id = 0;
    std::uint32_t field = 0;      // updates and read-modify-writes
    std::uint32_t scan_rows = 0;  // scans
    std::uint64_t seed = 0;       // of the bytes to write
    YcsbKey key;
    KeyView key_view() const { return {.index = id, .bytes = key.view()}; }
  };

  static std::uint64_t nanoseconds(Clock::duration duration) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
  }
  static void add_latency(YcsbResult& result, std::string_view name, const Histogram& histogram) {
    if (histogram.count() != 0) result.latency[std::string(name)] = histogram;
  }

  std::uint64_t draw_row() {
    const std::uint64_t rank = zipf_.rank(random_);
    if (config_.workload.reads_latest) return inserts_.newest_end() - 1 - rank;
    return scramble_.id(rank);
  }

  // True if the transaction only reads.
  bool draw_plan() {
    bool reads_only = true;
    for (Op& op : plan_) {
      op.kind = config_.workload.pick(random_);
      op.id = op.kind == OpKind::kInsert ? inserts_.draw() : draw_row();
      op.key = YcsbKey(op.id, config_.ordered_keys);
      if (op.kind == OpKind::kScan) {
        op.scan_rows = static_cast<std::uint32_t>(random_.uniform(1, kScanRowsMax));
      } else if (op.kind != OpKind::kRead) {
        op.field = static_cast<std::uint32_t>(random_.uniform(0, kFields - 1));
        op.seed = random_.next();
        reads_only = false;
      }
    }
    return reads_only;
  }

  foedus::Status execute(Txn& txn) {
    if (plan_.size() > 1) {
      for (const Op& op : plan_) txn.prefetch(table_, op.key_view());
    }
    for (const Op& op : plan_) FOEDUS_CHECK(execute(txn, op));
    return {};
  }

  foedus::Status execute(Txn& txn, const Op& op) {
    switch (op.kind) {
      case OpKind::kRead:
        FOEDUS_CHECK(txn.get(table_, op.key_view(), row_));
        result_.checksum = folded(result_.checksum, row_.data(), row_.size());
        return {};
      case OpKind::kUpdate:
        return write_field(txn, op);
      case OpKind::kInsert: {
        Random bytes(op.seed);
        fill_random(bytes, reinterpret_cast<char*>(row_.data()), row_.size());
        return txn.insert(table_, op.key_view(),
                          {reinterpret_cast<const char*>(row_.data()), row_.size()});
      }
      case OpKind::kScan:
        return scan(txn, op);
      case OpKind::kReadModifyWrite:
        FOEDUS_CHECK(txn.get_for_update(table_, op.key_view(), row_));
        result_.checksum = folded(result_.checksum, row_.data(), row_.size());
        return write_field(txn, op);
    }
    return {};
  }

  foedus::Status write_field(Txn& txn, const Op& op) {
    FieldBuffer field;
    Random bytes(op.seed);
    fill_random(bytes, field.data(), field.size());
    return txn.write_at(table_, op.key_view(), op.field * kFieldBytes,
                        {field.data(), field.size()});
  }

  foedus::Status scan(Txn& txn, const Op& op) {
    const ScanRange range{
        .low = op.key.view(), .high = kAboveAllKeys, .limit = op.scan_rows, .reverse = false};
    return txn.scan(table_, range, [this](std::string_view, std::string_view row) {
      result_.checksum = folded(result_.checksum, row.data(), row.size());
      ++result_.rows_scanned;
      return true;
    });
  }

  std::size_t latency_slot() const {
    return plan_.size() == 1 ? static_cast<std::size_t>(plan_[0].kind) : kOpKinds;
  }

  // Looks at the durable token only while a commit is being watched, so that the measurement costs
  // others nothing.
  void watch_durability(Clock::time_point start) {
    constexpr std::uint64_t kOneIn = 64;
    if (result_.txns % kOneIn == 0) {
      const std::uint64_t token = backend_.last_commit_token(worker_);
      if (token != 0) watched_.push_back({token, start});
    }
    if (watched_.empty() || watched_.front().token > backend_.durable_token()) return;
    const auto now = Clock::now();
    const std::uint64_t durable = backend_.durable_token();
    while (!watched_.empty() && watched_.front().token <= durable) {
      result_.until_durable.add(nanoseconds(now - watched_.front().start));
      watched_.pop_front();
    }
  }

  struct Watched {
    std::uint64_t token;
    Clock::time_point start;
  };

  B& backend_;
  const Table table_;
  Worker worker_;
  const YcsbConfig& config_;
  const Zipf& zipf_;
  const Scramble scramble_;
  InsertSequence& inserts_;
  Random random_;
  std::vector<Op> plan_;
  RowBuffer row_;
  YcsbResult result_;
  Histogram latency_[kOpKinds + 1];  // by OpKind; the last is of transactions of several operations
  std::deque<Watched> watched_;
};

}  // namespace experiments
