#include "tools/foedus/verify/log.h"

#include <algorithm>
#include <map>
#include <string>

#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/log/segments/reader.h"
#include "foedus-core/log/segments/records.h"
#include "foedus-core/page/tid.h"

namespace foedus::cli {

namespace {

// Epochs of a segment, from its header and frames.
struct Epochs {
  std::uint64_t oldest = 0;  // 0: there is no record
  std::uint64_t newest = 0;
  std::uint64_t mark = 0;
};

std::string at(std::uint64_t offset) { return " at offset " + std::to_string(offset); }

class SegmentCheck {
 public:
  SegmentCheck(const ClosedDatabase& database, const log::FoundSegment& segment, Findings* findings,
               LogVerified* verified)
      : database_(database), segment_(segment), findings_(*findings), verified_(*verified) {}

  // Checks frames first: records are read only if all frames are sound.
  void run() {
    if (!check_frames()) return;
    check_seal();
    const Status status = check_records();
    if (!status.is_ok()) problem(status.message());
  }

 private:
  void problem(std::string what) { findings_.problem(segment_.name(), std::move(what)); }
  bool check_frames();
  void check_frame(const log::FrameHeader& frame);
  void check_seal();
  Status check_records();
  void check_record(const log::LogRecord& record, std::uint32_t session, std::uint64_t last_tid);

  const ClosedDatabase& database_;
  const log::FoundSegment& segment_;
  Findings& findings_;
  LogVerified& verified_;
  Epochs epochs_;
};

// FrameReader checks checksums, offsets and the chain of checksums (L12).
bool SegmentCheck::check_frames() {
  const auto file = database_.device->open(segment_.name(), device::Access::kRead);
  if (!file.is_ok()) return problem(file.status().message()), false;
  epochs_.mark = segment_.header.mark_epoch;
  log::FrameReader frames(file->get(), segment_.header, segment_.seal.valid_bytes);
  while (frames.position() < segment_.seal.valid_bytes) {
    const std::uint64_t offset = frames.position();
    log::FrameReader::Frame frame;
    const Result<bool> is_valid = frames.next(&frame);
    if (!is_valid.is_ok()) return problem(is_valid.status().message()), false;
    if (!*is_valid) return problem("no valid frame" + at(offset)), false;
    check_frame(frame.header);
    verified_.frames += 1;
    verified_.bytes += frame.header.frame_bytes;
  }
  return true;
}

void SegmentCheck::check_frame(const log::FrameHeader& frame) {
  const bool has_records = frame.newest_epoch != 0;
  const bool is_range =
      frame.oldest_epoch <= frame.newest_epoch && (frame.oldest_epoch != 0) == has_records;
  if (!is_range) problem("a frame of an impossible range of epochs" + at(frame.offset));
  if (frame.synced_bytes > frame.offset) {
    problem("a frame that was synced before it was written" + at(frame.offset));
  }
  // A mark says that all commits up to its epoch are in this frame or in earlier ones.
  if (frame.mark_epoch != 0 && frame.mark_epoch < epochs_.mark) {
    problem("a frame whose mark is below the one before it" + at(frame.offset));
  }
  epochs_.mark = std::max(epochs_.mark, frame.mark_epoch);
  epochs_.newest = std::max(epochs_.newest, frame.newest_epoch);
  if (has_records && (epochs_.oldest == 0 || frame.oldest_epoch < epochs_.oldest)) {
    epochs_.oldest = frame.oldest_epoch;
  }
}

void SegmentCheck::check_seal() {
  if (!segment_.is_sealed) return;
  const log::SegmentSeal& seal = segment_.seal;
  if (seal.oldest_epoch != epochs_.oldest || seal.newest_epoch != epochs_.newest) {
    problem("its seal says that it has epochs " + std::to_string(seal.oldest_epoch) + " to " +
            std::to_string(seal.newest_epoch) + ", its frames have " +
            std::to_string(epochs_.oldest) + " to " + std::to_string(epochs_.newest));
  }
  if (seal.mark_epoch > epochs_.mark) {
    problem("its seal has mark " + std::to_string(seal.mark_epoch) + ", its frames end with " +
            std::to_string(epochs_.mark));
  }
}

Status SegmentCheck::check_records() {
  FOEDUS_TRY(const auto records, database_.records(segment_));
  std::map<std::uint32_t, std::uint64_t> last_tids;  // by session
  for (;;) {
    std::uint32_t session = 0;
    FOEDUS_TRY(const log::LogRecord* const record, records->next(&session));
    if (record == nullptr) return {};
    std::uint64_t& last_tid = last_tids[session];
    check_record(*record, session, last_tid);
    last_tid = record->tid;
    verified_.records += 1;
  }
}

void SegmentCheck::check_record(const log::LogRecord& record, std::uint32_t session,
                                std::uint64_t last_tid) {
  const page::Tid tid(record.tid);
  const std::string which = "record " + std::to_string(tid.epoch().number()) + "/" +
                            std::to_string(tid.ordinal()) + " of session " +
                            std::to_string(session);
  const std::uint64_t epoch = tid.epoch().number();
  if (epoch < epochs_.oldest || epoch > epochs_.newest) {
    problem(which + " is of an epoch that its frame does not name");
  }
  if ((tid.word() & page::Tid::kFlags) != 0) problem(which + " has TID flags");
  if (record.tid < last_tid) problem(which + " stands behind one of a later TID");
  const bool is_known =
      record.type >= log::LogRecordType::kPut && record.type <= log::LogRecordType::kDropStorage;
  if (!is_known) {
    problem(which + " is of type " + std::to_string(static_cast<unsigned>(record.type)) +
            ", which there is not");
  }
}

}  // namespace

Result<LogVerified> verify_log(const ClosedDatabase& database, Findings* findings) {
  LogVerified verified;
  Result<log::FoundLog> found = database.log();
  if (!found.is_ok()) {
    if (found.code() == ErrorCode::kWrongVersion) return found.status();
    findings->problem({}, "the log cannot be read: " + found.status().message());
    return verified;
  }
  for (const std::string& name : found->orphaned_files) {
    findings->warning(name, "the savepoint does not count it");
  }
  verified.segments = found->segments.size();
  verified.durable_epoch = found->cut.number();
  verified.was_closed_cleanly =
      found->is_fresh || (found->savepoint.flags & log::kClosedCleanly) != 0;
  for (const log::FoundSegment& segment : found->segments) {
    SegmentCheck(database, segment, findings, &verified).run();
  }
  verified.found = std::move(found).value();
  return verified;
}

}  // namespace foedus::cli
