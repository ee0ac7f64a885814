#include "gleaner/reduce/reducer.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/clock.h"

namespace foedus::gleaner {

namespace {

constexpr unsigned kRecordsPerStep = 4096;
constexpr std::uint64_t kChunkBytesMax = 1u << 20;

// Returns the size of a chunk: large enough for sequential writes, and small enough that half the
// memory has two chunks of each of many runs.
std::uint64_t chunk_bytes_for(std::uint64_t half_bytes) {
  constexpr std::uint64_t kBlock = device::kBlockBytes;
  return std::clamp(half_bytes / 128 / kBlock * kBlock, kBlock, kChunkBytesMax);
}

std::vector<SortedSource*> pointers_to(const std::vector<std::unique_ptr<SortedSource>>& sources) {
  std::vector<SortedSource*> pointers;
  for (const auto& source : sources) pointers.push_back(source.get());
  return pointers;
}

std::vector<const BlockHeader*> blocks_in(const Inbox::Half& half) {
  std::vector<const BlockHeader*> blocks;
  const char* at = half.begin;
  const char* const end = at + half.bytes;
  while (at != end) {
    const auto* const block = reinterpret_cast<const BlockHeader*>(at);
    FOEDUS_INVARIANT(block->block_bytes <= static_cast<std::uint64_t>(end - at),
                     block->block_bytes);
    FOEDUS_INVARIANT(block->items_begin() >= static_cast<const void*>(block + 1),
                     block->block_bytes, block->record_count);
    blocks.push_back(block);
    at += block->block_bytes;
  }
  return blocks;
}

std::vector<std::unique_ptr<SortedSource>> sources_of(const SortedRecords& sorted) {
  std::vector<std::unique_ptr<SortedSource>> sources;
  for (const SortedGroup& group : sorted.groups()) {
    sources.push_back(std::make_unique<GroupSource>(group));
  }
  return sources;
}

std::uint64_t memory_bytes_of(const ReducerOptions& options) {
  static_assert(SortItem::kMemoryBytesMax <= 2 * Inbox::kHalfBytesMax);
  return std::min(options.memory_bytes, SortItem::kMemoryBytesMax) / 64 * 64;
}

// Returns the inbox's share of the memory; the rest is the area for items.
std::uint64_t inbox_bytes_of(const ReducerOptions& options) {
  return memory_bytes_of(options) / 4 * 3 / 64 * 64;
}

}  // namespace

// A run that is being written.
struct Reducer::Spill {
  Spill(std::vector<std::unique_ptr<SortedSource>> from, const RunId& id, bool memory)
      : sources(std::move(from)), merge(pointers_to(sources)), run(id), of_memory(memory) {}

  const std::vector<std::unique_ptr<SortedSource>> sources;
  Merge merge;
  const RunId run;
  const bool of_memory;  // its records stay in place, so one may be held back
  std::size_t joined_runs = 0;
  std::unique_ptr<RunWriter> writer;
  bool has_held = false;
  StreamRecord held{};  // until the next record is known not to supersede it
};

Reducer::Reducer(base::Runtime* runtime, base::WaitPoint* finished, device::Device* device,
                 const PartitionTable* table, const ReducerOptions& options)
    : runtime_(runtime),
      finished_(finished),
      device_(device),
      options_(options),
      inbox_bytes_(inbox_bytes_of(options)),
      inbox_(runtime, options.memory, inbox_bytes_, options.mappers),
      chunk_bytes_(chunk_bytes_for(inbox_.half_bytes())),
      sorted_(table, options.memory, options.memory + inbox_bytes_,
              memory_bytes_of(options) - inbox_bytes_) {
  FOEDUS_INVARIANT(memory_bytes_of(options) - inbox_bytes_ >=
                       SortedRecords::area_bytes_for(inbox_bytes_),
                   options.memory_bytes);
  FOEDUS_INVARIANT(options.memory_bytes >= ReducerOptions::kMemoryBytesMin, options.memory_bytes);
  inbox_.set_consumer(this);
}

Reducer::~Reducer() {
  give_up_runs();
}

// Removes all runs. After an error the next glean removes the files that are left.
void Reducer::give_up_runs() {
  const Status ignored = base::catching([this] { return remove_runs(); });
  static_cast<void>(ignored.is_ok());
}

std::uint64_t Reducer::step() {
  if (state_ == State::kDone) return kUntilNotified;
  const State before = state_;
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
  // In kHolding, hold() has already checked the inbox in this step.
  const bool is_idle = (before == State::kReceiving && state_ == State::kReceiving) ||
                       state_ == State::kHolding || state_ == State::kDone;
  return is_idle ? kUntilNotified : 0;
}

std::uint64_t Reducer::step_failed(const std::bad_alloc& thrown) noexcept {
  end(base::out_of_memory(thrown));
  return kUntilNotified;
}

void Reducer::end(Status status) {
  state_ = State::kDone;
  status_ = std::move(status);
  if (!status_.is_ok()) {
    inbox_.fail();
    give_up_runs();  // status_ keeps the first error
  }
  // order: release, pairs with is_done().
  is_done_.store_release(1);
  runtime_->wake(finished_);
}

Result<Reducer::State> Reducer::step_once() {
  if (state_ == State::kReceiving) return receive();
  if (state_ == State::kHolding) return hold();
  if (state_ == State::kSortingHalf) {
    if (sort_next()) return state_;
    FOEDUS_CHECK(begin_spill(sources_of(sorted_), true));
    held_.reset();
    return State::kSpilling;
  }
  if (state_ == State::kSortingAll) {
    if (sort_next()) return state_;
    FOEDUS_CHECK(begin_streams());
    return State::kDone;
  }
  FOEDUS_TRY(const bool is_written, go_on_spilling());
  if (!is_written) return state_;
  return last_half_.has_value() ? begin_join_or_sort() : State::kReceiving;
}

bool Reducer::sort_next() {
  const std::uint64_t begin_us = base::thread_cpu_us();
  const bool has_more = sorted_.sort_next();
  counts_.sort_cpu_us += base::thread_cpu_us() - begin_us;
  return has_more;
}

Result<Reducer::State> Reducer::receive() {
  const std::optional<Inbox::Half> half = inbox_.take();
  if (!half.has_value()) return State::kReceiving;
  if (half->is_last) {
    take_last(*half, half->other, inbox_.half_bytes());
    return begin_join_or_sort();
  }
  held_ = half;
  return hold();
}

// Decides, while a complete half is held, whether to spill it (G19).
Result<Reducer::State> Reducer::hold() {
  const Inbox::Fill fill = inbox_.fill();
  if (fill == Inbox::Fill::kLittle) return State::kHolding;
  if (fill == Inbox::Fill::kLast) {
    const std::optional<Inbox::Half> last = inbox_.take();
    FOEDUS_INVARIANT(last.has_value() && last->is_last);
    const std::uint64_t left = inbox_.half_bytes() - last->bytes;
    if (runs_.size() <= runs_that_fit(left)) {
      take_last(*last, last->begin + last->bytes, left);
      return begin_join_or_sort();
    }
    take_last(*last, last->other, inbox_.half_bytes());
  }
  sorted_.distribute(blocks_in(*held_));
  return State::kSortingHalf;
}

void Reducer::take_last(const Inbox::Half& half, char* chunks, std::uint64_t chunks_bytes) {
  last_half_ = half;
  chunks_ = chunks;
  chunks_bytes_ = chunks_bytes;
}

Result<Reducer::State> Reducer::begin_join_or_sort() {
  const std::size_t runs_max = divide_chunks();
  if (runs_.size() <= runs_max) {
    std::vector<const BlockHeader*> blocks = blocks_in(*last_half_);
    if (held_.has_value()) {
      const auto more = blocks_in(*held_);
      blocks.insert(blocks.end(), more.begin(), more.end());
    }
    sorted_.distribute(blocks);
    return State::kSortingAll;
  }
  FOEDUS_INVARIANT(runs_max >= 2, runs_max);
  std::vector<std::unique_ptr<SortedSource>> sources;
  for (std::size_t i = 0; i < runs_max; ++i) {
    FOEDUS_TRY(auto reader, open_run(runs_[i], i));
    sources.push_back(std::move(reader));
  }
  FOEDUS_CHECK(begin_spill(std::move(sources), false));
  spill_->joined_runs = runs_max;
  return State::kJoining;
}

// Returns the bytes that the largest record of all runs takes; 0: none is larger than a chunk.
std::uint64_t Reducer::large_bytes() const {
  std::uint64_t bytes = 0;
  for (const Run& run : runs_) bytes = std::max(bytes, run.large_bytes);
  return bytes;
}

std::size_t Reducer::runs_that_fit(std::uint64_t bytes) const {
  const std::uint64_t large = large_bytes();
  return bytes < large ? 0 : (bytes - large) / (2 * chunk_bytes_);
}

// Divides the memory for chunks (G20). Returns how many runs can be read at once.
std::size_t Reducer::divide_chunks() {
  const std::size_t runs = runs_that_fit(chunks_bytes_);
  large_ = {chunks_, large_bytes()};
  large_memory_ = IoMemory();
  if (runs >= 2 || runs >= runs_.size()) return runs;
  large_memory_ = IoMemory(large_.bytes);
  large_.memory = large_memory_.get();
  return chunks_bytes_ / (2 * chunk_bytes_);
}

// Opens a run. `place`: the run uses the pair of chunks with this number (divide_chunks()).
Result<std::unique_ptr<RunReader>> Reducer::open_run(const Run& run, std::size_t place) {
  char* const begin = large_.memory == chunks_ ? chunks_ + large_.bytes : chunks_;
  return RunReader::open(device_, run.id, begin + place * 2 * chunk_bytes_, chunk_bytes_, large_);
}

Status Reducer::begin_spill(std::vector<std::unique_ptr<SortedSource>> sources, bool of_memory) {
  const RunId id{options_.snapshot, options_.soc, next_run_++};
  spill_ = std::make_unique<Spill>(std::move(sources), id, of_memory);
  FOEDUS_TRY(spill_->writer, RunWriter::create(device_, id, chunk_bytes_));
  spill_->merge.begin_storage();
  return {};
}

Result<bool> Reducer::go_on_spilling() {
  Spill& spill = *spill_;
  for (unsigned i = 0; i < kRecordsPerStep; ++i) {
    const StreamRecord* const record = spill.merge.next();
    if (record == nullptr) FOEDUS_CHECK(spill.merge.status());
    if (record != nullptr && !spill.of_memory) {
      FOEDUS_CHECK(spill.merge.fetch());
      FOEDUS_CHECK(spill.writer->append(*record));
      continue;
    }
    const bool is_superseded = record != nullptr && spill.has_held &&
                               is_whole(record->log->type) && have_same_key(spill.held, *record);
    if (is_superseded) {
      ++counts_.superseded;
    } else if (spill.has_held) {
      FOEDUS_CHECK(spill.writer->append(spill.held));
    }
    spill.has_held = record != nullptr;
    if (record != nullptr) {
      spill.held = *record;
    } else if (spill.merge.begin_storage() == page::StorageId{0}) {
      FOEDUS_CHECK(spill.writer->close());
      FOEDUS_CHECK(end_spill());
      return true;
    }
  }
  return false;
}

// Completes a run, and removes the runs that it joins.
Status Reducer::end_spill() {
  ++counts_.runs;
  counts_.run_bytes += spill_->writer->bytes_written();
  runs_.push_back({spill_->run, spill_->writer->large_bytes()});
  const auto joined_end = runs_.begin() + static_cast<std::ptrdiff_t>(spill_->joined_runs);
  spill_.reset();
  for (auto run = runs_.begin(); run != joined_end; ++run) {
    FOEDUS_CHECK(device::unless_gone(device_->remove(run_name(run->id))));
  }
  runs_.erase(runs_.begin(), joined_end);
  return {};
}

Status Reducer::begin_streams() {
  stream_.reset();
  merge_.reset();
  records_streamed_ = 0;
  sources_ = sources_of(sorted_);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    FOEDUS_TRY(auto reader, open_run(runs_[i], i));
    sources_.push_back(std::move(reader));
  }
  merge_ = std::make_unique<Merge>(pointers_to(sources_));
  return {};
}

Result<std::optional<StorageStream>> Reducer::next_storage() {
  FOEDUS_INVARIANT(is_done());
  FOEDUS_INVARIANT(merge_ != nullptr, status_.code());
  if (stream_ != nullptr) {
    while (merge_->next() != nullptr) {
    }
    FOEDUS_CHECK(merge_->status());
    records_streamed_ += stream_->returned();
    stream_.reset();
  }
  const page::StorageId storage = merge_->begin_storage();
  if (storage == page::StorageId{0}) return std::optional<StorageStream>();
  stream_ = std::make_unique<CompactedStream>(merge_.get());
  return std::optional<StorageStream>({storage, stream_.get()});
}

Status Reducer::remove_runs() {
  stream_.reset();
  merge_.reset();
  sources_.clear();
  std::vector<Run> runs = std::exchange(runs_, {});
  if (spill_ != nullptr) {
    if (spill_->writer != nullptr) runs.push_back({spill_->run, 0});
    spill_.reset();
  }
  Status first;
  for (const Run& run : runs) {
    Status status = device::unless_gone(device_->remove(run_name(run.id)));
    if (first.is_ok()) first = std::move(status);
  }
  return first;
}

}  // namespace foedus::gleaner
