#pragma once
// A Master-Tree that gleans, and gets a delta (storage/masstree/operations/delta.h), when a test
// asks for it.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/storage/masstree/install/install.h"
#include "foedus-core/storage/masstree/operations/delta.h"
#include "foedus-core/storage/masstree/scan/merged_cursor.h"
#include "foedus-core/storage/masstree/search/find.h"
#include "tests/storage/masstree/cold/fixture.h"

namespace foedus::storage::masstree {

class DeltaTreeTest : public MasstreeColdTest {
 protected:
  DeltaTreeTest() : MasstreeColdTest(install) {}
  void TearDown() override {
    MasstreeColdTest::TearDown();
    if (control()->has_delta()) verify_tree(all_.all().pool(), delta());
  }

  occ::StorageControl* control() { return all_.control(); }
  occ::StorageControl* delta() { return control()->delta.get(); }

  // Gives the tree a delta and lets puts use it. REQUIRES: no transaction is open (M47).
  void open_delta() {
    // order: relaxed, a statistic, as if this many puts had met snapshot pages.
    control()->cold_puts.store_relaxed(100'000);
    EXPECT_TRUE(all_.glean().has_new_delta);
    control()->set_delta_takes_puts();
  }
  // Returns whether the delta has a present record of the key.
  bool is_in_delta(std::string_view key) {
    const KeyPosition position = find_below(all_.all().pool(), {&delta()->root, nullptr}, key);
    return position.found() && !position.record()->load_tid().is_deleted();
  }
  // Returns whether the main tree leads to a snapshot page for the key.
  bool is_cold_in_main(std::string_view key) {
    return find_below(all_.all().pool(), {&control()->root, nullptr}, key).is_cut_short();
  }
  std::uint64_t delta_pages() {
    return delta()->volatile_pages.load_relaxed();  // order: relaxed, a statistic
  }

  // Returns all rows of both trees, in the order of the scan.
  std::vector<Row> merged_rows(std::uint32_t session, std::string_view low, std::string_view high,
                               bool reverse = false) {
    MergedCursor cursor;
    cursor.open(ctx(session), control(), low, high, reverse);
    std::vector<Row> rows;
    for (;;) {
      const Status status = cursor.next();
      EXPECT_TRUE(status.is_ok()) << status.message();
      if (!status.is_ok() || cursor.at_end()) return rows;
      rows.emplace_back(cursor.key(), cursor.payload());
    }
  }
};

}  // namespace foedus::storage::masstree
