#include "experiments/tiers/double_write.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tuple>
#include <utility>

namespace experiments::tiers {

using foedus::device::IoQueue;
using foedus::device::kBlockBytes;

DoubleWrite::DoubleWrite(std::shared_ptr<foedus::device::File> area, Files files,
                         std::uint32_t pages, std::unique_ptr<IoQueue> queue)
    : area_(std::move(area)),
      files_(std::move(files)),
      pages_(pages),
      queue_(std::move(queue)),
      blocks_(new Block[pages]) {
  places_.reserve(pages);
}

foedus::Status DoubleWrite::write(std::uint32_t file, std::uint64_t page, const void* bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(places_.begin(), places_.end(), [&](const Place& place) {
    return place.file == file && place.page == page;
  });
  const auto block = static_cast<std::uint32_t>(found - places_.begin());
  std::memcpy(blocks_[block].bytes, bytes, kBlockBytes);
  if (found == places_.end()) places_.push_back({file, page, block});
  return places_.size() == pages_ ? flush_locked() : foedus::Status();
}

foedus::Status DoubleWrite::flush() {
  const std::lock_guard lock(mutex_);
  return places_.empty() ? foedus::Status() : flush_locked();
}

foedus::Status DoubleWrite::flush_locked() {
  const auto begin = std::chrono::steady_clock::now();
  FOEDUS_CHECK(area_->write_at(0, blocks_.get(), places_.size() * kBlockBytes));
  FOEDUS_CHECK(area_->sync());
  FOEDUS_CHECK(write_places());
  places_.clear();
  ++flushes_;
  flush_us_ += static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                              std::chrono::steady_clock::now() - begin)
                                              .count());
  return {};
}

// Page by page, as many in flight as the queue takes.
foedus::Status DoubleWrite::write_places() {
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
    return std::tuple(a.file, a.page) < std::tuple(b.file, b.page);
  });
  const auto write_by_call = [&](std::size_t i) {
    const Place& place = places_[i];
    return files_[place.file]->write_at(place.page * kBlockBytes, blocks_[place.block].bytes,
                                        kBlockBytes);
  };
  std::size_t in_flight = 0;
  for (std::size_t next = 0; next < places_.size() || in_flight != 0;) {
    while (queue_ != nullptr && next < places_.size() &&
           queue_->add_write(files_[places_[next].file], places_[next].page * kBlockBytes,
                             blocks_[places_[next].block].bytes, kBlockBytes,
                             static_cast<std::uint32_t>(next))) {
      ++next;
      ++in_flight;
    }
    if (in_flight == 0) {
      FOEDUS_CHECK(write_by_call(next++));
      continue;
    }
    queue_->send();
    IoQueue::Done done;
    if (!queue_->next(true, &done)) return foedus::ErrorCode::kIoError;
    --in_flight;
    if (done.bytes < kBlockBytes) FOEDUS_CHECK(write_by_call(done.tag));
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (i != 0 && places_[i].file == places_[i - 1].file) continue;
    FOEDUS_CHECK(files_[places_[i].file]->sync());
  }
  return {};
}

}  // namespace experiments::tiers
