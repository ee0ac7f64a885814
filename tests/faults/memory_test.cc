// ctest-program: own
// ctest-labels: memory
// ctest-timeout: 600
// Failed requests for memory, mappings and threads, at every place of a database's life.
//
// Goal: the call returns kOutOfMemory, or goes on without memory; the process lives; acknowledged
// transactions stay; once there is memory again the same database goes on; no memory leaks. Method:
// the calls of each phase are counted. Then the life is repeated, and call 0, 1, 2, ... fails, once
// or from there on. A seed (FOEDUS_SEED; printed, another one each time) selects some of them; all
// with FOEDUS_FAULTS=all.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/log/durability.h"
#include "tests/base/test_seed.h"
#include "tests/faults/life.h"
#include "tests/faults/memory_faults.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::faults::memory_test {
namespace {

// Number of a phase's calls of one source that are tried: all of a few, and some of many.
constexpr std::uint64_t kSelectedMin = 10;
constexpr std::uint64_t kSelectedShare = 30;  // one of this many

bool wants_all() {
  const char* const faults = std::getenv("FOEDUS_FAULTS");
  return faults != nullptr && std::strcmp(faults, "all") == 0;
}

bool is_out_of_memory(const Status& status) { return status.code() == ErrorCode::kOutOfMemory; }

// Checks that the database goes on when memory is back; that may take some time, because a logger
// tries again after 100 ms.
void expect_that_it_goes_on(Life* life) {
  Status status;
  for (int i = 0; i < 100; ++i) {
    status = life->is_open() ? Status() : life->open();
    if (status.is_ok()) status = life->create();
    if (status.is_ok()) status = life->write(1);
    if (status.is_ok()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL() << status.message();
}

struct Trial {
  Phase phase;
  Source source;
  std::uint64_t call;
  bool is_sticky;
};

// Leads a life with one fault. Returns the number of calls in the phase.
std::uint64_t lead(const Trial& trial) {
  const testing::TestDirectory directory;
  Life::Rows rows;
  std::uint64_t calls = 0;
  std::thread user([&] {
    Life life(directory.path() + "/db", &rows, is_out_of_memory);
    for (int i = 0; i < kPhases && !::testing::Test::HasFailure(); ++i) {
      const auto phase = static_cast<Phase>(i);
      SCOPED_TRACE(kPhaseNames[static_cast<std::size_t>(i)]);
      const bool is_it = phase == trial.phase;
      if (is_it) arm(trial.source, trial.call, trial.is_sticky);
      const Status status = life.run(phase);
      if (!is_it) {
        const ForTest reporting;
        EXPECT_TRUE(status.is_ok())
            << kPhaseNames[static_cast<std::size_t>(i)] << ": " << status.message();
        continue;
      }
      calls = counter_of(trial.source).calls;
      const bool has_failed = counter_of(trial.source).failed != 0;
      disarm();
      const ForTest reporting;
      // The check is made even if the phase succeeded, because a task may have failed.
      if (has_failed || !status.is_ok()) expect_that_it_goes_on(&life);
      if (phase != Phase::kClose || !life.is_open()) continue;
      EXPECT_TRUE(life.close().is_ok());
    }
    if (life.is_open()) life.check();
    life.abandon();
    const ForTest checking;
    const Status opened = life.open();
    EXPECT_TRUE(opened.is_ok());
    if (opened.is_ok()) life.check();
    life.abandon();
  });
  user.join();
  return calls;
}

void expect_no_leak(std::int64_t live_before) { EXPECT_EQ(live.load(), live_before); }

class MemoryTest : public ::testing::TestWithParam<Source> {};

TEST_P(MemoryTest, a_call_that_fails_is_an_error_or_nothing) {
  const ForTest all;
  const Source source = GetParam();
  const char* const name = kSourceNames[static_cast<std::size_t>(source)];
  base::Random random(testing::test_seed(base::system_seed()));
  const char* const only = std::getenv("FOEDUS_FAULTS_PHASE");
  for (int phase = 0; phase < kPhases; ++phase) {
    if (only != nullptr && std::atoi(only) != phase) continue;
    constexpr std::uint64_t kNever = ~std::uint64_t{0} - 1;
    const std::uint64_t calls = lead({static_cast<Phase>(phase), source, kNever, false});
    std::uint64_t tried = 0;
    const std::uint64_t some = std::min(calls, kSelectedMin + calls / kSelectedShare);
    const std::uint64_t selected = wants_all() ? calls : some;
    for (std::uint64_t i = 0; i < selected; ++i) {
      // One call of each part of the phase is chosen.
      const std::uint64_t call =
          selected == calls ? i : (i * calls + random.below(calls)) / selected;
      const bool sticks = random.below(2) == 0;
      for (const bool is_sticky : {false, true}) {
        if (!wants_all() && is_sticky != sticks) continue;
        SCOPED_TRACE(std::string(kPhaseNames[static_cast<std::size_t>(phase)]) + ", " + name +
                     " call " + std::to_string(call) + (is_sticky ? " and later" : ""));
        if (std::getenv("FOEDUS_FAULTS_SAY") != nullptr) {
          std::fprintf(stderr, "phase %d call %lu sticky %d\n", phase, call, is_sticky);
        }
        const std::int64_t live_before = live.load();
        lead({static_cast<Phase>(phase), source, call, is_sticky});
        expect_no_leak(live_before);
        ++tried;
        if (HasFailure()) return;
      }
    }
    std::printf("%s: %s: %lu calls, %lu trials\n", name,
                kPhaseNames[static_cast<std::size_t>(phase)], calls, tried);
  }
}

// Goal: a callback that cannot be stored is called at once, once, and undamaged. Method: each
// allocation that is needed to store it fails.
TEST(CallbackTest, one_for_which_there_is_no_memory_is_called_with_that) {
  testing::ManualRuntime runtime;
  std::uint64_t call = 0;
  for (;; ++call) {
    std::vector<Status> told;
    told.reserve(2);
    internal::DurabilityWaits waits(&runtime);
    std::function<void(const Status&)> callback = [&](const Status& status) {
      told.push_back(status);
    };
    arm(Source::kHeap, call, false);
    waits.on_durable(Epoch(5), std::move(callback));
    disarm();
    waits.announce(Epoch(5));
    ASSERT_EQ(told.size(), 1u);
    if (told[0].is_ok()) break;
    EXPECT_EQ(told[0].code(), ErrorCode::kOutOfMemory) << told[0].message();
  }
  EXPECT_GE(call, 2u);  // an epoch, and its list
}

TEST(TicketTest, a_wait_that_times_out_needs_no_memory) {
  const testing::TestDirectory directory;
  Options options = life_options(directory.path());
  options.epoch_interval_us = 1'000'000;
  Database db = testing::must(Database::open(options));
  const Masstree tree = testing::must(db.open_masstree("tree"));
  Ticket ticket;
  testing::must(
      db.transact([&](Txn& txn) { return txn.put(tree, "k", "v"); }, {.ticket = &ticket}));
  ASSERT_FALSE(ticket.is_durable());
  arm(Source::kHeap, 0, true);
  const Status status = ticket.wait_durable(0);
  disarm();
  EXPECT_EQ(status.code(), ErrorCode::kTimeout) << status.message();
}

INSTANTIATE_TEST_SUITE_P(
    Sources, MemoryTest,
    ::testing::ValuesIn(FOEDUS_FAULTS_OF_THE_SYSTEM
                            ? std::vector<Source>(kSources.begin(), kSources.end())
                            : std::vector<Source>{Source::kHeap}),
    [](const auto& of) { return std::string(kSourceNames[static_cast<std::size_t>(of.param)]); });

}  // namespace
}  // namespace foedus::faults::memory_test
