#include "foedus-core/log/change_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::log {

Result<std::unique_ptr<ChangeReader>> ChangeReader::open(Log* log, std::optional<Epoch> after) {
  const Epoch durable = log->durability().durable();
  if (!after.has_value()) {
    FOEDUS_TRY(const LogHold hold, log->hold_newest(durable));
    return std::unique_ptr<ChangeReader>(new ChangeReader(log, hold, durable));
  }
  if (*after > durable) {
    return Status::error(ErrorCode::kInvalidArgument,
                         "changes after epoch " + std::to_string(after->number()) +
                             ": this log is durable only up to epoch " +
                             std::to_string(durable.number()) +
                             "; the position is of another database");
  }
  FOEDUS_TRY(const LogHold hold, log->hold_after(*after));
  return std::unique_ptr<ChangeReader>(new ChangeReader(log, hold, Epoch()));
}

ChangeReader::~ChangeReader() { log_->release_hold(hold_); }

Result<ChangeBatch> ChangeReader::next() {
  log_->move_hold(hold_, position_);
  auto batch = base::catching([this] { return read_on(); });
  while (batch.is_ok() && batch->epoch.is_valid() && batch->epoch <= skipped_) {
    batch = base::catching([this] { return read_on(); });
  }
  if (batch.is_ok()) return batch;
  sources_.clear();
  pending_.clear();
  return batch;
}

Result<ChangeBatch> ChangeReader::read_on() {
  const Epoch durable = log_->durability().durable();
  const std::vector<LogSegment> segments = log_->segments();
  FOEDUS_SYNC_POINT("change_reader:listed");
  for (const LogSegment& segment : segments) sources_[segment.logger].is_at_end = false;
  for (;;) {
    Epoch complete = durable;
    auto least = sources_.end();
    for (auto source = sources_.begin(); source != sources_.end(); ++source) {
      if (source->second.is_at_end) continue;
      if (least == sources_.end() || source->second.mark < least->second.mark) least = source;
      complete = std::min(complete, source->second.mark);
    }
    if (!pending_.empty() && pending_.begin()->first <= complete) return hand_out();
    if (least == sources_.end()) return ChangeBatch{Epoch(), position_, {}};
    FOEDUS_CHECK(step(least->first, &least->second, segments));
  }
}

// Reads a logger on to its next mark, or to the end of what is listed.
Status ChangeReader::step(std::uint32_t logger, Source* source,
                          const std::vector<LogSegment>& segments) {
  const Epoch before = source->mark;
  while (source->mark == before) {
    FOEDUS_TRY(const bool has_bytes, find_bytes(logger, source, segments));
    if (!has_bytes) {
      source->is_at_end = true;
      return {};
    }
    std::uint32_t session = 0;
    FOEDUS_TRY(const LogRecord* const record, source->records->next(&session));
    source->mark = std::max(source->mark, source->records->mark());
    if (record == nullptr) {
      source->bytes = 0;
    } else if (page::Tid(record->tid).epoch() > position_) {
      keep(session, *record);
    }
  }
  return {};
}

// Makes records() have bytes to read; false: all that is listed was read. `bytes` of a source is 0
// where they were read to their end.
Result<bool> ChangeReader::find_bytes(std::uint32_t logger, Source* source,
                                      const std::vector<LogSegment>& segments) {
  if (source->bytes != 0) return true;
  const auto current = std::ranges::find_if(segments, [&](const LogSegment& segment) {
    return segment.logger == logger && segment.number == source->number;
  });
  // A segment that is not listed any more has nothing to hand out: L32.
  const bool has_grown =
      current != segments.end() && current->synced_bytes > source->records->valid_bytes();
  if (has_grown) {
    source->records->go_on_to(current->synced_bytes);
    source->bytes = current->synced_bytes;
    return true;
  }
  return open_next(logger, source, segments);
}

// Opens the logger's next segment that has a record to hand out. The one before stays open until
// there is one, because it may grow.
Result<bool> ChangeReader::open_next(std::uint32_t logger, Source* source,
                                     const std::vector<LogSegment>& segments) {
  for (const LogSegment& segment : segments) {
    if (segment.logger != logger || segment.number <= source->number) continue;
    if (segment.newest_epoch <= position_.number()) continue;
    auto records = log_->open_segment(segment, Epoch(Epoch::kMax));
    // A segment that was settled and removed since the list was made has nothing to hand out: L32.
    if (!records.is_ok() && !is_listed(logger, segment.number)) continue;
    FOEDUS_TRY(source->records, std::move(records));
    source->number = segment.number;
    source->bytes = segment.synced_bytes;
    const bool is_growing = segment.newest_epoch == Epoch::kMax;
    if (is_growing) source->records->go_on_to(segment.synced_bytes);
    source->mark = std::max(source->mark, source->records->mark());
    return true;
  }
  return false;
}

bool ChangeReader::is_listed(std::uint32_t logger, std::uint32_t number) const {
  return std::ranges::any_of(log_->segments(), [&](const LogSegment& segment) {
    return segment.logger == logger && segment.number == number;
  });
}

void ChangeReader::keep(std::uint32_t session, const LogRecord& record) {
  Pending& pending = pending_[page::Tid(record.tid).epoch()];
  const std::size_t word = pending.words.size();
  pending.words.resize(word + record.record_bytes / sizeof(std::uint64_t));
  std::memcpy(pending.words.data() + word, &record, record.record_bytes);
  pending.items.push_back({record.tid, session, word});
}

// Two sessions may commit with the same TID, if neither has read or written what the other one
// wrote. The session's number, which no other session of the incarnation has, tells their
// transactions apart; sequential storages order such appends by it, too (S4).
ChangeBatch ChangeReader::hand_out() {
  const auto first = pending_.begin();
  changes_.clear();
  changes_.reserve(first->second.items.size());
  // Nothing below fails: an epoch is handed out, or the next call reads it again.
  position_ = first->first;
  current_ = std::move(first->second);
  pending_.erase(first);
  const auto transaction_of = [](const Item& item) { return std::tie(item.tid, item.session); };
  // The records of a session lie in `words` in the order in which it wrote them.
  std::sort(current_.items.begin(), current_.items.end(), [](const Item& a, const Item& b) {
    return std::tie(a.tid, a.session, a.word) < std::tie(b.tid, b.session, b.word);
  });
  std::uint32_t transaction = 0;
  const Item* before = nullptr;
  for (const Item& item : current_.items) {
    if (before != nullptr && transaction_of(*before) != transaction_of(item)) ++transaction;
    before = &item;
    changes_.push_back(
        {reinterpret_cast<const LogRecord*>(current_.words.data() + item.word), transaction});
  }
  return {position_, position_, changes_};
}

}  // namespace foedus::log
