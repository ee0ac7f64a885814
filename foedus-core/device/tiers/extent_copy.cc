#include "foedus-core/device/tiers/extent_copy.h"

#include <cstdlib>
#include <new>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/device/tier_names.h"

namespace foedus::device {

namespace {

char* aligned_blocks(std::size_t bytes) {
  void* const memory = std::aligned_alloc(kBlockBytes, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<char*>(memory);
}

}  // namespace

void ExtentCopy::Free::operator()(char* memory) const { std::free(memory); }

ExtentCopy::ExtentCopy(Device* behind, std::unique_ptr<IoQueue> queue)
    : behind_(behind),
      buffers_(aligned_blocks(kWritesMax * kWriteBytes)),
      queue_(std::move(queue)) {
  for (std::uint32_t write = 0; write < kWritesMax; ++write) free_.push_back(write);
}

// Syncs once for all writes: none is in flight any more when the sync begins.
Status ExtentCopy::copy(std::string_view name, const std::vector<std::uint64_t>& extents) {
  FOEDUS_TRY(const auto nvm, open_existing(behind_, name, Access::kReadDirect));
  FOEDUS_TRY(ssd_, open_existing(behind_, ssd_name(name), Access::kReadWriteDirect));
  Status copied = write_runs(*nvm, runs_of(extents, kWriteExtents));
  while (free_.size() < kWritesMax) {
    Status ended = end_write();
    if (copied.is_ok()) copied = std::move(ended);
  }
  FOEDUS_CHECK(copied);
  return ssd_->sync();
}

// Begins all writes; the last ones are still in flight afterwards.
Status ExtentCopy::write_runs(const File& nvm, const std::vector<ExtentRun>& runs) {
  for (const ExtentRun& run : runs) {
    if (free_.empty()) FOEDUS_CHECK(end_write());
    FOEDUS_CHECK(begin_write(nvm, run));
  }
  return {};
}

// Begins a write. One that the queue does not take is made at once.
Status ExtentCopy::begin_write(const File& nvm, const ExtentRun& run) {
  const std::uint32_t free = free_.back();
  char* const buffer = buffer_of(free);
  Write& write = writes_[free];
  write.offset = run.first * kExtentBytes;
  FOEDUS_TRY(write.bytes, nvm.read_at(write.offset, buffer, run.count * kExtentBytes));
  if (queue_ == nullptr || !queue_->add_write(ssd_, write.offset, buffer, write.bytes, free)) {
    return ssd_->write_at(write.offset, buffer, write.bytes);
  }
  free_.pop_back();
  queue_->send();
  return {};
}

// Ends a write. The queue does not report errors: the call that writes the bytes again does.
Status ExtentCopy::end_write() {
  IoQueue::Done done;
  const bool has_ended = queue_->next(true, &done);
  FOEDUS_INVARIANT(has_ended, free_.size());
  free_.push_back(done.tag);
  const Write& write = writes_[done.tag];
  if (done.bytes >= write.bytes) return {};
  return ssd_->write_at(write.offset, buffer_of(done.tag), write.bytes);
}

}  // namespace foedus::device
