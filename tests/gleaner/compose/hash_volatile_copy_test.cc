// Goal: the storage's own code can use composed pages. Method: all pages of a snapshot are copied
// to a page pool, with ids of volatile pages instead of snapshot ones; then transactions read all
// keys and write others.

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "foedus-core/storage/hash/bin.h"
#include "foedus-core/storage/hash/storage.h"
#include "tests/gleaner/compose/hash_gleans.h"
#include "tests/storage/storages.h"

namespace foedus::gleaner::hash_volatile_copy_test {
namespace {

using storage::hash::HashBinPage;
using storage::hash::HashInteriorPage;
using storage::hash::HashSlot;

class VolatileCopy {
 public:
  explicit VolatileCopy(const storage_meta::StorageMeta& meta) : control_(all_.make(meta)) {
    const page::VolatilePageId root = control_->root.load_volatile();
    all_.session(0).pages().release(all_.pool().resolve(root));
    control_->volatile_pages.store_relaxed(0);
    while (all_.clock().current() < Epoch(100)) all_.pass_epochs();
  }

  void install(MemoryPages* pages, page::SnapshotPageId root) {
    pages_ = pages;
    control_->root.store({copy(root), page::SnapshotPageId()});
    storage::hash::verify_trie(all_.pool(), control_);
  }
  std::string get(const std::string& key) {
    all_.session(0).begin();
    const storage::WholeRead read = storage::read_whole([&](occ::ReadRange* range) {
      return storage::hash::get(all_.ctx(), control_, key, range);
    });
    EXPECT_TRUE(all_.session(0).commit().is_ok());
    return read.status.is_ok() ? read.payload : "none";
  }
  void put(const std::string& key, const std::string& payload) {
    all_.session(0).begin();
    EXPECT_TRUE(
        storage::hash::write_whole(all_.ctx(), control_, storage::WriteMode::kPut, key, payload)
            .is_ok());
    EXPECT_TRUE(all_.session(0).commit().is_ok());
  }
  storage::hash::Statistics statistics() {
    return storage::hash::verify_trie(all_.pool(), control_);
  }

 private:
  page::VolatilePageId copy(page::SnapshotPageId id) {
    page::PageHeader* const to = all_.session(0).pages().allocate();
    EXPECT_NE(to, nullptr);
    std::memcpy(static_cast<void*>(to), static_cast<const void*>(pages_->at(id)),
                page::kPageBytes);
    to->page_id = all_.pool().id_of(to).word();
    control_->volatile_pages.fetch_add_relaxed(1);
    if (to->kind == page::PageKind::kHashInterior) {
      for (auto& pointer : reinterpret_cast<HashInteriorPage*>(to)->pointers) {
        const page::SnapshotPageId child = pointer.load().snapshot_page;
        if (!child.is_null()) pointer.store({copy(child), {}});
      }
    } else if (to->kind == page::PageKind::kHashBin) {
      copy_bin(reinterpret_cast<HashBinPage*>(to));
    } else {
      auto* const part = reinterpret_cast<page::OverflowPage*>(to);
      const page::SnapshotPageId next(part->next_page);
      if (!next.is_null()) part->next_page = copy(next).word();
    }
    return to->volatile_id();
  }
  void copy_bin(HashBinPage* bin) {
    if (head_ == 0) head_ = bin->header.page_id;
    bin->head = head_;
    const page::SnapshotPageId next(bin->next_page.load_relaxed());
    if (!next.is_null()) bin->next_page.store_relaxed(copy(next).word());
    head_ = 0;
    for (std::uint32_t place = 0; place < bin->load_count(); ++place) {
      const HashSlot slot = bin->slot(place);
      if (slot.length() != page::kSnapshotOverflowLength) continue;
      char* const body = storage::hash::payload_of(bin->record(slot), slot);
      std::uint64_t id;
      std::memcpy(&id, body, sizeof(id));
      id = copy(page::SnapshotPageId(id)).word();
      std::memcpy(body, &id, sizeof(id));
      bin->slot_word(place).store_relaxed(slot.with_length(page::kOverflowLength).word());
    }
  }

  storage::Storages all_;
  occ::StorageControl* const control_;
  MemoryPages* pages_ = nullptr;
  std::uint64_t head_ = 0;  // of the chain that is being copied
};

HashGleans gleans_for_copies(std::uint32_t fan_out_bits) {
  HashGleans gleans(fan_out_bits);
  gleans.meta_.id = page::StorageId{1};  // the id of the first storage of Storages
  return gleans;
}

void expect_equal(HashGleans* gleans, VolatileCopy* copy) {
  for (const auto& [key, record] : gleans->model_) EXPECT_EQ(copy->get(key), record.payload) << key;
  EXPECT_EQ(copy->get("no such key"), "none");
  EXPECT_EQ(copy->statistics().records, gleans->model_.size());
}

TEST(HashVolatileCopyTest, transactions_read_what_was_composed) {
  for (const std::uint32_t bits : {1u, 5u, 7u, 12u}) {
    HashGleans gleans = gleans_for_copies(bits);
    for (int i = 0; i < 8'000; ++i) gleans.put(key_number(i), "payload" + std::to_string(i));
    for (int i = 0; i < 300; ++i) gleans.put(equal_hash_key(i), "payload" + std::to_string(i));
    gleans.put("large", std::string(20'000, 'l'));
    gleans.put("empty", "");
    ASSERT_TRUE(gleans.glean().is_ok());
    for (int i = 0; i < 8'000; i += 2) gleans.erase(key_number(i));
    ASSERT_TRUE(gleans.glean({0, 9, 70}).is_ok());
    VolatileCopy copy(gleans.meta_);
    copy.install(&gleans.pages_, gleans.root_);
    expect_equal(&gleans, &copy);
  }
}

// Goal: first touches, spreads and merges go on from composed pages. Method: 7 and 14 bits, where
// a null pointer owns one digit as it does in the storage's own pages.
TEST(HashVolatileCopyTest, transactions_go_on_where_a_glean_ended) {
  for (const std::uint32_t bits : {7u, 14u}) {
    HashGleans gleans = gleans_for_copies(bits);
    for (int i = 0; i < 3'000; ++i) gleans.put(key_number(i), "payload");
    ASSERT_TRUE(gleans.glean().is_ok());
    for (int i = 0; i < 3'000; ++i) {  // keys of every fourth pair of the root's digits
      const std::string key = key_number(i);
      if ((storage::hash::hash_of(key) >> 58) % 4 == 0) gleans.erase(key);
    }
    ASSERT_TRUE(gleans.glean().is_ok());
    VolatileCopy copy(gleans.meta_);
    copy.install(&gleans.pages_, gleans.root_);
    for (int i = 0; i < 9'000; i += 3) {
      gleans.put(key_number(i), "newer" + std::to_string(i));
      copy.put(key_number(i), "newer" + std::to_string(i));
    }
    expect_equal(&gleans, &copy);
  }
}

// Goal: an empty storage's root equals the one that create() makes, for all options.
TEST(HashVolatileCopyTest, an_empty_root_is_the_one_of_a_new_storage) {
  for (std::uint32_t bits = 1; bits <= storage::hash::kFanOutBitsMax; ++bits) {
    HashGleans gleans = gleans_for_copies(bits);
    ASSERT_TRUE(gleans.glean().is_ok());
    storage::Storages all;
    const occ::StorageControl* const control = all.make(gleans.meta_);
    const auto* const made = reinterpret_cast<const HashInteriorPage*>(
        all.pool().resolve(control->root.load_volatile()));
    const auto* const composed = gleans.pages_.as<HashInteriorPage>(gleans.root_);
    EXPECT_EQ(made->header.level, composed->header.level) << bits;
    EXPECT_EQ(made->header.flags, composed->header.flags) << bits;
    constexpr std::size_t kSame = sizeof(page::PageHeader);
    const auto* const left = reinterpret_cast<const char*>(made) + kSame;
    const auto* const right = reinterpret_cast<const char*>(composed) + kSame;
    EXPECT_EQ(std::memcmp(left, right, page::kPageBytes - kSame), 0) << bits;
  }
}

}  // namespace
}  // namespace foedus::gleaner::hash_volatile_copy_test
