#include "tools/foedus/salvage/log_tail.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "foedus-core/log/segments/reader.h"
#include "foedus-core/log/segments/records.h"
#include "tools/foedus/salvage/found_segments.h"

namespace foedus::cli {

namespace {

// Holds how far a logger is known, after its segments so far.
struct Chain {
  std::uint64_t mark = 0;  // the newest one; up to it all is whole (J1)
  bool is_whole = true;    // no damage yet; if there is some, `mark` stays
};

class TailReader {
 public:
  TailReader(const ClosedDatabase& database, const SalvageLog& log, Epoch covered, Losses* losses)
      : database_(database), log_(log), covered_(covered), losses_(*losses) {}

  LogTail run();

 private:
  void read(const SalvageSegment& segment, Chain* chain);
  bool read_frames(const SalvageSegment& segment, std::uint64_t* end, std::uint64_t* mark);
  Status read_records(const SalvageSegment& segment, std::uint64_t end, Epoch cut, bool keeps);
  void lose(const SalvageSegment& segment, std::string_view what, const Chain& chain) {
    losses_.file(segment.name(), std::string(what) + "; records of epochs after " +
                                     std::to_string(std::max(chain.mark, covered_.number())));
  }

  const ClosedDatabase& database_;
  const SalvageLog& log_;
  const Epoch covered_;
  Losses& losses_;
  LogTail tail_;
  std::uint64_t order_ = 0;
  std::string what_;  // the reason for which read_frames() has failed
};

LogTail TailReader::run() {
  std::map<std::uint32_t, Chain> chains;
  for (std::uint32_t logger = 0; logger < log_.marking_loggers; ++logger) chains[logger];
  for (const SalvageSegment& segment : log_.segments) read(segment, &chains[segment.logger]);
  std::uint64_t whole = log_.limit.number();
  for (const auto& [logger, chain] : chains) {
    const bool bounds = !chain.is_whole || logger < log_.marking_loggers;
    if (bounds) whole = std::min(whole, chain.mark);
  }
  tail_.whole = std::max(Epoch(whole), covered_);
  return std::move(tail_);
}

void TailReader::read(const SalvageSegment& segment, Chain* chain) {
  if (!segment.is_readable) {
    chain->is_whole = false;
    return;
  }
  if (segment.seal.has_value() && Epoch(segment.seal->newest_epoch) <= covered_) {
    // The snapshot has all its records, so damage to them costs nothing.
    const std::uint64_t newest = std::max(segment.header.mark_epoch, segment.seal->mark_epoch);
    if (chain->is_whole) chain->mark = std::max(chain->mark, newest);
    return;
  }
  // The header's mark is about the segments before, one of which may be lost.
  std::uint64_t mark = segment.header.mark_epoch;
  std::uint64_t end = 0;
  const bool is_sound = read_frames(segment, &end, &mark);
  if (chain->is_whole) chain->mark = std::max(chain->mark, segment.header.mark_epoch);
  const Status records = read_records(segment, end, segment.cut, true);
  bool has_records = records.is_ok();
  // Behind a damaged frame a record may be without its end. Those up to the mark are whole (J1).
  if (!has_records && !is_sound)
    has_records = read_records(segment, end, Epoch(mark), false).is_ok();
  if (chain->is_whole && has_records) chain->mark = std::max(chain->mark, mark);
  if (!is_sound) {
    lose(segment, what_, *chain);
  } else if (!has_records) {
    lose(segment, records.message(), *chain);
  }
  chain->is_whole = chain->is_whole && segment.is_whole && is_sound && has_records;
}

// Finds the end of the frames that check out, and the newest mark in them. Returns false if the
// segment goes on after that.
bool TailReader::read_frames(const SalvageSegment& segment, std::uint64_t* end,
                             std::uint64_t* mark) {
  const auto file = database_.device->open(segment.name(), device::Access::kRead);
  if (!file.is_ok()) return what_ = file.status().message(), false;
  const Result<std::uint64_t> file_bytes = (*file)->size();
  if (!file_bytes.is_ok()) return what_ = file_bytes.status().message(), false;
  const std::uint64_t end_bytes = segment.end_bytes.value_or(*file_bytes);
  log::FrameReader frames(file->get(), segment.header, end_bytes);
  *end = frames.position();
  while (frames.position() < end_bytes) {
    log::FrameReader::Frame frame;
    const Result<bool> is_valid = frames.next(&frame);
    if (!is_valid.is_ok()) return what_ = is_valid.status().message(), false;
    if (!*is_valid) {
      what_ = "no valid frame at offset " + std::to_string(frames.position());
      return !segment.end_bytes.has_value();  // find_segments() has said so
    }
    *end = frames.position();
    *mark = std::max(*mark, frame.header.mark_epoch);
  }
  return true;
}

Status TailReader::read_records(const SalvageSegment& segment, std::uint64_t end, Epoch cut,
                                bool keeps) {
  if (end == 0) return {};
  FOEDUS_TRY(auto file, database_.device->open(segment.name(), device::Access::kRead));
  log::SegmentRecords records(std::move(file), segment.header, end, cut);
  for (;;) {
    std::uint32_t session = 0;
    FOEDUS_TRY(const log::LogRecord* const record, records.next(&session));
    if (record == nullptr) return {};
    const page::Tid tid(record->tid);
    if (!keeps || tid.epoch() <= covered_) continue;
    tail_.records[record->storage_id].push_back({record->type, record->payload_offset, tid, session,
                                                 order_++, std::string(record->key()),
                                                 std::string(record->payload())});
  }
}

}  // namespace

std::uint64_t LogTail::forget_later() {
  std::uint64_t forgotten = 0;
  for (auto& [id, of_storage] : records) {
    forgotten += std::erase_if(
        of_storage, [this](const TailRecord& record) { return record.tid.epoch() > whole; });
  }
  return forgotten;
}

Result<LogTail> read_log_tail(const ClosedDatabase& database, Epoch covered, Losses* losses) {
  FOEDUS_TRY(const SalvageLog log, find_segments(database, covered, losses));
  return TailReader(database, log, covered, losses).run();
}

}  // namespace foedus::cli
