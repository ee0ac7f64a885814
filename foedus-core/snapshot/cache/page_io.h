#pragma once
// PageWriter, PageReader: how composers write the pages of the snapshot that they make, and how
// they and the page cache read those of finished snapshots. snapshot_writer.h and snapshot_reader.h
// implement them for files; tests implement them in memory.

#include <cstdint>
#include <memory>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_lines.h"
#include "foedus/status.h"

namespace foedus::snapshot {

// Appends to one SOC's file of the snapshot in the making. One thread.
class PageWriter {
 public:
  virtual ~PageWriter() = default;

  // Returns the id that the next append() gives; null if the file has all its pages.
  virtual page::SnapshotPageId next_id() const = 0;
  // Copies the page of kPageBytes at `page`, and sets id and checksum in the copy. The caller sets
  // everything else in the page; its lock words must be 0. kTooLarge: the file has all the pages
  // that an id can name. kOutOfSpace, kIoError. After an error the file is of no use any more.
  virtual Result<page::SnapshotPageId> append(const page::PageHeader* page) = 0;
};

// Pages of finished snapshots that one thread has in flight.
class PageReads {
 public:
  static constexpr std::uint32_t kReadsMax = 64;  // in flight
  static constexpr std::uint32_t kPagesMax = 32;  // of one read

  // Waits for what is in flight.
  virtual ~PageReads() = default;
  // Reads pages that follow one another in a file, each to a place of its own. No other code
  // touches these places until next() has given `tag`: a number below kReadsMax that no read in
  // flight has. Waits for no page, and throws nothing. False: they are not read.
  virtual bool add(page::SnapshotPageId first, page::PageHeader* const* to, std::uint32_t count,
                   std::uint32_t tag) = 0;
  // Makes the device begin with what was added.
  virtual void send() = 0;
  // Gives a read that has ended. If there is none, returns false, or with `waits` waits for the
  // next, if one was added at all. `good`: a bit for each page that passed all checks of
  // PageReader::read(). A read() of a page without its bit returns what is wrong.
  virtual bool next(bool waits, std::uint32_t* tag, std::uint32_t* good) = 0;
};

// Reads pages of finished snapshots. Any thread.
class PageReader {
 public:
  virtual ~PageReader() = default;

  // Reads and checks a page. `to` has space for kPageBytes, at a multiple of 4096. kCorruption: the
  // checksum or the id is wrong, or there is no such page. kIoError.
  virtual Status read(page::SnapshotPageId id, page::PageHeader* to) = 0;

  // Reads lines of the page to their places in the page at `to`. Checks the id if line 0 is one of
  // them, and nothing else. kCorruption, kIoError. kNotSupported: the reader reads whole pages.
  virtual Status read_lines(page::SnapshotPageId id, page::LineMask lines, char* to) {
    static_cast<void>(id);
    static_cast<void>(lines);
    static_cast<void>(to);
    return Status(ErrorCode::kNotSupported);
  }

  // Returns true if read_lines() takes less time than read(): the page lies on memory.
  virtual bool has_lines(page::SnapshotPageId id) {
    static_cast<void>(id);
    return true;
  }

  // Announces that the page is read soon (File::will_read()); errors show when it is.
  virtual void will_read(page::SnapshotPageId id) { static_cast<void>(id); }

  // Makes reads for one thread at a time; they must be destroyed before the reader. Null: there are
  // none.
  virtual std::unique_ptr<PageReads> make_reads() { return nullptr; }
};

}  // namespace foedus::snapshot
