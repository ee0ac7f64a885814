#pragma once
// Reads the snapshot pages of a sequential storage from the oldest run to the newest (S5 of
// sequential_snapshot_page.h). The caller provides the pages.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"
#include "foedus/status.h"

namespace foedus::storage::sequential {

[[gnu::cold]] inline Status not_that_page(page::SnapshotPageId id) {
  return Status::error(ErrorCode::kCorruption,
                       "snapshot page " + std::to_string(id.word()) +
                           " is not the page of a sequential storage that others name");
}

// Returns the runs pages of a storage, the oldest first; none if the root is null. `read` returns a
// page as a Result<const SequentialRunsPage*>, valid until its next call. kCorruption; the errors
// of `read`.
template <typename Read>
Result<std::vector<page::SnapshotPageId>> runs_pages_of(page::SnapshotPageId root,
                                                        page::StorageId storage, Read&& read) {
  std::vector<page::SnapshotPageId> ids;
  std::uint64_t number = 0;  // of the current page; falls by one from page to page, so this ends
  for (page::SnapshotPageId id = root; !id.is_null();) {
    FOEDUS_TRY(const SequentialRunsPage* const page, read(id));
    if (!page->is_of(storage)) return not_that_page(id);
    if (ids.empty()) {
      number = page->header.kind_word;
      // A snapshot adds at most one run to a storage, so no page can have a higher number.
      if (number > page::SnapshotPageId::kSnapshotMax / SequentialRunsPage::kRuns) {
        return not_that_page(id);
      }
      ids.resize(number + 1);
    } else if (page->header.kind_word != --number || !page->is_full()) {
      return not_that_page(id);
    }
    ids[number] = id;
    id = page->full_page;
  }
  return ids;
}

// Iterates: for (const SequentialSnapshotRecord& record : records_of(*page)). REQUIRES:
// has_whole_records().
class SnapshotRecords {
 public:
  class Iterator {
   public:
    Iterator(const SequentialSnapshotPage* page, std::uint32_t offset)
        : page_(page), offset_(offset) {}
    const SequentialSnapshotRecord& operator*() const { return *page_->record_at(offset_); }
    Iterator& operator++() {
      offset_ += SequentialSnapshotRecord::size_of(page_->record_at(offset_)->payload_bytes);
      return *this;
    }
    bool operator==(const Iterator& other) const { return offset_ == other.offset_; }

   private:
    const SequentialSnapshotPage* page_;
    std::uint32_t offset_;
  };

  explicit SnapshotRecords(const SequentialSnapshotPage* page) : page_(page) {}
  Iterator begin() const { return {page_, 0}; }
  Iterator end() const { return {page_, page_->data_end}; }

 private:
  const SequentialSnapshotPage* page_;
};
inline SnapshotRecords records_of(const SequentialSnapshotPage& page) {
  return SnapshotRecords(&page);
}

// Returns whether record_count records fill exactly the bytes up to data_end. If so, their lengths
// may be trusted.
inline bool has_whole_records(const SequentialSnapshotPage& page) {
  if (page.data_end > SequentialSnapshotPage::kDataBytes) return false;
  std::uint32_t count = 0;
  for (std::uint32_t offset = 0; offset != page.data_end; ++count) {
    if (page.data_end - offset < sizeof(SequentialSnapshotRecord)) return false;
    const std::uint32_t payload_bytes = page.record_at(offset)->payload_bytes;
    if (payload_bytes > kMaxSequentialPayloadBytes) return false;
    const std::uint32_t bytes = SequentialSnapshotRecord::size_of(payload_bytes);
    if (bytes > page.data_end - offset) return false;
    offset += bytes;
  }
  return count == page.record_count;
}

}  // namespace foedus::storage::sequential
