#include "foedus-core/log/log.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/log/log_directory.h"
#include "foedus-core/log/log_progress.h"
#include "foedus-core/log/logger.h"
#include "foedus-core/log/segments/records.h"

namespace foedus::log {

namespace {

constexpr std::uint64_t kSegmentBytesMin = 64u << 10;

std::string describe(const FoundLog& found) {
  if (found.is_fresh) return "log: new";
  const bool is_clean = (found.savepoint.flags & kClosedCleanly) != 0;
  return std::string("log: ") + (is_clean ? "closed cleanly" : "not closed cleanly") + ", " +
         std::to_string(found.segments.size()) + " segments, durable up to epoch " +
         std::to_string(found.cut.number());
}

Status visit_all(SegmentRecords* records, std::uint64_t incarnation, const RecordVisitor& visit) {
  for (;;) {
    std::uint32_t session = 0;
    FOEDUS_TRY(const LogRecord* const record, records->next(&session));
    if (record == nullptr) return {};
    FOEDUS_CHECK(visit(session, incarnation, *record));
  }
}

}  // namespace

Log::Log(device::Device* device, base::Runtime* runtime, const LogSettings& options, LogSink sink)
    : device_(device),
      runtime_(runtime),
      options_(options),
      sink_(std::move(sink)),
      durability_(runtime) {}

Log::~Log() { stop_loggers(); }

Result<std::unique_ptr<Log>> Log::open(device::Device* device, base::Runtime* runtime,
                                       const LogSettings& options, LogSink sink) {
  if (options.loggers == 0 || options.loggers > kMaxSocs ||
      options.segment_bytes < kSegmentBytesMin) {
    return Status::error(ErrorCode::kInvalidArgument, "log options are out of their range");
  }
  FOEDUS_TRY(FoundLog found, examine_log(device));
  std::unique_ptr<Log> log(new Log(device, runtime, options, std::move(sink)));
  if (log->sink_) log->sink_(LogLevel::kInfo, describe(found));
  log->directory_ = std::make_unique<LogDirectory>(device, std::move(found), options.segment_bytes,
                                                   options.change_bytes);
  log->progress_ = std::make_unique<LogProgress>(runtime, &log->durability_, options.loggers);
  for (std::uint32_t number = 0; number < options.loggers; ++number) {
    log->loggers_.push_back(std::make_unique<Logger>(runtime, number, options.segment_bytes,
                                                     log->directory_.get(), log->progress_.get(),
                                                     &log->durability_, &log->sink_));
    log->progress_->add_logger(log->loggers_.back().get());
  }
  return log;
}

// ---- what recovery found

Epoch Log::removed_epoch_found() const {
  return Epoch(directory_->found().savepoint.removed_epoch);
}
Epoch Log::durable_epoch_found() const { return directory_->found().cut; }
Epoch Log::first_new_epoch() const { return directory_->found().newest_seen.next(); }
bool Log::was_missing() const { return directory_->found().is_fresh; }
bool Log::was_closed_cleanly() const {
  const FoundLog& found = directory_->found();
  return found.is_fresh || (found.savepoint.flags & kClosedCleanly) != 0;
}
std::size_t Log::found_segment_count() const { return directory_->found().segments.size(); }

Status Log::read_segment(std::size_t index, const RecordVisitor& visit) const {
  FOEDUS_TRY(const auto records, open_segment(index));
  return visit_all(records.get(), directory_->found().segments.at(index).header.incarnation, visit);
}

Result<std::unique_ptr<SegmentRecords>> Log::open_segment(std::size_t index) const {
  const FoundSegment& segment = directory_->found().segments.at(index);
  FOEDUS_TRY(auto file, device::open_existing(device_, segment.name(), device::Access::kRead));
  return std::make_unique<SegmentRecords>(std::move(file), segment.header,
                                          segment.seal.valid_bytes,
                                          Epoch(segment.seal.cut_epoch));
}

LogSegment Log::found_segment(std::size_t index) const {
  const FoundSegment& segment = directory_->found().segments.at(index);
  return {segment.header.logger, segment.header.number, segment.seal.valid_bytes,
          segment.seal.cut_epoch, std::min(segment.seal.newest_epoch, segment.seal.cut_epoch)};
}

// ---- a new incarnation

Status Log::make_cut_durable() {
  if (is_cut_durable_) return {};
  FOEDUS_CHECK(directory_->seal_found());
  is_cut_durable_ = true;
  durability_.announce(durable_epoch_found());
  return {};
}

Status Log::remove_found_segments_up_to(Epoch covered) {
  FOEDUS_INVARIANT(is_cut_durable_ && !is_running_);
  return directory_->remove_found_up_to(covered);
}

void Log::set_clock(epoch::EpochClock* clock) {
  FOEDUS_INVARIANT(!is_running_ && clock_ == nullptr);
  FOEDUS_INVARIANT(clock->current() >= first_new_epoch(), clock->current().number());
  clock_ = clock;
  durability_.set_clock(clock, loggers_.size() == 1 ? loggers_[0].get() : nullptr);
  for (const auto& logger : loggers_) clock->notify_on_publish(logger.get());
}

Status Log::start(epoch::EpochClock* clock) {
  FOEDUS_INVARIANT(!is_running_);
  if (clock_ == nullptr) set_clock(clock);
  FOEDUS_INVARIANT(clock_ == clock);
  FOEDUS_CHECK(make_cut_durable());  // L10
  const std::uint64_t first_mark = clock->current().previous().number();
  FOEDUS_TRY(auto segments, directory_->begin_incarnation(options_.loggers, first_mark));
  durability_.announce(Epoch(first_mark));
  durability_.start();
  for (std::uint32_t logger = 0; logger < options_.loggers; ++logger) {
    loggers_[logger]->begin(clock, std::move(segments[logger]));
  }
  is_running_ = true;
  for (std::uint32_t logger = 0; logger < options_.loggers; ++logger) {
    runtime_->start_on(loggers_[logger].get(), processors_of(logger));
  }
  return {};
}

// Returns what the logger is bound to; empty: it runs anywhere.
std::span<const std::uint32_t> Log::processors_of(std::uint32_t logger) const {
  if (options_.topology == nullptr) return {};
  const std::uint32_t soc = logger % options_.topology->socs();
  return options_.topology->background_processors(soc, options_.numa_binding);
}

void Log::stop_loggers() {
  if (!is_running_) return;
  is_running_ = false;
  for (const auto& logger : loggers_) runtime_->stop(logger.get());
  for (const auto& logger : loggers_) logger->end();
}

Status Log::close(Epoch covered) {
  if (!is_running_) return {};
  const auto make_durable = [this] {
    return base::catching(
        [this] { return durability_.wait(clock_->current(), base::Runtime::kForever); });
  };
  Status status = make_durable();
  // The device may have space again, which no logger has tried to use yet: this waits for an
  // attempt.
  if (Logger::is_waited_out(status)) {
    runtime_->pause(2 * Logger::kTryAgainUs);
    status = make_durable();
  }
  stop_loggers();
  try {
    for (const auto& logger : loggers_) {
      if (status.is_ok()) logger->seal_all();
    }
    if (status.is_ok()) status = directory_->close_cleanly(durability_.durable(), covered);
  } catch (const std::bad_alloc& thrown) {
    status = base::out_of_memory(thrown);
  }
  durability_.fail(Status::error(ErrorCode::kClosed, "the database was closed"));
  durability_.stop();
  return status;
}

// ---- running

LogSpace* Log::space(std::uint32_t logger) { return loggers_.at(logger).get(); }
void Log::attach(std::uint32_t logger, LogBuffer* buffer) { loggers_.at(logger)->attach(buffer); }
Status Log::detach(std::uint32_t logger, LogBuffer* buffer) {
  return loggers_.at(logger)->detach(buffer);
}

Status Log::failure() const { return has_failed() ? durability_.trouble() : Status(); }

std::uint64_t Log::bytes_written() const {
  std::uint64_t sum = 0;
  for (const auto& logger : loggers_) sum += logger->bytes_written();
  return sum;
}

std::uint64_t Log::bytes_on_device() const { return directory_->bytes_on_device(); }

std::vector<LogSegment> Log::segments() const { return directory_->segments(); }

namespace {

Epoch cut_of(const LogSegment& segment, Epoch newest) {
  return std::min(newest, Epoch(segment.cut_epoch));
}

struct OpenedSegment {
  std::unique_ptr<device::File> file;
  SegmentHeader header;
};

Result<OpenedSegment> open_file(device::Device* device, const LogSegment& segment) {
  OpenedSegment opened;
  const std::string name = segment_name(segment.logger, segment.number);
  FOEDUS_TRY(opened.file, device::open_existing(device, name, device::Access::kRead));
  SegmentBlock block;
  FOEDUS_TRY(const std::size_t read, opened.file->read_at(0, block.bytes(), kBlockBytes));
  if (read != kBlockBytes || block.header_state() != SegmentBlock::State::kValid) {
    return Status::error(ErrorCode::kCorruption,
                         opened.file->path() + ": no valid header at offset 0");
  }
  opened.header = block.header();
  return opened;
}

}  // namespace

Result<std::unique_ptr<SegmentRecords>> Log::open_segment(const LogSegment& segment,
                                                          Epoch newest) const {
  FOEDUS_TRY(OpenedSegment opened, open_file(device_, segment));
  return std::make_unique<SegmentRecords>(std::move(opened.file), opened.header,
                                          segment.synced_bytes, cut_of(segment, newest));
}

Status Log::read(const LogSegment& segment, Epoch newest, const RecordVisitor& visit) const {
  FOEDUS_TRY(OpenedSegment opened, open_file(device_, segment));
  SegmentRecords records(std::move(opened.file), opened.header, segment.synced_bytes,
                         cut_of(segment, newest));
  return visit_all(&records, opened.header.incarnation, visit);
}

void Log::roll_segments() {
  for (const auto& logger : loggers_) logger->roll();
}

Status Log::remove_segments_up_to(Epoch covered) { return directory_->remove_up_to(covered); }

std::uint64_t Log::change_bytes() const { return directory_->change_bytes(); }
std::uint64_t Log::bytes_kept(Epoch covered) const { return directory_->bytes_kept(covered); }
Result<LogHold> Log::hold_after(Epoch delivered) { return directory_->hold_after(delivered); }
Result<LogHold> Log::hold_newest(Epoch durable) { return directory_->hold_newest(durable); }
void Log::move_hold(std::uint64_t hold, Epoch delivered) { directory_->move_hold(hold, delivered); }
void Log::release_hold(std::uint64_t hold) { directory_->release_hold(hold); }

}  // namespace foedus::log
