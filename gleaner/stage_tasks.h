#pragma once
// StageTasks: the tasks of one kind in a glean, one for each partition or mapper.
//
//   G45 Mapper, reducer and composer number n run on SOC n modulo the number of SOCs, where threads
//       are bound at all (N10). The memory of the reducer lies there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus/database.h"
#include "foedus/status.h"

namespace foedus::gleaner {

// Returns the SOC of the partition or mapper with this number (G45).
inline std::uint32_t soc_of(const engine::GleanOrder& order, std::size_t number) {
  return static_cast<std::uint32_t>(number % order.topology->socs());
}

template <typename Task>
class StageTasks {
 public:
  // REQUIRES: `order` outlives the tasks.
  explicit StageTasks(const engine::GleanOrder& order) : order_(order) {}
  // Stops all tasks before it destroys the first.
  ~StageTasks() {
    for (const auto& task : tasks_) order_.runtime->stop(task.get());
  }
  StageTasks(const StageTasks&) = delete;
  StageTasks& operator=(const StageTasks&) = delete;

  // Adds the task with the next number, and starts it on the processors of its SOC. Memory that the
  // task allocates lies there.
  void start(std::unique_ptr<Task> task) {
    const std::uint32_t soc = soc_of(order_, tasks_.size());
    tasks_.push_back(std::move(task));
    order_.runtime->start_on(tasks_.back().get(),
                             order_.topology->background_processors(soc, order_.numa_binding));
  }

  Task* operator[](std::size_t number) const { return tasks_[number].get(); }
  auto begin() const { return tasks_.begin(); }
  auto end() const { return tasks_.end(); }
  bool are_done() const {
    return std::all_of(begin(), end(), [](const auto& task) { return task->is_done(); });
  }

 private:
  const engine::GleanOrder& order_;
  std::vector<std::unique_ptr<Task>> tasks_;  // by number
};

// Returns kClosed if the glean is given up.
Status check_given_up(const engine::GleanOrder& order);
// Waits at `finished` until ready() is true, and reports progress() meanwhile. Returns kClosed if
// the glean is given up before.
Status wait_for_tasks(const engine::GleanOrder& order, base::WaitPoint* finished, base::Ready ready,
                      const std::function<GleanProgress()>& progress);

}  // namespace foedus::gleaner
