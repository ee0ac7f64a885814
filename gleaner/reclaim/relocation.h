#pragma once
// Relocation: the shared part of the walks of all kinds. It knows which pages of one storage are
// searched, and where they are written.
//
//   walk: page --is_wanted()--> read() --pages below are walked; their new ids are put into the
//     copy--> changed, or is_victim() --> write(): its new id, which the page above puts into its
//     own copy
//
//   G64 A page of snapshot s leads to pages of snapshots up to s only, because no later snapshot
//       existed when it was written. So a page older than all victims leads to none, and is not
//       read. Counts are exact (F7), so the walk of a storage ends with the last page that it has
//       in victims. Pages of records are read if they are victims, or if the storage has pages in
//       victims to which only records lead.
//   G65 The walk writes the live pages of victims and the pages above them. Each is written once
//       and after those below it, in the order of the walk. The same manifest and victims give the
//       same bytes.
//   G72 The children of a page are announced before the walk reads the first of them, so that a
//       device that serves many reads at a time can begin with all of them. Announcements change
//       nothing else.

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/cache/page_io.h"
#include "foedus-core/snapshot/files/live_pages.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/status.h"

namespace foedus::gleaner {

// A set of files by snapshot and SOC, never empty.
class Victims {
 public:
  explicit Victims(const std::vector<snapshot::ManifestFile>& files);
  bool contains(page::SnapshotNumber snapshot, std::uint32_t soc) const {
    return files_.contains({snapshot, soc});
  }
  page::SnapshotNumber oldest() const { return files_.begin()->first; }

 private:
  std::set<std::pair<page::SnapshotNumber, std::uint32_t>> files_;
};

class Relocation {
 public:
  // REQUIRES: all arguments outlive the relocation.
  Relocation(const snapshot::ManifestStorage& storage, const Victims& victims,
             snapshot::PageReader* reader, snapshot::PageWriter* writer);

  const snapshot::ManifestStorage& storage() const { return storage_; }
  bool is_victim(page::SnapshotPageId id) const {
    return victims_.contains(id.snapshot(), id.soc());
  }
  // Returns true if the page may be a victim or lead to one (G64); false for null.
  bool is_wanted(page::SnapshotPageId id) const {
    return pages_left_ > 0 && !id.is_null() && id.snapshot() >= victims_.oldest();
  }
  // Returns true if the walk has to follow the pointers in records.
  bool wants_records() const { return below_records_left_ > 0; }

  // Announces that the page is read soon, so that the device can begin while other pages are
  // walked. An announcement is a hint.
  void announce(page::SnapshotPageId id) { reader_->will_read(id); }
  // Reads a page of the storage. kCorruption: it is of another storage, or of neither kind.
  Status read(page::SnapshotPageId id, page::PageKind kind, page::PageKind or_kind,
              page::PageBytes* to);
  Status read(page::SnapshotPageId id, page::PageKind kind, page::PageBytes* to) {
    return read(id, kind, kind, to);
  }
  // Writes the copy of a page that was read, changed or not, in place of that page. Returns its new
  // id.
  Result<page::SnapshotPageId> write(const page::PageBytes& page);
  // Returns the id that the next write() will return.
  page::SnapshotPageId next_id() const { return writer_->next_id(); }
  // Moves a payload's chain, which lies in one file as a whole. Returns its new first page; the
  // same id if it is no victim.
  Result<page::SnapshotPageId> move_chain(page::SnapshotPageId first);

  // Returns the new counts of the storage. kCorruption: the walk found other counts.
  Result<std::vector<snapshot::LivePages>> finish() const;
  std::uint64_t pages_read() const { return pages_read_; }

  Status corrupt(page::SnapshotPageId id, const std::string& what) const;

 private:
  const snapshot::ManifestStorage& storage_;
  const Victims& victims_;
  snapshot::PageReader* const reader_;
  snapshot::PageWriter* const writer_;
  snapshot::PageAccounting accounting_;
  // Pages in victims that are not found yet. If it falls below zero, finish() reports that.
  std::int64_t pages_left_ = 0;
  std::int64_t below_records_left_ = 0;
  std::uint64_t pages_read_ = 0;
};

// The walks. Each returns the new root of the storage, or the same one if the storage has no page
// in victims. kCorruption: a page is not the one that its parent leads to. Returns errors of reader
// and writer.
Result<page::SnapshotPageId> move_array(Relocation* relocation);
Result<page::SnapshotPageId> move_hash(Relocation* relocation);
Result<page::SnapshotPageId> move_masstree(Relocation* relocation);
Result<page::SnapshotPageId> move_sequential(Relocation* relocation);

}  // namespace foedus::gleaner
