#pragma once
// How many pages of each file the roots of a snapshot lead to. The code that makes and supersedes
// pages counts them; no code walks the trees. So a glean takes over the pages that it does not
// change without a look at them, however large the snapshot is.
//
//   F7  Each page is reached in one way, so it belongs to one storage. The counts of a storage
//       change by the pages that were appended for it and by those to which it does not lead any
//       more. The count of a file is the sum over all storages. So a storage that is dropped takes
//       its counts with it.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus/status.h"

namespace foedus::snapshot {

struct Manifest;

// Live pages of one storage in one file.
struct LivePages {
  page::SnapshotNumber snapshot{};
  std::uint32_t soc = 0;
  std::uint32_t pages = 0;          // all that the root leads to
  std::uint32_t below_records = 0;  // of these, those that pages of records lead to
  bool operator==(const LivePages&) const = default;
};

// Returns true if pages of records lead to the page: parts of payloads, and next layers of
// Master-Trees. All others can be found without a look at records.
inline bool is_below_records(const page::PageHeader& page) {
  return page.kind == page::PageKind::kOverflow || page.layer != 0;
}

// Counts the pages that one storage has gained and lost.
class PageAccounting {
 public:
  // Count a page that the storage has gained, or `pages` pages that it has lost. Each page is
  // counted once. `page`: the page, or the first of several that follow one another in a file.
  void append(page::SnapshotPageId id, const page::PageHeader& page);
  void supersede(page::SnapshotPageId id, const page::PageHeader& page, std::uint32_t pages = 1);
  // Adds the counts of another part of the same composition.
  void add(const PageAccounting& other);

  // Changes the counts of the snapshot before to those of the next. kCorruption: the counts are
  // impossible, mostly because more pages were superseded than there were; the caller puts the
  // storage's name before the message.
  Status apply_to(std::vector<LivePages>* live) const;

 private:
  struct Change {
    std::int64_t pages = 0;
    std::int64_t below_records = 0;
  };
  void change(page::SnapshotPageId id, const page::PageHeader& page, std::int64_t pages);

  std::map<std::uint64_t, Change> changes_;  // by the bits of an id that name the file
};

// Sets live_pages of all files from the counts of the storages. Files without any are removed from
// the list.
void settle_files(Manifest* manifest);

}  // namespace foedus::snapshot
