#include "gleaner/compose/hash/merge.h"

#include <cstring>
#include <utility>

#include "foedus-core/base/increment.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus/options.h"
#include "gleaner/compose/base/payload_chain.h"

namespace foedus::gleaner {

using log::LogRecordType;
using page::Tid;
using storage::hash::HashBinPage;
using storage::hash::HashSlot;

// ---- HashLogCursor ------------------------------------------------------------------------------

Status HashLogCursor::advance() {
  current_ = stream_->next();
  if (current_ == nullptr) return stream_->status();
  FOEDUS_INVARIANT(range_.contains(current_->position), current_->position, range_.begin);
  FOEDUS_INVARIANT(current_->position >= position_, current_->position, position_);  // G2
  position_ = current_->position;
  return {};
}

// ---- OldHashBin ---------------------------------------------------------------------------------

Status OldHashBin::start() {
  FOEDUS_CHECK(check_page());
  return look();
}

Status OldHashBin::check_page() {
  const HashBinPage* const page = block_->as<HashBinPage>();
  if (page->header.kind != page::PageKind::kHashBin || page->header.flags != prefix_.bits ||
      page->prefix != prefix_.value) {
    return corrupt_page(composition_, id_, "not the bin that its parent leads to");
  }
  if (page->load_count() > HashBinPage::kRecordsMax) {
    return corrupt_page(composition_, id_, "more records than a page can have");
  }
  // A divided bin is read for each of its parts, so only the part in which it begins supersedes it
  // (G63).
  if (range_.contains(prefix_.value)) composition_.supersede(page->header);
  return {};
}

Status OldHashBin::next_page() {
  const HashBinPage* const page = block_->as<HashBinPage>();
  const std::uint64_t head = page->head;
  // order: relaxed, the page is this reader's copy.
  const page::SnapshotPageId next(page->next_page.load_relaxed());
  is_at_end_ = next.is_null();
  if (is_at_end_) return {};
  id_ = next;
  place_ = 0;
  FOEDUS_CHECK(read_hash_page(composition_, id_, block_.get()));
  FOEDUS_CHECK(check_page());
  if (page->head != head || page->load_count() == 0) {
    return corrupt_page(composition_, id_, "not the page that the one before leads to");
  }
  return {};
}

// Moves to the first record of the range from place_ on.
Status OldHashBin::look() {
  for (;; ++place_) {
    auto* const page = block_->as<HashBinPage>();
    if (place_ >= page->load_count()) {
      FOEDUS_CHECK(next_page());
      if (is_at_end_) return {};
    }
    const HashSlot slot = page->slot(place_);
    const std::uint32_t length = slot.length();
    const bool is_chain = length == page::kSnapshotOverflowLength;
    const std::uint32_t bytes = storage::hash::record_bytes_of(slot.key_bytes(), slot.room());
    if (slot.offset() < HashBinPage::kDataOffset || slot.offset() % 8 != 0 ||
        slot.key_bytes() > kMaxKeyBytes || slot.offset() + bytes > page->data_end ||
        page->data_end > page::kPageBytes || slot.room() < page::kPayloadRoomBytesMin ||
        (!is_chain && length > slot.room())) {
      return corrupt_page(composition_, id_, "a record beyond its bounds");
    }
    const page::RecordHeader* const record = page->record(slot);
    const std::string_view key(storage::hash::key_of(record), slot.key_bytes());
    const std::uint64_t hash = storage::hash::hash_of(key);
    if (!prefix_.range().contains(hash) || (record->load_tid().word() & Tid::kFlags) != 0) {
      return corrupt_page(composition_, id_, "a record that does not belong there");
    }
    const bool is_behind = is_first_ || hash > hash_ || (hash == hash_ && key > key_);
    if (!is_behind) return corrupt_page(composition_, id_, "records that are not in order");
    is_first_ = false;
    hash_ = hash;
    key_ = key;
    if (range_.contains(hash)) return {};
  }
}

HashRecord OldHashBin::record() const {
  FOEDUS_INVARIANT(!is_at_end_, id_.word());
  auto* const page = block_->as<HashBinPage>();
  const HashSlot slot = page->slot(place_);
  page::RecordHeader* const record = page->record(slot);
  const bool is_chain = slot.length() == page::kSnapshotOverflowLength;
  const std::uint32_t bytes = is_chain ? page::kPayloadRoomBytesMin : slot.length();
  return {.hash = hash_,
          .tid = record->load_tid(),
          .key = key_,
          .body = std::string(payload_of(record, slot), bytes),
          .length = slot.length()};
}

Status OldHashBin::advance() {
  FOEDUS_INVARIANT(!is_at_end_, id_.word());
  ++place_;
  return look();
}

// ---- HashMerge ----------------------------------------------------------------------------------

Result<bool> HashMerge::fits(const PositionRange& range) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0;; ++i) {
    if (i == ahead_.size() && !is_at_end_) FOEDUS_CHECK(look_ahead());
    if (i == ahead_.size() || ahead_[i].hash > range.last) return true;
    FOEDUS_INVARIANT(ahead_[i].hash >= range.begin, ahead_[i].hash, range.begin);
    bytes += ahead_[i].space();
    if (!HashBin::fits(bytes, i + 1)) return false;
  }
}

Result<HashBin> HashMerge::take(const PositionRange& range) {
  HashBin bin;
  for (;;) {
    if (ahead_.empty() && !is_at_end_) FOEDUS_CHECK(look_ahead());
    if (ahead_.empty() || ahead_.front().hash > range.last) return bin;
    bin.add(std::move(ahead_.front()));
    ahead_.pop_front();
  }
}

// Appends one record to ahead_, or sets is_at_end_.
Status HashMerge::look_ahead() {
  const std::size_t before = ahead_.size();
  while (ahead_.size() == before) {
    const bool has_old = old_ != nullptr && !old_->is_at_end();
    const bool has_log = log_.is_in(range_);
    is_at_end_ = !has_old && !has_log;
    if (is_at_end_) return {};
    int order = has_old ? -1 : 1;  // old record compared to log record
    if (has_old && has_log) {
      const StreamRecord& log = *log_.current();
      order = old_->key().compare(log.log->key());
      if (old_->hash() != log.position) order = old_->hash() < log.position ? -1 : 1;
    }
    if (order <= 0) {
      record_ = old_->record();
      is_present_ = true;
      FOEDUS_CHECK(old_->advance());
    }
    if (order < 0) {
      ahead_.push_back(std::move(record_));
      continue;
    }
    if (order > 0) {
      const StreamRecord& log = *log_.current();
      record_ = {.hash = log.position, .tid = {}, .key = std::string(log.log->key()), .body = {}};
      is_present_ = false;
    }
    FOEDUS_CHECK(supersede_old_chain());
    FOEDUS_CHECK(fold());
    if (is_present_) ahead_.push_back(std::move(record_));
  }
  return {};
}

// Supersedes the old payload's chain, if it has one: the records to fold replace or erase that
// payload.
Status HashMerge::supersede_old_chain() {
  if (!is_present_ || record_.length != page::kSnapshotOverflowLength) return {};
  std::uint64_t id;
  std::memcpy(&id, record_.body.data(), sizeof(id));
  return supersede_chain(composition_, page::SnapshotPageId(id));
}

// Folds all log records of record_'s key into it.
Status HashMerge::fold() {
  const auto is_same = [this] {
    const StreamRecord* const log = log_.current();
    return log != nullptr && log->position == record_.hash && log->log->key() == record_.key;
  };
  const Tid base = record_.tid;
  for (bool is_first = true; is_same(); is_first = false) {
    const log::LogRecord& log = *log_.current()->log;
    const Tid tid = Tid(log.tid).without(Tid::kFlags);
    // Writes of one transaction share a TID. A snapshot has all of an epoch or nothing, so a newer
    // record has a TID above the snapshot's.
    if (tid.version() < record_.tid.version() || tid.version() <= base.version()) {
      return contradiction("a log record that is not newer than what it changes");
    }
    FOEDUS_CHECK(fold_one(log, is_first));
    record_.tid = tid;
    FOEDUS_CHECK(log_.advance());
  }
  return finish();
}

Status HashMerge::fold_one(const log::LogRecord& log, bool is_first) {
  if (log.key_bytes > kMaxKeyBytes || log.payload_bytes() > kMaxPayloadBytes) {
    return contradiction("a key or payload in the log that is over its limit");
  }
  switch (log.type) {
    case LogRecordType::kPut:
      record_.body.assign(log.payload());
      record_.length = log.payload_bytes();
      is_present_ = true;
      return {};
    case LogRecordType::kErase:
      // The erasure may have superseded the put that made the record.
      if (!is_present_ && !is_first) return contradiction("an erasure of an absent record");
      is_present_ = false;
      return {};
    case LogRecordType::kWriteAt:
    case LogRecordType::kIncrement:
      return write_part(log);
    default:
      return contradiction("a log record of a type that hash storages do not have");
  }
}

Status HashMerge::write_part(const log::LogRecord& log) {
  const std::uint64_t end = std::uint64_t{log.payload_offset} + log.payload_bytes();
  const bool is_inline = !page::is_overflow(record_.length);
  if (!is_present_ || !is_inline || end > record_.length) {
    return contradiction("a partial write to bytes that do not exist");
  }
  char* const at = record_.body.data() + log.payload_offset;
  if (log.type == LogRecordType::kWriteAt) {
    if (log.payload_bytes() != 0) std::memcpy(at, log.payload_data(), log.payload_bytes());
    return {};
  }
  if (log.payload_bytes() != sizeof(std::uint64_t)) {
    return contradiction("an increment that has no 64-bit number");
  }
  base::increment(at, log.payload_data());
  return {};
}

// Writes a payload of the log that is too large to be inline as a chain.
Status HashMerge::finish() {
  if (!is_present_ || !page::is_overflow(record_.body.size())) return {};
  FOEDUS_TRY(const page::SnapshotPageId chain, write_chain(composition_, record_.body));
  const std::uint64_t id = chain.word();
  record_.body.assign(reinterpret_cast<const char*>(&id), sizeof(id));
  record_.body.shrink_to_fit();
  record_.length = page::kSnapshotOverflowLength;
  return {};
}

Status HashMerge::contradiction(const char* what) const {
  Status status = Status::error(ErrorCode::kCorruption, what);
  status.at_storage(composition_.meta->name);
  return std::move(status.at_key(record_.key.data(), record_.key.size()));
}

}  // namespace foedus::gleaner
