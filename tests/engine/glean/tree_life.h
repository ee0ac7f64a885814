#pragma once
// A database of one tree whose files are mostly superseded, and a life of it over a simulated
// device and one thread.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::testing {

inline constexpr std::uint64_t kTreeRows = 1'200;
using TreeRows = std::map<std::uint64_t, std::string>;

class TreeLife {
 public:
  explicit TreeLife(FailingDevice* device, std::uint64_t memory_bytes = 256u << 20,
                    std::uint32_t volatile_percent = 60, OpenUntil until = OpenUntil::kRecovered,
                    std::uint32_t snapshots_kept = 1) {
    Options options = small_options("/failing");
    options.memory_bytes = memory_bytes;
    options.pages.volatile_percent = volatile_percent;
    options.log.buffer_bytes = 256u << 10;
    options.sessions_max = 4;
    options.socs = 1;
    options.snapshots_kept = snapshots_kept;
    options.open_until = until;
    engine = must(engine::Engine::open(options, {.runtime = &runtime, .device = device}));
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kMasstree;
    meta.name = "tree";
    tree = foedus::internal::StorageAccess::make<Masstree>(must(engine->catalog().open(meta)));
    session = must(engine->take_session());
  }

  // Writes the first `count` of each hundred rows, so that most pages are of one write.
  void write(std::uint64_t count, char letter, TreeRows* rows) {
    Ticket ticket;
    for (std::uint64_t i = 0; i < kTreeRows; i += 100) {
      Txn txn = must(engine::begin_txn(session, {}));
      for (std::uint64_t j = i; j < i + count; ++j) {
        (*rows)[j] = std::string(1'000, letter);
        must(txn.put(tree, key(j), (*rows)[j]));
      }
      ticket = must(txn.commit());
      must(ticket.wait_durable());
    }
  }
  // Checks the rows [begin, end) as the open transaction `txn` reads them.
  void expect_in(Txn& txn, const TreeRows& rows, std::uint64_t begin, std::uint64_t end) {
    for (auto row = rows.lower_bound(begin); row != rows.lower_bound(end); ++row) {
      const Result<std::string> found = txn.get(tree, key(row->first));
      ASSERT_TRUE(found.is_ok()) << row->first << ": " << found.status().message();
      ASSERT_EQ(*found, row->second) << row->first;
    }
  }
  void expect(const TreeRows& rows) {
    Txn txn = must(engine::begin_txn(session, {}));
    expect_in(txn, rows, 0, kTreeRows);
    must(txn.commit());
  }
  page::SnapshotNumber newest() { return engine->gleaning()->newest().get()->number; }

  ManualRuntime runtime;
  std::unique_ptr<engine::Engine> engine;
  Masstree tree;
  engine::EngineSession* session = nullptr;
};

// A device whose next recovery makes the files more than twice as large as their live pages.
class SupersededTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kLongUs = 100'000;

  SupersededTest() {
    write(100, 'a');
    write(60, 'b');
    write(55, 'c');
  }
  void write(std::uint64_t count, char letter) {
    in_snapshot_ = rows_;
    TreeLife(&prepared_).write(count, letter, &rows_);
    prepared_.crash_power(FailingDevice::kDropAll);
  }
  // Checks that all rows are there, before and after a glean.
  void expect_all(TreeLife* life) {
    life->expect(rows_);
    const auto gleaned = life->engine->gleaning()->scheduler().glean({});
    ASSERT_TRUE(gleaned.is_ok()) << gleaned.status().message();
    life->expect(rows_);
  }

  FailingDevice prepared_;
  TreeRows rows_;
  TreeRows in_snapshot_;  // the rows without changes that only the log has
};

}  // namespace foedus::testing
