// Arrays whose pages are partly snapshot pages: reading, writing, installing and dropping.
// ctest-labels: concurrency

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/storage/array/array_install.h"
#include "foedus-core/storage/array/array_storage.h"
#include "tests/base/test_seed.h"
#include "tests/storage/array/gleaned_array.h"
#include "tests/storage/array/reads.h"
#include "tests/storage/gleaned.h"
#include "tests/testing/at_sync_point.h"
#include "tests/testing/hold.h"

namespace foedus::storage::array::cold_test {
namespace {

class ArrayColdTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRecords = 60'000;  // two levels of interior pages

  Result<std::uint64_t> get(std::uint32_t session, std::uint64_t index) {
    std::uint64_t value = 0;
    occ::ReadRange range;
    range.out = reinterpret_cast<char*>(&value);
    range.out_bytes = sizeof(value);
    FOEDUS_CHECK(testing::read_array(all_.session(session).ctx(), all_.control(), index, &range));
    return value;
  }
  Status put(std::uint32_t session, std::uint64_t index, std::uint64_t value) {
    return write_at(all_.session(session).ctx(), all_.control(), index, 0,
                    {reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  void put_alone(std::uint32_t session, std::uint64_t index, std::uint64_t value) {
    all_.session(session).begin();
    ASSERT_TRUE(put(session, index, value).is_ok());
    const Status status = all_.session(session).commit();
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  std::uint64_t get_alone(std::uint32_t session, std::uint64_t index) {
    all_.session(session).begin();
    const Result<std::uint64_t> value = get(session, index);
    EXPECT_TRUE(value.is_ok()) << value.status().message();
    EXPECT_TRUE(all_.session(session).commit().is_ok());
    return value.is_ok() ? *value : ~std::uint64_t{0};
  }
  void load() {
    all_.session(0).begin();
    for (std::uint64_t i = 0; i < kRecords; i += 7) ASSERT_TRUE(put(0, i, i + 1).is_ok());
    ASSERT_TRUE(all_.session(0).commit().is_ok());
  }
  // Prefetches a row whose pages are cached.
  void announce(std::uint32_t session, std::uint64_t index) {
    ASSERT_TRUE(get(session, index).is_ok());
    prefetch(all_.session(session).ctx(), all_.control(), index);
    const occ::PrefetchedLookup& prefetched =
        all_.session(session).ctx().hints().prefetched(all_.control(), index);
    ASSERT_EQ(prefetched.number, index);
    ASSERT_FALSE(prefetched.cold_page.is_null());
  }
  std::uint64_t volatile_pages() { return all_.control()->volatile_pages.load_relaxed(); }

  Gleaned all_{testing::array_meta(kRecords), compose_all, install};
};

TEST_F(ArrayColdTest, at_rest_no_volatile_page_is_left) {
  load();
  ASSERT_GT(volatile_pages(), 300u);
  const InstallCounts counts = all_.glean();
  EXPECT_EQ(counts.pages_kept, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(1, 7 * 1000), 7 * 1000 + 1u);
  EXPECT_EQ(get_alone(1, 7 * 1000 + 1), 0u);
  EXPECT_EQ(volatile_pages(), 0u);  // reading makes none
}

TEST_F(ArrayColdTest, a_write_makes_its_path_volatile_and_no_more) {
  load();
  all_.glean();
  put_alone(1, 14, 100);
  EXPECT_EQ(volatile_pages(), 3u);
  EXPECT_EQ(get_alone(2, 14), 100u);
  EXPECT_EQ(get_alone(2, 21), 22u);
  EXPECT_EQ(get_alone(2, kRecords - 4), 0u);
}

// Goal: an install spares a page in use once. Method: one page gets enough reads for a mark (P8).
TEST_F(ArrayColdTest, a_page_in_use_is_spared_once) {
  load();
  all_.compose();
  all_.forget_uses();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(get_alone(1, 14), 15u);
  EXPECT_EQ(all_.spare_and_install().pages_spared, 1u);
  EXPECT_EQ(volatile_pages(), 3u);
  EXPECT_EQ(get_alone(1, 14), 15u);
  EXPECT_EQ(get_alone(1, 7 * 1000), 7 * 1000 + 1u);
  EXPECT_EQ(all_.spare_and_install().pages_spared, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(1, 14), 15u);
}

TEST_F(ArrayColdTest, an_array_never_written_has_no_pages) {
  const InstallCounts counts = all_.glean();
  EXPECT_EQ(counts.pages_dropped, 1u);
  EXPECT_TRUE(all_.root().is_null());
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(0, 5), 0u);
}

// The result of a prefetch is used as long as the pointer has not changed.
TEST_F(ArrayColdTest, an_announced_read_of_a_snapshot_page_is_remembered) {
  load();
  all_.glean();
  get_alone(0, 14);
  for (const bool is_changed : {false, true}) {
    all_.session(0).begin();
    prefetch(all_.session(0).ctx(), all_.control(), 14);
    ASSERT_FALSE(all_.session(0).ctx().hints().prefetched(all_.control(), 14).cold_page.is_null());
    ASSERT_EQ(*get(0, 14), 15u);
    EXPECT_EQ(all_.session(0).ctx().sets().pointers().size(), 1u);
    if (is_changed) put_alone(1, 14, 100);
    ASSERT_TRUE(put(0, 30'000, 1).is_ok());
    EXPECT_EQ(all_.session(0).commit().is_ok(), !is_changed);
    all_.glean();
  }
}

TEST_F(ArrayColdTest, an_announced_read_sees_what_was_written_meanwhile) {
  load();
  put_alone(1, 50'000, 1);
  all_.glean();
  get_alone(0, 14);
  all_.session(0).begin();
  prefetch(all_.session(0).ctx(), all_.control(), 14);
  put_alone(1, 14, 100);  // by another session, before the read
  EXPECT_EQ(*get(0, 14), 100u);
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  all_.glean();
  get_alone(0, 14);
  all_.session(0).begin();
  announce(0, 14);
  ASSERT_TRUE(put(0, 14, 200).is_ok());  // an own one, which makes pages of the path volatile
  EXPECT_EQ(*get(0, 14), 200u);
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_alone(2, 14), 200u);
}

// A glean drops the page of the own write and the page of its pointer.
TEST_F(ArrayColdTest, an_announced_read_sees_an_own_write_whose_page_was_dropped) {
  load();
  all_.glean();
  get_alone(0, 14);
  all_.session(0).begin();
  ASSERT_TRUE(put(0, 14, 300).is_ok());
  all_.glean();
  prefetch(all_.session(0).ctx(), all_.control(), 14);
  EXPECT_EQ(*get(0, 14), 300u);
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_alone(2, 14), 300u);
}

// The page of an own write was dropped, and made volatile again by another transaction: the read
// finds a record that the write set does not know yet.
TEST_F(ArrayColdTest, a_read_sees_an_own_write_whose_page_was_dropped_and_made_again) {
  load();
  all_.session(0).begin();
  ASSERT_TRUE(put(0, 14, 300).is_ok());
  all_.glean();
  put_alone(1, 21, 100);
  prefetch(all_.session(0).ctx(), all_.control(), 14);
  EXPECT_EQ(*get(0, 14), 300u);
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_alone(2, 14), 300u);
}

TEST_F(ArrayColdTest, a_read_of_a_snapshot_page_conflicts_with_a_later_write_there) {
  load();
  all_.glean();
  all_.session(0).begin();
  ASSERT_EQ(*get(0, 14), 15u);
  put_alone(1, 14, 100);
  ASSERT_TRUE(put(0, 30'000, 1).is_ok());
  EXPECT_EQ(all_.session(0).commit().code(), ErrorCode::kConflict);
}

// Two transactions read each other's writes in snapshot pages: one of them must fail.
TEST_F(ArrayColdTest, no_write_skew_over_snapshot_pages) {
  load();
  all_.glean();
  all_.session(0).begin();
  all_.session(1).begin();
  ASSERT_EQ(*get(0, 14), 15u);
  ASSERT_EQ(*get(1, 30'003), 0u);
  ASSERT_TRUE(put(0, 30'003, 1).is_ok());
  ASSERT_TRUE(put(1, 14, 2).is_ok());
  const bool first = all_.session(0).commit().is_ok();
  const bool second = all_.session(1).commit().is_ok();
  EXPECT_FALSE(first && second);
}

// Goal: a transaction that makes a page volatile still conflicts with later writes to it. Method:
// it reads a cold record and writes its neighbour; another session changes the first one.
TEST_F(ArrayColdTest, an_own_install_does_not_hide_later_writes_of_others) {
  load();
  all_.glean();
  all_.session(0).begin();
  ASSERT_EQ(*get(0, 14), 15u);
  ASSERT_TRUE(put(0, 15, 1).is_ok());
  put_alone(1, 14, 100);
  EXPECT_EQ(all_.session(0).commit().code(), ErrorCode::kConflict);
}
TEST_F(ArrayColdTest, an_own_install_is_no_conflict) {
  load();
  all_.glean();
  all_.session(0).begin();
  ASSERT_EQ(*get(0, 14), 15u);
  ASSERT_EQ(*get(0, 50'000), 0u);
  ASSERT_TRUE(put(0, 15, 1).is_ok());
  ASSERT_TRUE(put(0, 14, 2).is_ok());
  ASSERT_EQ(*get(0, 14), 2u);
  const Status status = all_.session(0).commit();
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(get_alone(1, 14), 2u);
}

// A glean drops the page between the write and the commit of a transaction.
TEST_F(ArrayColdTest, a_write_finds_its_record_again_after_a_drop) {
  load();
  all_.session(0).begin();
  ASSERT_TRUE(put(0, 14, 200).is_ok());
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  ASSERT_EQ(*get(0, 14), 200u);  // an own write, whose page was dropped
  ASSERT_TRUE(put(0, 15, 201).is_ok());
  ASSERT_TRUE(put(0, 14, 202).is_ok());
  const Status status = all_.session(0).commit();
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(get_alone(1, 14), 202u);
  EXPECT_EQ(get_alone(1, 15), 201u);
}
TEST_F(ArrayColdTest, a_write_whose_page_was_dropped_and_made_again_by_others) {
  load();
  all_.session(0).begin();
  ASSERT_TRUE(put(0, 14, 200).is_ok());
  all_.glean();
  put_alone(1, 21, 300);
  ASSERT_EQ(*get(0, 14), 200u);
  ASSERT_EQ(*get(0, 21), 300u);
  ASSERT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_alone(1, 14), 200u);
}
TEST_F(ArrayColdTest, a_drop_is_a_conflict_for_who_read_there) {
  load();
  all_.session(0).begin();
  ASSERT_EQ(*get(0, 14), 15u);
  all_.glean();
  ASSERT_TRUE(put(0, 30'003, 1).is_ok());
  EXPECT_EQ(all_.session(0).commit().code(), ErrorCode::kConflict);
}
// Goal: a writer of a page that is being dropped goes on while the installer has no processor, and
// sees its writes then and later. Method: the installer is stopped before the pointer loses the
// page, until the other thread is done or ten seconds have passed.
TEST_F(ArrayColdTest, a_writer_of_a_page_that_is_being_dropped_need_not_wait_for_the_installer) {
  load();
  all_.compose();
  all_.session(0).begin();
  ASSERT_TRUE(put(0, 14, 300).is_ok());
  testing::Hold hold("array:dropped");
  std::thread installer([this] { all_.install(1); });
  hold.wait_until_held();
  all_.all().pass_epochs();
  std::promise<void> done;
  std::thread user([this, &done] {
    EXPECT_EQ(*get(0, 7000), 7001u);
    EXPECT_TRUE(put(0, 30'000, 301).is_ok());
    EXPECT_EQ(*get(0, 14), 300u);
    done.set_value();
  });
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  hold.release();
  installer.join();
  user.join();
  EXPECT_EQ(*get(0, 14), 300u);
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_alone(1, 14), 300u);
  EXPECT_EQ(get_alone(1, 30'000), 301u);
}

// Goal: a transaction that begins after the announcement of a drop adds no write to a record of
// that page, because it would not follow the record. Method: session 0 reaches the record before
// the change of the pointer, and waits for that or conflicts; session 1 reaches it by an earlier
// prefetch, after the change.
TEST_F(ArrayColdTest, no_write_is_added_to_a_page_that_is_being_dropped) {
  load();
  all_.compose();
  testing::Hold hold("array:dropped");
  std::thread installer([this] { all_.install(1); });
  hold.wait_until_held();
  all_.all().pass_epochs();
  for (const std::uint32_t session : {0u, 1u}) all_.session(session).begin();
  prefetch(all_.session(1).ctx(), all_.control(), 14);
  std::future<Status> user = std::async(std::launch::async, [this] { return put(0, 14, 300); });
  user.wait_for(std::chrono::milliseconds(100));
  hold.release();
  installer.join();
  const Status status = user.get();
  if (status.is_ok()) {
    EXPECT_EQ(*get(0, 14), 300u);
  } else {
    EXPECT_EQ(status.conflict_reason(), ConflictReason::kRetryBound);
  }
  all_.session(0).rollback();
  ASSERT_TRUE(put(1, 14, 301).is_ok());
  all_.session(1).ctx().hints().prefetched(all_.control(), 14) = {};  // as another prefetch may
  EXPECT_EQ(*get(1, 14), 301u);
  EXPECT_TRUE(all_.session(1).commit().is_ok());
}

// The volatile pointer becomes non-null and null again between a read and its verify.
TEST_F(ArrayColdTest, a_pointer_that_is_null_again_has_changed) {
  load();
  all_.glean();
  all_.session(0).begin();
  ASSERT_EQ(*get(0, 14), 15u);
  put_alone(1, 14, 100);
  EXPECT_EQ(all_.glean().pages_kept, 0u);
  EXPECT_EQ(volatile_pages(), 0u);
  ASSERT_TRUE(put(0, 30'003, 1).is_ok());
  EXPECT_EQ(all_.session(0).commit().code(), ErrorCode::kConflict);
}

TEST_F(ArrayColdTest, a_locked_or_newer_record_keeps_its_page) {
  load();
  all_.compose();
  put_alone(1, 14, 100);  // newer than the snapshot
  all_.session(0).begin();
  occ::ReadRange range;
  ASSERT_TRUE(get_for_update(all_.session(0).ctx(), all_.control(), 50'001, &range).is_ok());
  const InstallCounts counts = all_.install();
  EXPECT_EQ(counts.pages_kept, 2u + 2u + 1u);  // two border pages, their parents, the root
  EXPECT_EQ(volatile_pages(), 5u);
  all_.session(0).rollback();
  EXPECT_EQ(get_alone(1, 14), 100u);
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(1, 14), 100u);
}

TEST_F(ArrayColdTest, a_page_that_cannot_be_read_is_an_error_of_its_reader_alone) {
  load();
  all_.glean();
  all_.session(0).begin();
  all_.pages().fail_read_after(0);
  EXPECT_EQ(get(0, 14).status().code(), ErrorCode::kIoError);
  all_.pages().fail_read_after(0);
  EXPECT_EQ(put(0, 14, 1).code(), ErrorCode::kIoError);
  EXPECT_EQ(*get(0, 14), 15u);
  ASSERT_TRUE(put(0, 14, 1).is_ok());
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_alone(1, 14), 1u);
}

// Goal: a call reports the failed read of a page that another write of its transaction needed.
// Method: two writes lose their pages to a glean; the read of one finds its own pages in the cache.
TEST_F(ArrayColdTest, a_page_that_cannot_be_read_for_an_earlier_write_is_named) {
  load();
  all_.glean();
  all_.session(0).begin();
  ASSERT_TRUE(put(0, 14, 1).is_ok());
  ASSERT_TRUE(put(0, kRecords - 4, 2).is_ok());
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  for (std::uint32_t i = 1; i <= 2; ++i) all_.all().cache()->forget(page::SnapshotNumber{i});
  EXPECT_EQ(get_alone(1, 14), 15u);
  all_.pages().fail_read_after(0);
  EXPECT_EQ(get(0, 14).status().code(), ErrorCode::kIoError);
  EXPECT_EQ(*get(0, 14), 1u);
  EXPECT_EQ(*get(0, kRecords - 4), 2u);
  EXPECT_TRUE(all_.session(0).commit().is_ok());
  EXPECT_EQ(get_alone(1, 14), 1u);
}

// Method: all pages of the snapshot are new; the first one below the root is made volatile after
// the installer has read its pointer and before the change.
TEST_F(ArrayColdTest, a_cold_page_that_is_written_behind_the_look_keeps_what_was_written) {
  load();
  all_.glean();
  put_alone(1, 50'001, 1);
  all_.compose_anew();
  put_alone(1, 50'001, 2);
  unsigned looks = 0;
  {
    const testing::AtSyncPoint hook(
        "array:install_looked",
        [&] {
          if (++looks == 2) put_alone(1, 14, 100);
        },
        true);
    EXPECT_FALSE(all_.install().may_need_earlier);
  }
  EXPECT_EQ(volatile_pages(), 5u);
  all_.check_leads();
  all_.remove_old_files();
  EXPECT_EQ(get_alone(2, 14), 100u);
  EXPECT_EQ(get_alone(2, 21), 22u);
  EXPECT_EQ(get_alone(2, 50'001), 2u);
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  EXPECT_EQ(get_alone(2, 14), 100u);
}

TEST_F(ArrayColdTest, an_install_that_cannot_read_is_made_up_for) {
  load();
  std::uint64_t value = 1'000;
  for (const ErrorCode code : {ErrorCode::kIoError, ErrorCode::kCorruption}) {
    all_.glean();
    for (std::uint64_t i = 0; i < kRecords; i += kRecords / 5) put_alone(0, i, ++value);
    all_.compose();
    EXPECT_GT(all_.install_with_errors(code), 1u);
    EXPECT_EQ(volatile_pages(), 0u);
    all_.check_leads();
    EXPECT_EQ(get_alone(1, 14), 15u);
    EXPECT_EQ(get_alone(1, 0), value - 4);
  }
}

// Goal: after any mix of transactions, gleans and drops, the array equals a map. Method: sessions
// take turns in one thread; some transactions last over several gleans.
TEST_F(ArrayColdTest, equals_a_map_after_anything) {
  base::Random random(testing::test_seed(1));
  std::map<std::uint64_t, std::uint64_t> model;
  std::map<std::uint64_t, std::uint64_t> pending[3];
  bool open[3] = {};
  for (int step = 0; step < 4000; ++step) {
    const auto who = static_cast<std::uint32_t>(random.below(3));
    const std::uint64_t index = random.below(2) == 0 ? random.below(kRecords) : random.below(600);
    const std::uint64_t action = random.below(100);
    if (!open[who]) {
      all_.session(who).begin();
      open[who] = true;
      pending[who].clear();
    }
    if (action < 40) {
      const std::uint64_t value = random.next();
      ASSERT_TRUE(put(who, index, value).is_ok());
      pending[who][index] = value;
    } else if (action < 75) {
      const Result<std::uint64_t> value = get(who, index);
      ASSERT_TRUE(value.is_ok()) << value.status().message();
      const auto own = pending[who].find(index);
      if (own != pending[who].end()) {
        ASSERT_EQ(*value, own->second);
      }
    } else if (action < 95) {
      const Status status = all_.session(who).commit();
      open[who] = false;
      ASSERT_TRUE(status.is_ok() || status.code() == ErrorCode::kConflict) << status.message();
      if (!status.is_ok()) continue;
      for (const auto& [at, value] : pending[who]) model[at] = value;
    } else {
      all_.glean();
    }
  }
  for (std::uint32_t who = 0; who < 3; ++who) {
    if (open[who]) all_.session(who).rollback();
  }
  for (const auto& [index, value] : model) ASSERT_EQ(get_alone(3, index), value) << index;
  all_.glean();
  EXPECT_EQ(volatile_pages(), 0u);
  for (const auto& [index, value] : model) ASSERT_EQ(get_alone(3, index), value) << index;
}

}  // namespace
}  // namespace foedus::storage::array::cold_test
