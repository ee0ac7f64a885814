#pragma once
// Two or more transactions on one Master-Tree, interleaved by hand.

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/scan/cursor.h"
#include "tests/storage/rig.h"
#include "tests/testing/at_sync_point.h"

namespace foedus::testing {

namespace masstree = storage::masstree;
using storage::WriteMode;

// Returns "key-000042": two slices, with the number in the second one.
inline std::string key_of(unsigned number) {
  char text[16];
  std::snprintf(text, sizeof(text), "%08u", number);
  return text;
}

class MasstreeTest : public ::testing::Test {
 protected:
  Rig rig_{StorageKind::kMasstree, 6};

  occ::TxnContext& begin(unsigned session) { return rig_.session(session).begin(); }
  occ::TxnContext& ctx(unsigned session) { return rig_.session(session).ctx(); }
  Status commit(unsigned session) { return rig_.session(session).commit(); }
  void expect_commit(unsigned session) {
    const Status status = commit(session);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  void expect_conflict(unsigned session, ConflictReason reason) {
    const Status status = commit(session);
    EXPECT_EQ(status.code(), ErrorCode::kConflict) << status.message();
    EXPECT_EQ(status.conflict_reason(), reason) << status.message();
  }

  // Searches a key from the root.
  masstree::KeyPosition find(std::string_view key) {
    return masstree::find_below(rig_.pool(), {&rig_.control()->root, nullptr}, key);
  }

  Status write(unsigned session, WriteMode mode, std::string_view key, std::string_view payload) {
    return masstree::write_whole(ctx(session), rig_.control(), mode, key, payload);
  }
  void put(unsigned session, std::string_view key, std::string_view payload) {
    const Status status = write(session, WriteMode::kPut, key, payload);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  void insert(unsigned session, std::string_view key, std::string_view payload) {
    const Status status = write(session, WriteMode::kInsert, key, payload);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  void erase(unsigned session, std::string_view key) {
    const Status status = masstree::erase(ctx(session), rig_.control(), key);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  // Returns the payload, or the name of the error.
  std::string get(unsigned session, std::string_view key) {
    char bytes[4096];
    occ::ReadRange range{bytes, sizeof(bytes), 0, 0};
    const Status status = masstree::get(ctx(session), rig_.control(), key, &range);
    return status.is_ok() ? std::string(bytes, range.payload_bytes)
                          : std::string(to_string(status.code()));
  }
  std::vector<std::string> scan(unsigned session, std::string_view low, std::string_view high,
                                bool reverse = false) {
    masstree::Cursor cursor;
    cursor.open(ctx(session), rig_.control(), low, high, reverse);
    std::vector<std::string> keys;
    for (;;) {
      const Status status = cursor.next();
      EXPECT_TRUE(status.is_ok()) << status.message();
      if (!status.is_ok() || cursor.at_end()) return keys;
      keys.emplace_back(cursor.key());
    }
  }

  // Puts keys first, first + step, ... below last, each in a transaction of `session`.
  void fill(unsigned session, unsigned first, unsigned last, unsigned step,
            std::string_view payload = "x") {
    for (unsigned i = first; i < last; i += step) {
      begin(session);
      put(session, key_of(i), payload);
      expect_commit(session);
    }
  }
  masstree::Statistics verify() { return masstree::verify_tree(rig_.pool(), rig_.control()); }
};

}  // namespace foedus::testing
