#pragma once
// ChangeReader: the durable records of a running log, an epoch at a time, in the order of epochs.
//
//   segments of logger 0 ──► pending records ─┐
//   segments of logger 1 ──► pending records ─┴─ all loggers complete up to e ──► batch of epoch e
//
//   L33 A logger is complete up to the newest mark that was read of it, because a mark ends the
//       records of its epoch (L22). Where all its synced bytes were read, it is complete up to the
//       durable epoch, which was looked at before the list of segments. An epoch is handed out
//       whole, once all loggers are complete up to it and it is durable.
//   L34 A position is the epoch of a batch, or the epoch at which the reader began, which is one of
//       an earlier batch or of LogDirectory::hold_newest(). A file on the device names each of
//       them, so the clock of the next incarnation begins above it (L10). That clock may begin
//       below an idle epoch that was durable without a trace on the device: a consumer that had
//       stored such an epoch would miss the changes that come under its number after a crash.
//       An epoch that a snapshot covers serves, too: its manifest names it.
//
// The logger that is complete up to the oldest epoch is read on first, up to its next mark. So
// memory holds the records of about one epoch, those by which other loggers are ahead, and a window
// of at most 4 MiB for each logger; it does not grow with the bytes of log that are still to be
// read.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "foedus-core/log/log.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/log/segments/records.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::log {

struct Change {
  const LogRecord* record;
  // Number of the transaction in its batch, from 0 on; changes of one transaction are neighbors.
  std::uint32_t transaction;
};

struct ChangeBatch {
  // The epoch of the changes; not valid if there are none.
  Epoch epoch;
  // Everything up to this epoch was handed out. A reader that is opened with it later, after a
  // crash, too, goes on where this one stands.
  Epoch position;
  // By TID, then by session, then in the order in which the transaction made them. So the changes
  // of one key are in the order of their commits, and appends in that of their storage.
  std::span<const Change> changes;
};

// Used by one thread. Costs nothing in the threads of transactions.
class ChangeReader {
 public:
  // Begins after epoch `after`; without one, hands out epochs after the one that is durable now.
  // Holds all segments with later records (L32). `log`: was started, and outlives the reader.
  // kNotFound: some of those changes may have been removed, because a snapshot covers them; the
  // message names the epoch. kInvalidArgument: `after` is not durable, so that it is no position in
  // this log. kNotSupported: the log keeps no changes (L35).
  static Result<std::unique_ptr<ChangeReader>> open(Log* log, std::optional<Epoch> after);
  // Ends the hold.
  ~ChangeReader();
  ChangeReader(const ChangeReader&) = delete;
  ChangeReader& operator=(const ChangeReader&) = delete;

  // Returns the changes of the oldest epoch that was not handed out, valid until the next call; or
  // no changes and the position, if no later epoch that is durable has any. Does not wait. The
  // epochs that earlier calls returned are no longer held: a consumer that may fail stores what it
  // got before it calls again. On an error nothing is lost: the next call reads again from the
  // position.
  Result<ChangeBatch> next();

 private:
  struct Source {                             // the segments of one logger
    std::uint32_t number = 0;                 // of the segment that is or was read; 0: none yet
    std::uint64_t bytes = 0;                  // of it that are to be read
    std::unique_ptr<SegmentRecords> records;  // null: go on with the segment after it
    Epoch mark;
    bool is_at_end = false;  // all that the call's list has was read
  };
  struct Item {
    std::uint64_t tid;
    std::uint32_t session;
    std::size_t word;       // where its record begins
  };
  struct Pending {  // the records of one epoch
    std::vector<std::uint64_t> words;
    std::vector<Item> items;
  };

  ChangeReader(Log* log, const LogHold& hold, Epoch skipped)
      : log_(log), hold_(hold.number), skipped_(skipped), position_(hold.delivered) {}
  Result<ChangeBatch> read_on();
  Status step(std::uint32_t logger, Source* source, const std::vector<LogSegment>& segments);
  Result<bool> find_bytes(std::uint32_t logger, Source* source,
                          const std::vector<LogSegment>& segments);
  Result<bool> open_next(std::uint32_t logger, Source* source,
                         const std::vector<LogSegment>& segments);
  bool is_listed(std::uint32_t logger, std::uint32_t number) const;
  void keep(std::uint32_t session, const LogRecord& record);
  ChangeBatch hand_out();

  Log* const log_;
  const std::uint64_t hold_;
  const Epoch skipped_;  // epochs up to it are read and not handed out
  Epoch position_;
  std::map<std::uint32_t, Source> sources_;  // by logger
  std::map<Epoch, Pending> pending_;         // epochs after position_
  Pending current_;                          // what the last batch points into
  std::vector<Change> changes_;
};

}  // namespace foedus::log
