#include "foedus-core/snapshot/page_run_reader.h"

#include <algorithm>
#include <cstring>

namespace foedus::snapshot {

// Returns the run that goes on with the page; or a new one, in place of the run that was used least
// recently.
PageRunReader::Run* PageRunReader::run_of(page::SnapshotPageId id) {
  Run* oldest = &runs_[0];
  for (Run& run : runs_) {
    const std::uint64_t gap = id.word() - run.last.word();
    if (gap >= 1 && gap <= kGapPagesMax) return &run;
    if (run.wanted < oldest->wanted) oldest = &run;
  }
  *oldest = {};
  return oldest;
}

Status PageRunReader::read(page::SnapshotPageId id, page::PageHeader* to) {
  Run& run = *run_of(id);
  page::PageBytes* const pages = &pages_[(&run - runs_) * kPagesMax];
  run.last = id;
  run.wanted = ++wanted_;
  std::uint64_t place = id.word() - run.first.word();
  if (place >= run.count) {
    const std::uint32_t count = run.next;
    run.next = std::min(2 * count, kPagesMax);
    if (count == 1) return files_->read(id, to);
    const Result<std::uint32_t> read = files_->read_run(id, pages, count);
    // The error may be that of a page after this one, so this one is read alone.
    if (!read.is_ok() || *read == 0) return files_->read(id, to);
    run.first = id;
    run.count = *read;
    place = 0;
  }
  std::memcpy(static_cast<void*>(to), &pages[place], page::kPageBytes);
  return files_->check(id, to);
}

}  // namespace foedus::snapshot
