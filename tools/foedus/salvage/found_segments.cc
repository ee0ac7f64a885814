#include "tools/foedus/salvage/found_segments.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/reader.h"

namespace foedus::cli {

namespace {

using log::SegmentBlock;

// The log is as the engine itself would read it.
SalvageLog segments_of(const log::FoundLog& found) {
  SalvageLog log;
  log.limit = found.cut;
  for (const log::FoundSegment& segment : found.segments) {
    log.segments.push_back({segment.header.logger, segment.header.number, true, true,
                            segment.header, segment.seal.valid_bytes, Epoch(segment.seal.cut_epoch),
                            segment.seal});
  }
  return log;
}

// The log of which the engine refuses a part. The savepoint may be missing, or be an older one of
// its slots: it is believed only where the segments agree with it.
class SegmentSearch {
 public:
  SegmentSearch(const ClosedDatabase& database, Losses* losses)
      : database_(database), losses_(*losses) {}

  Result<SalvageLog> run(Epoch covered);

 private:
  Status read_names();
  Status add(std::uint32_t logger, std::uint32_t number);
  Status read_block(SalvageSegment* segment);
  void take_seal(const SegmentBlock& block, SalvageSegment* segment);
  void find_ends();
  bool is_clean() const { return (savepoint_.flags & log::kClosedCleanly) != 0; }
  void lose(SalvageSegment* segment, std::string_view what) {
    segment->is_readable = segment->is_whole = false;
    losses_.file(segment->name(), what);
  }

  const ClosedDatabase& database_;
  Losses& losses_;
  SalvageLog log_;
  bool has_savepoint_ = false;
  log::Savepoint savepoint_ = log::empty_savepoint();
  std::map<std::uint32_t, std::set<std::uint32_t>> numbers_;  // of the files, by logger
};

Status SegmentSearch::read_names() {
  FOEDUS_TRY(const std::vector<std::string> names, database_.device->list());
  for (const std::string& name : names) {
    const auto parsed = log::parse_segment_name(name);
    if (parsed.has_value() && parsed->logger < kMaxSocs) {
      numbers_[parsed->logger].insert(parsed->number);
    }
  }
  return {};
}

Result<SalvageLog> SegmentSearch::run(Epoch covered) {
  const Result<log::Savepoint> savepoint = log::read_savepoint(database_.device.get());
  if (savepoint.code() == ErrorCode::kWrongVersion) return savepoint.status();
  has_savepoint_ = savepoint.is_ok() && savepoint->logger_count <= kMaxSocs;
  if (has_savepoint_) savepoint_ = *savepoint;
  FOEDUS_CHECK(read_names());
  for (std::uint32_t logger = 0; logger < kMaxSocs; ++logger) {
    const log::SavepointLogger& known = savepoint_.loggers[logger];
    // Files below the oldest one are orphaned: a snapshot has their records.
    std::set<std::uint32_t> numbers = numbers_[logger];
    if (has_savepoint_) {
      numbers.erase(numbers.begin(), numbers.lower_bound(known.oldest));
      const std::uint32_t first_file = numbers.empty() ? known.newest + 1 : *numbers.begin();
      // A single number stands for all that are missing before the first file.
      if (known.oldest < first_file && known.oldest <= known.newest) numbers.insert(known.oldest);
      if (known.oldest <= known.newest) numbers.insert(known.newest);
    }
    std::uint32_t next = numbers.empty() ? 0 : *numbers.begin();
    for (const std::uint32_t number : numbers) {
      if (number != next) FOEDUS_CHECK(add(logger, next));  // a gap
      FOEDUS_CHECK(add(logger, number));
      next = number + 1;
    }
  }
  find_ends();
  if (!has_savepoint_) {
    losses_.file(log::kSavepointName, "it cannot be read, so the log may have more than is found");
    log_.limit = covered;  // J3
  } else if (is_clean()) {
    log_.limit = Epoch(savepoint_.durable_epoch);
  } else {
    log_.marking_loggers = savepoint_.logger_count;
  }
  return std::move(log_);
}

Status SegmentSearch::add(std::uint32_t logger, std::uint32_t number) {
  SalvageSegment segment;
  segment.logger = logger;
  segment.number = number;
  FOEDUS_CHECK(read_block(&segment));
  log_.segments.push_back(segment);
  return {};
}

Status SegmentSearch::read_block(SalvageSegment* segment) {
  const auto file = database_.device->open(segment->name(), device::Access::kRead);
  if (!file.is_ok()) {
    const bool is_missing = file.code() == ErrorCode::kNotFound;
    return lose(segment, is_missing ? "it is missing" : file.status().message()), Status();
  }
  SegmentBlock block;
  const Result<std::size_t> read = (*file)->read_at(0, block.bytes(), log::kBlockBytes);
  if (!read.is_ok()) return lose(segment, read.status().message()), Status();
  if (*read < log::kBlockBytes) return lose(segment, "it ends in its header"), Status();
  if (block.header_state() == SegmentBlock::State::kWrongVersion) {
    return Status::error(ErrorCode::kWrongVersion, segment->name() + " has format version " +
                                                       std::to_string(block.header().version) +
                                                       ", this program knows " +
                                                       std::to_string(log::kLogFormatVersion));
  }
  if (block.header_state() != SegmentBlock::State::kValid) {
    return lose(segment, "its header at offset 0 does not check out"), Status();
  }
  segment->header = block.header();
  if (segment->header.logger != segment->logger || segment->header.number != segment->number) {
    return lose(segment, "it is another segment by its header"), Status();
  }
  if (has_savepoint_ && segment->header.incarnation > savepoint_.incarnation) {
    return lose(segment, "it is newer than the savepoint"), Status();  // J3
  }
  segment->is_readable = true;
  take_seal(block, segment);
  return {};
}

void SegmentSearch::take_seal(const SegmentBlock& block, SalvageSegment* segment) {
  if (block.seal_state() == SegmentBlock::State::kValid) {
    segment->end_bytes = block.seal().valid_bytes;
    segment->cut = Epoch(block.seal().cut_epoch);
    segment->seal = block.seal();
    return;
  }
  const bool is_last = segment->header.incarnation == savepoint_.incarnation;
  const bool is_damaged = block.seal_state() == SegmentBlock::State::kDamaged;
  if (!is_last) return lose(segment, "its seal does not check out");  // J5
  if (is_clean()) segment->cut = Epoch(savepoint_.durable_epoch);
  if (!is_damaged && !is_clean()) return;
  segment->is_whole = false;
  losses_.file(segment->name(), "its seal does not check out, so frames may be missing at its end");
}

// A segment without a seal ends where its successor says: the bytes after that were written again
// there. The end of the newest one of a logger is found as recovery does (log L17).
void SegmentSearch::find_ends() {
  for (std::size_t i = 0; i < log_.segments.size(); ++i) {
    SalvageSegment& segment = log_.segments[i];
    if (!segment.is_readable || segment.end_bytes.has_value()) continue;
    const SalvageSegment* const next =
        i + 1 < log_.segments.size() ? &log_.segments[i + 1] : nullptr;
    const bool has_successor = next != nullptr && next->logger == segment.logger;
    if (has_successor) {
      const bool says_end = next->is_readable && next->number == segment.number + 1 &&
                            next->header.incarnation == segment.header.incarnation &&
                            next->header.previous_valid_bytes >= log::kBlockBytes;
      if (says_end) segment.end_bytes = next->header.previous_valid_bytes;
      segment.is_whole = segment.is_whole && says_end;
      continue;
    }
    const log::SavepointLogger& known = savepoint_.loggers[segment.logger];
    const std::uint64_t anchor = known.anchor_segment == segment.number ? known.anchor_bytes : 0;
    const auto file = database_.device->open(segment.name(), device::Access::kRead);
    if (!file.is_ok()) {
      lose(&segment, file.status().message());
      continue;
    }
    const auto tail = log::scan_tail(**file, segment.header, anchor, 0);
    if (tail.is_ok()) {
      segment.end_bytes = tail->valid_bytes;
    } else {
      segment.is_whole = false;
      losses_.file(segment.name(), tail.status().message());
    }
  }
}

// Returns true if a segment that the savepoint does not count was written to: then a newer
// savepoint is lost (log L14). The engine looks for a frame that checks out. That is not enough if
// the frame is damaged, too.
bool is_written_to(device::Device* device, const std::string& name) {
  const auto file = device->open(name, device::Access::kRead);
  SegmentBlock block;
  const Result<std::size_t> read =
      file.is_ok() ? (*file)->read_at(log::kBlockBytes, block.bytes(), log::kBlockBytes)
                   : Result<std::size_t>(file.status());
  return !read.is_ok() ||
         std::any_of(block.bytes(), block.bytes() + *read, [](char byte) { return byte != 0; });
}

// Returns true if the slot for the savepoint after `newest` has bytes that are no savepoint. A
// crash has torn it, or it is damaged; then segments that it has counted may be missing without a
// trace.
bool has_unreadable_successor(device::Device* device, const log::Savepoint& newest) {
  const auto file = device->open(log::kSavepointName, device::Access::kRead);
  if (!file.is_ok()) return true;
  SegmentBlock slot;  // of the same size
  const std::uint64_t at = (newest.sequence + 1) % log::kSavepointSlots * log::kBlockBytes;
  const Result<std::size_t> read = (*file)->read_at(at, slot.bytes(), log::kBlockBytes);
  if (!read.is_ok()) return true;
  log::Savepoint found;
  std::memcpy(&found, slot.bytes(), sizeof(found));
  const bool is_empty = std::all_of(slot.bytes(), slot.bytes() + log::kBlockBytes,
                                    [](char byte) { return byte == 0; });
  std::memset(slot.bytes() + offsetof(log::Savepoint, crc), 0, sizeof(found.crc));
  return !is_empty && base::crc32c(slot.bytes(), log::kBlockBytes) != found.crc;
}

// Returns the name of a segment that a lost savepoint has counted, or an empty string.
std::string find_uncounted(device::Device* device, const log::FoundLog& found) {
  for (const std::string& name : found.orphaned_files) {
    const auto parsed = log::parse_segment_name(name);
    const bool is_newer = parsed.has_value() && parsed->logger < kMaxSocs &&
                          parsed->number > found.savepoint.loggers[parsed->logger].newest;
    if (is_newer && is_written_to(device, name)) return name;
  }
  return {};
}

}  // namespace

Result<SalvageLog> find_segments(const ClosedDatabase& database, Epoch covered, Losses* losses) {
  const Result<log::FoundLog> found = database.log();
  if (found.code() == ErrorCode::kWrongVersion) return found.status();
  SalvageLog log;
  std::string lost_epochs;
  const std::string uncounted =
      found.is_ok() ? find_uncounted(database.device.get(), *found) : std::string();
  if (found.is_ok() && uncounted.empty()) {
    log = segments_of(*found);
    if (!found->is_fresh && has_unreadable_successor(database.device.get(), found->savepoint)) {
      losses->file(log::kSavepointName,
                   "the slot after the newest savepoint does not check out: a crash tore it, or "
                   "what it counted is lost");
    }
    lost_epochs = database.problem_of(*found, covered);
  } else {
    losses->file("the log", found.is_ok() ? uncounted +
                                                " has bytes of frames, and the savepoint "
                                                "does not count it"
                                          : found.status().message());
    FOEDUS_TRY(log, SegmentSearch(database, losses).run(covered));
    const Result<log::Savepoint> savepoint = log::read_savepoint(database.device.get());
    log::FoundLog about;
    about.is_fresh = false;
    if (savepoint.is_ok()) about.savepoint = *savepoint;
    lost_epochs = database.problem_of(about, covered);
  }
  if (!lost_epochs.empty()) {
    losses->file("the log", lost_epochs);
    log.limit = covered;  // J3
  }
  return log;
}

}  // namespace foedus::cli
