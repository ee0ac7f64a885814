// ctest-labels: crash memory
// ctest-timeout: 300
// Power failures while the rows of a tree are in its delta and in its main tree
// (foedus-core/storage/masstree/operations/delta.h), over a simulated device and one thread: the
// next open finds the rows of the durable transactions, the newest of each key, and none that was
// erased.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::delta_crash_test {
namespace {

using testing::FailingDevice;
using testing::must;
using testing::small_options;

constexpr std::uint64_t kFixedRows = 1'500;   // pages of which some rows change
constexpr std::uint64_t kChangingKeys = 150;  // between them
constexpr std::uint32_t kSessions = 2;
constexpr int kTries = 100;

using Rows = std::map<std::string, std::string>;
// The changes of one transaction; no row means that the key was erased.
using ModelTxn = std::vector<std::pair<std::string, std::optional<std::string>>>;

std::string fixed_key(std::uint64_t i) { return std::string(key(i * 100)); }
std::string changing_key(std::uint64_t i) {
  std::string name(key(i * 100 * (kFixedRows / kChangingKeys) + i % 9 + 1));
  if (i % 10 == 0) name += "of a layer";
  return name;
}

Rows rows_of(const std::vector<ModelTxn>& txns) {
  Rows rows;
  for (const ModelTxn& txn : txns) {
    for (const auto& [name, row] : txn) {
      if (row.has_value()) {
        rows[name] = *row;
      } else {
        rows.erase(name);
      }
    }
  }
  return rows;
}

// The database between two crashes.
class DeltaLife {
 public:
  DeltaLife(FailingDevice* device, std::uint64_t seed) : device_(device), runtime_(seed) {}

  Status open() {
    Options options = small_options("/failing");
    options.memory_bytes = 64u << 20;
    options.log.buffer_bytes = 256u << 10;
    options.log.segment_bytes = 1u << 20;
    options.sessions_max = 4;
    options.socs = 1;
    options.glean.touch_bytes = 0;
    FOEDUS_TRY(engine_, engine::Engine::open(options, {.runtime = &runtime_, .device = device_}));
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kMasstree;
    meta.name = "tree";
    FOEDUS_TRY(control_, engine_->catalog().open(meta));
    tree_ = internal::StorageAccess::make<Masstree>(control_);
    meta.kind = StorageKind::kArray;
    meta.name = "count";
    meta.records = 1;
    meta.payload_bytes = 8;
    FOEDUS_TRY(occ::StorageControl* const count, engine_->catalog().open(meta));
    count_ = internal::StorageAccess::make<Array>(count);
    for (auto& session : sessions_) {
      FOEDUS_TRY(session, engine_->take_session());
    }
    return {};
  }

  // Makes rows that are never changed, and the first snapshot.
  void load() {
    for (std::uint64_t i = 0; i < kFixedRows; i += 100) {
      Txn txn = must(engine::begin_txn(sessions_[0], {}));
      for (std::uint64_t j = i; j < i + 100; ++j) {
        must(txn.put(tree_, fixed_key(j), std::string(100, 'f')));
      }
      Ticket ticket = must(txn.commit());
      must(ticket.wait_durable());
    }
    must(glean());
  }
  Status glean() { return engine_->gleaning()->scheduler().glean({}).status(); }
  // Gleans until the tree has a delta that puts use.
  Status open_delta() {
    // order: relaxed, a statistic, as if this many puts had met snapshot pages.
    control_->cold_puts.store_relaxed(100'000);
    FOEDUS_CHECK(glean());
    // Rows of the log's tail may be unapplied, and then the glean is that of recovery.
    for (int i = 0; i < kTries && !control_->delta_takes_puts(); ++i) {
      control_->cold_puts.store_relaxed(100'000);  // order: as above
      if (!control_->has_delta()) FOEDUS_CHECK(glean());
      runtime_.run_for(5'000);
    }
    return {};
  }
  bool has_delta() const { return control_->delta_takes_puts(); }

  // Runs a transaction of some changes to random keys, by one of the sessions.
  Status step(std::uint64_t number, base::Random* random, ModelTxn* model, Ticket* ticket) {
    const base::Random start = *random;
    for (int i = 1;; ++i) {
      *random = start;
      const Status done = try_step(number, random, model, ticket);
      if (done.code() != ErrorCode::kConflict || i == kTries) return done;
    }
  }
  // Runs a transaction that changes a part of each row of the model and increments it.
  Status change_parts(std::uint64_t number, const Rows& rows, ModelTxn* model, Ticket* ticket) {
    for (int i = 1;; ++i) {
      const Status done = try_change_parts(number, rows, model, ticket);
      if (done.code() != ErrorCode::kConflict || i == kTries) return done;
    }
  }
  // Returns the number of volatile pages of the main tree.
  std::uint64_t main_pages() const {
    return control_->volatile_pages.load_relaxed();  // order: relaxed, a statistic
  }
  // Returns the changing rows and the number of transactions, by a scan; each row is also read by
  // its key. Checks the rows that never change.
  Result<std::pair<Rows, std::uint64_t>> read() {
    for (int i = 1;; ++i) {
      auto found = try_read();
      if (found.code() != ErrorCode::kConflict || i == kTries) return found;
    }
  }
  void run_for(std::uint64_t microseconds) { runtime_.run_for(microseconds); }
  Epoch durable() { return engine_->durability().durable(); }

 private:
  static std::string row_of(std::uint64_t number, base::Random* random) {
    const std::size_t bytes = random->below(15) == 0 ? 3'000 : 8 + random->below(300);
    std::string row(bytes, static_cast<char>('a' + number % 26));
    std::memcpy(row.data(), &number, sizeof(number));
    return row;
  }
  Status change(Txn& txn, const std::string& name, std::uint64_t number, base::Random* random,
                ModelTxn* model) {
    const std::string row = row_of(number, random);
    const std::uint64_t kind = random->below(10);
    Status status;
    if (kind < 4) {
      status = txn.put(tree_, name, row);
    } else if (kind < 6) {
      status = txn.update(tree_, name, row);
    } else if (kind == 6) {
      status = txn.insert(tree_, name, row);
    } else if (kind == 7) {
      FOEDUS_CHECK(add(txn, name, static_cast<std::int64_t>(random->below(1'000)), model));
      return {};
    } else {
      status = txn.erase(tree_, name);
      if (status.is_ok()) model->emplace_back(name, std::nullopt);
    }
    if (status.code() == ErrorCode::kNotFound || status.code() == ErrorCode::kAlreadyExists) {
      return {};
    }
    if (status.is_ok() && kind < 8) model->emplace_back(name, row);
    return status;
  }
  Status add(Txn& txn, const std::string& name, std::int64_t added, ModelTxn* model) {
    const Status status = txn.increment(tree_, name, 0, added);
    if (status.code() == ErrorCode::kNotFound) return {};
    FOEDUS_CHECK(status);
    FOEDUS_TRY(std::string row, txn.get(tree_, name));
    model->emplace_back(name, std::move(row));
    return {};
  }
  Status try_step(std::uint64_t number, base::Random* random, ModelTxn* model, Ticket* ticket) {
    model->clear();
    FOEDUS_TRY(Txn txn, engine::begin_txn(sessions_[random->below(kSessions)], {}));
    const std::uint64_t changes = 1 + random->below(4);
    // Most changes are to a few keys, so that an epoch has many changes to one key.
    const std::uint64_t near = random->below(3) == 0 ? kChangingKeys : 10;
    for (std::uint64_t i = 0; i < changes; ++i) {
      const std::string name = changing_key(random->below(near));
      FOEDUS_CHECK(change(txn, name, number, random, model));
    }
    return finish(txn, number, ticket);
  }
  Status try_change_parts(std::uint64_t number, const Rows& rows, ModelTxn* model, Ticket* ticket) {
    model->clear();
    FOEDUS_TRY(Txn txn, engine::begin_txn(sessions_[number % kSessions], {}));
    for (const auto& [name, row] : rows) {
      FOEDUS_CHECK(txn.write_at(tree_, name, 5, "abc"));
      FOEDUS_CHECK(add(txn, name, 1'000'003, model));
    }
    return finish(txn, number, ticket);
  }
  Status finish(Txn& txn, std::uint64_t number, Ticket* ticket) {
    std::string count(8, '\0');
    std::memcpy(count.data(), &(++number), sizeof(number));
    FOEDUS_CHECK(txn.put(count_, 0, std::string_view(count)));
    FOEDUS_TRY(*ticket, txn.commit());
    return {};
  }
  Result<std::pair<Rows, std::uint64_t>> try_read() {
    std::pair<Rows, std::uint64_t> found;
    FOEDUS_TRY(Txn txn, engine::begin_txn(sessions_[0], {}));
    std::uint64_t fixed = 0;
    Scan scan = txn.scan(tree_, "", "");
    for (const Row& row : scan) {
      if (row.payload == std::string(100, 'f')) {
        ++fixed;
      } else {
        found.first.emplace(row.key, row.payload);
      }
    }
    if (scan.failure().has_value()) return *scan.failure();
    EXPECT_EQ(fixed, kFixedRows);
    for (std::uint64_t i = 0; i < kChangingKeys; ++i) {
      const Result<std::string> row = txn.get(tree_, changing_key(i));
      if (!row.is_ok() && row.code() != ErrorCode::kNotFound) return row.status();
      const auto scanned = found.first.find(changing_key(i));
      EXPECT_EQ(row.is_ok(), scanned != found.first.end()) << i;
      if (row.is_ok() && scanned != found.first.end()) {
        EXPECT_TRUE(*row == scanned->second) << i;
      }
    }
    FOEDUS_TRY(found.second, txn.get_as<std::uint64_t>(count_, 0));
    FOEDUS_CHECK(txn.commit().status());
    return found;
  }

  FailingDevice* const device_;
  testing::ManualRuntime runtime_;
  std::unique_ptr<engine::Engine> engine_;
  occ::StorageControl* control_ = nullptr;
  Masstree tree_;
  Array count_;
  engine::EngineSession* sessions_[kSessions] = {};
};

class DeltaCrashTest : public ::testing::Test {
 protected:
  // Checks after a crash that all rows are those of the first transactions, including all
  // acknowledged ones.
  void expect_prefix(FailingDevice* device, std::size_t acknowledged) {
    DeltaLife life(device, 9);
    const Status opened = life.open();
    ASSERT_TRUE(opened.is_ok()) << opened.message();
    expect_rows(&life, acknowledged);
  }
  void expect_rows(DeltaLife* life, std::size_t acknowledged) {
    const auto found = life->read();
    ASSERT_TRUE(found.is_ok()) << found.status().message();
    ASSERT_GE(found->second, acknowledged) << "an acknowledged transaction was lost";
    ASSERT_LE(found->second, txns_.size());
    txns_.resize(found->second);
    const Rows expected = rows_of(txns_);
    for (std::uint64_t i = 0; i < kChangingKeys; ++i) {
      const auto have = found->first.find(changing_key(i));
      const auto want = expected.find(changing_key(i));
      ASSERT_EQ(have == found->first.end(), want == expected.end())
          << "key " << i << (want == expected.end() ? " was erased" : " is lost") << ", after "
          << txns_.size() << " transactions";
      if (want == expected.end()) continue;
      ASSERT_TRUE(have->second == want->second) << "key " << i << " is another row";
    }
    ASSERT_EQ(found->first.size(), expected.size());
  }
  void write(DeltaLife* life, int transactions, base::Random* random) {
    Ticket ticket;
    for (int i = 0; i < transactions; ++i) {
      ModelTxn model;
      must(life->step(txns_.size(), random, &model, &ticket));
      txns_.push_back(std::move(model));
    }
    must(ticket.wait_durable());
  }
  void prepare(FailingDevice* device) {
    DeltaLife life(device, 1);
    must(life.open());
    life.load();
    device->crash_power(FailingDevice::kDropAll);
  }
  // Works until power fails. Returns how many transactions were acknowledged.
  std::size_t work_until_failure(DeltaLife* life, FailingDevice* device, base::Random* random) {
    std::vector<Epoch> epochs(txns_.size(), Epoch(0));
    std::size_t acknowledged = txns_.size();
    for (int i = 0; i < 400 && !device->has_lost_power(); ++i) {
      ModelTxn model;
      Ticket ticket;
      if (!life->step(txns_.size(), random, &model, &ticket).is_ok()) break;
      txns_.push_back(std::move(model));
      epochs.push_back(ticket.epoch());
      if (random->below(6) == 0) life->run_for(random->below(3'000));
      if (random->below(40) == 0) static_cast<void>(life->glean().is_ok());
      while (acknowledged < epochs.size() && epochs[acknowledged] <= life->durable()) {
        ++acknowledged;
      }
    }
    return acknowledged;
  }
  static std::uint64_t how(std::uint64_t n) {
    return n % 3 == 0 ? FailingDevice::kDropAll : n % 3 == 1 ? FailingDevice::kKeepAll : n;
  }

  std::vector<ModelTxn> txns_;
};

// Goal: rows of both trees survive power failures at any moment. Method: for each seed several
// lives on one device, with a delta from the first glean on, each of which ends at a random call.
TEST_F(DeltaCrashTest, rows_of_both_trees_survive_power_failures) {
  const char* const given = std::getenv("FOEDUS_TEST_SEED");
  const std::uint64_t first = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  const std::uint64_t last = given == nullptr ? 60 : first;
  FailingDevice prepared;
  prepare(&prepared);
  int lives_with_delta = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("FOEDUS_TEST_SEED=" + std::to_string(seed));
    base::Random random(seed);
    const auto device = prepared.copy();
    txns_.clear();
    for (int crash = 0; crash < 3; ++crash) {
      std::size_t acknowledged = 0;
      {
        DeltaLife life(device.get(), random.next());
        must(life.open());
        expect_rows(&life, txns_.size());
        if (HasFatalFailure()) return;
        must(life.open_delta());
        lives_with_delta += life.has_delta() ? 1 : 0;
        device->lose_power_after(random.below(200));
        acknowledged = work_until_failure(&life, device.get(), &random);
      }
      device->crash_power(how(random.next()));
      expect_prefix(device.get(), acknowledged);
      if (HasFailure()) return;
    }
  }
  std::printf("%d lives with a delta\n", lives_with_delta);
  EXPECT_GT(lives_with_delta, 0);
}

// Goal: a power failure at any call of a glean of both trees loses no row, and the recovered rows
// can be gleaned. Method: each call in turn; the transactions before it are durable, and of a few
// epochs.
TEST_F(DeltaCrashTest, a_power_failure_at_any_call_of_a_glean_loses_no_row_of_either_tree) {
  FailingDevice prepared;
  prepare(&prepared);
  std::uint64_t points = 0;
  for (bool reached_end = false; !reached_end; ++points) {
    SCOPED_TRACE("call " + std::to_string(points));
    txns_.clear();
    base::Random random(points % 5 + 1);
    const auto device = prepared.copy();
    {
      DeltaLife life(device.get(), points % 5 + 3);
      must(life.open());
      must(life.open_delta());
      ASSERT_TRUE(life.has_delta());
      write(&life, 150, &random);
      must(life.glean());
      write(&life, 150, &random);
      device->lose_power_after(points);
      static_cast<void>(life.glean().is_ok());
      reached_end = !device->has_lost_power();
      if (reached_end) expect_rows(&life, txns_.size());
    }
    device->crash_power(how(points));
    DeltaLife life(device.get(), 9);
    must(life.open());
    expect_rows(&life, txns_.size());
    if (HasFailure()) return;
    must(life.glean());
    expect_rows(&life, txns_.size());
    if (HasFailure()) return;
  }
  std::printf("%llu points\n", static_cast<unsigned long long>(points));
  EXPECT_GT(points, 10u);
}

// Goal: changed parts of cold rows survive a power failure, whether a snapshot has them or the log
// alone. Method: rows without chains go to snapshot pages. Then several transactions, of which a
// glean covers some, change a part of each row in the delta.
TEST_F(DeltaCrashTest, changed_parts_of_cold_rows_survive_a_power_failure) {
  for (const int gleaned_after : {-1, 0, 2}) {
    SCOPED_TRACE(gleaned_after);
    FailingDevice device;
    prepare(&device);
    txns_.clear();
    base::Random random(7);
    Ticket ticket;
    {
      DeltaLife life(&device, 3);
      must(life.open());
      must(life.open_delta());
      ASSERT_TRUE(life.has_delta());
      write(&life, 200, &random);
      for (int i = 0; i < 2; ++i) must(life.glean());
      Rows rows = rows_of(txns_);
      std::erase_if(rows, [](const auto& row) { return row.second.size() > 1'400; });
      ASSERT_GT(rows.size(), 10u);
      const std::uint64_t pages = life.main_pages();
      for (int i = 0; i < 4; ++i) {
        ModelTxn model;
        must(life.change_parts(txns_.size(), rows, &model, &ticket));
        txns_.push_back(std::move(model));
        EXPECT_EQ(life.main_pages(), pages) << "the rows were changed in the main tree";
        if (i == gleaned_after) must(life.glean());
      }
      must(ticket.wait_durable());
      expect_rows(&life, txns_.size());
    }
    device.crash_power(FailingDevice::kDropAll);
    expect_prefix(&device, txns_.size());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace foedus::delta_crash_test
