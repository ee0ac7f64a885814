#include "tests/testing/manual_runtime.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"

namespace foedus::testing {

std::size_t ManualRuntime::index_of(base::Task* task) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].task == task) return i;
  }
  return entries_.size();
}

void ManualRuntime::start(base::Task* task) {
  FOEDUS_INVARIANT(index_of(task) == entries_.size(), task->name());
  const bool is_starved = !starved_.empty() && task->name() == starved_;
  due_.reserve(entries_.size() + 1);
  entries_.push_back({task, now_us_, false, false, is_starved});
}

void ManualRuntime::starve(std::string_view name) {
  starved_ = name;
  for (Entry& entry : entries_) entry.is_starved = !name.empty() && entry.task->name() == name;
}

void ManualRuntime::stop(base::Task* task) {
  const std::size_t index = index_of(task);
  if (index == entries_.size()) return;
  FOEDUS_INVARIANT(!entries_[index].is_running, task->name());
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
}

void ManualRuntime::notify(base::Task* task) {
  const std::size_t index = index_of(task);
  if (index == entries_.size()) return;
  entries_[index].notified = true;
  if (!entries_[index].is_running) entries_[index].due_us = now_us_;
}

void ManualRuntime::step_entry(std::size_t index) {
  base::Task* const task = entries_[index].task;
  entries_[index].is_running = true;
  entries_[index].notified = false;
  ++step_count_;
  const std::uint64_t rest_us = task->take_step();
  const std::size_t after = index_of(task);  // others may have come and gone meanwhile
  Entry& entry = entries_[after];
  entry.is_running = false;
  const std::uint64_t now = now_us_;
  const bool never = rest_us > base::Task::kUntilNotified - now;
  entry.due_us = entry.notified ? now : never ? base::Task::kUntilNotified : now + rest_us;
}

void ManualRuntime::step(base::Task* task) {
  const std::size_t index = index_of(task);
  FOEDUS_INVARIANT(index < entries_.size() && !entries_[index].is_running, task->name());
  step_entry(index);
}

bool ManualRuntime::step_one(std::uint64_t until_us) {
  due_.clear();
  std::uint64_t earliest_us = base::Task::kUntilNotified;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].is_running || entries_[i].is_starved) continue;
    if (entries_[i].due_us <= now_us_) due_.push_back(i);
    earliest_us = std::min(earliest_us, entries_[i].due_us);
  }
  if (due_.empty()) {
    if (earliest_us == base::Task::kUntilNotified || earliest_us > until_us) return false;
    now_us_ = earliest_us;
    return step_one(until_us);
  }
  step_entry(due_[random_.below(due_.size())]);
  return true;
}

void ManualRuntime::run_for(std::uint64_t microseconds) {
  const std::uint64_t end_us = now_us_ + microseconds;
  while (now_us_ <= end_us && step_one(end_us)) now_us_ += 1;  // a step takes time
  now_us_ = std::max(now_us_.load(), end_us);
}

void ManualRuntime::run_due(std::uint64_t steps_max) {
  for (std::uint64_t i = 0; i < steps_max && step_one(now_us_); ++i) {
  }
}

bool ManualRuntime::wait(base::WaitPoint*, std::uint64_t timeout_us, base::Ready ready) {
  const bool has_limit = timeout_us <= kForever - now_us_ && timeout_us < patience_us_;
  const std::uint64_t end_us = now_us_ + (has_limit ? timeout_us : patience_us_);
  while (!ready()) {
    if (now_us_ >= end_us || !step_one(end_us)) {
      FOEDUS_INVARIANT(has_limit, "a wait without a limit will never end");
      now_us_ = std::max(now_us_.load(), end_us);
      return ready();
    }
    now_us_ += 1;
  }
  return true;
}

void ManualRuntime::wake(base::WaitPoint*) {}

}  // namespace foedus::testing
