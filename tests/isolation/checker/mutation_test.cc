// Goal: the checker finds a single error in a history that is right otherwise. Method: a recorded
// history without an anomaly is changed many times in one place, chosen at random among those where
// the change is visible, and each change must be found.
//
// Some changes are not visible and are left out: a read of another version by a transaction that
// ran beside the writers of both, unless other edges order them (it may have been so); an unread
// write, before a blind write of the whole record or at the end; an exchange of two unordered
// commits; the time of a transaction without conflicts.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/isolation/checker/checker.h"
#include "tests/isolation/history_json.h"
#include "tests/isolation/run.h"
#include "tests/testing/test_database.h"

namespace foedus::isolation::mutation_test {
namespace {

using Lines = std::vector<Line>;

Lines record(Workload workload, std::uint64_t seed) {
  const testing::TestDirectory directory;
  RunOptions options;
  options.dir = directory.path() + "/db";
  options.history = directory.path() + "/history";
  options.workload = workload;
  options.forks = false;
  options.txns = 3'000;
  options.txns_per_window = 1'000;
  options.keys = 100;
  options.slots = 4;
  options.memory_bytes = 128u << 20;
  options.seed = seed;
  Checker checker;
  testing::must(run_history(options, &checker).status());
  EXPECT_TRUE(checker.anomalies().empty()) << checker.anomalies()[0].text;
  Lines lines;
  std::ifstream file(options.history);
  for (std::string text; std::getline(file, text);) {
    std::string why;
    EXPECT_TRUE(parse_line(text, &lines.emplace_back(), &why)) << why;
  }
  return lines;
}

std::string first_anomaly(const Lines& lines) {
  Checker checker;
  for (const Line& line : lines) checker.add(line);
  checker.finish();
  return checker.anomalies().empty() ? "" : checker.anomalies()[0].name;
}

// The line and the word at which an operation begins.
struct Place {
  std::size_t line;
  std::size_t word;
  Op op;
};

class CheckerMutationTest : public ::testing::TestWithParam<Workload> {
 protected:
  CheckerMutationTest() : lines_(record(GetParam(), random_.next())) {
    EXPECT_EQ(first_anomaly(lines_), "");
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const TxnLine& txn = lines_[i].txn;
      if (lines_[i].kind != LineKind::kTxn || txn.outcome != Outcome::kCommitted) continue;
      for (OpReader ops(txn.ops); !ops.at_end();) {
        const std::size_t word = txn.ops.size() - ops.words_left();
        ops_.push_back({i, word, ops.next()});
        note_values(ops_.back());
      }
    }
  }

  static bool makes_value(OpKind kind) {
    return kind == OpKind::kPut || kind == OpKind::kInsert || kind == OpKind::kUpdate ||
           kind == OpKind::kAppend || kind == OpKind::kPush;
  }
  // Notes values that a transaction other than their writer has read.
  void note_values(const Place& place) {
    const auto note = [&](std::span<const std::uint64_t> values) {
      for (const std::uint64_t value : values) {
        if (value / kValuesPerTxn != lines_[place.line].txn.id) seen_.insert(value);
      }
    };
    if (place.op.kind == OpKind::kRead || place.op.kind == OpKind::kScan) note(place.op.rest);
    if (place.op.kind != OpKind::kRange) return;
    auto rows = place.op.rest;
    for (std::uint32_t i = 0; i < place.op.count; ++i) note(take_row(&rows).state);
  }

  const TxnLine& txn_of(const Place& place) const { return lines_[place.line].txn; }
  Place any() { return ops_[random_.below(ops_.size())]; }
  // Returns a random place for which `wanted` holds.
  template <typename Wanted>
  std::optional<Place> any_that(Wanted&& wanted) {
    for (int tries = 0; tries < 200'000; ++tries) {
      const Place place = any();
      if (wanted(place)) return place;
    }
    return std::nullopt;
  }
  // Applies `change` to the transaction at `place`, and expects that the checker finds it.
  template <typename Change>
  void expect_found(const Place& place, Change&& change) {
    const TxnLine before = txn_of(place);
    change(&lines_[place.line].txn);
    if (first_anomaly(lines_).empty()) {
      std::string text;
      append_json(before, &text);
      append_json(txn_of(place), &text);
      ADD_FAILURE() << "not found:\n" << text;
    }
    lines_[place.line].txn = before;
  }

  // Returns whether the first value of the list was there before the reader began.
  bool is_older(const Place& read) const {
    const std::uint64_t writer = read.op.rest.front() / kValuesPerTxn;
    for (const Line& line : lines_) {
      if (line.txn.id == writer) return line.txn.end_ns < txn_of(read).begin_ns;
    }
    return false;
  }

  static constexpr int kTimes = 25;
  base::Random random_{testing::test_seed(base::system_seed())};
  Lines lines_;
  std::vector<Place> ops_;
  std::set<std::uint64_t> seen_;
};

TEST_P(CheckerMutationTest, a_read_of_a_version_of_another_time_is_found) {
  for (int i = 0; i < kTimes; ++i) {
    std::optional<Place> other;
    const auto read = any_that([&](const Place& place) {
      if (place.op.kind != OpKind::kRead || !place.op.flag || place.op.rest.empty()) return false;
      const Place donor = any();
      if (donor.op.kind != OpKind::kRead || !donor.op.flag || donor.op.rest.empty()) return false;
      if (donor.op.storage != place.op.storage || donor.op.key != place.op.key) return false;
      if (std::equal(donor.op.rest.begin(), donor.op.rest.end(), place.op.rest.begin(),
                     place.op.rest.end())) {
        return false;
      }
      // The newest value is of a writer that began when the reader had ended.
      const std::uint64_t writer = donor.op.rest.back() / kValuesPerTxn;
      const std::uint64_t put = donor.op.rest.front() / kValuesPerTxn;
      for (const Line& line : lines_) {
        const bool is_writer = line.txn.id == (GetParam() == Workload::kList ? writer : put);
        if (is_writer && line.txn.begin_ns > txn_of(place).end_ns) {
          other = donor;
          return true;
        }
      }
      return false;
    });
    ASSERT_TRUE(read.has_value());
    expect_found(*read, [&](TxnLine* txn) {
      const auto at = txn->ops.begin() + static_cast<std::ptrdiff_t>(read->word);
      const std::vector<std::uint64_t> state(other->op.rest.begin(), other->op.rest.end());
      *at =
          op_word(OpKind::kRead, read->op.storage, true, static_cast<std::uint32_t>(state.size()));
      txn->ops.erase(at + 2, at + 2 + static_cast<std::ptrdiff_t>(read->op.rest.size()));
      txn->ops.insert(txn->ops.begin() + static_cast<std::ptrdiff_t>(read->word) + 2, state.begin(),
                      state.end());
    });
  }
}

TEST_P(CheckerMutationTest, a_write_that_is_missing_is_found) {
  for (int i = 0; i < kTimes; ++i) {
    const auto write = any_that([&](const Place& place) {
      return makes_value(place.op.kind) && seen_.contains(place.op.value);
    });
    ASSERT_TRUE(write.has_value());
    expect_found(*write, [&](TxnLine* txn) {
      const auto at = txn->ops.begin() + static_cast<std::ptrdiff_t>(write->word);
      txn->ops.erase(at, at + (write->op.kind == OpKind::kPush ? 2 : 3));
    });
  }
}

TEST_P(CheckerMutationTest, a_commit_that_was_none_is_found) {
  for (int i = 0; i < kTimes; ++i) {
    const auto write = any_that([&](const Place& place) {
      return makes_value(place.op.kind) && seen_.contains(place.op.value);
    });
    ASSERT_TRUE(write.has_value());
    expect_found(*write, [&](TxnLine* txn) { txn->outcome = Outcome::kConflict; });
  }
}

TEST_P(CheckerMutationTest, a_commit_in_another_epoch_is_found) {
  // The record is a list, or a register that was read and written, so its versions have one order.
  for (int i = 0; i < kTimes; ++i) {
    const auto write = any_that([&](const Place& place) {
      return makes_value(place.op.kind) && place.op.kind != OpKind::kPush &&
             seen_.contains(place.op.value);
    });
    ASSERT_TRUE(write.has_value());
    // The commit moves after all of its readers.
    expect_found(*write, [&](TxnLine* txn) { txn->epoch += 1'000'000; });
  }
}

TEST_P(CheckerMutationTest, a_miss_of_what_was_there_is_found) {
  for (int i = 0; i < kTimes; ++i) {
    const auto read = any_that([&](const Place& place) {
      if (place.op.kind != OpKind::kRead || !place.op.flag || place.op.rest.empty()) return false;
      // Each state of a snapshot is a single one; lists are never erased.
      if (txn_of(place).kind != TxnKind::kSerializable) return true;
      return GetParam() == Workload::kList && is_older(place);
    });
    ASSERT_TRUE(read.has_value());
    expect_found(*read, [&](TxnLine* txn) {
      const auto at = txn->ops.begin() + static_cast<std::ptrdiff_t>(read->word);
      *at = op_word(OpKind::kRead, read->op.storage, false, 0);
      txn->ops.erase(at + 2, at + 2 + static_cast<std::ptrdiff_t>(read->op.rest.size()));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Histories, CheckerMutationTest,
                         ::testing::Values(Workload::kRegister, Workload::kList),
                         [](const auto& run) {
                           return run.param == Workload::kList ? "list_append" : "registers";
                         });

}  // namespace
}  // namespace foedus::isolation::mutation_test
