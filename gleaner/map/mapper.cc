#include "gleaner/map/mapper.h"

#include <cstring>
#include <string>
#include <utility>

#include "foedus-core/base/clock.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/page/tid.h"
#include "gleaner/handoff/compaction.h"

namespace foedus::gleaner {

namespace {

constexpr unsigned kRecordsPerStep = 4096;
constexpr std::size_t kPrefetchEntries = 8;
// A block takes at most that part of half an inbox: what is left over when the next one does not
// fit is wasted.
constexpr std::uint64_t kBlocksPerHalf = 8;

// Leaves out what a later record of the bucket supersedes (G14). Returns how many are left.
std::size_t compact(const char* memory, const SortedBucket& bucket) {
  SortEntry* const entries = bucket.entries;
  std::size_t kept = bucket.count;
  for (std::size_t i = bucket.count; i-- != 0;) {
    if (kept != bucket.count && entries[i].position == entries[kept].position) {
      const StreamRecord newer = entry_of(memory, entries[kept])->record();
      const StreamRecord older = entry_of(memory, entries[i])->record();
      if (is_whole(newer.log->type) && have_same_key(older, newer)) continue;
    }
    entries[--kept] = entries[i];
  }
  return bucket.count - kept;
}

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
               RecordSource* source, std::vector<Inbox*> inboxes, const MapperOptions& options)
    : runtime_(runtime),
      finished_(finished),
      table_(table),
      source_(source),
      inboxes_(std::move(inboxes)),
      options_(options),
      memory_(table, options.memory, options.memory_bytes) {
  FOEDUS_INVARIANT(inboxes_.size() == table->partitions(), inboxes_.size(), table->partitions());
  FOEDUS_INVARIANT(options.memory_bytes >= MapperOptions::kMemoryBytesMin, options.memory_bytes);
}

std::uint64_t Mapper::step() {
  if (state_ == State::kDone) return kUntilNotified;
  const std::uint64_t begin_us = base::thread_cpu_us();
  Result<State> next = step_once();
  counts_.cpu_us += base::thread_cpu_us() - begin_us;
  if (!next.is_ok()) {
    end(std::move(next).status());
  } else if (*next == State::kDone) {
    end({});
  } else {
    state_ = *next;
  }
  return state_ == State::kDone ? kUntilNotified : 0;
}

std::uint64_t Mapper::step_failed(const std::bad_alloc& thrown) noexcept {
  end(base::out_of_memory(thrown));
  return kUntilNotified;
}

void Mapper::end(Status status) {
  state_ = State::kDone;
  status_ = std::move(status);
  for (Inbox* const inbox : inboxes_) inbox->end_writer();
  // order: release, pairs with is_done().
  is_done_.store_release(1);
  runtime_->wake(finished_);
}

Result<Mapper::State> Mapper::step_once() {
  if (state_ == State::kReading) return read();
  SortedBucket bucket;
  if (next_bucket(&bucket)) {
    FOEDUS_CHECK(ship(bucket));
    return State::kShipping;
  }
  return is_at_end_ ? State::kDone : State::kReading;
}

bool Mapper::next_bucket(SortedBucket* bucket) {
  const std::uint64_t begin_us = base::thread_cpu_us();
  const bool is_there = memory_.next_bucket(bucket);
  counts_.sort_cpu_us += base::thread_cpu_us() - begin_us;
  return is_there;
}

Result<Mapper::State> Mapper::read() {
  for (unsigned i = 0; i < kRecordsPerStep; ++i) {
    if (!has_waiting_) {
      FOEDUS_TRY(const bool found, source_->next(&waiting_));
      is_at_end_ = !found;
      if (found) ++counts_.read;
    }
    has_waiting_ = false;
    bool was_added = false;
    if (!is_at_end_) {
      FOEDUS_CHECK(take(waiting_, &was_added));
    }
    if (was_added) continue;
    if (memory_.is_empty()) return State::kDone;
    has_waiting_ = !is_at_end_;
    memory_.begin_buckets();
    return State::kShipping;
  }
  return State::kReading;
}

// *was_added: false if the memory has to be emptied first.
Status Mapper::take(const SourceRecord& record, bool* was_added) {
  *was_added = true;
  const log::LogRecord& log = *record.log;
  const Epoch epoch = page::Tid(log.tid).epoch();
  if (epoch <= options_.covered || epoch > options_.newest) return {};
  if (log.type == log::LogRecordType::kCreateStorage ||
      log.type == log::LogRecordType::kDropStorage) {
    return {};
  }
  if (log.storage_id >= table_->id_end()) {
    return corrupt(*source_, log, "never was");
  }
  const std::uint32_t index = table_->index_of(log.storage_id);
  if (index == PartitionTable::kDropped) return {};
  const StoragePartitions& storage = table_->storages()[index];
  if (!can_be_of(storage.kind, log)) return corrupt(*source_, log, "cannot have logged it");
  const std::uint64_t position = position_of(storage.kind, log);
  if (memory_.try_add(index, record, position)) return {};
  *was_added = memory_.is_empty();
  return *was_added ? ship_alone(record, storage, position) : Status();
}

Status Mapper::ship_alone(const SourceRecord& record, const StoragePartitions& storage,
                          std::uint64_t position) {
  const std::uint64_t entry_bytes = sizeof(RecordEntry) + record.log->record_bytes;
  const std::uint64_t block_bytes = BlockHeader::bytes_for(entry_bytes);
  const std::uint32_t partition = storage.partition_of(position);
  FOEDUS_TRY(char* const to, inboxes_[partition]->reserve(block_bytes));
  const BlockHeader header{block_bytes, entry_bytes, 1, storage.id, partition};
  const RecordEntry entry{position, record.sequence, record.session, 0};
  std::memcpy(to, &header, sizeof(header));
  std::memcpy(to + sizeof(header), &entry, sizeof(entry));
  std::memcpy(to + sizeof(header) + sizeof(entry), record.log, record.log->record_bytes);
  inboxes_[partition]->announce(block_bytes);
  ++counts_.shipped;
  counts_.shipped_bytes += block_bytes;
  return {};
}

Status Mapper::ship(const SortedBucket& sorted) {
  const std::size_t kept = compact(memory_.memory(), sorted);
  counts_.superseded += sorted.count - kept;
  SortedBucket bucket = sorted;
  bucket.entries += sorted.count - kept;
  bucket.count = kept;

  const std::uint64_t bytes_max = inboxes_[bucket.partition]->half_bytes() / kBlocksPerHalf;
  std::size_t begin = 0;
  std::uint64_t entry_bytes = 0;
  for (std::size_t i = 0; i < bucket.count; ++i) {
    if (i + kPrefetchEntries < bucket.count) {
      base::prefetch_lines(entry_of(memory_.memory(), bucket.entries[i + kPrefetchEntries]),
                           sizeof(RecordEntry) + 8);
    }
    const std::uint64_t bytes = entry_of(memory_.memory(), bucket.entries[i])->bytes();
    if (i != begin && BlockHeader::bytes_for(entry_bytes + bytes) > bytes_max) {
      FOEDUS_CHECK(ship_block(bucket, begin, i, entry_bytes));
      begin = i;
      entry_bytes = 0;
    }
    entry_bytes += bytes;
  }
  return ship_block(bucket, begin, bucket.count, entry_bytes);
}

// Reserves, copies, announces.
Status Mapper::ship_block(const SortedBucket& bucket, std::size_t begin, std::size_t end,
                          std::uint64_t entry_bytes) {
  Inbox* const inbox = inboxes_[bucket.partition];
  const std::uint64_t block_bytes = BlockHeader::bytes_for(entry_bytes);
  FOEDUS_TRY(char* to, inbox->reserve(block_bytes));
  const BlockHeader header{block_bytes, entry_bytes, end - begin, bucket.storage->id,
                           bucket.partition};
  std::memcpy(to, &header, sizeof(header));
  to += sizeof(header);
  const char* const entries_end = to + entry_bytes;
  for (std::size_t i = begin; i < end; ++i) {
    if (i + kPrefetchEntries < end) {
      base::prefetch_lines(entry_of(memory_.memory(), bucket.entries[i + kPrefetchEntries]), 192);
    }
    const RecordEntry* const entry = entry_of(memory_.memory(), bucket.entries[i]);
    const std::uint64_t bytes = entry->bytes();
    std::memcpy(to, entry, bytes);
    to += bytes;
  }
  FOEDUS_INVARIANT(to == entries_end, block_bytes, entry_bytes);
  inbox->announce(block_bytes);
  counts_.shipped += end - begin;
  counts_.shipped_bytes += block_bytes;
  return {};
}

}  // namespace foedus::gleaner
