#pragma once
// Feed: the lines of all instances in the order in which they came, for any number of readers. A
// reader that comes late gets the newest lines that are kept, then all that follow.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace foedus::cli {

class Feed {
 public:
  // Adds an event of an instance: the members of a JSON object, such as `"event":"sample"`, without
  // a newline. The line gets the name and `at`, the seconds since the feed began. Any thread.
  void add(const std::string& instance, const std::string& members);
  // Returns the lines from number `*next` on, and moves it behind them. Waits up to a second for
  // one; none: there was no new line. Any thread.
  std::vector<std::string> wait(std::uint64_t* next);
  // Ends all waits: is_closed() is true from now on.
  void close();
  bool is_closed() const;

 private:
  static constexpr std::size_t kLinesMax = 1000;  // some two minutes of both instances

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::uint64_t first_ = 0;  // number of the first line in lines_
  bool is_closed_ = false;
};

}  // namespace foedus::cli
