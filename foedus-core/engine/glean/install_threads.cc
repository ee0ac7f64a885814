#include "foedus-core/engine/glean/install_threads.h"

#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::engine {

void reclaim_all(page::SessionPages* pages) {
  while (pages->retired_count() != 0) {
    const std::uint64_t before = pages->retired_count();
    pages->reclaim();
    if (pages->retired_count() == before) return;
  }
}

class InstallThreads::Thread final : public base::Task {
 public:
  Thread(InstallThreads* all, std::size_t worker, std::uint32_t soc)
      : pages(all->parts_.pool, all->parts_.clock, soc), all_(all), worker_(worker) {}

  const char* name() const override { return "foedus-install"; }
  std::uint64_t step() override {
    all_->work(this, worker_);
    return kUntilNotified;
  }

  page::SessionPages pages;
  bool has_work = false;  // run() has given it work, not begun yet; guarded by all_->mutex_

 private:
  InstallThreads* const all_;
  const std::size_t worker_;
};

InstallThreads::InstallThreads(const Parts& parts, std::uint32_t count, const Worker& first)
    : parts_(parts) {
  workers_.push_back(first);
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t soc = i % parts.topology->socs();
    threads_.push_back(std::make_unique<Thread>(this, i, soc));
    threads_.back()->pages.fill_stock();  // the installation itself takes free pages
    workers_.push_back({&threads_.back()->pages, parts.first_slot + i - 1, soc});
  }
}
InstallThreads::~InstallThreads() = default;

// Starts the threads, once in an installation. If memory runs out, some threads are not started,
// and the other workers do their share.
void InstallThreads::start() {
  if (std::exchange(has_tried_, true)) return;
  for (const auto& thread : threads_) thread->pages.fill_stock();
  base::trying([this] {
    for (; started_ < threads_.size(); ++started_) {
      const std::uint32_t soc = workers_[started_ + 1].soc;
      parts_.runtime->start_on(threads_[started_].get(),
                               parts_.topology->background_processors(soc, parts_.numa_binding));
    }
  });
}

void InstallThreads::stop() {
  for (; started_ != 0; --started_) parts_.runtime->stop(threads_[started_ - 1].get());
  has_tried_ = false;
}

// Does the work in all threads and in the caller's. When the caller finds no more work, it lets no
// thread begin any more: it would have to wait for a thread that may get no processor for long.
void InstallThreads::run(const std::function<void(std::size_t)>& work) {
  start();
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    left_ = started_;
    for (std::size_t i = 0; i < started_; ++i) threads_[i]->has_work = true;
  }
  for (std::size_t i = 0; i < started_; ++i) parts_.runtime->notify(threads_[i].get());
  FOEDUS_SYNC_POINT("install_threads:notified");
  work(0);
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < started_; ++i) {
      if (std::exchange(threads_[i]->has_work, false)) --left_;
    }
  }
  parts_.runtime->wait(&done_, base::Runtime::kForever, [this] {
    const std::lock_guard lock(mutex_);
    return left_ == 0;
  });
}

void InstallThreads::work(Thread* thread, std::size_t worker) {
  const std::function<void(std::size_t)>* work;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(thread->has_work, false)) return;
    work = work_;
  }
  FOEDUS_SYNC_POINT("install_threads:begun");
  const std::uint64_t begin_us = base::thread_cpu_us();
  (*work)(worker);
  {
    const std::lock_guard lock(mutex_);
    cpu_us_ += base::thread_cpu_us() - begin_us;
    if (--left_ != 0) return;
  }
  parts_.runtime->wake(&done_);
}

void InstallThreads::reclaim() {
  for (const auto& thread : threads_) reclaim_all(&thread->pages);
}

std::uint64_t InstallThreads::retired_count() const {
  std::uint64_t count = 0;
  for (const auto& thread : threads_) count += thread->pages.retired_count();
  return count;
}

std::uint64_t InstallThreads::take_cpu_us() {
  const std::lock_guard lock(mutex_);
  return std::exchange(cpu_us_, 0);
}

}  // namespace foedus::engine
