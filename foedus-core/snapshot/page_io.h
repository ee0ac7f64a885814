#pragma once
// PageWriter, PageReader: how composers give away the pages of the snapshot that they make, and
// look at those of the one before. The files behind them are those of snapshot_writer.h and
// snapshot_reader.h; tests put memory there.

#include <cstdint>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus/status.h"

namespace foedus::snapshot {

// Appends to one SOC's file of the snapshot in the making. One thread.
class PageWriter {
 public:
  virtual ~PageWriter() = default;

  // The id that the next append() gives; null if the file has all its pages.
  virtual page::SnapshotPageId next_id() const = 0;
  // Copies the page of kPageBytes at `page`, with the id and checksum of its place; all else in it
  // is the caller's, its lock words must be 0. kTooLarge: the file has all the pages that an id can
  // name. kOutOfSpace, kIoError. After an error the file is of no use any more.
  virtual Result<page::SnapshotPageId> append(const page::PageHeader* page) = 0;
};

// Reads pages of finished snapshots. Any thread.
class PageReader {
 public:
  virtual ~PageReader() = default;

  // The page, checked; as long as `to`, room for kPageBytes at a multiple of 4096, holds it.
  // kCorruption: the checksum or the id is wrong, or there is no such page. kIoError.
  virtual Status read(page::SnapshotPageId id, page::PageHeader* to) = 0;

  // The same for `count` pages that stand one behind the other in a file, each to a place of its
  // own, with as few calls of the device as there can be. Returns how many of the first ones were
  // read; if not all were, *status says why. REQUIRES: their ids name pages of one file, at least
  // one.
  virtual std::uint32_t read_pages(page::SnapshotPageId first, page::PageHeader* const* to,
                                   std::uint32_t count, Status* status) {
    for (std::uint32_t i = 0; i < count; ++i) {
      *status = read(first.plus(i), to[i]);
      if (!status->is_ok()) return i;
    }
    return count;
  }

  // Says that the page is read soon (File::will_read()); errors show when it is.
  virtual void will_read(page::SnapshotPageId id) { static_cast<void>(id); }
};

}  // namespace foedus::snapshot
