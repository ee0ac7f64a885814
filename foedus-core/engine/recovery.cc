#include "foedus-core/engine/recovery.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "foedus-core/engine/engine.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/storage_meta/storage_meta.h"

namespace foedus::engine {

namespace {

// After so many records the transaction pin is renewed and the clock stepped, so that pages which
// splits have retired are used again.
constexpr std::uint64_t kRecordsPerPin = 512;

// Copies of log records in large pieces.
class RecordArena {
 public:
  const log::LogRecord* add(const log::LogRecord& record) {
    const std::size_t bytes = record.record_bytes;
    if (used_ + bytes > capacity_) {
      capacity_ = std::max<std::size_t>(kPieceBytes, bytes);
      pieces_.push_back(std::make_unique_for_overwrite<char[]>(capacity_));
      used_ = 0;
    }
    char* const at = pieces_.back().get() + used_;
    std::memcpy(at, &record, bytes);
    used_ += bytes;
    return reinterpret_cast<const log::LogRecord*>(at);
  }

 private:
  static constexpr std::size_t kPieceBytes = 1u << 20;
  std::vector<std::unique_ptr<char[]>> pieces_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

// One record in its serial order: ordinals tie between sessions that wrote different records, and
// then any order of sessions will do as long as it is one.
struct Entry {
  std::uint32_t ordinal;
  std::uint32_t session;
  std::uint64_t arrival;
  const log::LogRecord* record;

  bool operator<(const Entry& other) const {
    if (ordinal != other.ordinal) return ordinal < other.ordinal;
    if (session != other.session) return session < other.session;
    return arrival < other.arrival;
  }
};

struct EpochRecords {
  RecordArena arena;
  std::vector<Entry> entries;
};

class Recovery {
 public:
  Recovery(Engine* engine, log::Log* log) : engine_(engine), log_(log) {}

  Status run() {
    FOEDUS_CHECK(read());
    FOEDUS_CHECK(note_drops());
    const std::uint64_t began_us = engine_->runtime().now_us();
    for (auto& [epoch, records] : epochs_) {
      FOEDUS_CHECK(apply(&records));
      records = EpochRecords();  // its memory goes back as we go
    }
    const std::uint64_t took_us = engine_->runtime().now_us() - began_us;
    if (applied_ != 0) {
      engine_->say(LogLevel::kInfo, "recovered " + std::to_string(applied_) +
                                        " log records up to epoch " +
                                        std::to_string(log_->durable_epoch_found().number()) +
                                        " in " + std::to_string(took_us / 1000) + " ms");
    }
    return {};
  }

 private:
  Status read() {
    for (std::size_t i = 0; i < log_->found_segment_count(); ++i) {
      FOEDUS_CHECK(log_->read_segment(i, [this](std::uint32_t session, std::uint64_t,
                                                const log::LogRecord& record) {
        const page::Tid tid(record.tid);
        EpochRecords& records = epochs_[tid.epoch().number()];
        records.entries.push_back({tid.ordinal(), session, arrivals_++, records.arena.add(record)});
        if (record.type == log::LogRecordType::kDropStorage) drops_.insert(record.storage_id);
        return Status();
      }));
    }
    return {};
  }

  Status note_drops() {
    for (const page::StorageId id : drops_) engine_->catalog().reserve_id(id);
    return {};
  }

  Status apply(EpochRecords* records) {
    std::sort(records->entries.begin(), records->entries.end());
    occ::TxnContext& context = engine_->own_session().context();
    std::size_t i = 0;
    while (i < records->entries.size()) {
      context.begin(TxnOptions());
      const std::size_t end = std::min<std::size_t>(records->entries.size(), i + kRecordsPerPin);
      Status status;
      for (; i < end && status.is_ok(); ++i) status = apply(*records->entries[i].record);
      context.end();
      FOEDUS_CHECK(status);
      engine_->clock().step();
    }
    return {};
  }

  Status apply(const log::LogRecord& record) {
    if (drops_.contains(record.storage_id)) return {};
    ++applied_;
    if (record.type == log::LogRecordType::kCreateStorage) {
      FOEDUS_TRY(const storage_meta::StorageMeta meta,
                 storage_meta::parse(record.storage_id, record.key(), record.payload()));
      return engine_->catalog().recover(meta);
    }
    if (last_ == nullptr || last_->id() != record.storage_id) {
      last_ = engine_->catalog().find(record.storage_id);
    }
    if (last_ == nullptr) {
      return Status::error(ErrorCode::kCorruption,
                           "the log has records of storage " +
                               std::to_string(static_cast<std::uint32_t>(record.storage_id)) +
                               ", which it never creates");
    }
    Status status = storage::replay(engine_->own_session().context(), last_, record);
    if (!status.is_ok()) status.at_table(last_->meta.name);
    return status;
  }

  Engine* const engine_;
  log::Log* const log_;
  std::map<std::uint64_t, EpochRecords> epochs_;
  std::set<page::StorageId> drops_;
  occ::StorageControl* last_ = nullptr;
  std::uint64_t arrivals_ = 0;
  std::uint64_t applied_ = 0;
};

}  // namespace

Status recover(Engine* engine, log::Log* log) { return Recovery(engine, log).run(); }

}  // namespace foedus::engine
