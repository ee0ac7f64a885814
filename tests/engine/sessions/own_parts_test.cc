// ctest-labels: concurrency
// A transaction that wrote a part of a record reads it, and meanwhile the record moves: other
// sessions make it larger or split its page, or a glean drops the page. The transaction sees its
// own write.
#include <functional>

#include "foedus-core/base/system/sync_point.h"
#include "tests/testing/test_database.h"

namespace foedus::own_parts_test {
namespace {

using testing::must;
using testing::TestDatabase;

constexpr std::uint64_t kRows = 60;

// An action that this thread runs once, at its next read of a record with own writes.
class AtOwnRead {
 public:
  explicit AtOwnRead(std::function<void()> action) {
    action_ = std::move(action);
    base::set_sync_point_hook([](const char* place) {
      if (!action_ || std::string_view(place) != "occ:read_own") return;
      std::exchange(action_, nullptr)();
    });
  }
  ~AtOwnRead() {
    base::set_sync_point_hook(nullptr);
    EXPECT_FALSE(action_) << "never reached";
    action_ = nullptr;
  }

 private:
  static inline thread_local std::function<void()> action_;
};

class OwnPartsTest : public ::testing::Test {
 protected:
  OwnPartsTest()
      : tree_(must(db_->open_masstree("tree"))),
        hash_(must(db_->open_hash("hash"))),
        array_(must(db_->open_array("array", kRows, 16))),
        first_(must(db_->new_session())),
        second_(must(db_->new_session())) {
    must(db_->transact([&](Txn& txn) -> Status {
      for (std::uint64_t i = 0; i < kRows; ++i) {
        FOEDUS_CHECK(txn.put(tree_, key(i), before()));
        FOEDUS_CHECK(txn.put(hash_, key(i), before()));
        FOEDUS_CHECK(txn.put(array_, i, before()));
      }
      return {};
    }));
  }
  static std::string before() { return std::string(16, '.'); }
  static std::string after() { return "....own........."; }
  static std::string other(std::uint64_t i) {
    return i % 2 == 0 ? std::string(700, 'o') : std::string(8, 'o');
  }

  std::string read(Txn& txn, const KeyedStorage& storage) {
    return must(txn.get(storage, key(kMine)));
  }
  std::string read(Txn& txn, const Array& storage) {
    std::string row(16, 0);
    must(txn.get(storage, kMine, std::as_writable_bytes(std::span(row))));
    return row;
  }
  Status write_part(Txn& txn, const KeyedStorage& storage) {
    return txn.write_at(storage, key(kMine), 4, "own");
  }
  Status write_part(Txn& txn, const Array& storage) {
    return txn.write_at(storage, kMine, 4, "own");
  }

  template <typename Storage>
  void expect_own_part(const Storage& storage, const std::function<void()>& meanwhile) {
    Txn txn = must(first_.begin());
    must(write_part(txn, storage));
    {
      const AtOwnRead read_own(meanwhile);
      EXPECT_EQ(read(txn, storage), after());
    }
    EXPECT_EQ(read(txn, storage), after());
    const Result<Ticket> ticket = txn.commit();
    if (!ticket.is_ok()) {
      ASSERT_EQ(ticket.code(), ErrorCode::kConflict) << ticket.status().message();
      return;
    }
    must(db_->transact([&](Txn& look) -> Status {
      EXPECT_EQ(read(look, storage), after());
      return {};
    }));
  }
  // Lets the second session write to all other rows and insert new ones.
  void change_others(const KeyedStorage& storage) {
    for (std::uint64_t i = 0; i < 10 * kRows; ++i) {
      if (i == kMine) continue;
      Txn txn = must(second_.begin());
      must(txn.put(storage, key(i), other(i)));
      must(txn.commit());
    }
  }

  static constexpr std::uint64_t kMine = 17;
  TestDatabase db_;
  Masstree tree_;
  Hash hash_;
  Array array_;
  Session first_;
  Session second_;
};

TEST_F(OwnPartsTest, in_a_master_tree_whose_pages_split) {
  expect_own_part(tree_, [&] { change_others(tree_); });
}
TEST_F(OwnPartsTest, in_a_hash_whose_bins_split) {
  expect_own_part(hash_, [&] { change_others(hash_); });
}

// The pages are dropped without waiting for the transaction, which finds its record in a snapshot
// page.
TEST_F(OwnPartsTest, in_a_master_tree_that_is_dropped_for_its_snapshot) {
  expect_own_part(tree_, [&] { must(db_->glean()); });
}
TEST_F(OwnPartsTest, in_a_hash_that_is_dropped_for_its_snapshot) {
  expect_own_part(hash_, [&] { must(db_->glean()); });
}
TEST_F(OwnPartsTest, in_an_array_that_is_dropped_for_its_snapshot) {
  expect_own_part(array_, [&] { must(db_->glean()); });
}

// The record becomes larger in its bin by another session's commit, under the own write.
TEST_F(OwnPartsTest, in_a_hash_whose_record_grows) {
  expect_own_part(hash_, [&] {
    Txn txn = must(second_.begin());
    must(txn.put(hash_, key(kMine), std::string(600, 'o')));
    txn.rollback();  // the space stays
  });
}

}  // namespace
}  // namespace foedus::own_parts_test
