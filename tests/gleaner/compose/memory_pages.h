#pragma once
// MemoryPages, MemoryWriter: snapshot files in memory, for tests of composers. They check the
// duties of a composer: free locks, kinds and storages on pages, aligned memory, no read of a page
// of the unfinished snapshot.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/cache/page_io.h"

namespace foedus::gleaner {

// All pages of all snapshots. Appended pages can be read after finish(), by any thread while one
// thread appends.
class MemoryPages : public snapshot::PageReader {
 public:
  Status read(page::SnapshotPageId id, page::PageHeader* to) override {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(to) % page::kPageBytes, 0u);
    const std::lock_guard guard(*lock_);
    read_.insert(id.word());
    if (id == failing_) return failure(ErrorCode::kIoError, id, "cannot ever read");
    if (reads_++ == reads_before_failure_) return failure(ErrorCode::kIoError, id, "cannot read");
    const auto found = pages_.find(id.word());
    if (found == pages_.end()) return failure(ErrorCode::kCorruption, id, "no such page:");
    if (!found->second->finished) {
      ADD_FAILURE() << "a look at a page of a snapshot that is not finished";
      return failure(ErrorCode::kCorruption, id, "not finished:");
    }
    if (checksum_of(*found->second) != at(id)->crc32c) {
      return failure(ErrorCode::kCorruption, id, "wrong checksum of");
    }
    std::memcpy(static_cast<void*>(to), found->second->bytes, page::kPageBytes);
    if (reads_ - 1 == reads_before_forgery_) forge(to);
    return {};
  }

  void will_read(page::SnapshotPageId id) override {
    const std::lock_guard guard(*lock_);
    announced_.insert(id.word());
  }
  // Returns the ids of pages that were read, or announced, since the last call.
  std::set<std::uint64_t> take_read() { return std::exchange(read_, {}); }
  std::set<std::uint64_t> take_announced() { return std::exchange(announced_, {}); }

  // Returns the page, of an unfinished snapshot, too; null if there is none.
  const page::PageHeader* at(page::SnapshotPageId id) const {
    const auto found = pages_.find(id.word());
    if (found == pages_.end()) return nullptr;
    return reinterpret_cast<const page::PageHeader*>(found->second->bytes);
  }
  template <typename Page>
  const Page* as(page::SnapshotPageId id) const {
    return reinterpret_cast<const Page*>(at(id));
  }

  void finish() {
    const std::lock_guard guard(*lock_);
    for (auto& [id, block] : pages_) block->finished = true;
  }
  // Removes the file; ids of its pages lead to none then.
  void remove_file(page::SnapshotNumber snapshot, std::uint32_t soc) {
    const std::lock_guard guard(*lock_);
    std::erase_if(pages_, [&](const auto& entry) {
      const page::SnapshotPageId id(entry.first);
      return id.snapshot() == snapshot && id.soc() == soc;
    });
  }
  void corrupt(page::SnapshotPageId id, std::size_t offset) {
    pages_.at(id.word())->bytes[offset] ^= 0x40;
  }
  // Returns all pages of one snapshot and SOC, concatenated: those of equal input are equal.
  std::string file_bytes(page::SnapshotNumber snapshot, std::uint32_t soc) const {
    std::string bytes;
    for (const auto& [word, block] : pages_) {
      const page::SnapshotPageId id(word);
      if (id.snapshot() != snapshot || id.soc() != soc) continue;
      bytes.append(block->bytes, page::kPageBytes);
    }
    return bytes;
  }

  std::uint64_t page_count() const { return pages_.size(); }
  std::uint64_t reads() const { return reads_; }
  // Lets reads of this page fail until another one is named; null: none.
  void fail_reads_of(page::SnapshotPageId id) { failing_ = id; }
  void fail_read_after(std::uint64_t reads) { reads_before_failure_ = reads_ + reads; }
  // Changes a page that is read; by default into one of another storage.
  std::function<void(page::PageHeader*)> forge = [](page::PageHeader* page) {
    page->storage_id = page::StorageId{0x7777};
  };
  // Lets the read after this many return a forged page.
  void forge_read_after(std::uint64_t reads) { reads_before_forgery_ = reads_ + reads; }
  // Ends all failures and forgeries.
  void read_well() { reads_before_failure_ = reads_before_forgery_ = ~std::uint64_t{0}; }

 private:
  friend class MemoryWriter;
  struct alignas(page::kPageBytes) Block {
    char bytes[page::kPageBytes];
    bool finished = false;
  };

  static Status failure(ErrorCode code, page::SnapshotPageId id, const std::string& what) {
    return Status::error(code, what + " page " + std::to_string(id.word()));
  }
  static std::uint32_t checksum_of(const Block& block) {
    constexpr std::size_t kAt = offsetof(page::PageHeader, crc32c);
    const std::uint32_t zero = 0;
    std::uint32_t sum = base::crc32c(block.bytes, kAt);
    sum = base::crc32c(&zero, sizeof(zero), sum);
    return base::crc32c(block.bytes + kAt + 4, page::kPageBytes - kAt - 4, sum);
  }

  std::unique_ptr<std::mutex> lock_ = std::make_unique<std::mutex>();  // the pages may be moved
  std::map<std::uint64_t, std::unique_ptr<Block>> pages_;
  std::uint64_t reads_ = 0;
  std::set<std::uint64_t> read_;
  std::set<std::uint64_t> announced_;
  page::SnapshotPageId failing_;
  std::uint64_t reads_before_failure_ = ~std::uint64_t{0};
  std::uint64_t reads_before_forgery_ = ~std::uint64_t{0};
};

// One SOC's file of one snapshot. Page 0 of a file is its header: ids begin at 1.
class MemoryWriter : public snapshot::PageWriter {
 public:
  MemoryWriter(MemoryPages* pages, std::uint32_t snapshot, std::uint32_t soc = 0)
      : pages_(pages), first_(page::SnapshotNumber{snapshot}, soc, 1) {}

  page::SnapshotPageId next_id() const override { return first_.plus(count_); }

  Result<page::SnapshotPageId> append(const page::PageHeader* page) override {
    if (count_ == appends_before_failure_) {
      return Status::error(ErrorCode::kOutOfSpace, "the test's file is full");
    }
    EXPECT_EQ(page->lock.load_relaxed(), 0u);
    EXPECT_NE(page->kind, page::PageKind::kNone);
    EXPECT_NE(page->storage_id, page::StorageId{0});
    EXPECT_EQ(page->load_version().word() >> 32, 0u) << "moved, retired or dropped";
    if (also_check) also_check(*page);

    const page::SnapshotPageId id = next_id();
    auto block = std::make_unique<MemoryPages::Block>();
    std::memcpy(block->bytes, static_cast<const void*>(page), page::kPageBytes);
    auto* const copy = reinterpret_cast<page::PageHeader*>(block->bytes);
    copy->page_id = id.word();
    copy->crc32c = MemoryPages::checksum_of(*block);
    const std::lock_guard guard(*pages_->lock_);
    const bool is_new = pages_->pages_.emplace(id.word(), std::move(block)).second;
    EXPECT_TRUE(is_new) << "two writers of one file";
    ++count_;
    return id;
  }

  page::SnapshotPageId first_id() const { return first_; }
  std::uint32_t count() const { return count_; }
  void fail_append_after(std::uint32_t appends) { appends_before_failure_ = count_ + appends; }

  // A check of a page that only the test of one kind can make.
  std::function<void(const page::PageHeader&)> also_check;

 private:
  MemoryPages* pages_;
  page::SnapshotPageId first_;
  std::uint32_t count_ = 0;
  std::uint32_t appends_before_failure_ = ~std::uint32_t{0};
};

}  // namespace foedus::gleaner
