#include "tools/foedus/demo/feed.h"

#include <algorithm>
#include <chrono>

namespace foedus::cli {

void Feed::add(const std::string& instance, const std::string& members) {
  {
    const std::lock_guard guard(mutex_);
    const std::chrono::duration<double> at = std::chrono::steady_clock::now() - start_;
    lines_.push_back("{\"instance\":\"" + instance + "\",\"at\":" + std::to_string(at.count()) +
                     "," + members + "}");
    if (lines_.size() > kLinesMax) {
      lines_.pop_front();
      ++first_;
    }
  }
  changed_.notify_all();
}

std::vector<std::string> Feed::wait(std::uint64_t* next) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(1),
                    [&] { return is_closed_ || *next < first_ + lines_.size(); });
  const std::uint64_t begin = std::max(*next, first_);
  *next = first_ + lines_.size();
  return {lines_.begin() + static_cast<std::ptrdiff_t>(begin - first_), lines_.end()};
}

void Feed::close() {
  {
    const std::lock_guard guard(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
}

bool Feed::is_closed() const {
  const std::lock_guard guard(mutex_);
  return is_closed_;
}

}  // namespace foedus::cli
