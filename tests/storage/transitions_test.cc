// The transitions of a dual page pointer (paper §4, figure 2), each stopped at each of its steps,
// for every kind of storage that has such pointers.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/array/array_install.h"
#include "foedus-core/storage/array/array_storage.h"
#include "foedus-core/storage/hash/install/install.h"
#include "foedus-core/storage/hash/storage.h"
#include "foedus-core/storage/masstree/install/install.h"
#include "foedus-core/storage/masstree/storage.h"
#include "gleaner/compose/array/composer.h"
#include "gleaner/compose/hash/composer.h"
#include "gleaner/compose/masstree/composer.h"
#include "tests/storage/gleaned.h"
#include "tests/storage/masstree/fixture.h"

namespace foedus::storage::transitions_test {
namespace {

using testing::AtSyncPoint;

constexpr std::uint64_t kRows = 3'000;

// A storage of numbers by number; one that was never written is 0.
class Numbers {
 public:
  explicit Numbers(StorageKind kind)
      : all(
            meta_of(kind),
            [kind](const gleaner::Composition& composition, gleaner::RecordStream* records) {
              return compose(kind, composition, records);
            },
            install_of(kind)) {}

  Result<std::uint64_t> get(std::uint32_t session, std::uint64_t i) {
    std::uint64_t value = 0;
    occ::ReadRange range;
    range.out = reinterpret_cast<char*>(&value);
    range.out_bytes = sizeof(value);
    const Status status = read(all.session(session).ctx(), i, &range);
    if (status.code() == ErrorCode::kNotFound) return std::uint64_t{0};
    if (!status.is_ok()) return status;
    return value;
  }
  Status put(std::uint32_t session, std::uint64_t i, std::uint64_t value) {
    occ::TxnContext& ctx = all.session(session).ctx();
    const std::string_view payload(reinterpret_cast<const char*>(&value), sizeof(value));
    switch (kind()) {
      case StorageKind::kArray:
        return array::write_at(ctx, all.control(), i, 0, payload);
      case StorageKind::kHash:
        return hash::write_whole(ctx, all.control(), storage::WriteMode::kPut, key_of(i), payload);
      default:
        return masstree::write_whole(ctx, all.control(), storage::WriteMode::kPut, key_of(i),
                                     payload);
    }
  }

  Gleaned all;

 private:
  StorageKind kind() { return all.control()->meta.kind; }
  static std::string key_of(std::uint64_t i) {
    std::string key(8, '\0');
    const std::uint64_t swapped = __builtin_bswap64(i);
    std::memcpy(key.data(), &swapped, sizeof(swapped));
    return key + "of a longer name"[i % 3];
  }
  Status read(occ::TxnContext& ctx, std::uint64_t i, occ::ReadRange* range) {
    switch (kind()) {
      case StorageKind::kArray:
        return array::get(ctx, all.control(), i, range);
      case StorageKind::kHash:
        return hash::get(ctx, all.control(), key_of(i), range);
      default:
        return masstree::get(ctx, all.control(), key_of(i), range);
    }
  }
  static storage_meta::StorageMeta meta_of(StorageKind kind) {
    storage_meta::StorageMeta meta;
    meta.kind = kind;
    if (kind == StorageKind::kHash) meta.fan_out_bits = 2;
    if (kind == StorageKind::kArray) {
      meta.records = kRows;
      meta.payload_bytes = 8;
    }
    return meta;
  }
  static Gleaned::Install install_of(StorageKind kind) {
    if (kind == StorageKind::kArray) return array::install;
    if (kind == StorageKind::kHash) return hash::install;
    return masstree::install;
  }
  static Result<page::SnapshotPageId> compose(StorageKind kind,
                                              const gleaner::Composition& composition,
                                              gleaner::RecordStream* records) {
    using Subtrees = std::vector<gleaner::Subtree>;
    if (kind == StorageKind::kArray) {
      FOEDUS_TRY(const Subtrees made, gleaner::compose_array(composition, {}, records));
      return gleaner::join_array(composition, made);
    }
    if (kind == StorageKind::kHash) {
      FOEDUS_TRY(const Subtrees made, gleaner::compose_hash(composition, {}, records));
      return gleaner::join_hash(composition, made);
    }
    FOEDUS_TRY(const Subtrees made, gleaner::compose_masstree(composition, {}, records));
    return gleaner::join_masstree(composition, made);
  }
};

// Goal: whatever happens between two steps, the reads of a transaction hold at its commit, and no
// update is lost. Method: one transaction reads two numbers and writes their sum plus one. At the
// step another session reads them, changes one, gleans, or does several of these; then the
// transaction goes on. A map has all committed numbers.
class TransitionsTest : public ::testing::TestWithParam<StorageKind> {
 protected:
  enum class Intruder : std::uint8_t {
    kReads,
    kChangesIt,
    kChangesItsNeighbour,
    kGleans,
    kChangesItAndGleans,
    kGleansAndChangesIt,
  };
  static constexpr Intruder kAll[] = {
      Intruder::kReads,  Intruder::kChangesIt,          Intruder::kChangesItsNeighbour,
      Intruder::kGleans, Intruder::kChangesItAndGleans, Intruder::kGleansAndChangesIt};
  static constexpr std::uint64_t kIt = 1'000;

  // Sessions: 1 is stopped, 2 intrudes, 3 has read all along, 0 does the rest.
  void start(bool is_loaded) {
    numbers_ = std::make_unique<Numbers>(GetParam());
    values_.clear();
    if (!is_loaded) return;
    for (std::uint64_t i = 0; i < kRows; ++i) change(0, i, i + 1);
  }
  void begin(std::uint32_t session) { numbers_->all.session(session).begin(); }
  Status commit(std::uint32_t session) { return numbers_->all.session(session).commit(); }

  // Changes a number in a transaction of its own.
  void change(std::uint32_t session, std::uint64_t i, std::uint64_t value) {
    begin(session);
    ASSERT_TRUE(numbers_->put(session, i, value).is_ok());
    const Status status = commit(session);
    ASSERT_TRUE(status.is_ok()) << status.message();
    values_[i] = value;
  }
  void expect(std::uint32_t session, std::uint64_t i) {
    const Result<std::uint64_t> got = numbers_->get(session, i);
    if (got.code() == ErrorCode::kConflict) return;
    ASSERT_TRUE(got.is_ok()) << got.status().message();
    ASSERT_EQ(*got, values_[i]) << i;
  }
  void intrude(Intruder intruder) {
    const bool gleans_first =
        intruder == Intruder::kGleans || intruder == Intruder::kGleansAndChangesIt;
    if (gleans_first) numbers_->all.glean();
    if (intruder == Intruder::kReads) {
      begin(2);
      expect(2, kIt);
      expect(2, kIt + 1);
      if (!numbers_->all.session(2).ctx().is_doomed()) {
        (void)commit(2).is_ok();
      } else {
        numbers_->all.session(2).rollback();
      }
    } else if (intruder == Intruder::kChangesItsNeighbour) {
      change(2, kIt + 1, 1'000'000 + ++changes_);
    } else if (intruder != Intruder::kGleans) {
      change(2, kIt, 1'000'000 + ++changes_);
    }
    if (intruder == Intruder::kChangesItAndGleans) numbers_->all.glean();
  }

  // Session 1 reads `kIt` and its neighbour and writes the sum; both must be true when it commits.
  struct Sum {
    Status status;
    std::uint64_t it = 0;
    std::uint64_t neighbour = 0;
  };
  Sum sum_up() {
    Sum sum;
    const auto work = [&]() -> Status {
      FOEDUS_TRY(sum.it, numbers_->get(1, kIt));
      FOEDUS_TRY(sum.neighbour, numbers_->get(1, kIt + 1));
      return numbers_->put(1, kIt, sum.it + sum.neighbour + 1);
    };
    sum.status = work();
    return sum;
  }
  void finish(Sum sum) {
    if (sum.status.is_ok()) {
      sum.status = commit(1);
    } else {
      numbers_->all.session(1).rollback();
    }
    ASSERT_TRUE(sum.status.is_ok() || sum.status.code() == ErrorCode::kConflict)
        << sum.status.message();
    if (!sum.status.is_ok()) return;
    ++commits_;
    EXPECT_EQ(sum.it, values_[kIt]);
    EXPECT_EQ(sum.neighbour, values_[kIt + 1]);
    values_[kIt] = sum.it + sum.neighbour + 1;
  }
  void check_all() {
    for (int round = 0; round < 2; ++round) {
      begin(0);
      for (const auto& [i, value] : values_) {
        const Result<std::uint64_t> got = numbers_->get(0, i);
        ASSERT_TRUE(got.is_ok()) << got.status().message();
        ASSERT_EQ(*got, value) << i;
      }
      ASSERT_TRUE(commit(0).is_ok());
      numbers_->all.glean();
      numbers_->all.check_leads();
    }
    EXPECT_EQ(numbers_->all.control()->volatile_pages.load_relaxed(), 0u);
  }
  std::string prefix() const {
    if (GetParam() == StorageKind::kArray) return "array:";
    return GetParam() == StorageKind::kHash ? "hash:" : "masstree:";
  }

  // Stops the transaction of session 1 where it first reaches `step`.
  void stop_transaction(const std::string& step) {
    for (const Intruder intruder : kAll) {
      SCOPED_TRACE(prefix() + step + ", intruder " + std::to_string(static_cast<int>(intruder)));
      begin(1);
      Sum sum;
      {
        const AtSyncPoint stop(prefix() + step, [&] { intrude(intruder); });
        sum = sum_up();
        EXPECT_EQ(stop.runs(), 1u);
      }
      ASSERT_NO_FATAL_FAILURE(finish(sum));
      ASSERT_NO_FATAL_FAILURE(check_all());
    }
  }

  std::unique_ptr<Numbers> numbers_;
  std::map<std::uint64_t, std::uint64_t> values_;
  std::uint64_t changes_ = 0;
  unsigned commits_ = 0;
};

// null, null to X, null: pages of an empty storage are made. A Master-Tree has no such pointer: it
// has its root from the start.
TEST_P(TransitionsTest, from_nothing_to_a_volatile_page) {
  if (GetParam() == StorageKind::kMasstree) return;
  for (const Intruder intruder : kAll) {
    SCOPED_TRACE(static_cast<int>(intruder));
    start(false);
    begin(1);
    Sum sum;
    {
      const AtSyncPoint stop(prefix() + "before_install", [&] { intrude(intruder); });
      sum = sum_up();
      EXPECT_EQ(stop.runs(), 1u);
    }
    ASSERT_NO_FATAL_FAILURE(finish(sum));
    ASSERT_NO_FATAL_FAILURE(check_all());
  }
  EXPECT_GT(commits_, 0u);
}

// null, Y stays: the page is read, and the other session makes it volatile, changes it, and gleans.
TEST_P(TransitionsTest, a_snapshot_page_is_read) {
  start(true);
  numbers_->all.glean();
  stop_transaction("cold_read");
  EXPECT_GT(commits_, 0u);
}

// null, Y to X, Y: a copy is made, and another may be there first, or a newer Y.
TEST_P(TransitionsTest, from_a_snapshot_page_to_its_copy) {
  start(true);
  numbers_->all.glean();
  stop_transaction("before_install");
  EXPECT_GT(commits_, 0u);
}

// X, null and X, Y to X, Y'; and X, Y to null, Y. Two transactions are open meanwhile: one has
// read, and one has read and written. At steps where the installer holds locks, the other session
// only reads.
TEST_P(TransitionsTest, snapshot_pages_are_installed_and_volatile_pages_dropped) {
  std::vector<std::string> steps = {"installed", "before_drop", "dropped"};
  if (GetParam() == StorageKind::kMasstree) {
    steps = {"install_searched", "installed",      "before_drop", "drop_records_moved",
             "dropped",          "exchange_moved", "exchanged"};
  }
  for (const std::string& step : steps) {
    const bool is_free = step == "installed" || step == "install_searched" || step == "exchanged";
    for (const Intruder intruder : kAll) {
      const bool gleans = intruder != Intruder::kReads && intruder != Intruder::kChangesIt &&
                          intruder != Intruder::kChangesItsNeighbour;
      if (gleans || (!is_free && intruder != Intruder::kReads)) continue;
      SCOPED_TRACE(prefix() + step + ", intruder " + std::to_string(static_cast<int>(intruder)));
      start(true);
      begin(1);
      const Sum sum = sum_up();
      begin(3);
      expect(3, kIt + 2);
      numbers_->all.compose();
      {
        const AtSyncPoint stop(
            prefix() + step,
            [&] {
              intrude(intruder);
              expect(3, kIt + 2);
            },
            true);
        numbers_->all.install();
        EXPECT_GT(stop.runs(), 0u);
      }
      ASSERT_NO_FATAL_FAILURE(finish(sum));
      numbers_->all.session(3).rollback();
      ASSERT_NO_FATAL_FAILURE(check_all());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TransitionsTest,
                         ::testing::Values(StorageKind::kArray, StorageKind::kHash,
                                           StorageKind::kMasstree),
                         [](const ::testing::TestParamInfo<StorageKind>& kind) {
                           if (kind.param == StorageKind::kArray) return "Array";
                           return kind.param == StorageKind::kHash ? "Hash" : "Masstree";
                         });

}  // namespace
}  // namespace foedus::storage::transitions_test
