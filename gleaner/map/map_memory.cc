#include "gleaner/map/map_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace foedus::gleaner {

namespace {

constexpr std::uint64_t kBytesMax = std::uint64_t{8} << 32;  // what SortEntry::unit can name

}  // namespace

MapMemory::MapMemory(const PartitionTable* table, char* memory, std::uint64_t bytes)
    : table_(table),
      memory_(memory),
      bytes_(std::min(bytes, kBytesMax) / 64 * 64),
      bucket_counts_(table->storages().size() * table->partitions()) {
  FOEDUS_INVARIANT(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0, memory);
}

bool MapMemory::try_add(std::uint32_t index, const SourceRecord& record, std::uint64_t position) {
  const std::uint64_t bytes = sizeof(RecordEntry) + record.log->record_bytes;
  if (record_bytes_ + bytes + 2 * (count_ + 1) * sizeof(SortEntry) > bytes_) return false;
  const RecordEntry entry{position, record.sequence, record.session, 0};
  char* const to = memory_ + record_bytes_;
  std::memcpy(to, &entry, sizeof(entry));
  std::memcpy(to + sizeof(entry), record.log, record.log->record_bytes);

  const std::size_t bucket = bucket_of(index, position);
  ++count_;
  ++bucket_counts_[bucket];
  const SortEntry sort_entry{position, static_cast<std::uint32_t>(record_bytes_ / 8),
                             static_cast<std::uint32_t>(bucket)};
  std::memcpy(memory_ + bytes_ - count_ * sizeof(SortEntry), &sort_entry, sizeof(sort_entry));
  record_bytes_ += bytes;
  return true;
}

void MapMemory::begin_buckets() {
  SortEntry* const newest = reinterpret_cast<SortEntry*>(memory_ + bytes_) - count_;
  // The oldest of each bucket first, though G2 does not need it: runs are in their order then.
  sorted_ = newest - count_;
  scratch_ = newest;
  std::uint32_t place = 0;
  for (std::uint32_t& count : bucket_counts_) place += std::exchange(count, place);
  FOEDUS_INVARIANT(place == count_, place, count_);
  for (std::size_t i = count_; i-- != 0;) sorted_[bucket_counts_[newest[i].bucket]++] = newest[i];
  next_bucket_ = 0;
  next_entry_ = 0;
}

bool MapMemory::next_bucket(SortedBucket* bucket) {
  // The counts are where each bucket ends now.
  while (next_bucket_ < bucket_counts_.size() && bucket_counts_[next_bucket_] == next_entry_) {
    ++next_bucket_;
  }
  if (next_bucket_ == bucket_counts_.size()) {
    FOEDUS_INVARIANT(next_entry_ == count_, next_entry_, count_);
    std::fill(bucket_counts_.begin(), bucket_counts_.end(), 0);
    count_ = 0;
    record_bytes_ = 0;
    return false;
  }
  const std::size_t end = bucket_counts_[next_bucket_];
  bucket->storage = &table_->storages()[next_bucket_ / table_->partitions()];
  bucket->partition = static_cast<std::uint32_t>(next_bucket_ % table_->partitions());
  bucket->entries = sorted_ + next_entry_;
  bucket->count = end - next_entry_;
  sort_bucket(memory_, bucket->storage->kind, bucket->entries, scratch_ + next_entry_,
              bucket->count);
  next_entry_ = end;
  return true;
}

}  // namespace foedus::gleaner
