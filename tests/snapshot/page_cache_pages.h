#pragma once
// Pages whose contents follow from their id, and a reader that makes them, fails on them, or does
// something else in the middle of a read.

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/snapshot/page_io.h"

namespace foedus::snapshot {

inline constexpr std::size_t kPageWords = page::kPageBytes / 8;

inline std::uint64_t word_of_page(page::SnapshotPageId id, std::size_t i) {
  return (id.word() + i) * 0x2545f4914f6cdd1du;
}

// True if every word behind the header and the id are those of this page.
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
    std::memset(bytes, 0xee, page::kPageBytes);  // who still looks at the frame sees it at once
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

  std::uint32_t read_pages(page::SnapshotPageId first, page::PageHeader* const* to,
                           std::uint32_t count, Status* status) override {
    batches.fetch_add_relaxed(1);
    return PageReader::read_pages(first, to, count, status);
  }

  // One thread.
  void will_read(page::SnapshotPageId id) override { announced.push_back(id); }

  std::vector<page::SnapshotPageId> announced;  // by will_read()
  base::AtomicWord<std::uint64_t> reads;
  base::AtomicWord<std::uint64_t> batches;  // calls of read_pages()
  std::uint64_t id_error = 0;
  std::function<Status(page::SnapshotPageId)> before_read;
};

inline page::SnapshotPageId page_of(std::uint32_t page, std::uint32_t snapshot = 1,
                                    std::uint32_t soc = 0) {
  return page::SnapshotPageId(page::SnapshotNumber{snapshot}, soc, page);
}

}  // namespace foedus::snapshot
