// examine_log: what a directory holds, and where the incarnation that crashed is cut.
#include <algorithm>
#include <map>
#include <utility>

#include "foedus-core/log/log_directory.h"

namespace foedus::log {

namespace {

using SegmentKey = std::pair<std::uint32_t, std::uint32_t>;  // logger, number

Status corrupt(const std::string& what) { return Status::error(ErrorCode::kCorruption, what); }

Status read_block(device::Device* device, const std::string& name, SegmentBlock* block) {
  FOEDUS_TRY(const auto file, device::open_existing(device, name, device::Access::kRead));
  FOEDUS_TRY(const std::size_t read, file->read_at(0, block->bytes(), kBlockBytes));
  if (read < kBlockBytes) return corrupt(file->path() + " ends at offset " + std::to_string(read));
  switch (block->header_state()) {
    case SegmentBlock::State::kValid: break;
    case SegmentBlock::State::kWrongVersion:
      return Status::error(ErrorCode::kWrongVersion,
                           file->path() + " has format version " +
                               std::to_string(block->header().version) + ", this program knows " +
                               std::to_string(kLogFormatVersion));
    default: return corrupt(file->path() + ": no valid header at offset 0");
  }
  if (block->seal_state() == SegmentBlock::State::kDamaged) {
    return corrupt(file->path() + ": no valid seal at offset " + std::to_string(kSlotBytes));
  }
  return {};
}

// Returns kCorruption if a segment with a higher number than the savepoint counts holds a frame:
// then the savepoint is wrong (L14). Otherwise the file may be removed.
Status check_leftover(device::Device* device, const std::string& name) {
  FOEDUS_TRY(const auto file, device::open_existing(device, name, device::Access::kRead));
  SegmentBlock block;
  FOEDUS_TRY(const std::size_t read, file->read_at(0, block.bytes(), kBlockBytes));
  if (read < kBlockBytes || block.header_state() != SegmentBlock::State::kValid) return {};
  FOEDUS_TRY(const std::uint64_t file_bytes, file->size());
  FrameReader reader(file.get(), block.header(), file_bytes);
  FrameReader::Frame frame;
  FOEDUS_TRY(const bool has_frame, reader.next(&frame));
  if (!has_frame) return {};
  return corrupt(file->path() + " holds data at offset 4096, but " + std::string(kSavepointName) +
                 " does not count it");
}

// Compares the files that exist with those that the savepoint counts.
Status match_names(device::Device* device, FoundLog* log, std::vector<SegmentKey>* counted) {
  FOEDUS_TRY(const auto names, device->list());
  std::map<SegmentKey, std::string> files;
  for (const std::string& name : names) {
    const auto parsed = parse_segment_name(name);
    if (parsed) files.emplace(SegmentKey{parsed->logger, parsed->number}, name);
  }
  for (std::uint32_t logger = 0; logger < kMaxSocs; ++logger) {
    const SavepointLogger& known = log->savepoint.loggers[logger];
    for (std::uint32_t number = known.oldest; number <= known.newest; ++number) {
      if (files.erase({logger, number}) == 0) {
        return corrupt(device->path() + "/" + segment_name(logger, number) + " is missing");
      }
      counted->push_back({logger, number});
    }
  }
  for (const auto& [key, name] : files) {
    const auto [logger, number] = key;
    const bool is_old = logger < kMaxSocs && number < log->savepoint.loggers[logger].oldest;
    if (!is_old) FOEDUS_CHECK(check_leftover(device, name));
    log->orphaned_files.push_back(name);
  }
  return {};
}

Status read_headers(device::Device* device, FoundLog* log,
                    const std::vector<SegmentKey>& counted) {
  for (const auto& [logger, number] : counted) {
    SegmentBlock block;
    FOEDUS_CHECK(read_block(device, segment_name(logger, number), &block));
    const std::string path = device->path() + "/" + segment_name(logger, number);
    FoundSegment segment{};
    segment.header = block.header();
    segment.is_sealed = block.seal_state() == SegmentBlock::State::kValid;
    if (segment.is_sealed) segment.seal = block.seal();
    if (segment.header.logger != logger || segment.header.number != number) {
      return corrupt(path + " is another segment by its header at offset 0");
    }
    const bool is_last_incarnation = segment.header.incarnation == log->savepoint.incarnation;
    const bool must_be_sealed =
        !is_last_incarnation || (log->savepoint.flags & kClosedCleanly) != 0;
    if (must_be_sealed && !segment.is_sealed) {
      return corrupt(path + ": the seal at offset " + std::to_string(kSlotBytes) + " is missing");
    }
    if (segment.header.incarnation > log->savepoint.incarnation) {
      return corrupt(path + " is newer than " + std::string(kSavepointName));
    }
    log->segments.push_back(segment);
  }
  return {};
}

Status scan_unsealed(device::Device* device, FoundLog* log) {
  for (std::size_t i = 0; i < log->segments.size(); ++i) {
    FoundSegment& segment = log->segments[i];
    if (segment.is_sealed) continue;
    const SavepointLogger& known = log->savepoint.loggers[segment.header.logger];
    const bool has_anchor = known.anchor_segment == segment.header.number;
    std::uint64_t exact_bytes = 0;
    if (segment.header.number != known.newest) {
      exact_bytes = log->segments[i + 1].header.previous_valid_bytes;
      if (exact_bytes < kBlockBytes) {
        return corrupt(device->path() + "/" + segment.name() + " has no valid successor");
      }
    }
    FOEDUS_TRY(const auto file,
               device::open_existing(device, segment.name(), device::Access::kRead));
    FOEDUS_TRY(segment.tail, scan_tail(*file, segment.header,
                                       has_anchor ? known.anchor_bytes : 0, exact_bytes));
    segment.seal.flags = kSealedByRecovery;
    segment.seal.valid_bytes = segment.tail.valid_bytes;
    segment.seal.mark_epoch = segment.tail.mark_epoch;
    segment.seal.oldest_epoch = segment.tail.oldest_epoch;
    segment.seal.newest_epoch = segment.tail.newest_epoch;
    log->newest_seen = std::max(log->newest_seen, Epoch(segment.tail.newest_epoch_behind));
  }
  return {};
}

// Computes the cut: after a clean close, the durable epoch of the savepoint. Otherwise it is the
// least of the newest marks of the loggers of the last incarnation (L9).
Status find_cut(device::Device* device, FoundLog* log) {
  const Savepoint& savepoint = log->savepoint;
  std::uint64_t marks[kMaxSocs] = {};
  std::uint64_t sealed_cut = 0;
  for (const FoundSegment& segment : log->segments) {
    // Marks of earlier incarnations change no maximum: each logger of the last incarnation has a
    // segment, whose header has a mark that is not below any of them (L10).
    std::uint64_t& mark = marks[segment.header.logger];
    mark = std::max(mark, segment.seal.mark_epoch);
    if (segment.is_sealed) sealed_cut = std::max(sealed_cut, segment.seal.cut_epoch);
    for (const std::uint64_t seen : {segment.seal.mark_epoch, segment.seal.newest_epoch}) {
      log->newest_seen = std::max(log->newest_seen, Epoch(seen));
    }
  }
  std::uint64_t cut = savepoint.durable_epoch;
  if ((savepoint.flags & kClosedCleanly) == 0 && savepoint.logger_count != 0) {
    cut = *std::min_element(marks, marks + savepoint.logger_count);
    if (cut < std::max(savepoint.durable_epoch, sealed_cut)) {
      return corrupt(device->path() + ": the marks in the segments end at epoch " +
                     std::to_string(cut) + ", but epoch " +
                     std::to_string(std::max(savepoint.durable_epoch, sealed_cut)) +
                     " was durable");
    }
  }
  for (FoundSegment& segment : log->segments) {
    if (!segment.is_sealed) segment.seal.cut_epoch = cut;
  }
  log->cut = Epoch(cut);
  log->newest_seen = std::max(log->newest_seen, Epoch(cut));
  return {};
}

}  // namespace

Result<FoundLog> examine_log(device::Device* device) {
  FoundLog log;
  auto savepoint = read_savepoint(device);
  if (!savepoint.is_ok()) {
    if (savepoint.code() != ErrorCode::kNotFound && savepoint.code() != ErrorCode::kCorruption) {
      return savepoint.status();
    }
    // Without a segment nothing was ever logged here (L14): the first start did not get far.
    FOEDUS_TRY(const auto names, device->list());
    for (const std::string& name : names) {
      if (!parse_segment_name(name)) continue;
      if (savepoint.code() == ErrorCode::kCorruption) return savepoint.status();
      return corrupt(device->path() + "/" + std::string(kSavepointName) + " is missing, but " +
                     name + " exists");
    }
    log.savepoint = empty_savepoint();
    return log;
  }
  log.is_fresh = false;
  log.savepoint = *savepoint;
  if (log.savepoint.logger_count > kMaxSocs) {
    return corrupt(device->path() + "/" + std::string(kSavepointName) + " counts " +
                   std::to_string(log.savepoint.logger_count) + " loggers");
  }
  std::vector<SegmentKey> counted;
  FOEDUS_CHECK(match_names(device, &log, &counted));
  FOEDUS_CHECK(read_headers(device, &log, counted));
  FOEDUS_CHECK(scan_unsealed(device, &log));
  FOEDUS_CHECK(find_cut(device, &log));
  if (log.newest_seen > Epoch(Epoch::kMax)) {
    return corrupt(device->path() + ": the log has an epoch " +
                   std::to_string(log.newest_seen.number()) + ", which is impossible");
  }
  return log;
}

}  // namespace foedus::log
