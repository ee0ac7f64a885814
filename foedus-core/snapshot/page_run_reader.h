#pragma once
// PageRunReader: reads pages of finished snapshots for one thread that mostly wants them in the
// order of their files. A composer does so that rewrites pages of the glean before. One system call
// then reads several pages. The call, and the system's search for a page in its page cache, cost
// half as much as the copy of the page.
//
//   F8  A run begins when a page is wanted that stands a little after another one that was wanted.
//       Its first read has two pages; each next one has twice as many, up to a limit. Several runs
//       go on at the same time, because neighbouring pages of a tree stand in the files of several
//       gleans, and interior pages stand after the border pages that they lead to. Pages are
//       checked when they are wanted, not when they are read. So an unwanted page costs its copy
//       alone, and damage of a page is an error only of the read that wants it.

#include <cstdint>
#include <memory>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/snapshot/snapshot_reader.h"

namespace foedus::snapshot {

// One thread at a time. The files outlive it; those that it reads are not closed meanwhile.
class PageRunReader final : public PageReader {
 public:
  static constexpr std::uint32_t kPagesMax = 16;  // of one read

  explicit PageRunReader(SnapshotFiles* files)
      : files_(files), pages_(new page::PageBytes[kRuns * kPagesMax]) {}

  Status read(page::SnapshotPageId id, page::PageHeader* to) override;
  void will_read(page::SnapshotPageId id) override { files_->will_read(id); }
  std::unique_ptr<PageReads> make_reads() override { return files_->make_reads(); }

 private:
  static constexpr std::uint32_t kRuns = 4;
  // A run goes on with a page that stands up to this many pages after the one wanted last.
  static constexpr std::uint64_t kGapPagesMax = 4;

  struct Run {
    page::SnapshotPageId first;  // first page of the last read
    std::uint32_t count = 0;     // pages that the last read brought
    std::uint32_t next = 1;      // pages of the next read
    page::SnapshotPageId last;   // the page that was wanted last
    std::uint64_t wanted = 0;    // wanted_ at that time
  };
  Run* run_of(page::SnapshotPageId id);

  SnapshotFiles* const files_;
  const std::unique_ptr<page::PageBytes[]> pages_;  // kPagesMax for each run
  Run runs_[kRuns];
  std::uint64_t wanted_ = 0;
};

}  // namespace foedus::snapshot
