#include "foedus-core/device/staging/buffer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/device/spread/spread_device.h"
#include "foedus-core/device/tier_names.h"

namespace foedus::device {

namespace {

constexpr std::uint32_t kLessShare = 4;   // kLess: a file is spread over 1/4 of the partitions
constexpr std::uint64_t kGroupPages = 64;  // kLess: so many neighbours stay together

std::uint64_t mixed(std::uint64_t word) {
  word *= 0x9e3779b97f4a7c15u;
  word ^= word >> 32;
  word *= 0xd6e8feb86659fd93u;
  return word ^ word >> 32;
}

std::string area_name(std::size_t partition) {
  return std::string(kStagingPrefix).append(std::to_string(partition));
}

}  // namespace

// ---- open and close ----------------------------------------------------------------------------

Result<std::unique_ptr<StagingBuffer>> StagingBuffer::open(Device* device, base::Runtime* runtime,
                                                           const StagingOptions& options,
                                                           const MakeQueue& make_queue,
                                                           const ResolveTarget& resolve) {
  FOEDUS_INVARIANT(options.partitions != 0 && options.buckets != 0 && options.slots != 0);
  FOEDUS_INVARIANT(options.flushers != 0);
  FOEDUS_TRY(const std::uint64_t highest, recover_staged(device, make_queue(), resolve));
  std::unique_ptr<StagingBuffer> buffer(new StagingBuffer(runtime, options));
  // order: relaxed, no other thread has it
  buffer->next_sequence_.store_relaxed(highest + 1);
  FOEDUS_CHECK(buffer->make_areas(device));
  buffer->start(make_queue);
  return buffer;
}

StagingBuffer::StagingBuffer(base::Runtime* runtime, const StagingOptions& options)
    : runtime_(runtime), options_(options) {
  const std::uint32_t flushers = std::min(options.flushers, options.partitions);
  const std::uint32_t slots = options.buckets * options.slots;
  for (std::uint32_t i = 0; i < options.partitions; ++i) {
    partitions_.push_back(std::make_unique<Partition>());
    Partition& partition = *partitions_.back();
    partition.buckets = std::vector<Bucket>(options.buckets);
    partition.flusher = i % flushers;
    partition.slots.resize(slots);
    partition.heads.resize(2 * std::size_t{slots}, kNone);
    partition.full.reserve(options.buckets);
    for (std::uint32_t bucket = options.buckets; bucket-- != 0;) partition.empty.push_back(bucket);
  }
}

// Makes areas that are missing or have another shape, and removes those of partitions that are no
// more. Recovery has emptied all areas, and next_sequence_ is above their sequence numbers.
Status StagingBuffer::make_areas(Device* device) {
  const StagingArea::Shape shape{options_.buckets, options_.slots};
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    FOEDUS_TRY(auto area, StagingArea::find(device, area_name(i)));
    if (area == nullptr || area->shape() != shape) {
      area.reset();
      FOEDUS_TRY(area, StagingArea::make(device, area_name(i), shape));
    }
    partitions_[i]->area = std::move(area);
  }
  FOEDUS_TRY(const auto names, device->list());
  for (const std::string& name : names) {
    if (!name.starts_with(kStagingPrefix)) continue;
    const auto number = number_in_name(name);
    if (!number.has_value() || *number < partitions_.size()) continue;
    FOEDUS_CHECK(unless_gone(device->remove(name)));
  }
  return {};
}

void StagingBuffer::start(const MakeQueue& make_queue) {
  const std::uint32_t count = std::min(options_.flushers, options_.partitions);
  flushers_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    flushers_.push_back(std::make_unique<Flusher>(this, i, make_queue()));
    runtime_->start(flushers_.back().get());
  }
}

StagingBuffer::~StagingBuffer() {
  for (const auto& flusher : flushers_) runtime_->stop(flusher.get());
}

// ---- writers -----------------------------------------------------------------------------------

StagingBuffer::Partition& StagingBuffer::partition_of(const StagingTarget& target,
                                                      std::uint64_t page) const {
  const std::uint64_t count = partitions_.size();
  // Files with consecutive numbers belong to different partitions.
  const std::uint64_t of_file = target.id() + (target.id() >> 32);
  switch (options_.spread) {
    case StagingSpread::kEven:
      return *partitions_[mixed(mixed(of_file) + page) % count];
    case StagingSpread::kSingle:
      return *partitions_[of_file % count];
    case StagingSpread::kPlaced:
      return *partitions_[(target.id() & 0xffffffff) % count];
    default: {
      const std::uint64_t few = std::max<std::uint64_t>(1, count / kLessShare);
      return *partitions_[(of_file * few + page / kGroupPages % few) % count];
    }
  }
}

Status StagingBuffer::write(const std::shared_ptr<StagingTarget>& target, std::uint64_t page,
                            const void* pages, std::size_t count) {
  const char* const bytes = static_cast<const char*>(pages);
  for (std::size_t begin = 0; begin < count; begin += kPagesAtOnce) {
    const std::size_t most = std::min(count - begin, kPagesAtOnce);
    Partition* partitions[kPagesAtOnce];
    for (std::size_t i = 0; i < most; ++i) partitions[i] = &partition_of(*target, page + begin + i);
    // Pages of one partition are stored together.
    for (std::size_t first = 0; first < most; ++first) {
      Partition* const partition = partitions[first];
      if (partition == nullptr) continue;
      StagedPage staged[kPagesAtOnce];
      std::size_t found = 0;
      for (std::size_t i = first; i < most; ++i) {
        if (partitions[i] != partition) continue;
        partitions[i] = nullptr;
        staged[found++] = {{target->id(), page + begin + i}, bytes + (begin + i) * kBlockBytes};
      }
      FOEDUS_CHECK(append(partition, target, staged, found));
    }
  }
  return {};
}

Status StagingBuffer::append(Partition* partition, const std::shared_ptr<StagingTarget>& target,
                             const StagedPage* pages, std::size_t count) {
  while (count != 0) {
    std::size_t written = 0;
    {
      const std::lock_guard lock(partition->writer);
      FOEDUS_TRY(const bool is_open, open_bucket(partition));
      if (is_open) {
        FOEDUS_TRY(written, fill(partition, target, pages, count));
      }
    }
    if (written == 0) {
      FOEDUS_SYNC_POINT("staging:no_bucket");
      FOEDUS_CHECK(wait_for_bucket(partition));
    }
    pages += written;
    count -= written;
  }
  return {};
}

// Opens a bucket if none is open; false: none is empty. This function, fill() and seal() are called
// with the partition's writer lock held.
Result<bool> StagingBuffer::open_bucket(Partition* partition) {
  if (partition->open != kNone) return true;
  std::uint32_t bucket = kNone;
  {
    const std::lock_guard lock(partition->mutex);
    if (partition->empty.empty()) return false;
    bucket = partition->empty.back();
  }
  // order: seq_cst, which nothing needs: the number has to be unique, and guards nothing.
  const std::uint64_t sequence = next_sequence_.fetch_add_seq_cst(1);
  FOEDUS_CHECK(partition->area->mark(bucket, sequence, StagingArea::Mark::kInUse));  // V28
  // order: release, pairs with read(); the fence keeps it before the stores to the slots (V31).
  partition->buckets[bucket].sequence.store_release(sequence);
  base::fence_writer();
  const std::lock_guard lock(partition->mutex);
  partition->empty.pop_back();
  partition->open = bucket;
  partition->next_slot = 0;
  return true;
}

// Fills slots of the open bucket. Slots of a write that has failed are not used again: recovery may
// find whole pages in them, which have to be older than those that are written next.
Result<std::size_t> StagingBuffer::fill(Partition* partition,
                                        const std::shared_ptr<StagingTarget>& target,
                                        const StagedPage* pages, std::size_t count) {
  const std::uint32_t bucket = partition->open;
  const std::uint32_t first = partition->next_slot;
  const std::size_t most = std::min<std::size_t>(count, options_.slots - first);
  // order: relaxed, only this writer changes it.
  const std::uint64_t sequence = partition->buckets[bucket].sequence.load_relaxed();
  const Status written = partition->area->write(bucket, sequence, first, pages, most);  // V27
  partition->next_slot += static_cast<std::uint32_t>(most);
  if (written.is_ok()) {
    const std::lock_guard lock(partition->mutex);
    for (std::uint32_t i = 0; i < most; ++i) {
      add_locked(partition, bucket * options_.slots + first + i, target, pages[i].key.page);
    }
    partition->statistics.written_pages += most;
  } else {
    target->is_in_doubt_.store_relaxed(1);  // order: relaxed, drop() comes after the call
  }
  if (partition->next_slot == options_.slots) seal(partition);
  FOEDUS_CHECK(written);
  return most;
}

void StagingBuffer::seal(Partition* partition) {
  {
    const std::lock_guard lock(partition->mutex);
    partition->full.push_back(partition->open);
    ++partition->sealed;
    partition->open = kNone;
  }
  notify_flusher(*partition);
}

void StagingBuffer::notify_flusher(const Partition& partition) {
  runtime_->notify(flushers_[partition.flusher].get());
}

// Waits until a bucket is empty, or another writer has opened one. The caller looks again: it may
// be full by then.
Status StagingBuffer::wait_for_bucket(Partition* partition) {
  const auto has_one = [partition] {
    return !partition->empty.empty() || partition->open != kNone;
  };
  std::uint64_t failures = 0;
  {
    const std::lock_guard lock(partition->mutex);
    if (has_one()) return {};
    failures = partition->failures;
    ++partition->statistics.waits;
  }
  notify_flusher(*partition);
  Status failure;
  runtime_->wait(&partition->changed, base::Runtime::kForever, [&] {
    const std::lock_guard lock(partition->mutex);
    if (has_one()) return true;
    if (partition->failures == failures) return false;
    failure = partition->failure;
    return true;
  });
  return failure;
}

// ---- readers -----------------------------------------------------------------------------------

Result<bool> StagingBuffer::read(const StagingTarget& target, std::uint64_t page, void* to) const {
  while (target.has_staged()) {
    const Partition& partition = partition_of(target, page);
    std::uint32_t slot = kNone;
    std::uint64_t sequence = 0;
    {
      const std::lock_guard lock(partition.mutex);
      slot = find_locked(partition, target, page);
      if (slot == kNone) return false;
      // order: relaxed, the bucket cannot be opened again while the index has a slot of it.
      sequence = partition.buckets[slot / options_.slots].sequence.load_relaxed();
    }
    const std::uint32_t bucket = slot / options_.slots;
    const Status read = partition.area->read(bucket, slot % options_.slots, to);
    base::fence_reader();  // order: the slot is read before the sequence number is (V31)
    // order: acquire, for TSan's sake
    if (partition.buckets[bucket].sequence.load_acquire() != sequence) continue;
    FOEDUS_CHECK(read);
    return true;
  }
  return false;
}

// ---- flush -------------------------------------------------------------------------------------

Status StagingBuffer::flush() {
  std::vector<std::uint64_t> wanted;
  for (const auto& partition : partitions_) {
    const std::lock_guard lock(partition->writer);
    if (partition->open != kNone && partition->next_slot != 0) seal(partition.get());
    const std::lock_guard index(partition->mutex);
    wanted.push_back(partition->sealed);
  }
  Status failed;
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    Status flushed = wait_for_flushed(partitions_[i].get(), wanted[i]);
    if (failed.is_ok()) failed = std::move(flushed);
  }
  return failed;
}

Status StagingBuffer::wait_for_flushed(Partition* partition, std::uint64_t wanted) {
  std::uint64_t failures = 0;
  {
    const std::lock_guard lock(partition->mutex);
    if (partition->flushed >= wanted) return {};
    failures = partition->failures;
  }
  notify_flusher(*partition);
  Status failure;
  runtime_->wait(&partition->changed, base::Runtime::kForever, [&] {
    const std::lock_guard lock(partition->mutex);
    if (partition->flushed >= wanted) return true;
    if (partition->failures == failures) return false;
    failure = partition->failure;
    return true;
  });
  return failure;
}

Status StagingBuffer::drop(StagingTarget* target) {
  target->is_dropped_.store_relaxed(1);  // order: relaxed, flush() takes the mutex of flush_full()
  // order: relaxed, as in fill()
  if (!target->has_staged() && target->is_in_doubt_.load_relaxed() == 0) return {};
  return flush();
}

StagingBuffer::Flusher::Flusher(StagingBuffer* buffer, std::uint32_t number,
                                std::unique_ptr<IoQueue> queue)
    : buffer_(buffer),
      number_(number),
      writer_(buffer->options_.buckets * buffer->options_.slots, std::move(queue)) {
  buckets_.reserve(buffer->options_.buckets);
  slots_.reserve(std::size_t{buffer->options_.buckets} * buffer->options_.slots);
}

// Flushes full buckets. A partition whose flush has failed is tried again at the task's next step,
// which comes when the task is notified, or another of its partitions was flushed.
std::uint64_t StagingBuffer::Flusher::step() {
  bool has_more = false;
  for (const auto& partition : buffer_->partitions_) {
    if (partition->flusher == number_ && flush_full(partition.get())) has_more = true;
  }
  return has_more ? 0 : kUntilNotified;
}

// Flushes the buckets that are full. Returns whether there may be more.
bool StagingBuffer::Flusher::flush_full(Partition* partition) {
  buckets_.clear();
  slots_.clear();
  {
    const std::lock_guard lock(partition->mutex);
    if (partition->full.empty()) return false;
    for (const std::uint32_t bucket : partition->full) {
      buckets_.push_back(bucket);
      buffer_->collect_locked(*partition, bucket, &slots_);
    }
  }
  const std::uint64_t begin_us = buffer_->runtime_->now_us();
  Status flushed = base::catching([&] { return write_and_mark(partition); });
  const bool is_flushed = flushed.is_ok();
  {
    const std::lock_guard lock(partition->mutex);
    partition->statistics.flush_us += buffer_->runtime_->now_us() - begin_us;
    if (is_flushed) {
      partition->statistics.flushed_pages += slots_.size();
      ++partition->statistics.flushes;
    } else {
      partition->failure = std::move(flushed);
      ++partition->failures;
    }
  }
  slots_.clear();
  buffer_->runtime_->wake(&partition->changed);
  return is_flushed;
}

// Writes the batch (V30), then marks its buckets empty by ascending sequence number (V29).
Status StagingBuffer::Flusher::write_and_mark(Partition* partition) {
  FOEDUS_CHECK(writer_.write(*partition->area, &slots_));
  for (const std::uint32_t bucket : buckets_) {
    // order: relaxed, it is not opened again before it is in the list of empty ones.
    const std::uint64_t sequence = partition->buckets[bucket].sequence.load_relaxed();
    FOEDUS_CHECK(partition->area->mark(bucket, sequence, StagingArea::Mark::kEmpty));
    note_emptied(partition, bucket);
  }
  return {};
}

void StagingBuffer::Flusher::note_emptied(Partition* partition, std::uint32_t bucket) {
  {
    const std::lock_guard lock(partition->mutex);
    FOEDUS_INVARIANT(partition->full.front() == bucket, partition->full.front(), bucket);
    buffer_->remove_locked(partition, bucket);
    partition->full.erase(partition->full.begin());
    partition->empty.insert(partition->empty.begin(), bucket);
    ++partition->flushed;
  }
  buffer_->runtime_->wake(&partition->changed);
}

// ---- the index ---------------------------------------------------------------------------------

std::uint32_t& StagingBuffer::head_of(Partition* partition, const StagingTarget& target,
                                      std::uint64_t page) const {
  return partition->heads[mixed(mixed(target.id()) ^ page) % partition->heads.size()];
}

std::uint32_t StagingBuffer::find_locked(const Partition& partition, const StagingTarget& target,
                                         std::uint64_t page) const {
  const std::size_t hash = mixed(mixed(target.id()) ^ page) % partition.heads.size();
  std::uint32_t slot = partition.heads[hash];
  while (slot != kNone) {
    const Slot& found = partition.slots[slot];
    if (found.target.get() == &target && found.page == page) break;
    slot = found.next;
  }
  return slot;
}

void StagingBuffer::add_locked(Partition* partition, std::uint32_t slot,
                               const std::shared_ptr<StagingTarget>& target, std::uint64_t page) {
  std::uint32_t& head = head_of(partition, *target, page);
  partition->slots[slot] = {target, page, head};
  head = slot;
  // order: seq_cst, which nothing needs: a reader that has to find the page begins after the write
  target->staged_.fetch_add_seq_cst(1);
}

void StagingBuffer::remove_locked(Partition* partition, std::uint32_t bucket) {
  for (std::uint32_t i = 0; i < options_.slots; ++i) {
    const std::uint32_t slot = bucket * options_.slots + i;
    Slot& removed = partition->slots[slot];
    if (removed.target == nullptr) continue;
    std::uint32_t* link = &head_of(partition, *removed.target, removed.page);
    while (*link != slot) link = &partition->slots[*link].next;
    *link = removed.next;
    // order: seq_cst, its release pairs with has_staged()
    removed.target->staged_.fetch_add_seq_cst(~std::uint64_t{0});
    removed.target.reset();
  }
}

// Adds the slots of a bucket whose pages have no newer version: find_locked() finds the newest one.
void StagingBuffer::collect_locked(const Partition& partition, std::uint32_t bucket,
                                   std::vector<SlotToWrite>* slots) const {
  for (std::uint32_t i = 0; i < options_.slots; ++i) {
    const std::uint32_t slot = bucket * options_.slots + i;
    const Slot& found = partition.slots[slot];
    if (found.target == nullptr) continue;
    // order: relaxed, see drop()
    if (found.target->is_dropped_.load_relaxed() != 0) continue;
    if (find_locked(partition, *found.target, found.page) != slot) continue;
    slots->push_back({found.target, found.page, bucket, i});
  }
}

StagingStatistics StagingBuffer::statistics() const {
  StagingStatistics all;
  for (const auto& partition : partitions_) {
    const std::lock_guard lock(partition->mutex);
    all.written_pages += partition->statistics.written_pages;
    all.flushed_pages += partition->statistics.flushed_pages;
    all.flushes += partition->statistics.flushes;
    all.flush_us += partition->statistics.flush_us;
    all.waits += partition->statistics.waits;
  }
  return all;
}

}  // namespace foedus::device
