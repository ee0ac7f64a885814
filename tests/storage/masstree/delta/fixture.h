#pragma once
// A Master-Tree whose rows are all in snapshot pages and whose delta takes puts, with a model of
// its rows. Calls go through the operations of a user's transaction, so no test brings a row to a
// place where the engine would not put it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/increment.h"
#include "foedus-core/base/system/sync_point.h"
#include "tests/storage/masstree/delta/tree_fixture.h"

namespace foedus::storage::masstree {

// Adds to the number at `number`, as increment() does.
inline void add_to(char* number, std::int64_t delta) {
  base::increment(number, reinterpret_cast<const char*>(&delta));
}

class MasstreeDeltaTest : public DeltaTreeTest {
 protected:
  static constexpr unsigned kRows = 2'000;
  inline static const std::string kChain = std::string(9'000, 'c');

  // Puts rows `key(0)`.. into a snapshot; then no page is volatile, and the delta takes puts.
  template <typename KeyOf>
  void load_and_open(unsigned rows, KeyOf&& key) {
    load(rows, key);
    for (unsigned i = 0; i < rows; ++i) rows_[key(i)] = payload_of(i);
    open_delta();
    all_.all().pass_epochs();
    ASSERT_EQ(volatile_pages(), 0u);
    ASSERT_EQ(delta_pages(), 1u);
  }
  void load_and_open() {
    load_and_open(kRows, [](std::uint64_t i) { return key_of(i); });
  }

  // Returns a key between the rows `i` and i + 1 of key_of().
  static std::string key_between(std::uint64_t i, unsigned n = 7) {
    std::string key(8, '\0');
    put_slice(i * 16 + n, key.data());
    return key;
  }
  // Empties the page cache.
  void forget_pages() {
    for (std::uint32_t i = 1; i < 16; ++i) all_.all().cache()->forget(page::SnapshotNumber{i});
  }

  // ---- operations; those with a session alone are of its open transaction

  void begin_impatient(std::uint32_t session) {
    begin(session);
    ctx(session).locks().set_wait_us(1);  // the holder is in the same thread
  }
  Status write_part(std::uint32_t session, std::string_view key, std::string_view part,
                    std::uint32_t offset = 0) {
    return storage::write_at(ctx(session), control(), key, offset, part);
  }
  Status add(std::uint32_t session, std::string_view key, std::int64_t number,
             std::uint32_t offset = 0) {
    return storage::increment(ctx(session), control(), key, offset, number);
  }
  WholeRead lock(std::uint32_t session, std::string_view key) {
    return read_whole([&](occ::ReadRange* range) {
      return masstree::get_for_update(ctx(session), control(), key, range);
    });
  }
  // The calls with _row run in transactions of their own, and change rows_, too.
  void put_row(const std::string& key, const std::string& payload, std::uint32_t session = 0) {
    ASSERT_NO_FATAL_FAILURE(put_alone(session, key, payload));
    rows_[key] = payload;
  }
  void erase_row(const std::string& key, std::uint32_t session = 0) {
    ASSERT_NO_FATAL_FAILURE(erase_alone(session, key));
    rows_.erase(key);
  }
  // Makes the row's page of the main tree volatile and changes nothing: an erasure is rolled back.
  void make_hot(const std::string& key, std::uint32_t session = 0) {
    begin(session);
    const Status status = erase(session, key);
    ASSERT_TRUE(status.is_ok()) << status.message();
    all_.session(session).rollback();
    ASSERT_FALSE(is_cold_in_main(key));
  }
  // Makes the page volatile and changes the row there. REQUIRES: the row is not in the delta.
  void heat(const std::string& key, std::uint32_t session = 0) {
    ASSERT_FALSE(is_in_delta(key));
    if (is_cold_in_main(key)) make_hot(key, session);
    begin(session);
    const Status status = write_part(session, key, "hot");
    ASSERT_TRUE(status.is_ok()) << status.message();
    expect_commit(session);
    rows_[key].replace(0, 3, "hot");
    ASSERT_FALSE(is_cold_in_main(key));
  }

  // Expects a conflict at the commit, for any reason.
  void expect_any_conflict(std::uint32_t session) {
    const Status status = commit(session);
    EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
  }

  // ---- contents

  // Checks all rows, by scans in both directions and by reads.
  void check_rows() {
    for (const bool reverse : {false, true}) {
      all_.all().pass_epochs();
      begin(2);
      std::vector<Row> found = merged_rows(2, "", "", reverse);
      expect_commit(2);
      if (reverse) std::reverse(found.begin(), found.end());
      ASSERT_TRUE(found == std::vector<Row>(rows_.begin(), rows_.end()))
          << found.size() << " rows, not " << rows_.size() << "; reverse: " << reverse;
    }
    unsigned i = 0;
    begin(2);
    for (const auto& [key, payload] : rows_) {
      ASSERT_EQ(get(2, key), payload) << ::testing::PrintToString(key);
      if (++i % 500 != 0) continue;
      expect_commit(2);
      all_.all().pass_epochs();
      begin(2);
    }
    expect_commit(2);
  }
  // Checks that after some snapshots all rows are in snapshot pages, and are the same.
  void expect_all_goes() {
    for (int i = 0; i < 3; ++i) {
      all_.glean();
      ASSERT_NO_FATAL_FAILURE(check_rows());
    }
    all_.check_leads();
    EXPECT_EQ(volatile_pages(), 0u);
    EXPECT_EQ(delta_pages(), 1u);
  }

  std::map<std::string, std::string> rows_;
};

}  // namespace foedus::storage::masstree
