// Cases that the calls which are inlined into Txn leave to the general ones.
#include "foedus-core/storage/array/array_calls.h"

#include <gtest/gtest.h>

#include <array>

#include "foedus-core/storage/array/array_storage.h"
#include "tests/storage/storages.h"

namespace foedus::storage::array::calls_test {
namespace {

class ArrayCallsTest : public ::testing::Test {
 protected:
  ArrayCallsTest() {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kArray;
    meta.records = 100;
    meta.payload_bytes = 8;
    control_ = all_.make(meta);
    all_.session(0).begin();
    EXPECT_TRUE(write_at(all_.ctx(), control_, kIndex, 0, "original").is_ok());
    EXPECT_TRUE(all_.session(0).commit().is_ok());
    all_.session(0).begin();
    record_ = find_volatile(all_.pool(), control_, kIndex);
    EXPECT_NE(record_, nullptr);
  }
  ~ArrayCallsTest() override { all_.session(0).rollback(); }

  bool tries_get() {
    std::array<std::byte, 8> bytes;
    return try_get(all_.ctx(), control_, find_volatile(all_.pool(), control_, kIndex), 0, bytes);
  }
  void set_flags(std::uint64_t flags) {
    // order: relaxed, one thread.
    record_->tid.store_relaxed(record_->load_tid().without(page::Tid::kFlags).with(flags).word());
  }

  static constexpr std::uint64_t kIndex = 42;
  Storages all_{{.socs = 1}};
  occ::StorageControl* control_ = nullptr;
  page::RecordHeader* record_ = nullptr;
};

// Half of the payload may be old, and the inlined call would not wait for the rest.
TEST_F(ArrayCallsTest, a_record_that_is_being_written_is_not_read) {
  EXPECT_TRUE(tries_get());
  set_flags(page::Tid::kBeingWritten);
  EXPECT_FALSE(tries_get());
  set_flags(0);
  EXPECT_TRUE(tries_get());
}

TEST_F(ArrayCallsTest, a_record_that_lives_on_elsewhere_is_neither_read_nor_written) {
  EXPECT_EQ(find_to_write(all_.ctx(), control_, kIndex), record_);
  set_flags(page::Tid::kMoved);
  EXPECT_FALSE(tries_get());
  EXPECT_EQ(find_to_write(all_.ctx(), control_, kIndex), nullptr);
  set_flags(0);
}

TEST_F(ArrayCallsTest, a_record_that_the_transaction_wrote_is_not_read_in_its_page) {
  EXPECT_TRUE(tries_get());
  ASSERT_TRUE(add_write(all_.ctx(), control_, record_, kIndex, 0, "replaced").is_ok());
  EXPECT_FALSE(tries_get());
}

}  // namespace
}  // namespace foedus::storage::array::calls_test
