// ctest-labels: concurrency
// The list of snapshots that can be read: choosing, keeping, expiring, waiting.

#include "foedus-core/engine/snapshots/snapshots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "tests/base/test_seed.h"
#include "tests/testing/manual_runtime.h"

namespace foedus::engine::snapshots_test {
namespace {

using Numbers = std::vector<page::SnapshotNumber>;

snapshot::Manifest manifest(std::uint32_t number) {
  snapshot::Manifest manifest;
  manifest.number = page::SnapshotNumber{number};
  manifest.covered = Epoch(number * 10);
  manifest.newest_seen = manifest.covered;
  manifest.next_storage_id = page::StorageId{100};
  manifest.files.push_back({manifest.number, 0, 20, 10 + number});
  // Storage ids that are not dense; the first has no pages.
  manifest.storages.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) manifest.storages[i].id = page::StorageId{2 + i * 5};
  for (std::uint32_t i = 1; i < 3; ++i) {
    manifest.storages[i].root = page::SnapshotPageId(manifest.number, 0, i);
  }
  return manifest;
}

std::uint32_t number_of(const ReadableSnapshot* snapshot) {
  return snapshot == nullptr ? 0 : static_cast<std::uint32_t>(snapshot->number());
}

class SnapshotsTest : public ::testing::Test {
 protected:
  Numbers numbers(std::initializer_list<std::uint32_t> list) {
    Numbers all;
    for (const std::uint32_t number : list) all.push_back(page::SnapshotNumber{number});
    return all;
  }
  foedus::testing::ManualRuntime runtime_;
  Snapshots snapshots_{&runtime_, 4, 2};
};

TEST_F(SnapshotsTest, before_the_first_there_is_none) {
  EXPECT_EQ(snapshots_.enter(0), nullptr);
  snapshots_.leave(0);
  EXPECT_EQ(snapshots_.enter_as_of(0, Epoch(1000)).code(), ErrorCode::kNotFound);
  EXPECT_TRUE(snapshots_.in_use().empty());
  EXPECT_TRUE(snapshots_.expire().empty());
  EXPECT_TRUE(snapshots_.list().empty());
}

TEST_F(SnapshotsTest, roots_are_found_by_storage) {
  snapshots_.publish(manifest(1));
  const ReadableSnapshot* const one = snapshots_.enter(0);
  EXPECT_TRUE(one->root_of(page::StorageId{2}).is_null());
  EXPECT_EQ(one->root_of(page::StorageId{7}).page(), 1u);
  EXPECT_EQ(one->root_of(page::StorageId{12}).page(), 2u);
  for (const std::uint32_t id : {1, 3, 13, 99}) {
    EXPECT_TRUE(one->root_of(page::StorageId{id}).is_null()) << id;
  }
}

TEST_F(SnapshotsTest, as_of_chooses_the_newest_that_is_not_above) {
  snapshots_.publish(manifest(1));
  snapshots_.publish(manifest(3));
  const auto as_of = [this](std::uint64_t epoch) {
    const Result<const ReadableSnapshot*> found = snapshots_.enter_as_of(0, Epoch(epoch));
    if (!found.is_ok()) {
      EXPECT_EQ(found.code(), ErrorCode::kNotFound);
      return 0u;
    }
    snapshots_.leave(0);
    return number_of(*found);
  };
  EXPECT_EQ(as_of(9), 0u);
  EXPECT_EQ(as_of(10), 1u);
  EXPECT_EQ(as_of(29), 1u);
  EXPECT_EQ(as_of(30), 3u);
  EXPECT_EQ(as_of(1'000'000), 3u);
  EXPECT_EQ(number_of(snapshots_.enter(0)), 3u);
}

TEST_F(SnapshotsTest, only_what_nobody_reads_expires) {
  for (std::uint32_t i = 1; i <= 2; ++i) snapshots_.publish(manifest(i));
  ASSERT_EQ(number_of(*snapshots_.enter_as_of(0, Epoch(10))), 1u);
  ASSERT_EQ(number_of(snapshots_.enter(1)), 2u);
  for (std::uint32_t i = 3; i <= 5; ++i) snapshots_.publish(manifest(i));
  EXPECT_EQ(snapshots_.expire(), numbers({3}));
  EXPECT_EQ(snapshots_.in_use(), numbers({1, 2, 4, 5}));
  // Snapshot 2 was passed over: it is read, but cannot be chosen again.
  EXPECT_EQ(snapshots_.enter_as_of(2, Epoch(10)).code(), ErrorCode::kNotFound);
  snapshots_.leave(1);
  EXPECT_EQ(snapshots_.expire(), numbers({2}));
  snapshots_.leave(0);
  EXPECT_EQ(snapshots_.expire(), numbers({1}));
  EXPECT_TRUE(snapshots_.expire().empty());
  EXPECT_EQ(snapshots_.in_use(), numbers({4, 5}));
  ASSERT_EQ(snapshots_.list().size(), 2u);
  EXPECT_EQ(snapshots_.list()[1].number, 5u);
  EXPECT_EQ(snapshots_.list()[1].covered, Epoch(50));
  EXPECT_EQ(snapshots_.list()[1].pages, 20u);
  EXPECT_EQ(snapshots_.list()[1].live_pages, 15u);
}

// A snapshot whose pages were moved to other files replaces the earlier one of its epoch.
TEST_F(SnapshotsTest, a_pinned_snapshot_stays_until_its_last_pin_goes) {
  {
    const PinnedSnapshot none(&snapshots_);
    EXPECT_EQ(none.get(), nullptr);
  }
  snapshots_.publish(manifest(1));
  auto one = std::make_unique<PinnedSnapshot>(&snapshots_);
  auto again = std::make_unique<PinnedSnapshot>(&snapshots_);
  snapshots_.publish(manifest(2));
  const PinnedSnapshot two(&snapshots_);
  for (std::uint32_t number = 3; number <= 6; ++number) snapshots_.publish(manifest(number));
  EXPECT_EQ(snapshots_.expire(), numbers({3, 4}));
  EXPECT_EQ(snapshots_.in_use(), numbers({1, 2, 5, 6}));
  one.reset();
  EXPECT_TRUE(snapshots_.expire().empty());
  EXPECT_EQ(number_of(again->get()), 1u);
  again.reset();
  EXPECT_EQ(snapshots_.expire(), numbers({1}));
  EXPECT_EQ(snapshots_.expire_all_but_newest(), numbers({5}));
  EXPECT_EQ(number_of(two.get()), 2u);
}

TEST_F(SnapshotsTest, of_one_epoch_the_newest_is_kept) {
  for (const std::uint32_t number : {1, 2, 3, 4}) {
    snapshot::Manifest one = manifest(number);
    if (number >= 2) one.covered = Epoch(number == 4 ? 30 : 20);
    snapshots_.publish(one);
  }
  EXPECT_EQ(snapshots_.expire(), numbers({1, 2}));
  EXPECT_EQ(number_of(*snapshots_.enter_as_of(0, Epoch(25))), 3u);
  snapshot::Manifest moved = manifest(5);
  moved.covered = Epoch(30);
  snapshots_.publish(moved);
  EXPECT_EQ(snapshots_.expire(), numbers({4}));
  EXPECT_EQ(snapshots_.newest(), page::SnapshotNumber{5});
  EXPECT_EQ(snapshots_.list().size(), 2u);
}

// An action that a test runs once, at a sync point.
std::function<void()> at_place;
const char* place_of_interest = nullptr;
void run_at_place(const char* place) {
  if (place_of_interest == nullptr || std::string_view(place) != place_of_interest) return;
  place_of_interest = nullptr;
  at_place();
}
class AtPlace {
 public:
  AtPlace(const char* place, std::function<void()> what) {
    place_of_interest = place;
    at_place = std::move(what);
    base::set_sync_point_hook(run_at_place);
  }
  ~AtPlace() {
    base::set_sync_point_hook(nullptr);
    EXPECT_EQ(place_of_interest, nullptr);
  }
};

// Goal: E52, the session first. Method: three newer snapshots are published after a session has
// loaded a list in which the first is the newest.
TEST_F(SnapshotsTest, who_has_the_old_list_keeps_what_is_in_it) {
  snapshots_.publish(manifest(1));
  Numbers expired;
  {
    const AtPlace at("snapshots:list_loaded", [&] {
      for (std::uint32_t i = 2; i <= 4; ++i) snapshots_.publish(manifest(i));
      expired = snapshots_.expire();
    });
    ASSERT_EQ(number_of(snapshots_.enter(0)), 1u);
  }
  EXPECT_TRUE(expired.empty());
  EXPECT_EQ(snapshots_.expire(), numbers({2}));
  snapshots_.leave(0);
  EXPECT_EQ(snapshots_.expire(), numbers({1}));
}

// E52, expire() first: a session that has not loaded the list yet chooses from the new one, and
// until then no snapshot expires.
TEST_F(SnapshotsTest, who_chooses_holds_everything_up) {
  snapshots_.publish(manifest(1));
  Numbers expired;
  {
    const AtPlace at("snapshots:choosing", [&] {
      for (std::uint32_t i = 2; i <= 4; ++i) snapshots_.publish(manifest(i));
      expired = snapshots_.expire();
    });
    ASSERT_EQ(number_of(snapshots_.enter(0)), 4u);
  }
  EXPECT_TRUE(expired.empty());
  EXPECT_EQ(snapshots_.expire(), numbers({1, 2}));
}

// A session enters after expire() has changed the list and before it reads the sessions' words.
TEST_F(SnapshotsTest, who_enters_during_an_expiry_finds_the_new_list) {
  for (std::uint32_t i = 1; i <= 3; ++i) snapshots_.publish(manifest(i));
  {
    const AtPlace at("snapshots:passed_over", [&] {
      EXPECT_EQ(snapshots_.enter_as_of(0, Epoch(10)).code(), ErrorCode::kNotFound);
      EXPECT_EQ(number_of(*snapshots_.enter_as_of(1, Epoch(25))), 2u);
    });
    EXPECT_EQ(snapshots_.expire(), numbers({1}));
  }
  snapshots_.leave(1);
}

// ---- waiting ---------------------------------------------------------------------------------

// Makes a snapshot 1 ms after it was asked for.
class Gleaner : public base::Task {
 public:
  Gleaner(base::Runtime* runtime, Snapshots* snapshots)
      : runtime_(runtime), snapshots_(snapshots) {}
  const char* name() const override { return "gleaner"; }
  std::uint64_t step() override {
    if (snapshots_->requested() <= snapshots_->covered()) return kUntilNotified;
    if (due_us_ == 0) due_us_ = runtime_->now_us() + 1'000;
    if (runtime_->now_us() < due_us_) return due_us_ - runtime_->now_us();
    due_us_ = 0;
    if (!trouble_.is_ok()) {
      snapshots_->set_trouble(trouble_);
      return kUntilNotified;
    }
    const auto number = static_cast<std::uint32_t>((snapshots_->requested().number() + 9) / 10);
    snapshots_->publish(manifest(number));
    return 0;
  }
  Status trouble_;

 private:
  base::Runtime* const runtime_;
  Snapshots* const snapshots_;
  std::uint64_t due_us_ = 0;
};

TEST_F(SnapshotsTest, waiting_asks_for_a_snapshot) {
  EXPECT_EQ(snapshots_.wait_covered(Epoch(15), 10'000).code(), ErrorCode::kTimeout);
  Gleaner gleaner(&runtime_, &snapshots_);
  runtime_.start(&gleaner);
  snapshots_.set_gleaner(&gleaner);
  EXPECT_TRUE(snapshots_.wait_covered(Epoch(15), 1'000'000).is_ok());
  EXPECT_EQ(snapshots_.covered(), Epoch(20));
  EXPECT_TRUE(snapshots_.wait_covered(Epoch(20), 0).is_ok());
  EXPECT_EQ(snapshots_.wait_covered(Epoch(21), 100).code(), ErrorCode::kTimeout);
  EXPECT_TRUE(snapshots_.wait_covered(Epoch(21), 1'000'000).is_ok());
  EXPECT_EQ(number_of(snapshots_.enter(0)), 3u);

  gleaner.trouble_ = Status::error(ErrorCode::kOutOfSpace, "full");
  EXPECT_EQ(snapshots_.wait_covered(Epoch(31), 1'000'000).code(), ErrorCode::kOutOfSpace);
  gleaner.trouble_ = {};
  snapshots_.set_trouble({});
  EXPECT_TRUE(snapshots_.wait_covered(Epoch(31), 1'000'000).is_ok());
  snapshots_.set_gleaner(nullptr);
  runtime_.stop(&gleaner);
}

// An earlier failure is no answer: a waiter has the snapshot tried again.
TEST_F(SnapshotsTest, who_waits_hears_of_what_fails_meanwhile) {
  snapshots_.set_trouble(Status::error(ErrorCode::kOutOfSpace, "full"));
  const Status late = snapshots_.wait_covered(Epoch(15), 10'000);
  EXPECT_EQ(late.code(), ErrorCode::kTimeout);
  EXPECT_NE(late.message().find("full"), std::string::npos) << late.message();
  Gleaner gleaner(&runtime_, &snapshots_);
  runtime_.start(&gleaner);
  snapshots_.set_gleaner(&gleaner);
  const Status retried = snapshots_.wait_covered(Epoch(15), 1'000'000);
  EXPECT_TRUE(retried.is_ok()) << retried.message();
  gleaner.trouble_ = Status::error(ErrorCode::kIoError, "broken");
  EXPECT_EQ(snapshots_.wait_covered(Epoch(31), 1'000'000).code(), ErrorCode::kIoError);
  snapshots_.set_gleaner(nullptr);
  runtime_.stop(&gleaner);
  snapshots_.end();
  EXPECT_EQ(snapshots_.wait_covered(Epoch(31), 1'000'000).code(), ErrorCode::kClosed);
}

// ---- threads ---------------------------------------------------------------------------------

// Goal: a snapshot that a session has entered is neither expired nor freed. Method: sessions enter
// the newest and older ones all the time and check them, while another thread publishes and
// expires; no session may read a snapshot whose number expire() has returned.
TEST_F(SnapshotsTest, readers_never_lose_what_they_read) {
  constexpr std::uint32_t kSnapshots = 3'000;
  std::vector<std::atomic<bool>> expired(kSnapshots + 1);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> readers;
  const std::uint64_t seed = foedus::testing::test_seed(11);
  for (std::uint32_t session = 0; session < 3; ++session) {
    readers.emplace_back([&, session] {
      base::Random random(seed + session);
      while (!is_over.load()) {
        const ReadableSnapshot* one = nullptr;
        if (random.below(2) == 0) {
          one = snapshots_.enter(session);
        } else {
          const Epoch as_of(snapshots_.covered().number() - random.below(25));
          const Result<const ReadableSnapshot*> found = snapshots_.enter_as_of(session, as_of);
          one = found.is_ok() ? *found : nullptr;
        }
        for (std::uint64_t i = random.below(40); one != nullptr && i != 0; --i) {
          ASSERT_EQ(one->covered().number(), number_of(one) * 10);
          ASSERT_EQ(one->root_of(page::StorageId{12}).page(), 2u);
          ASSERT_FALSE(expired[number_of(one)].load());
        }
        snapshots_.leave(session);
      }
    });
  }
  std::uint32_t count = 0;
  for (std::uint32_t i = 1; i <= kSnapshots; ++i) {
    snapshots_.publish(manifest(i));
    for (const page::SnapshotNumber number : snapshots_.expire()) {
      expired[static_cast<std::uint32_t>(number)].store(true);
      ++count;
    }
  }
  is_over.store(true);
  for (std::thread& reader : readers) reader.join();
  count += static_cast<std::uint32_t>(snapshots_.expire().size());
  EXPECT_EQ(count, kSnapshots - 2);
}

}  // namespace
}  // namespace foedus::engine::snapshots_test
