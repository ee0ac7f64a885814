#pragma once
// Commits of one thread over a Master-Tree, and functions that inspect records, locks and sessions.

#include <string_view>

#include "foedus-core/txn/commit.h"
#include "tests/storage/masstree/fixture.h"

namespace foedus::testing {

class CommitStepsTest : public MasstreeTest {
 protected:
  page::RecordHeader* record_of(std::string_view key) { return find(key).record(); }
  page::Tid tid_of(std::string_view key) { return record_of(key)->load_tid(); }
  bool is_locked(std::string_view key) { return record_of(key)->lock.load_relaxed() != 0; }
  char first_byte_of(std::string_view key) {
    const masstree::KeyPosition position = find(key);
    return *position.at.page->payload(position.slot);
  }
  std::uint64_t in_commit(std::uint32_t session) {
    return rig_.clock().slot(session).in_commit.load_relaxed();
  }
  Epoch now() { return rig_.clock().current(); }

  void commit_put(unsigned session, std::string_view key, std::string_view payload = "old") {
    begin(session);
    put(session, key, payload);
    expect_commit(session);
  }
  void commit_erase(unsigned session, std::string_view key) {
    begin(session);
    erase(session, key);
    expect_commit(session);
  }
  void hold(unsigned session, std::string_view key) {
    occ::ReadRange range;
    const Status status = masstree::get_for_update(ctx(session), rig_.control(), key, &range);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
};

}  // namespace foedus::testing
