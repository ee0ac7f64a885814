#pragma once
// Relocation: what the walks of all kinds share: which pages of one storage are looked for, and
// where they are written to.
//
//   walk: page --is_wanted()--> read() --pages below are walked; their new ids are put into the
//     copy--> changed, or is_victim() --> write(): its new id, which the page above puts into its
//     own copy
//
//   G64 A page of snapshot s leads to pages of snapshots up to s alone, for it was written when no
//       later one was there. So what is older than all victims leads to none and is not read, and
//       as counts are exact (F7), the walk of a storage ends with the last page that it has in
//       victims. Pages of records are read if they are victims, or if the storage has pages in
//       victims that only records lead to.
//   G65 Written are the live pages of victims, and the pages above them, each once and after those
//       below it, in the order of the walk: the same manifest and victims give the same bytes.
//   G72 The children of a page are announced before the walk goes on to the first of them, so that
//       a device that answers many reads at a time does so. It changes nothing else.

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/snapshot/live_pages.h"
#include "foedus-core/snapshot/manifest.h"
#include "foedus-core/snapshot/page_io.h"
#include "foedus/status.h"

namespace foedus::gleaner {

// Files by snapshot and SOC. Not empty.
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
  // All must outlive it.
  Relocation(const snapshot::ManifestStorage& storage, const Victims& victims,
             snapshot::PageReader* reader, snapshot::PageWriter* writer);

  const snapshot::ManifestStorage& storage() const { return storage_; }
  bool is_victim(page::SnapshotPageId id) const {
    return victims_.contains(id.snapshot(), id.soc());
  }
  // G64. False for null, too.
  bool is_wanted(page::SnapshotPageId id) const {
    return pages_left_ > 0 && !id.is_null() && id.snapshot() >= victims_.oldest();
  }
  // Whether to look at what the records of a page lead to.
  bool wants_records() const { return below_records_left_ > 0; }

  // Says that the page is read soon: the device begins while others are walked. A hint.
  void announce(page::SnapshotPageId id) { reader_->will_read(id); }
  // A page of the storage, of one of two kinds.
  Status read(page::SnapshotPageId id, page::PageKind kind, page::PageKind or_kind,
              page::PageBytes* to);
  Status read(page::SnapshotPageId id, page::PageKind kind, page::PageBytes* to) {
    return read(id, kind, kind, to);
  }
  // The copy of a page that was read, changed or not, takes its place.
  Result<page::SnapshotPageId> write(const page::PageBytes& page);
  // The id that the next write() gives.
  page::SnapshotPageId next_id() const { return writer_->next_id(); }
  // A payload that is a chain: all of it, as it lies in one file. The same id if that is no victim.
  Result<page::SnapshotPageId> move_chain(page::SnapshotPageId first);

  // Counts of the storage as they have become. kCorruption: they are not what the walk found.
  Result<std::vector<snapshot::LivePages>> finish() const;
  std::uint64_t pages_read() const { return pages_read_; }

  Status corrupt(page::SnapshotPageId id, const std::string& what) const;

 private:
  const snapshot::ManifestStorage& storage_;
  const Victims& victims_;
  snapshot::PageReader* const reader_;
  snapshot::PageWriter* const writer_;
  snapshot::PageLedger ledger_;
  // In victims, not found yet. Below zero: finish() finds that out.
  std::int64_t pages_left_ = 0;
  std::int64_t below_records_left_ = 0;
  std::uint64_t pages_read_ = 0;
};

// The walks. Each gives the root that the storage has afterwards; the same if it has no page in
// victims. kCorruption: a page is not the one that its parent leads to; failures of reader and
// writer.
Result<page::SnapshotPageId> move_array(Relocation* relocation);
Result<page::SnapshotPageId> move_hash(Relocation* relocation);
Result<page::SnapshotPageId> move_masstree(Relocation* relocation);
Result<page::SnapshotPageId> move_sequential(Relocation* relocation);

}  // namespace foedus::gleaner
