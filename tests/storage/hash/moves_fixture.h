#pragma once
// A hash storage whose bins a test can rebuild and merge without a new key or a newer record in
// them.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/trie.h"
#include "tests/storage/hash/cold_fixture.h"

namespace foedus::storage::hash {

// The root has four bins to begin with, one for each quarter of all hashes; those of quarters 0 and
// 1 are buddies. Session 3 moves records for the test.
class HashMovesTest : public HashColdTest {
 protected:
  // Returns the i-th key of that quarter.
  static std::string key_in(std::uint64_t quarter, unsigned i) {
    for (unsigned n = 0;; ++n) {
      const std::string key = key_of(n);
      if (hash_of(key) >> (kHashBits - 2) == quarter && i-- == 0) return key;
    }
  }
  HashBinPage* bin_of(const std::string& key) {
    return peek_bin(all_.all().pool(), all_.control(), hash_of(key));
  }
  // Lets a session grow a row, which leaves moved records behind, until its bin is full and is
  // replaced.
  void fill_bin_of(std::uint32_t session, const std::string& row) {
    const HashBinPage* const bin = bin_of(row);
    while (!bin->header.load_version().is_moved()) {
      room_ += page::kPayloadRoomBytesMin;
      ASSERT_LE(room_, page::kInlinePayloadBytesMax);
      const Status status = put(session, row, std::string(room_, 'r'));
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
  }
  // Rebuilds the bin of a row, in a transaction that is rolled back.
  void rebuild_bin_of(const std::string& row) {
    begin(3);
    fill_bin_of(3, row);
    all_.session(3).rollback();
  }
  // Rebuilds the bin of a row without a merge: session 2 locks a row of its buddy.
  void rebuild_bin_alone(const std::string& row, const std::string& row_of_buddy) {
    begin(2);
    ASSERT_TRUE(hold(2, row_of_buddy).is_ok());
    rebuild_bin_of(row);
    all_.session(2).rollback();
    ASSERT_NE(bin_of(row), bin_of(row_of_buddy));
  }
  Status hold(std::uint32_t session, const std::string& key) {
    occ::ReadRange range;
    return get_for_update(all_.session(session).ctx(), all_.control(), key, &range);
  }
  Statistics statistics() { return verify_trie(all_.all().pool(), all_.control()); }

 private:
  std::size_t room_ = 64;
};

}  // namespace foedus::storage::hash
