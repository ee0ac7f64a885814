#pragma once
// How many pages of each file the roots of a snapshot lead to. Counted by those who make and leave
// pages, never by a walk: a snapshot of any size takes over what it did not touch unseen.
//
//   F7  Each page is reached in one way, so of one storage. The counts of a storage change by what
//       was appended for it and by what it was made to lead to no more; those of a file are the
//       sums over all storages. So a storage that is dropped takes its counts with it.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus/status.h"

namespace foedus::snapshot {

struct Manifest;

// Of one storage, in one file.
struct LivePages {
  page::SnapshotNumber snapshot{};
  std::uint32_t soc = 0;
  std::uint32_t pages = 0;          // all that the root leads to
  std::uint32_t below_records = 0;  // of these, those that pages of records lead to
  bool operator==(const LivePages&) const = default;
};

// Whether pages of records lead to the page: parts of payloads, and next layers of Master-Trees.
// All others can be found without a look at records.
inline bool is_below_records(const page::PageHeader& page) {
  return page.kind == page::PageKind::kOverflow || page.layer != 0;
}

// Pages that one storage came to have, and has no more.
class PageLedger {
 public:
  // Each page once. `page` is the page, or of several that follow one another the first.
  void append(page::SnapshotPageId id, const page::PageHeader& page);
  void supersede(page::SnapshotPageId id, const page::PageHeader& page, std::uint32_t pages = 1);
  // Both, of parts of one composition.
  void add(const PageLedger& other);

  // Makes the counts of the snapshot before those of the next. kCorruption: more pages were
  // superseded than there were; the message goes behind the storage's name.
  Status apply_to(std::vector<LivePages>* live) const;

 private:
  struct Change {
    std::int64_t pages = 0;
    std::int64_t below_records = 0;
  };
  void change(page::SnapshotPageId id, const page::PageHeader& page, std::int64_t pages);

  std::map<std::uint64_t, Change> changes_;  // by the page id without the page: ascending as files
};

// live_pages of all files, from the counts of the storages. Files without any leave the list.
void settle_files(Manifest* manifest);

}  // namespace foedus::snapshot
