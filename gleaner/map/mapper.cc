#include "gleaner/map/mapper.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/page/tid.h"

namespace foedus::gleaner {

namespace {

constexpr unsigned kRecordsPerStep = 4096;

[[gnu::cold]] Status corrupt(const RecordSource& source, const log::LogRecord& log,
                             const char* why) {
  const auto storage = static_cast<std::uint32_t>(log.storage_id);
  return source.corrupt("a record of type " + std::to_string(static_cast<unsigned>(log.type)) +
                        " with a key of " + std::to_string(log.key_bytes) +
                        " and a payload of " + std::to_string(log.payload_bytes()) +
                        " bytes, of storage " + std::to_string(storage) + ", which " + why + ",");
}

}  // namespace

Mapper::Mapper(base::Runtime* runtime, base::WaitPoint* finished, const PartitionTable* table,
               RecordSource* source, const std::vector<Inbox*>& inboxes,
               const MapperOptions& options)
    : runtime_(runtime), finished_(finished), table_(table), source_(source), options_(options) {
  FOEDUS_INVARIANT(inboxes.size() == table->partitions(), inboxes.size(), table->partitions());
  for (Inbox* const inbox : inboxes) blocks_.emplace_back(inbox);
}

std::uint64_t Mapper::step() {
  if (is_done()) return kUntilNotified;
  const std::uint64_t begin_us = base::thread_cpu_us();
  Result<bool> has_more = map_some();
  counts_.cpu_us += base::thread_cpu_us() - begin_us;
  if (has_more.is_ok() && *has_more) return 0;
  end(has_more.is_ok() ? Status() : std::move(has_more).status());
  return kUntilNotified;
}

std::uint64_t Mapper::step_failed(const std::bad_alloc& thrown) noexcept {
  end(base::out_of_memory(thrown));
  return kUntilNotified;
}

// Ends the mapper, whatever its status, as G18 says.
void Mapper::end(Status status) {
  status_ = std::move(status);
  for (OpenBlock& block : blocks_) {
    announce(&block);
    block.inbox()->end_writer();
  }
  // order: release, pairs with is_done().
  is_done_.store_release(1);
  runtime_->wake(finished_);
}

void Mapper::announce(OpenBlock* block) {
  if (!block->is_open()) return;
  counts_.shipped += block->record_count();
  counts_.shipped_bytes += block->used_bytes();
  block->announce();
}

// Announces blocks of sealed halves (G11). With few records to come, the reducer would wait long
// for these blocks to fill up.
void Mapper::announce_sealed() {
  for (OpenBlock& block : blocks_) {
    if (block.is_open() && block.inbox()->is_sealed()) announce(&block);
  }
}

Result<bool> Mapper::map_some() {
  announce_sealed();
  SourceRecord record;
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < kRecordsPerStep; ++i) {
    if (!source_->next(&record)) {
      FOEDUS_CHECK(source_->status());
      return false;
    }
    ++counts_.read;
    bytes += record.log->record_bytes;
    FOEDUS_CHECK(map(record));
  }
  bytes_read_.fetch_add_relaxed(bytes);  // order: relaxed, a statistic
  return true;
}

Status Mapper::map(const SourceRecord& record) {
  const log::LogRecord& log = *record.log;
  const Epoch epoch = page::Tid(log.tid).epoch();
  if (epoch <= options_.covered || epoch > options_.newest) return {};
  if (log.type == log::LogRecordType::kCreateStorage ||
      log.type == log::LogRecordType::kDropStorage) {
    return {};
  }
  if (log.storage_id >= table_->id_end()) return corrupt(*source_, log, "never existed");
  const std::uint32_t index = table_->index_of(log.storage_id);
  if (index == PartitionTable::kDropped) return {};
  const StoragePartitions& storage = table_->storages()[index];
  if (!can_be_of(storage.kind, log)) return corrupt(*source_, log, "cannot have logged it");
  const std::uint64_t position = position_of(storage.kind, log);
  const std::uint32_t partition = storage.partition_of(position);
  OpenBlock& block = blocks_[partition];
  const std::uint64_t entry_bytes = sizeof(RecordEntry) + log.record_bytes;
  if (!block.has_room(entry_bytes)) FOEDUS_CHECK(make_room(partition, entry_bytes));
  block.add(record, index, position);
  return {};
}

// Replaces the block of a partition by one with room. Announces all other blocks before it waits
// (G11).
Status Mapper::make_room(std::uint32_t partition, std::uint64_t entry_bytes) {
  OpenBlock& block = blocks_[partition];
  announce(&block);
  Inbox* const inbox = block.inbox();
  const std::uint64_t bytes =
      std::max(inbox->block_bytes(), BlockHeader::bytes_for(entry_bytes));
  FOEDUS_TRY(char* to, inbox->try_reserve(bytes));
  if (to == nullptr) {
    for (OpenBlock& other : blocks_) announce(&other);
    FOEDUS_TRY(to, inbox->reserve(bytes));
  }
  block.open(to, bytes);
  return {};
}

}  // namespace foedus::gleaner
