#include "foedus-core/engine/setup/operator_file.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/thread.h"

namespace foedus::engine {

namespace {

char letter_of(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return 'I';
    case LogLevel::kWarning:
      return 'W';
    case LogLevel::kError:
      return 'E';
  }
  return '?';
}

// Returns "2026-11-30 21:40:53.000123".
std::string time_of(std::uint64_t wall_us) {
  using namespace std::chrono;  // NOLINT: calendar arithmetic alone
  const microseconds since(static_cast<std::int64_t>(wall_us));
  const days day = floor<days>(since);
  const year_month_day date{sys_days(day)};
  const hh_mm_ss time(since - day);
  char text[64];
  std::snprintf(text, sizeof(text), "%04d-%02u-%02u %02d:%02d:%02d.%06d",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return text;
}

// Returns the line as the file has it. A message may have bytes of a user's key or path.
std::string line_of(LogLevel level, std::string_view message) {
  std::string line = time_of(base::system_wall_us());
  line.append(" ").append(1, letter_of(level)).append(" ");
  line.append(std::to_string(base::thread_id())).append(" ").append(base::thread_name());
  line.append(" ").append(message);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::replace_if(line.begin(), line.end(), is_control, '?');
  return line.append("\n");
}

}  // namespace

void OperatorFile::say(LogLevel level, std::string_view line) noexcept {
  if (generation_ != base::process_generation()) return;  // E59
  base::trying([&] {
    const std::string text = line_of(level, line);
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    if (pending_.size() + text.size() > kPendingBytesMax) {
      ++lost_;
      return;
    }
    pending_ += text;
    if (is_running_) runtime_->notify(this);
  });
}

void OperatorFile::start(const std::string& directory, std::uint64_t bytes_max,
                         const std::vector<std::string>& about) {
  std::string first;
  for (const std::string& line : about) first += line_of(LogLevel::kInfo, line);
  {
    const std::lock_guard lock(mutex_);
    pending_.insert(0, first);
  }
  file_ = device::TextLog::open(directory, bytes_max);
  bool runs = false;
  if (file_ != nullptr) {
    base::trying([&] {
      runtime_->start(this);
      runs = true;
    });
  }
  if (!runs) file_.reset();
  const std::lock_guard lock(mutex_);
  is_running_ = runs;
  is_closed_ = !runs;
}

std::uint64_t OperatorFile::step() {
  std::string text;
  std::uint64_t lost = 0;
  {
    const std::lock_guard lock(mutex_);
    text.swap(pending_);
    std::swap(lost, lost_);
  }
  if (!text.empty()) file_->append(text);
  if (lost != 0) {
    file_->append(
        line_of(LogLevel::kWarning, std::to_string(lost) + " lines came too fast, and are lost"));
  }
  return kUntilNotified;
}

void OperatorFile::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    if (!is_running_) return;
    is_running_ = false;
  }
  runtime_->stop(this);
  take_step();
  file_.reset();
}

}  // namespace foedus::engine
