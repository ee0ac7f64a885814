// A Master-Tree with a delta has the rows of a std::map, under random work and random
// installations.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/storage/masstree/delta/history.h"
#include "tests/storage/masstree/delta/tree_fixture.h"

namespace foedus::storage::masstree::model_test {
namespace {

constexpr unsigned kKeys = 3'000;
constexpr unsigned kSessions = 3;

// Returns keys of several shapes: one slice; layers; long common prefixes; many keys of one slice.
std::string model_key(std::uint64_t i) {
  char digits[24];
  const auto text = [&digits](std::uint64_t number) {
    std::snprintf(digits, sizeof(digits), "%08llu", static_cast<unsigned long long>(number));
    return std::string(digits);
  };
  switch (i % 5) {
    case 0:
    case 1:
      return "a" + text(i).substr(1);
    case 2:
      return "b" + text(i / 40) + std::string(i % 40, 'x');
    case 3:
      return "c" + text(i / 1'000) + "----------------" + text(i);
    default:
      return "d" + text(i / 10) + "/" + std::to_string(i % 10);
  }
}

// Goal: the results of each committed transaction are those of a transaction alone, and all rows
// are those of committed transactions, whichever tree they are in. Method: transactions of three
// sessions are interleaved in one thread, with own reads, scans that go on after own writes, and
// rollbacks. Their results are compared with a std::map at the commit. Snapshots are made and
// installed in between, which drop all, some or no pages. All rows are compared after each round.
class DeltaModelTest : public DeltaTreeTest, public ::testing::WithParamInterface<int> {
 protected:
  // An open transaction.
  struct Script {
    bool is_open = false;
    bool began_before_delta = false;
    bool is_scanning = false;
    std::vector<DeltaStep> steps;
    ScanPlace place;
    MergedCursor cursor;
  };

  std::string payload() {
    const std::uint64_t kind = random_.below(30);
    const std::uint64_t bytes = kind == 0  ? 1'400 + random_.below(9'000)
                                : kind < 6 ? 300 + random_.below(900)
                                           : random_.below(100);
    return std::string(bytes, static_cast<char>('a' + random_.below(26)));
  }
  // Returns a key mostly of one place for each round, so that transactions meet.
  std::string random_key() {
    const bool is_far = random_.below(4) == 0;
    const std::uint64_t i = is_far ? random_.below(kKeys) : near_ + random_.below(60);
    return i == 7 ? "" : model_key(i % kKeys);
  }

  // ---- one step of a transaction

  DeltaStep new_step(const Script& script) {
    static constexpr DeltaStep::Kind kKinds[] = {
        DeltaStep::kGet,   DeltaStep::kGet,    DeltaStep::kPut,      DeltaStep::kPut,
        DeltaStep::kPut,   DeltaStep::kInsert, DeltaStep::kUpdate,   DeltaStep::kWriteAt,
        DeltaStep::kErase, DeltaStep::kErase,  DeltaStep::kIncrement};
    DeltaStep step;
    step.kind = kKinds[random_.below(std::size(kKinds))];
    if (script.is_scanning && random_.below(3) != 0) step.kind = DeltaStep::kNext;
    step.key = step.kind == DeltaStep::kNext ? "" : random_key();
    const bool is_part = step.kind == DeltaStep::kWriteAt;
    step.payload = is_part ? std::string(random_.below(9), 'W') : payload();
    step.offset = static_cast<std::uint32_t>(random_.below(20));
    step.added = static_cast<std::int64_t>(random_.below(100'000)) - 50'000;
    step.place = step.kind == DeltaStep::kNext ? script.place : ScanPlace();
    return step;
  }
  Status next_row_of(Script* script, DeltaStep::Answer* answer) {
    FOEDUS_CHECK(script->cursor.next());
    answer->at_end = script->cursor.at_end();
    if (answer->at_end) {
      script->is_scanning = false;
      script->cursor.close();
      return {};
    }
    answer->key = script->cursor.key();
    answer->payload = script->cursor.payload();
    script->place.has_begun = true;
    script->place.last = answer->key;
    return {};
  }
  Status do_step(std::uint32_t session, const DeltaStep& step, DeltaStep::Answer* answer) {
    occ::TxnContext& txn = ctx(session);
    switch (step.kind) {
      case DeltaStep::kGet: {
        const bool locks = random_.below(8) == 0;
        WholeRead got = read_whole([&](occ::ReadRange* range) {
          return locks ? get_for_update(txn, control(), step.key, range)
                       : masstree::get(txn, control(), step.key, range);
        });
        if (got.status.is_ok()) answer->payload = std::move(got.payload);
        return std::move(got.status);
      }
      case DeltaStep::kPut:
        return put(session, step.key, step.payload);
      case DeltaStep::kInsert:
        return put(session, step.key, step.payload, WriteMode::kInsert);
      case DeltaStep::kUpdate:
        return put(session, step.key, step.payload, WriteMode::kUpdate);
      case DeltaStep::kWriteAt:
        return storage::write_at(txn, control(), step.key, step.offset, step.payload);
      case DeltaStep::kIncrement:
        return storage::increment(txn, control(), step.key, step.offset, step.added);
      case DeltaStep::kErase:
        return erase(session, step.key);
      default:
        return next_row_of(&scripts_[session], answer);
    }
  }
  void step(std::uint32_t session) {
    Script& script = scripts_[session];
    if (!script.is_scanning && random_.below(8) == 0) begin_scan(session);
    DeltaStep step = new_step(script);
    const Status status = do_step(session, step, &step.answer);
    const bool has_failed =
        status.code() == ErrorCode::kConflict || status.code() == ErrorCode::kOutOfMemory;
    if (has_failed) return roll_back(session);
    step.answer.code = status.code();
    const bool is_answer = status.is_ok() || status.code() == ErrorCode::kNotFound ||
                           status.code() == ErrorCode::kAlreadyExists ||
                           status.code() == ErrorCode::kInvalidArgument;
    ASSERT_TRUE(is_answer) << status.message();
    script.steps.push_back(std::move(step));
  }
  void begin_scan(std::uint32_t session) {
    Script& script = scripts_[session];
    script.place = {};
    script.place.reverse = random_.below(2) == 0;
    if (random_.below(4) != 0) script.place.low = random_key();
    if (random_.below(4) != 0) script.place.high = script.place.low + "zz";
    if (random_.below(8) == 0) script.place.high = random_key();
    script.cursor.open(ctx(session), control(), script.place.low, script.place.high,
                       script.place.reverse);
    script.is_scanning = true;
  }

  // ---- life of a transaction

  void begin_script(std::uint32_t session) {
    Script& script = scripts_[session];
    script.is_open = true;
    script.began_before_delta = !control()->has_delta();
    script.steps.clear();
    script.is_scanning = false;
    begin(session);
    ctx(session).locks().set_wait_us(1);  // the holder is in the same thread
  }
  void end_script(std::uint32_t session) {
    Script& script = scripts_[session];
    script.cursor.close();
    script.is_open = script.is_scanning = false;
    // Puts do not use the delta while an older transaction is open (M47).
    const bool is_older_open = std::any_of(scripts_.begin(), scripts_.end(), [](const Script& one) {
      return one.is_open && one.began_before_delta;
    });
    if (control()->has_delta() && !is_older_open) control()->set_delta_takes_puts();
  }
  void roll_back(std::uint32_t session) {
    all_.session(session).rollback();
    end_script(session);
    ++failures_;
  }
  void finish(std::uint32_t session) {
    if (!scripts_[session].is_open) return;
    const Status status = commit(session);
    if (!status.is_ok()) {
      ASSERT_TRUE(status.code() == ErrorCode::kConflict || status.code() == ErrorCode::kOutOfMemory)
          << status.message();
      ++failures_;
    } else {
      ++commits_;
      const std::string difference = replay(scripts_[session].steps, &rows_);
      ASSERT_EQ(difference, "");
    }
    end_script(session);
  }
  void finish_all() {
    for (std::uint32_t session = 0; session < kSessions; ++session) {
      ASSERT_NO_FATAL_FAILURE(finish(session));
    }
  }
  void work(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
      const auto session = static_cast<std::uint32_t>(random_.below(kSessions));
      Script& script = scripts_[session];
      if (!script.is_open) begin_script(session);
      const std::uint64_t chance = random_.below(40);
      if (chance < 5) {
        ASSERT_NO_FATAL_FAILURE(finish(session));
      } else if (chance == 5) {
        roll_back(session);
      } else {
        ASSERT_NO_FATAL_FAILURE(step(session));
      }
      if (i % 50 == 0) all_.all().pass_epochs();
    }
  }

  // ---- snapshots and contents

  void install_some() {
    // order: relaxed, a statistic: one of a few installations makes the delta.
    if (random_.below(2) == 0) control()->cold_puts.store_relaxed(100'000);
    switch (random_.below(5)) {
      case 0:
        all_.install(0);
        break;
      case 1:
        all_.install(20);
        break;
      case 2:
        all_.spare_and_install();
        break;
      default:
        all_.install();
    }
  }
  void check_gets() {
    for (unsigned i = 0; i < kKeys; ++i) {
      if (i % 200 == 0) all_.all().pass_epochs();
      begin(0);
      const std::optional<std::string> found = get(0, model_key(i));
      expect_commit(0);
      const auto row = rows_.find(model_key(i));
      ASSERT_EQ(found.has_value(), row != rows_.end()) << model_key(i);
      if (found.has_value()) {
        ASSERT_TRUE(*found == row->second) << model_key(i);
      }
    }
  }
  void check_scan(bool reverse) {
    all_.all().pass_epochs();
    begin(0);
    std::vector<Row> found = merged_rows(0, "", "", reverse);
    expect_commit(0);
    if (reverse) std::reverse(found.begin(), found.end());
    ASSERT_TRUE(std::is_sorted(found.begin(), found.end()));
    ASSERT_TRUE(found == std::vector<Row>(rows_.begin(), rows_.end())) << "reverse: " << reverse;
  }
  void check_all() {
    ASSERT_NO_FATAL_FAILURE(check_gets());
    ASSERT_NO_FATAL_FAILURE(check_scan(false));
    ASSERT_NO_FATAL_FAILURE(check_scan(true));
    all_.check_leads(false);
    verify_tree(all_.all().pool(), control());
    if (control()->has_delta()) verify_tree(all_.all().pool(), delta());
  }

  base::Random random_{testing::test_seed(1) * 100 + static_cast<std::uint64_t>(GetParam())};
  DeltaRows rows_;
  std::array<Script, kSessions> scripts_;
  std::uint64_t near_ = 0;
  unsigned commits_ = 0;
  unsigned failures_ = 0;
};

TEST_P(DeltaModelTest, rows_are_those_of_the_model) {
  for (unsigned i = 0; i < kKeys; ++i) {
    if (random_.below(3) == 0) continue;
    rows_[model_key(i)] = payload();
    put_alone(0, model_key(i), rows_[model_key(i)]);
    if (i % 500 == 0) all_.all().pass_epochs();
  }
  all_.glean();
  bool had_rows_in_delta = false;
  for (unsigned round = 0; round < 24; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    near_ = random_.below(kKeys);
    ASSERT_NO_FATAL_FAILURE(work(400));
    if (random_.below(2) == 0) {
      ASSERT_NO_FATAL_FAILURE(finish_all());
    }
    all_.compose();
    ASSERT_FALSE(HasFailure());
    ASSERT_NO_FATAL_FAILURE(work(static_cast<unsigned>(random_.below(3)) * 40));
    install_some();
    ASSERT_NO_FATAL_FAILURE(work(60));
    ASSERT_NO_FATAL_FAILURE(finish_all());
    ASSERT_NO_FATAL_FAILURE(check_all());
    had_rows_in_delta |= control()->has_delta() && delta_pages() > 2;
  }
  EXPECT_TRUE(had_rows_in_delta);
  EXPECT_GT(commits_, 500u);
  std::printf("%u commits, %u failures\n", commits_, failures_);
  // When no transaction runs, all rows are in the snapshot.
  for (int i = 0; i < 3; ++i) all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_LE(delta_pages(), 1u);
  ASSERT_NO_FATAL_FAILURE(check_all());
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeltaModelTest, ::testing::Range(0, 6));

}  // namespace
}  // namespace foedus::storage::masstree::model_test
