#include "foedus-core/engine/open_streams.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage_meta/storage_meta.h"

namespace foedus::engine {

namespace {

bool names_storage(const log::LogRecord& record) {
  return record.type == log::LogRecordType::kCreateStorage ||
         record.type == log::LogRecordType::kDropStorage;
}

}  // namespace

Result<std::shared_ptr<OpenStream>> OpenStream::open(const Parts& parts,
                                                     std::optional<Epoch> after) {
  FOEDUS_TRY(auto reader, log::ChangeReader::open(parts.log, after));
  return std::shared_ptr<OpenStream>(new OpenStream(parts, std::move(reader)));
}

OpenStream::~OpenStream() {
  // In a child of fork() the log's mutex may be locked for ever.
  if (!base::check_process(opened_in_).is_ok()) (void)reader_.release();
}

void OpenStream::close() {
  if (!base::check_process(opened_in_).is_ok()) return;  // the mutex may be locked for ever
  is_closing_.store_relaxed(1);  // order: relaxed, a wish to end; the mutex orders the rest
  const std::lock_guard lock(mutex_);
  reader_.reset();
}

Result<ChangeBatch> OpenStream::next(std::uint64_t timeout_us) {
  FOEDUS_CHECK(base::check_process(opened_in_));
  // A consumer that calls in a loop must not keep close() from the mutex.
  if (is_closing_.load_relaxed() != 0) return ErrorCode::kClosed;  // order: see close()
  const std::lock_guard lock(mutex_);
  if (reader_ == nullptr) return ErrorCode::kClosed;
  return base::catching([&] { return next_locked(timeout_us); });
}

Result<ChangeBatch> OpenStream::next_locked(std::uint64_t timeout_us) {
  const std::uint64_t begun_us = parts_.runtime->now_us();
  while (!read_.has_value()) {
    // The failure is looked at first: what became durable before it is read below.
    const Status failure = parts_.log->failure();
    FOEDUS_TRY(read_, reader_->next());
    if (!read_->changes.empty()) break;
    FOEDUS_CHECK(failure);
    const std::uint64_t waited_us = parts_.runtime->now_us() - begun_us;
    if (waited_us >= timeout_us) break;
    read_.reset();
    FOEDUS_SYNC_POINT("changes:waits");
    parts_.runtime->pause(std::min(parts_.look_us, timeout_us - waited_us));
    if (is_closing_.load_relaxed() != 0) return ErrorCode::kClosed;  // order: see close()
  }
  return hand_out();
}

Result<ChangeBatch> OpenStream::hand_out() {
  changes_.clear();
  created_.clear();
  for (const log::Change& change : read_->changes) FOEDUS_CHECK(add(change));
  const ChangeBatch batch{read_->epoch, read_->position, changes_};
  read_.reset();
  return batch;
}

Status OpenStream::add(const log::Change& change) {
  const log::LogRecord& record = *change.record;
  FOEDUS_TRY(const std::string* const name, name_of(record));
  Change& added = changes_.emplace_back();
  added.kind = static_cast<ChangeKind>(record.type);
  added.transaction = change.transaction;
  added.storage_id = static_cast<std::uint32_t>(record.storage_id);
  added.storage = *name;
  if (names_storage(record)) {
    if (record.type == log::LogRecordType::kDropStorage) return {};
    FOEDUS_TRY(const storage_meta::StorageMeta meta,
               storage_meta::parse(record.storage_id, record.key(), record.payload()));
    created_.push_back(std::make_unique<StorageInfo>(
        StorageInfo{added.storage_id, meta.kind, meta.name, meta.records, meta.payload_bytes}));
    added.created = created_.back().get();
    return {};
  }
  added.payload_offset = record.payload_offset;
  added.key = record.key();
  added.payload = record.payload();
  return {};
}

Result<const std::string*> OpenStream::name_of(const log::LogRecord& record) {
  std::string& name = names_[record.storage_id];
  if (!name.empty()) return &name;
  name = names_storage(record) ? std::string(record.key())
                               : parts_.catalog->name_of(record.storage_id);
  if (name.empty() && !has_read_names_) FOEDUS_CHECK(read_names());
  if (!name.empty()) return &name;
  return Status::error(ErrorCode::kCorruption,
                       "the log has changes of storage " +
                           std::to_string(static_cast<std::uint32_t>(record.storage_id)) +
                           ", which it neither creates nor drops");
}

// Reads all creations and drops in the log. A storage that the catalog does not know any more was
// dropped before this run began, after the stream's position: so the log still has its drop, whose
// record names it.
Status OpenStream::read_names() {
  for (const log::LogSegment& segment : parts_.log->segments()) {
    const Status read =
        parts_.log->read(segment, Epoch(Epoch::kMax),
                         [&](std::uint32_t, std::uint64_t, const log::LogRecord& record) -> Status {
                           if (names_storage(record)) names_[record.storage_id] = record.key();
                           return {};
                         });
    const auto is_same = [&](const log::LogSegment& other) {
      return other.logger == segment.logger && other.number == segment.number;
    };
    // A segment that was removed meanwhile has nothing that the stream has to hand out (L32).
    if (!read.is_ok() && std::ranges::any_of(parts_.log->segments(), is_same)) return read;
  }
  has_read_names_ = true;
  return {};
}

Result<std::shared_ptr<OpenStream>> OpenStreams::open(const OpenStream::Parts& parts,
                                                      std::optional<Epoch> after) {
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
  streams_.reserve(streams_.size() + 1);
  FOEDUS_TRY(auto stream, OpenStream::open(parts, after));
  streams_.push_back(stream);
  return stream;
}

void OpenStreams::close() {
  const std::lock_guard lock(mutex_);
  for (const auto& open : streams_) {
    if (const auto stream = open.lock()) stream->close();
  }
  streams_.clear();
}

}  // namespace foedus::engine
