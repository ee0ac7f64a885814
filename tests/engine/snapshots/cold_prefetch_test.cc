// Txn::prefetch() and get_many() of rows whose pages are on the device: all reads are announced
// before the first one is waited for, and the read set gets nothing. One thread, a simulated
// device.
// ctest-labels: memory
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::cold_prefetch_test {
namespace {

using testing::Call;
using testing::FailingDevice;
using testing::must;

constexpr std::uint64_t kRows = 3'000;
constexpr std::uint32_t kRowBytes = 200;
constexpr std::uint64_t kApart = 75;  // rows of different pages

std::string row_of(std::uint64_t i) {
  std::string row = std::to_string(i);
  row.resize(kRowBytes, '.');
  return row;
}

// A database of three storages with the same rows.
class Life {
 public:
  explicit Life(FailingDevice* device) {
    Options options = testing::small_options("/failing");
    options.log.buffer_bytes = 256u << 10;
    options.sessions_max = 4;
    options.socs = 1;
    engine = must(engine::Engine::open(options, {.runtime = &runtime, .device = device}));
    tree = open<Masstree>(StorageKind::kMasstree, "tree");
    hash = open<Hash>(StorageKind::kHash, "hash");
    array = open<Array>(StorageKind::kArray, "array");
    for (engine::EngineSession*& session : sessions) session = must(engine->take_session());
  }
  Txn begin(std::size_t session, Isolation isolation = Isolation::kSerializable) {
    const bool is_snapshot = isolation == Isolation::kSnapshot;
    return must(engine::begin_txn(sessions[session],
                                  {.isolation = isolation, .newest_existing = is_snapshot}));
  }

  testing::ManualRuntime runtime;
  std::unique_ptr<engine::Engine> engine;
  engine::EngineSession* sessions[2];
  Masstree tree;
  Hash hash;
  Array array;

 private:
  template <typename Handle>
  Handle open(StorageKind kind, const std::string& name) {
    storage_meta::StorageMeta meta;
    meta.kind = kind;
    meta.name = name;
    if (kind == StorageKind::kHash) meta.fan_out_bits = 4;
    if (kind == StorageKind::kArray) {
      meta.records = kRows;
      meta.payload_bytes = kRowBytes;
    }
    return internal::StorageAccess::make<Handle>(must(engine->catalog().open(meta)));
  }
};

// The kinds of storage under one interface.
enum class Kind { kTree, kHash, kArray };

std::string get(Txn& txn, const Life& life, Kind kind, std::uint64_t i) {
  std::string row(kRowBytes, '\0');
  const auto out = std::as_writable_bytes(std::span(row));
  switch (kind) {
    case Kind::kTree:
      must(txn.get(life.tree, key(i), out));
      break;
    case Kind::kHash:
      must(txn.get(life.hash, key(i), out));
      break;
    case Kind::kArray:
      must(txn.get(life.array, i, out));
      break;
  }
  return row;
}
void put(Txn& txn, const Life& life, Kind kind, std::uint64_t i) {
  switch (kind) {
    case Kind::kTree:
      return must(txn.put(life.tree, key(i), row_of(i)));
    case Kind::kHash:
      return must(txn.put(life.hash, key(i), row_of(i)));
    case Kind::kArray:
      return must(txn.put(life.array, i, row_of(i)));
  }
}
void prefetch(Txn& txn, const Life& life, Kind kind, std::uint64_t i) {
  switch (kind) {
    case Kind::kTree:
      return txn.prefetch(life.tree, key(i));
    case Kind::kHash:
      return txn.prefetch(life.hash, key(i));
    case Kind::kArray:
      return txn.prefetch(life.array, i);
  }
}

class ColdPrefetchTest : public ::testing::Test {
 protected:
  static constexpr Kind kKinds[] = {Kind::kTree, Kind::kHash, Kind::kArray};

  ColdPrefetchTest() {
    Life life(&device_);
    Ticket ticket;
    for (std::uint64_t i = 0; i < kRows; i += 100) {
      Txn txn = life.begin(0);
      for (std::uint64_t j = i; j < i + 100; ++j) {
        for (const Kind kind : kKinds) put(txn, life, kind, j);
      }
      ticket = must(txn.commit());
    }
    must(ticket.wait_durable());
    must(life.engine->gleaning()->scheduler().glean({}));
    device_.crash_power(FailingDevice::kDropAll);
  }

  // Reads pages above the rows: all of an array and a tree (a layer for 256 of these keys), most of
  // a hash.
  static void warm(Txn& txn, const Life& life, Kind kind) {
    for (std::uint64_t i = 0; i < kRows; i += 128) EXPECT_EQ(get(txn, life, kind, i), row_of(i));
  }
  // Counts the reads, and those that were not announced.
  void watch(FailingDevice* device) {
    read_ = surprises_ = 0;
    device->set_observer([this, device](const testing::CallSeen& call) {
      if (call.kind != Call::kRead) return;
      ++read_;
      if (!device->was_announced(call.name, call.offset)) ++surprises_;
    });
  }

  // Reads the pages above the rows, then announces many rows and reads them.
  void expect_announced(Txn& txn, const Life& life, Kind kind) {
    SCOPED_TRACE(static_cast<int>(kind));
    warm(txn, life, kind);
    watch(&device_);
    for (std::uint64_t i = kApart; i < kRows; i += kApart) prefetch(txn, life, kind, i);
    EXPECT_EQ(read_, 0u);
    for (std::uint64_t i = kApart; i < kRows; i += kApart) {
      EXPECT_EQ(get(txn, life, kind, i), row_of(i));
    }
    EXPECT_GT(read_, 15u);
    EXPECT_LE(surprises_, kind == Kind::kHash ? read_ / 2 : 0);
    device_.set_observer(nullptr);
  }

  FailingDevice device_;
  std::uint64_t read_ = 0;
  std::uint64_t surprises_ = 0;
};

TEST_F(ColdPrefetchTest, reads_are_announced_and_not_waited_for) {
  for (const Isolation isolation : {Isolation::kSerializable, Isolation::kSnapshot}) {
    Life life(&device_);
    for (const Kind kind : kKinds) {
      Txn txn = life.begin(0, isolation);
      expect_announced(txn, life, kind);
      must(txn.commit());
    }
    device_.crash_process();
  }
}

// Method: a write makes the pages above its row volatile.
TEST_F(ColdPrefetchTest, reads_below_volatile_pages_are_announced) {
  Life life(&device_);
  for (const Kind kind : kKinds) {
    Txn writer = life.begin(1);
    put(writer, life, kind, 1'000);
    must(writer.commit());
    Txn txn = life.begin(0);
    expect_announced(txn, life, kind);
    must(txn.commit());
  }
}

TEST_F(ColdPrefetchTest, get_many_announces_the_reads_of_keys_to_come) {
  Life life(&device_);
  Txn txn = life.begin(0);
  warm(txn, life, Kind::kTree);
  std::vector<Key> keys;
  std::vector<std::string> rows;
  for (std::uint64_t i = kApart; i < kRows; i += kApart) {
    keys.push_back(key(i));
    rows.emplace_back(kRowBytes, '\0');
  }
  std::vector<ReadRequest> requests(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    requests[i].key = keys[i];
    requests[i].out = std::as_writable_bytes(std::span(rows[i]));
  }
  watch(&device_);
  must(txn.get_many(life.tree, requests));
  EXPECT_GT(read_, 15u);
  EXPECT_EQ(surprises_, 0u);
  device_.set_observer(nullptr);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(requests[i].found);
    EXPECT_EQ(rows[i], row_of((i + 1) * kApart));
  }
  must(txn.commit());
}

// Only the first pages of each scan, and those above the rows, are read without announcement.
TEST_F(ColdPrefetchTest, scans_announce_the_reads_of_pages_to_come) {
  for (const Isolation isolation : {Isolation::kSerializable, Isolation::kSnapshot}) {
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(reverse);
      const std::unique_ptr<FailingDevice> device = device_.copy();
      Life life(device.get());
      Txn txn = life.begin(0, isolation);
      watch(device.get());
      std::uint64_t rows = 0;
      for (const Row& row : txn.scan(life.tree, "", "", {.reverse = reverse})) {
        const std::uint64_t i = reverse ? kRows - 1 - rows : rows;
        ASSERT_EQ(row.payload, row_of(i));
        ++rows;
      }
      device->set_observer(nullptr);
      EXPECT_EQ(rows, kRows);
      EXPECT_GT(read_, 100u);
      EXPECT_LE(surprises_, 16u);
      must(txn.commit());
    }
  }
}

// A scan of a hash storage announces reads, too, and one that stops early reads few pages.
TEST_F(ColdPrefetchTest, scans_of_hash_storages_announce_the_reads_of_pages_to_come) {
  for (const Isolation isolation : {Isolation::kSerializable, Isolation::kSnapshot}) {
    for (const std::uint64_t limit : {std::uint64_t{1}, kRows}) {
      const std::unique_ptr<FailingDevice> device = device_.copy();
      Life life(device.get());
      Txn txn = life.begin(0, isolation);
      watch(device.get());
      std::uint64_t rows = 0;
      for (const Row& row : txn.scan(life.hash, {.limit = limit})) {
        EXPECT_EQ(row.payload.size(), kRowBytes);
        ++rows;
      }
      device->set_observer(nullptr);
      EXPECT_EQ(rows, limit);
      EXPECT_LE(surprises_, 4u);
      if (limit == 1) {
        EXPECT_LE(read_, 6u);
      }
      if (limit != 1) {
        EXPECT_GT(read_, 100u);
      }
      must(txn.commit());
    }
  }
}

// Where the system refuses io_uring, tasks of the database read instead, under the runtime that the
// test drives: scans and prefetched rows of all kinds are the same.
TEST_F(ColdPrefetchTest, tasks_read_where_the_device_has_no_queues) {
  device_.refuse_io_queues();
  Life life(&device_);
  for (const bool reverse : {false, true}) {
    Txn txn = life.begin(0);
    std::uint64_t rows = 0;
    for (const Row& row : txn.scan(life.tree, "", "", {.reverse = reverse})) {
      ASSERT_EQ(row.payload, row_of(reverse ? kRows - 1 - rows : rows));
      ++rows;
    }
    EXPECT_EQ(rows, kRows);
    must(txn.commit());
  }
  Txn txn = life.begin(0);
  for (const Kind kind : {Kind::kHash, Kind::kArray}) {
    for (std::uint64_t i = kApart; i < kRows; i += kApart) prefetch(txn, life, kind, i);
    for (std::uint64_t i = kApart; i < kRows; i += kApart) {
      EXPECT_EQ(get(txn, life, kind, i), row_of(i));
    }
  }
  must(txn.commit());
}

// An own write is read, and so is a part; an index that is not there is refused.
TEST_F(ColdPrefetchTest, get_many_announces_the_reads_of_indexes_to_come) {
  Life life(&device_);
  Txn txn = life.begin(0);
  warm(txn, life, Kind::kArray);
  put(txn, life, Kind::kArray, 0);
  std::vector<std::string> rows(kRows / kApart, std::string(kRowBytes, '\0'));
  std::vector<ArrayReadRequest> requests(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 1) rows[i].resize(4);
    requests[i] = {.index = i * kApart,
                   .offset = i == 1 ? 2u : 0u,
                   .out = std::as_writable_bytes(std::span(rows[i]))};
  }
  watch(&device_);
  must(txn.get_many(life.array, requests));
  EXPECT_GT(read_, 15u);
  EXPECT_EQ(surprises_, 0u);
  device_.set_observer(nullptr);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i], i == 1 ? row_of(kApart).substr(2, 4) : row_of(i * kApart)) << i;
  }
  requests.back().index = kRows;
  EXPECT_EQ(txn.get_many(life.array, requests).code(), ErrorCode::kInvalidArgument);
  must(txn.get_many(life.array, {}));
  must(txn.commit());
}

// A prefetched row that another transaction has changed is no conflict: it was not read.
TEST_F(ColdPrefetchTest, what_was_not_read_is_not_remembered) {
  Life life(&device_);
  for (const Kind kind : kKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    Txn first = life.begin(0);
    prefetch(first, life, kind, 0);  // the root may be the only page
    prefetch(first, life, kind, 10);
    Txn second = life.begin(1);
    put(second, life, kind, 10);
    must(second.commit());
    const Kind other = kind == Kind::kTree ? Kind::kHash : Kind::kTree;
    put(first, life, other, 2'000);
    const auto committed = first.commit();
    EXPECT_TRUE(committed.is_ok()) << committed.status().message();
  }
}

// A page that is in the cache is not read again.
TEST_F(ColdPrefetchTest, what_is_in_memory_is_not_asked_for) {
  Life life(&device_);
  for (const Kind kind : kKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    std::uint64_t offset = 0;
    std::string name;
    Txn txn = life.begin(0);
    EXPECT_EQ(get(txn, life, kind, 0), row_of(0));
    device_.set_observer([&](const testing::CallSeen& call) {
      name = call.name;
      offset = call.offset;
    });
    EXPECT_EQ(get(txn, life, kind, 2'000), row_of(2'000));
    device_.set_observer(nullptr);
    ASSERT_NE(offset, 0u);
    prefetch(txn, life, kind, 2'000);
    EXPECT_FALSE(device_.was_announced(name, offset));
    must(txn.commit());
  }
}

}  // namespace
}  // namespace foedus::cold_prefetch_test
