#pragma once
// Pages whose contents follow from their id, and a reader that makes them, fails on them, or runs
// an action within a read.

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/snapshot/cache/page_io.h"

namespace foedus::snapshot {

inline constexpr std::size_t kPageWords = page::kPageBytes / 8;

inline std::uint64_t word_of_page(page::SnapshotPageId id, std::size_t i) {
  return (id.word() + i) * 0x2545f4914f6cdd1du;
}

// Returns whether the id and every word after the header are those of this page.
inline bool is_page(const page::PageHeader* page, page::SnapshotPageId id) {
  if (page->page_id != id.word()) return false;
  const char* const bytes = reinterpret_cast<const char*>(page);
  for (std::size_t i = sizeof(page::PageHeader) / 8; i < kPageWords; ++i) {
    std::uint64_t word;
    std::memcpy(&word, bytes + i * 8, 8);
    if (word != word_of_page(id, i)) return false;
  }
  return true;
}

class MadePages : public PageReader {
 public:
  Status read(page::SnapshotPageId id, page::PageHeader* to) override {
    reads.fetch_add_relaxed(1);
    char* const bytes = reinterpret_cast<char*>(to);
    std::memset(bytes, 0xee, page::kPageBytes);  // a late reader notices it
    if (before_read) {
      Status status = before_read(id);
      if (!status.is_ok()) return status;
    }
    for (std::size_t i = sizeof(page::PageHeader) / 8; i < kPageWords; ++i) {
      const std::uint64_t word = word_of_page(id, i);
      std::memcpy(bytes + i * 8, &word, 8);
    }
    to->page_id = id.word() + id_error;
    return {};
  }

  // Returns reads that are made when they are waited for, or by the destructor.
  std::unique_ptr<PageReads> make_reads() override { return std::make_unique<Deferred>(this); }

  // Pages that the reads of make_reads() have sent; used by one thread only.
  std::vector<std::vector<page::SnapshotPageId>> sent;  // pages of each read
  bool keeps_sent = true;
  bool refuses = false;
  base::AtomicWord<std::uint64_t> reads;
  std::uint64_t id_error = 0;
  std::function<Status(page::SnapshotPageId)> before_read;

 private:
  class Deferred final : public PageReads {
   public:
    explicit Deferred(MadePages* pages) : pages_(pages) {}
    ~Deferred() override {
      std::uint32_t ignored = 0;
      while (next(true, &ignored, &ignored)) {
      }
    }
    bool add(page::SnapshotPageId first, page::PageHeader* const* to, std::uint32_t count,
             std::uint32_t tag) override {
      if (pages_->refuses || waiting_.size() + added_.size() == kReadsMax) return false;
      added_.push_back({first, {to, to + count}, tag});
      return true;
    }
    void send() override {
      for (Read& read : added_) {
        std::vector<page::SnapshotPageId> ids;
        for (std::uint32_t i = 0; i < read.to.size(); ++i) ids.push_back(read.first.plus(i));
        if (pages_->keeps_sent) pages_->sent.push_back(std::move(ids));
        waiting_.push_back(std::move(read));
      }
      added_.clear();
    }
    bool next(bool waits, std::uint32_t* tag, std::uint32_t* good) override {
      if (waits) send();
      if (waiting_.empty() || !waits) return false;
      const Read read = std::move(waiting_.front());
      waiting_.pop_front();
      *tag = read.tag;
      *good = 0;
      for (std::uint32_t i = 0; i < read.to.size(); ++i) {
        const bool is_good = pages_->read(read.first.plus(i), read.to[i]).is_ok();
        *good |= static_cast<std::uint32_t>(is_good) << i;
      }
      return true;
    }

   private:
    struct Read {
      page::SnapshotPageId first;
      std::vector<page::PageHeader*> to;
      std::uint32_t tag;
    };
    MadePages* const pages_;
    std::vector<Read> added_;
    std::deque<Read> waiting_;
  };
};

inline page::SnapshotPageId page_of(std::uint32_t page, std::uint32_t snapshot = 1,
                                    std::uint32_t soc = 0) {
  return page::SnapshotPageId(page::SnapshotNumber{snapshot}, soc, page);
}

}  // namespace foedus::snapshot
