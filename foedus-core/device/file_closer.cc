#include "foedus-core/device/file_closer.h"

#include <iterator>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::device {

FileCloser::FileCloser(base::Runtime* runtime) : runtime_(runtime) { runtime_->start(this); }

FileCloser::~FileCloser() { runtime_->stop(this); }

void FileCloser::close(OpenFiles files) {
  if (files.empty()) return;
  // If there is no memory to hand the files over, the return of this function closes them.
  base::trying([&] {
    const std::lock_guard lock(mutex_);
    files_.reserve(files_.size() + files.size());
    given_ += files.size();
    files_.insert(files_.end(), std::make_move_iterator(files.begin()),
                  std::make_move_iterator(files.end()));
  });
  runtime_->notify(this);
}

// Waits also for files that are given meanwhile, which does no harm.
void FileCloser::wait() {
  runtime_->wait(&closed_, base::Runtime::kForever, [this] {
    const std::lock_guard lock(mutex_);
    return closed_count_ == given_;
  });
}

std::uint64_t FileCloser::take_cpu_us() {
  const std::lock_guard lock(mutex_);
  return std::exchange(cpu_us_, 0);
}

std::uint64_t FileCloser::step() {
  std::unique_ptr<File> file;
  {
    const std::lock_guard lock(mutex_);
    if (files_.empty()) return kUntilNotified;
    file = std::move(files_.back());
    files_.pop_back();
  }
  FOEDUS_SYNC_POINT("file_closer:close");
  const std::uint64_t begin_us = base::thread_cpu_us();
  file.reset();
  bool is_last;
  {
    const std::lock_guard lock(mutex_);
    cpu_us_ += base::thread_cpu_us() - begin_us;
    is_last = ++closed_count_ == given_;
  }
  if (is_last) runtime_->wake(&closed_);
  return 0;
}

}  // namespace foedus::device
